package projections

import (
	"errors"
	"iter"
	"reflect"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// records is a source that may end in an error.
func records(err error, all ...journal.Record) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(journal.Record{}, err)
		}
	}
}

// What is encoded comes back, and an attach raises the generation (JRN-54).
func TestDraftsAndEntries(t *testing.T) {
	events := full()
	drafts, err := Drafts(events...)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range drafts {
		if _, attach := events[i].(reducer.AgentAttached); d.NextGen != attach {
			t.Errorf("draft of %s raises the generation: %v, want %v", d.Type, d.NextGen, attach)
		}
		e, err := ReadableEntry(journal.Record{Seq: uint64(i + 1), Type: d.Type, Data: d.Data})
		if err != nil || !reflect.DeepEqual(e.Event, events[i]) || e.Seq != uint64(i+1) {
			t.Errorf("%s comes back as %+v, %v, want %+v", d.Type, e, err, events[i])
		}
	}
}

// JRN-20: whoever attaches stops at an event of a newer program, whoever only
// reads goes on; what can't be read at all stops both.
func TestUnknownKinds(t *testing.T) {
	broken := errors.New("bad sector")
	source := func() iter.Seq2[journal.Record, error] {
		return records(broken, journal.Record{Seq: 1, Type: "new.kind", Data: []byte(`{"a":1}`)}, journal.Record{Seq: 2, Type: "inbox.closed", Data: []byte(`{}`)})
	}
	var seen int
	var last error
	for _, err := range Entries(source()) {
		seen, last = seen+1, err
	}
	if unknown, ok := errors.AsType[*reducer.UnknownKindError](last); seen != 1 || !ok || unknown.Kind != "new.kind" {
		t.Errorf("Entries ended after %d with %v, want it to stop at new.kind", seen, last)
	}
	seen = 0
	for e, err := range Readable(source()) {
		if n, ok := e.Event.(reducer.Note); seen == 0 && (!ok || n.Known() || string(n.Data) != `{"a":1}`) {
			t.Errorf("Readable gives %+v for an unknown kind, want a note of its name", e.Event)
		}
		seen, last = seen+1, err
	}
	if seen != 3 || !errors.Is(last, broken) {
		t.Errorf("Readable ended after %d with %v, want all and the source's error", seen, last)
	}
	if _, err := ReadableEntry(journal.Record{Seq: 3, Type: "inbox.closed", Data: []byte(`[]`)}); err == nil {
		t.Error("ReadableEntry of a payload that is no object = nil, want an error")
	}
}
