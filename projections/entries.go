package projections

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// Entries decodes records. An error of the source, or a record that can't be
// decoded, is the last thing it yields; an unknown kind is a
// *[reducer.UnknownKindError] with the record's number.
func Entries(records iter.Seq2[journal.Record, error]) iter.Seq2[reducer.Entry, error] {
	return decoded(records, Entry)
}

func decoded(records iter.Seq2[journal.Record, error], decode func(journal.Record) (reducer.Entry, error)) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		for r, err := range records {
			var e reducer.Entry
			if err == nil {
				e, err = decode(r)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Readable is Entries for whoever only reads: an event of a kind that this
// program does not know becomes a [reducer.Note] of its name, and reading goes
// on. Whoever attaches must use Entries.
func Readable(records iter.Seq2[journal.Record, error]) iter.Seq2[reducer.Entry, error] {
	return decoded(records, ReadableEntry)
}

// ReadableEntry is Entry for whoever only reads.
func ReadableEntry(r journal.Record) (reducer.Entry, error) {
	e, err := Entry(r)
	if unknown, ok := errors.AsType[*reducer.UnknownKindError](err); ok {
		e.Event = reducer.Note{Name: unknown.Kind, Data: slices.Clone(r.Data)}
		return e, nil
	}
	return e, err
}

// Entry decodes one record.
func Entry(r journal.Record) (reducer.Entry, error) {
	e, err := reducer.Decode(r.Type, r.Data)
	if err != nil {
		return reducer.Entry{Seq: r.Seq, Time: r.Time}, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	return reducer.Entry{Seq: r.Seq, Time: r.Time, Event: e}, nil
}

// Drafts encodes events as a journal takes them. An attach raises the
// generation.
func Drafts(events ...reducer.Event) ([]journal.Draft, error) {
	drafts := make([]journal.Draft, len(events))
	for i, e := range events {
		kind, data, err := reducer.Encode(e)
		if err != nil {
			return nil, err
		}
		_, attach := e.(reducer.AgentAttached)
		drafts[i] = journal.Draft{Type: kind, Data: data, NextGen: attach}
	}
	return drafts, nil
}
