package basis

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

var update = flag.Bool("update", false, "write the files in testdata that tests compare with")

// no denies everything.
type no struct{}

func (no) Review(context.Context, effects.Approval) (effects.Verdict, error) {
	return effects.Verdict{By: "person", Reason: "not today"}, nil
}

// task is a task with a prompt and a script.
func task(t *testing.T, approve reducer.Approve, rounds ...provider.Answer) *life {
	return newLife(t, reducer.AgentCreated{
		Kind: reducer.KindTask, ID: "a", Conversation: "a", Workspace: "/w",
		Prompt:  []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}},
		Options: reducer.Options{Approve: approve}, DeadlineMS: 1 << 52,
	}, scriptedModel{rounds: rounds})
}

func work() provider.Answer {
	return answer("looking", call("read", `{"p":1}`), call("read", `{"p":2}`), call("spawn", `{"c":1}`), call("edit", `{"x":"fail"}`))
}

// killed runs l until a number of records is written.
func (l *life) killed(records int) *life {
	l.disk.left = records
	if err := l.attach(l.t.Context()); !errors.Is(err, errCrash) {
		l.t.Fatalf("attach killed after %d records = %v", records, err)
	}
	l.disk.left = -1
	return l
}

// releases are the runs whose journals replay/testdata keeps for ever.
func releases(t *testing.T) map[string]*life {
	cancelled := task(t, reducer.ApproveAlways, work(), answer("never")).killed(8)
	cancelled.inbox.files = []reducer.Event{reducer.CancelRequested{Scope: "task", By: "test"}}
	late := task(t, reducer.ApproveAlways, work(), answer("never")).killed(4)
	late.nowMS = 1 << 53
	denied := task(t, reducer.ApprovePrompt, work(), answer("done without it"))
	denied.asked = no{}
	return map[string]*life{
		"plain":     task(t, reducer.ApproveAlways, answer("hello")),
		"calls":     task(t, reducer.ApprovePrompt, work(), answer("done")),
		"cancelled": cancelled,
		"deadline":  late,
		"lost":      task(t, reducer.ApproveAlways, work(), answer("looked again")).killed(11),
		"denied":    denied,
		"failed":    task(t, reducer.ApproveAlways),
		"message":   everything(t),
	}
}

// The journals that replay proves for ever come from real runs. A file that is
// there is never written again: what has been released stays.
func TestReleasedJournalsExist(t *testing.T) {
	for name, l := range releases(t) {
		if err := l.attach(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !l.verified(name).Ended() {
			t.Errorf("%s has not ended\n%s", name, l.dump())
		}
		path := filepath.Join("replay", "testdata", "v1", name+".jsonl")
		if _, err := os.Stat(path); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) || !*update {
			t.Errorf("%s: %v; write it with -update", name, err)
			continue
		}
		data := l.written()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// written is the journal of a life as bytes, with a clock and ids that mean
// nothing.
func (l *life) written() []byte {
	l.t.Helper()
	tick := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := 0
	dir := filepath.Join(l.t.TempDir(), "agent")
	o := journal.Options{
		Program: "basis 0.1.0", Agent: "a", Host: "host", Boot: "boot", MinFree: -1,
		Now:   func() time.Time { tick = tick.Add(time.Second); return tick },
		NewID: func() string { ids++; return fmt.Sprintf("%032x", ids) },
	}
	var w *journal.Writer
	all := l.journal()[1:] // the journal writes its own first record
	for i, kinds := range l.disk.commits {
		n := len(kinds)
		if i == 0 {
			n-- // without that record
		}
		var events []reducer.Event
		for _, e := range all[:n] {
			if a, ok := e.Event.(reducer.AgentAttached); ok {
				a.PID, a.Host, a.Program = 1, "host", "basis 0.1.0"
				e.Event = a
			}
			events = append(events, e.Event)
		}
		all = all[n:]
		drafts, err := projections.Drafts(events...)
		if err == nil && w == nil {
			w, err = journal.Create(dir, o, drafts...)
		} else if err == nil {
			_, err = w.Append(drafts...)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || len(all) > 0 {
		l.t.Fatalf("close = %v, %d records left", err, len(all))
	}
	data, err := os.ReadFile(filepath.Join(dir, journal.JournalFile))
	if err != nil {
		l.t.Fatal(err)
	}
	return data
}
