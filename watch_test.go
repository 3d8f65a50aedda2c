package basis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// EV-3, EV-17: who watches a task that another holds sees each record once, in
// order, and what streams after the record that it belongs to, once.
func TestWatchAnother(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	s := providertest.Script(t,
		providertest.Step{Text: "alpha beta", Deltas: 2, CutFrames: 3, HoldAfter: first, Calls: []providertest.Call{{Name: "spawn", Args: `{"input":"!echo gamma; cat go"}`}}},
		providertest.Step{Text: "delta", Hold: second},
	)
	h, ws := newHome(t, nil), newWorkspace(t)
	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	var driver sync.WaitGroup
	driver.Go(func() {
		out, err := h.Wait(limited(t), ref, Drive{})
		h.ended(t, out, err)
	})
	defer driver.Wait()
	var streamed string
	var seqs []uint64
	answered := false
	for u, err := range h.Watch(limited(t), ref) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Live {
			if u.Progress.Kind == reducer.ProgressText {
				streamed += u.Progress.Text
			}
			if answered && strings.Contains(u.Progress.Text, "alpha") {
				t.Error("text is streamed again after its message")
			}
			if first != nil && strings.Contains(streamed, "alpha beta") {
				close(first)
				first = nil
			}
			continue
		}
		seqs = append(seqs, u.Entry.Seq)
		switch u.Entry.Event.(type) {
		case reducer.ModelAnswered:
			answered = true
		case reducer.CallSettled:
			close(second)
		default:
		}
	}
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("records %v, want them to count on", seqs)
		}
	}
	if len(seqs) != len(kinds(t, h, ref)) || strings.Count(streamed, "alpha") != 1 {
		t.Errorf("%d records and the text %q, want all %d and the text once", len(seqs), streamed, len(kinds(t, h, ref)))
	}
	driver.Wait()
	if _, err := os.Stat(filepath.Join(h.AgentDir(ref), liveName)); !os.IsNotExist(err) {
		t.Errorf("Stat(live.jsonl) = %v, want it gone when nobody drives", err)
	}
	if u, err := firstError(t, h, ref.Key); err == nil {
		t.Errorf("Watch of no task = %+v, want an error", u)
	}
}

func firstError(t *testing.T, h *Home, key string) (Update, error) {
	for u, err := range h.Watch(t.Context(), Ref{Key: key, ID: strings.Repeat("0", 32)}) {
		return u, err
	}
	return Update{}, errors.New("nothing at all")
}

// liveLines reads a live file.
func liveLines(t *testing.T, path string) []liveLine {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []liveLine
	for line := range bytes.Lines(data) {
		var l liveLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, l)
	}
	return all
}

func entry(seq uint64, e reducer.Event) Update {
	return Update{Entry: reducer.Entry{Seq: seq, Event: e}}
}

func progress(kind reducer.ProgressKind, text string) Update {
	return Update{Live: true, Progress: reducer.Progress{Kind: kind, Text: text}}
}

