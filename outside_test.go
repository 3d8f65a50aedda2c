package basis

import (
	"errors"
	"fmt"
	"testing"

	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

// verified folds a life's journal and checks that it explains itself.
func (l *life) verified(name string) reducer.State {
	l.t.Helper()
	r, err := replay.Verify(reducer.State{}, l.disk.read(0))
	if err != nil {
		l.t.Fatalf("%s: %v\n%s", name, err, l.dump())
	}
	for id, n := range l.marks.count {
		c := byID(l.journal(), id)
		if n > 1 && c.Class != reducer.ClassNone {
			l.t.Errorf("%s: call %s ran %d times, want at most once\n%s", name, id, n, l.dump())
		}
	}
	return r.State
}

func byID(journal []reducer.Entry, id string) reducer.CallHead {
	for _, e := range journal {
		if a, ok := e.Event.(reducer.ModelAnswered); ok {
			for _, h := range a.Calls {
				if h.ID == id {
					return h
				}
			}
		}
	}
	return reducer.CallHead{}
}

func recordsOf(t *testing.T) int {
	t.Helper()
	l := everything(t)
	if err := l.attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	return len(l.journal())
}

// TASK-45, TASK-64, TASK-91: a cancel at every record, found by the run that
// goes on or by the attach after a kill there, ends the task as cancelled.
func TestCancelAtEveryRecord(t *testing.T) {
	for k := 1; k < recordsOf(t)-4; k++ {
		for _, killed := range []bool{false, true} {
			name := fmt.Sprintf("cancel at record %d, killed %v", k, killed)
			l := everything(t)
			if killed {
				l.disk.left = k
				_ = l.attach(t.Context()) // killed
				l.disk.left = -1
				l.inbox.put(reducer.CancelRequested{Scope: "task", By: "test"})
			} else {
				l.seen = func(records int, _ func()) {
					if records >= k {
						l.inbox.put(reducer.CancelRequested{Scope: "task", By: "test"})
					}
				}
			}
			if err := l.attach(t.Context()); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, l.dump())
			}
			if s := l.verified(name); s.End.State != reducer.StateCancelled {
				t.Fatalf("%s: ended %s, want cancelled\n%s", name, s.End.State, l.dump())
			}
		}
	}
}

// CORE-51, TASK-64: a deadline that has lapsed when somebody attaches ends the
// task without a workspace or a model, unless the work was done by then.
func TestDeadlineAtEveryRecord(t *testing.T) {
	for k := range recordsOf(t) - 2 {
		name := fmt.Sprintf("deadline at record %d", k)
		l := everything(t)
		created := l.disk.entries[1].Event.(reducer.AgentCreated)
		created.DeadlineMS = 1 << 52
		l.disk.entries[1].Event = created
		l.disk.left = k
		_ = l.attach(t.Context()) // killed
		l.disk.left, l.nowMS = -1, 1<<53
		if err := l.attach(t.Context()); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, l.dump())
		}
		s := l.verified(name)
		failed := s.End.State == reducer.StateFailed && s.End.StoppedBy == reducer.BoundDeadline
		if !failed && s.End.State != reducer.StateSucceeded {
			t.Fatalf("%s: ended %+v, want failed by its deadline or succeeded\n%s", name, s.End, l.dump())
		}
	}
}

// FR-057, TASK-68: a signal at every record lets go in good order; the next
// attach comes to the same answer.
func TestFR057StopAtEveryRecord(t *testing.T) {
	for k := 3; k < recordsOf(t); k++ {
		name := fmt.Sprintf("signal at record %d", k)
		l := everything(t)
		l.seen = func(records int, stop func()) {
			if records >= k {
				stop()
			}
		}
		err := l.attach(t.Context())
		if _, stopped := errors.AsType[*Stop](err); err != nil && !stopped {
			t.Fatalf("%s: %v\n%s", name, err, l.dump())
		}
		if err != nil {
			last := l.journal()[len(l.journal())-1]
			if _, ok := last.Event.(reducer.AgentDetached); !ok {
				t.Fatalf("%s: the last record is %s, want agent.detached", name, reducer.Describe(last.Event))
			}
		}
		l.seen = nil
		if err := l.attach(t.Context()); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, l.dump())
		}
		if s := l.verified(name); s.End.State != reducer.StateSucceeded || s.End.Result.String() != "second answer" {
			t.Fatalf("%s: ended %+v, want the second answer\n%s", name, s.End, l.dump())
		}
	}
}