// The live file's lines name the record that they come after, count on, and
// share writes; a new round begins a new file; a full one says so once.
func TestLiveFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, liveName)
	if err := os.WriteFile(path, []byte("of one that was killed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &live{path: path}
	l.remove()
	l.take(progress(reducer.ProgressText, "nobody's"))
	l.take(entry(6, reducer.RoundStarted{Round: "r1"}))
	l.take(progress(reducer.ProgressText, "al"))
	l.take(progress(reducer.ProgressText, "pha"))
	l.take(progress(reducer.ProgressReasoning, "hm"))
	l.take(entry(7, reducer.ModelAnswered{Round: "r1"}))
	l.take(progress(reducer.ProgressOutput, "ok"))
	l.take(progress(reducer.ProgressOutput, "two"))
	l.flush()
	got := fmt.Sprintf("%+v", liveLines(t, path))
	want := fmt.Sprintf("%+v", []liveLine{
		{At: 6, N: 1, Progress: reducer.Progress{Kind: reducer.ProgressText, Round: "r1", Text: "alpha"}},
		{At: 6, N: 2, Progress: reducer.Progress{Kind: reducer.ProgressReasoning, Round: "r1", Text: "hm"}},
		{At: 7, N: 3, Progress: reducer.Progress{Kind: reducer.ProgressOutput, Round: "r1", Text: "ok"}},
		{At: 7, N: 4, Progress: reducer.Progress{Kind: reducer.ProgressOutput, Round: "r1", Text: "two"}},
	})
	if got != want {
		t.Errorf("lines = %s, want %s", got, want)
	}
	before, _ := os.Stat(path)
	l.take(entry(9, reducer.RoundStarted{Round: "r2"}))
	if after, err := os.Stat(path); err != nil || os.SameFile(before, after) || after.Size() != 0 {
		t.Errorf("the next round: %v, want another, empty file", err)
	}
	piece := strings.Repeat("x", liveBatch)
	for range liveLimit/liveBatch + 10 {
		l.take(progress(reducer.ProgressText, piece))
		l.flush()
	}
	lines := liveLines(t, path)
	if last := lines[len(lines)-1]; last.Kind != elided || len(lines) > liveLimit/liveBatch+1 {
		t.Errorf("a full file has %d lines, the last of kind %s, want it elided", len(lines), last.Kind)
	}
	l.remove()
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// A reader takes up a new file, keeps half a line until the rest is there, and
// merge holds back what streams after a record that is still to come.
func TestLiveReaderAndMerge(t *testing.T) {
	dir := t.TempDir()
	l := &live{path: filepath.Join(dir, liveName)}
	r := &liveReader{path: l.path}
	defer r.close()
	defer l.remove()
	if got := r.next(); got != nil {
		t.Errorf("next without a file = %v, want nothing", got)
	}
	for i, text := range []string{"one", "two"} {
		l.take(entry(uint64(i+1), reducer.RoundStarted{Round: "r"}))
		l.take(progress(reducer.ProgressText, text))
		l.flush()
		if got := r.next(); len(got) != 1 || got[0].Text != text {
			t.Errorf("next = %+v, want %s", got, text)
		}
	}
	if _, err := l.file.WriteString(`{"at":2,"n":2,"kind":"te`); err != nil {
		t.Fatal(err)
	}
	if got := r.next(); len(got) != 0 {
		t.Errorf("next of half a line = %+v, want nothing", got)
	}
	if _, err := l.file.WriteString("xt\",\"text\":\"x\"}\n" + `{"at":5,"n":3,"kind":"text","text":"ahead"}` + "\n" + `{"at":1,"n":4,"kind":"text","text":"late"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	entries := make(chan followed)
	var got []string
	var sender sync.WaitGroup
	seen := make(chan struct{})
	sender.Go(func() {
		for seq := range uint64(5) {
			entries <- followed{entry: reducer.Entry{Seq: seq + 1}}
			if seq == 1 {
				<-seen
			}
		}
	})
	merge(entries, r, func(u Update, _ error) bool {
		if u.Live {
			got = append(got, u.Progress.Text)
		} else {
			got = append(got, fmt.Sprint(u.Entry.Seq))
		}
		if u.Live && u.Progress.Text == "x" {
			close(seen)
		}
		return got[len(got)-1] != "ahead"
	})
	sender.Wait()
	if want := []string{"1", "2", "x", "3", "4", "5", "ahead"}; !slices.Equal(got, want) {
		t.Errorf("merge = %q, want %q", got, want)
	}
}

// EV-8, EV-9: a sink that is stuck holds up nothing: the run ends, its locks are
// free, and once it moves it is told every record, with the waiting text merged.
func TestStuckSink(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{
		{Calls: []providertest.Call{{Name: "ls", Args: `{}`}}}, {Text: strings.Repeat("word ", 500), Deltas: 500},
	}})
	h := newHome(t, nil)
	ref, err := h.Spawn(asking(s, newWorkspace(t), "hi"))
	if err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	var seqs []uint64
	deltas := 0
	var driver sync.WaitGroup
	driver.Go(func() {
		out, err := h.Wait(limited(t), ref, Drive{Sink: func(u Update) {
			<-stuck
			if u.Live {
				deltas++
				return
			}
			seqs = append(seqs, u.Entry.Seq)
		}})
		h.ended(t, out, err)
	})
	for _, err := range h.Follow(limited(t), ref, 0) { // to the end of the task
		if err != nil {
			t.Fatal(err)
		}
	}
	for range time.Tick(time.Millisecond) {
		if !h.Held(ref) {
			break
		}
	}
	close(stuck)
	driver.Wait()
	if want := len(kinds(t, h, ref)); len(seqs) != want-2 || seqs[0] != 3 || seqs[len(seqs)-1] != uint64(want) {
		t.Errorf("the sink was told %v, want records 3 to %d", seqs, want)
	}
	if deltas > 100 {
		t.Errorf("the sink was told %d pieces of text, want the waiting ones merged", deltas)
	}
}

// What waits for a sink has one place for each text and for the newest of a
// call's output; nothing is joined over a record, or over what voids a round.
func TestEnqueue(t *testing.T) {
	var queue []waiting
	for _, u := range []Update{
		progress(reducer.ProgressText, "a"), progress(reducer.ProgressText, "b"), entry(1, reducer.InboxClosed{}),
		progress(reducer.ProgressText, "c"), progress(reducer.ProgressReasoning, "d"),
		progress(reducer.ProgressOutput, "old"), progress(reducer.ProgressOutput, "new"),
		progress(reducer.ProgressText, "e"), progress(reducer.ProgressVoid, ""), progress(reducer.ProgressText, "f"),
	} {
		queue = enqueue(queue, u)
	}
	var got []string
	for _, w := range queue {
		u := w.update()
		got = append(got, string(u.Progress.Kind)+u.Progress.Text)
	}
	if want := []string{"textab", "", "textce", "reasoningd", "outputnew", "void", "textf"}; !slices.Equal(got, want) {
		t.Errorf("enqueue = %q, want %q", got, want)
	}
}

// EV-9: what waits for a stuck sink is bounded, whatever is recorded meanwhile: the sink
// reads in the journal what has no place, and is told all of it, once and in order, and
// of what streams that which streams still.
func TestStuckSinkReadsWhatHasNoPlace(t *testing.T) {
	h := newHome(t, nil)
	a, err := h.begin(Spec{Workspace: newWorkspace(t), Prompt: "hi", Options: reducer.Options{Provider: "demo"}}, Drive{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.release() }()
	for name, from := range map[string]store{"a journal": a.run.store, "memory": newMemoryStore(time.Now)} {
		stuck := make(chan struct{})
		var got []string
		f := newFeed(func(u Update) {
			<-stuck
			if u.Live {
				got = append(got, u.Progress.Text)
				return
			}
			got = append(got, reducer.Describe(u.Entry.Event))
		}, from.read)
		want := feedNotes(t, from, f)
		f.push(progress(reducer.ProgressText, "still"))
		close(stuck)
		f.close()
		if got = slices.DeleteFunc(got, func(s string) bool { return s == "over" }); !slices.Equal(got, append(want, "still")) {
			t.Errorf("%s: the sink was told %d of %d things, the last %q", name, len(got), len(want)+1, got[len(got)-1])
		}
	}
	var queue []waiting
	for i := range uint64(10_000) {
		queue = enqueue(enqueue(queue, progress(reducer.ProgressText, "x")), entry(i+1, reducer.InboxClosed{}))
		if len(queue) > queueLimit+1 {
			t.Fatalf("%d updates wait, want at most %d", len(queue), queueLimit+1)
		}
	}
}

// feedNotes records a thousand notes, each after something that streams, and says
// what a sink must be told of them.
func feedNotes(t *testing.T, to store, f *feed) []string {
	t.Helper()
	var want []string
	for i := range 10 {
		var notes []reducer.Event
		for j := range 100 {
			notes = append(notes, reducer.Note{Name: "note.text", Data: json.RawMessage(`{"n":` + strconv.Itoa(100*i+j) + `}`)})
		}
		entries, err := to.append(notes...)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			f.push(progress(reducer.ProgressText, "over"))
			f.push(Update{Entry: e})
			want = append(want, reducer.Describe(e.Event))
		}
	}
	return want
}

// JRN-78: what a repair has cut off was shown already: the reader is told, and
// must begin anew.
func TestFollowIsRewound(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	out, err := h.Run(limited(t), asking(s, ws, "hi"), Drive{})
	h.ended(t, out, err)
	cut := func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] }
	edit(t, h, out.Ref, cut) // an end would end the reading
	next, stop := iter.Pull2(h.Follow(limited(t), out.Ref, 0))
	defer stop()
	n := uint64(0)
	for range h.Entries(t.Context(), out.Ref) {
		if _, err, ok := next(); err != nil || !ok {
			t.Fatalf("record %d: %v, %v", n+1, err, ok)
		}
		n++
	}
	edit(t, h, out.Ref, cut)
	_, err, _ = next()
	if e, ok := errors.AsType[*RewoundError](err); !ok || e.To != n-1 {
		t.Errorf("Follow = %v, want it rewound to record %d", err, n-1)
	}
}

// A sink is told what the journal has, with its numbers and times, from
// the first record on.
func TestSinkSeesTheJournal(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	var got []reducer.Entry
	out, err := h.Run(limited(t), asking(s, ws, "hi"), Drive{Sink: func(u Update) {
		if !u.Live {
			got = append(got, u.Entry)
		}
	}})
	h.ended(t, out, err)
	var want []reducer.Entry
	for e, err := range h.Entries(t.Context(), out.Ref) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the sink saw %d entries, want the journal's %d:\n%+v\n%+v", len(got), len(want), got, want)
	}
}
