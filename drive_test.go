package basis

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

// limited ends long before a test would.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// sound checks that a journal is whole and explains itself.
func sound(t testing.TB, h *Home, ref Ref) reducer.State {
	t.Helper()
	if rep, err := h.Check(ref); err != nil || rep.Err() != nil {
		t.Errorf("Check = %v, %v, want nothing found", rep.Err(), err)
	}
	base, err := h.Base(ref)
	if err != nil {
		t.Errorf("Base = %v, want what the history begins with", err)
	}
	r, err := replay.Verify(base, h.Entries(t.Context(), ref))
	if err != nil {
		t.Errorf("Verify = %v, want a history that explains itself", err)
	}
	return r.State
}

// ended is the terminal record of a task that must have come to its end.
func (h *Home) ended(t testing.TB, out Outcome, err error) projections.Terminal {
	t.Helper()
	if err != nil || !out.State.Ended() {
		t.Fatalf("outcome = %v, ended %v, want a task that has ended", err, out.State.Ended())
	}
	return h.Terminal(out)
}

// TASK-41, JRN-3, JRN-39: a task that has ended is answered from its
// journal as often as anybody asks; the copies beside it change nothing and are
// made good where they are gone.
func TestWaitIsRepeatable(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	out, err := h.Run(limited(t), asking(s, ws, "hi"), Drive{})
	want := h.ended(t, out, err)
	dir := h.AgentDir(out.Ref)
	terminal, err := os.ReadFile(filepath.Join(dir, projections.TerminalFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, remove := range [][]string{nil, {projections.TerminalFile}, {projections.MetaFile}, {projections.TerminalFile, projections.MetaFile}} {
		for _, name := range remove {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		again, err := h.Wait(limited(t), out.Ref, Drive{Started: func(Ref, reducer.State) { t.Error("Wait drives a task that has ended") }})
		if got := h.ended(t, again, err); !cmp.Equal(got, want) || again.Drove {
			t.Errorf("Wait = %+v, drove %v, want %+v", got, again.Drove, want)
		}
		if data, err := os.ReadFile(filepath.Join(dir, projections.TerminalFile)); err != nil || string(data) != string(terminal) {
			t.Errorf("terminal.json = %q, %v, want %q", data, err, terminal)
		}
		if _, err := os.Stat(filepath.Join(dir, projections.MetaFile)); err != nil {
			t.Errorf("meta.json: %v, want it there again", err)
		}
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	sound(t, h, out.Ref)
}

// FR-006: two processes drove one agent and interleaved its journal.
// TASK-46, TASK-61, TASK-84: the second waiter watches and gets the same answer; one
// request is sent and the journal counts on by one.
func TestFR006TwoWaitersOneExecutor(t *testing.T) {
	hold := make(chan struct{})
	s := providertest.Script(t, providertest.Step{Text: "hello", Hold: hold})
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make([]Outcome, 3)
	errs := make([]error, 3)
	var waiters sync.WaitGroup
	wait := func(i int) {
		waiters.Go(func() { outcomes[i], errs[i] = h.Wait(limited(t), ref, Drive{}) })
	}
	wait(0)
	if err := s.WaitFor(limited(t), 1); err != nil {
		t.Fatal(err)
	}
	wait(1)
	wait(2)
	if _, err := h.attach(ref, Drive{}); !errors.Is(err, ErrAttached) {
		t.Errorf("attach to a task that is driven = %v, want ErrAttached", err)
	}
	close(hold)
	waiters.Wait()
	drove := 0
	for i := range outcomes {
		if got := h.ended(t, outcomes[i], errs[i]); got.Result != "hello" {
			t.Errorf("waiter %d: %+v, want hello", i, got)
		}
		if outcomes[i].Drove {
			drove++
		}
	}
	if n := len(s.Requests()); drove != 1 || n != 1 {
		t.Errorf("%d drove, %d requests, want one of each", drove, n)
	}
	var last uint64
	for e, err := range h.Entries(t.Context(), ref) {
		if err != nil || e.Seq != last+1 {
			t.Fatalf("record %d after %d, %v, want them to count on", e.Seq, last, err)
		}
		last = e.Seq
	}
	sound(t, h, ref)
}

// TASK-60, TASK-61: a wait that is out of time says so and leaves the run alone.
func TestWaitTimesOut(t *testing.T) {
	hold := make(chan struct{})
	s := providertest.Script(t, providertest.Step{Text: "hello", Hold: hold})
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	var driver sync.WaitGroup
	driver.Go(func() {
		if out, err := h.Wait(limited(t), ref, Drive{}); err != nil || !out.Drove {
			t.Errorf("the driver: %v, drove %v", err, out.Drove)
		}
	})
	if err := s.WaitFor(limited(t), 1); err != nil {
		t.Fatal(err)
	}
	out, err := h.Wait(limited(t), ref, Drive{Timeout: time.Millisecond})
	if !errors.Is(err, ErrTimeout) || out.State.Ended() || out.State.Turn.ID == "" {
		t.Errorf("Wait = %v, turn %q, want ErrTimeout with the turn open", err, out.State.Turn.ID)
	}
	ctx, cancel := context.WithCancelCause(limited(t))
	cancel(errors.New("enough"))
	if _, err := h.Wait(ctx, ref, Drive{}); err == nil || err.Error() != "enough" {
		t.Errorf("Wait with an ended context = %v, want its cause", err)
	}
	close(hold)
	driver.Wait()
}

// slowModel answers everything after a while.
type slowModel struct{ takes time.Duration }

func (m slowModel) Stream(ctx context.Context, _ provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		select {
		case <-time.After(m.takes):
			yield(provider.Done{Answer: answer("at last")}, nil)
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
		}
	}
}

func (slowModel) Models(context.Context) ([]provider.ModelInfo, error) { return nil, nil }

// CLI-51, TASK-68: what a waiter has watched counts in its time: when it takes
// over, no turn begins after the end of the wait, be there some of it left or none.
func TestWaitCountsItsTimeOnce(t *testing.T) {
	for name, tt := range map[string]struct { // a turn takes 5 s of 9
		held  time.Duration // by somebody else
		turns int           // that the wait drives
	}{
		"some is left":   {6 * time.Second, 1},
		"little is left": {8850 * time.Millisecond, 1},
		"all of it":      {0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, ws := newHome(t, nil), newWorkspace(t)
				h.dial = func(provider.Choice, resolve.Options) (resolve.Model, error) { return slowModel{5 * time.Second}, nil }
				ref, err := h.Spawn(Spec{Workspace: ws, Prompt: "one", Options: reducer.Options{BaseURL: "http://127.0.0.1:1", Model: "m"}})
				if err != nil {
					t.Fatal(err)
				}
				leave(t, h, ref, "two")
				leave(t, h, ref, "three")
				other, err := lockFile(filepath.Join(h.agentDir(ref), journal.LockFile))
				if err != nil {
					t.Fatal(err)
				}
				if tt.held == 0 {
					other.release()
				} else {
					time.AfterFunc(tt.held, other.release)
				}
				_, err = h.Wait(t.Context(), ref, Drive{Timeout: 9 * time.Second})
				answered := len(slices.DeleteFunc(kinds(t, h, ref), func(kind string) bool { return kind != "model.answered" }))
				if s := sound(t, h, ref); !errors.Is(err, ErrTimeout) || answered != tt.turns || s.Ended() {
					t.Errorf("Wait = %v after %d turns, want ErrTimeout after %d", err, answered, tt.turns)
				}
			})
		})
	}
}

// TASK-45, TASK-64, TASK-113: a cancel that came while nobody was there ends the
// task at the next attach: no workspace, no model; and it can be asked for twice.
func TestCancelBeforeAnyAttach(t *testing.T) {
	s := providertest.Script(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if ok, err := h.Cancel(ref, "test"); !ok || err != nil {
			t.Fatalf("Cancel = %v, %v, want it accepted", ok, err)
		}
	}
	if state, err := h.State(ref); err != nil || state.Ended() {
		t.Errorf("State = ended %v, %v, want that nothing happens until somebody attaches", state.Ended(), err)
	}
	for range 2 {
		out, err := h.Wait(limited(t), ref, Drive{})
		if got := h.ended(t, out, err); got.State != "cancelled" || got.Exit() != 1 {
			t.Errorf("Wait = %+v, want cancelled", got)
		}
	}
	if ok, err := h.Cancel(ref, "test"); ok || err != nil {
		t.Errorf("Cancel of a task that has ended = %v, %v, want nothing to cancel", ok, err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	for e := range h.Entries(t.Context(), ref) {
		if _, opened := e.Event.(reducer.WorkspaceOpened); opened {
			t.Error("the workspace was opened")
		}
	}
	if left := files(t, filepath.Join(h.AgentDir(ref), "inbox")); len(left) > 0 {
		t.Errorf("left in the inbox: %q", left)
	}
	sound(t, h, ref)
}

// TASK-53, TASK-64, TASK-69: a deadline that lapsed before anybody attached fails
// the task without a request.
func TestDeadlineBeforeAnyAttach(t *testing.T) {
	s := providertest.Script(t)
	now := time.Now()
	h := openHome(t, Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, Now: func() time.Time { return now }})
	ref, err := h.Spawn(asking(s, newWorkspace(t), "hi"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(DefaultDeadline)
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.State != "failed" || got.StoppedBy != "deadline" || got.Exit() != 3 {
		t.Errorf("Wait = %+v, want it failed by its deadline", got)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	sound(t, h, ref)
}

// CORE-52, TASK-69: a deadline ends a request in flight.
func TestDeadlineInFlight(t *testing.T) {
	s := providertest.Script(t, providertest.Step{Hang: providertest.HangHeaders})
	h := newHome(t, nil)
	spec := asking(s, newWorkspace(t), "hi")
	spec.Deadline = 200 * time.Millisecond
	out, err := h.Run(limited(t), spec, Drive{})
	if got := h.ended(t, out, err); got.State != "failed" || got.StoppedBy != "deadline" {
		t.Errorf("Run = %+v, want it failed by its deadline", got)
	}
	sound(t, h, out.Ref)
}

// FR-030: the workspace was moved away between two attaches, and every command
// failed with words about something else. The task fails and names the place.
func TestFR030WorkspaceMovedAway(t *testing.T) {
	s := providertest.Script(t)
	h, ws := newHome(t, nil), filepath.Join(newWorkspace(t), "w")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ws, ws+"2"); err != nil {
		t.Fatal(err)
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.Exit() != 1 || !strings.Contains(got.Error, ws) {
		t.Errorf("Wait = %+v, want it failed by the workspace's name", got)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TASK-70, TASK-20: after each turn meta.json shows how the task stands, while
// it goes on.
func TestMetaIsKept(t *testing.T) {
	hold := make(chan struct{})
	s := providertest.Script(t, providertest.Text("one"), providertest.Step{Text: "two", Hold: hold, Usage: &providertest.Usage{Prompt: 20, Completion: 5}})
	h := newHome(t, nil)
	ref, err := h.Spawn(asking(s, newWorkspace(t), "hi"))
	if err != nil {
		t.Fatal(err)
	}
	leave(t, h, ref, "and?")
	var driver sync.WaitGroup
	driver.Go(func() {
		out, err := h.Wait(limited(t), ref, Drive{})
		h.ended(t, out, err)
	})
	if err := s.WaitFor(limited(t), 2); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"input_tokens":10,"output_tokens":5`, `"input_tokens":30,"output_tokens":10`} {
		data, err := os.ReadFile(filepath.Join(h.AgentDir(ref), projections.MetaFile))
		if err != nil || !strings.Contains(string(data), `"id":"`+ref.String()+`"`) || !strings.Contains(string(data), want) {
			t.Errorf("meta.json = %s, %v, want the handle and %s", data, err, want)
		}
		if want[len(want)-1] == '5' {
			close(hold)
			driver.Wait()
		}
	}
}

// TASK-73: where nobody can be asked the task is let go of, still
// resumable, and the same question is put to whoever comes next.
func TestUnaskableThenAsked(t *testing.T) {
	s := providertest.Script(t, providertest.CallTool("write", `{"path":"a","content":"x"}`), providertest.Text("done"))
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "hi")
	spec.Options.Approve = reducer.ApprovePrompt
	out, err := h.Run(limited(t), spec, Drive{})
	if !errors.Is(err, ErrUnaskable) || out.State.Ended() {
		t.Fatalf("Run = %v, ended %v, want ErrUnaskable", err, out.State.Ended())
	}
	last := lastEvent(t, h, out.Ref)
	if d, ok := last.(reducer.AgentDetached); !ok || d.Reason != "unaskable" {
		t.Errorf("the last record is %s, want agent.detached{unaskable}", reducer.Describe(last))
	}
	var asked []effects.Approval
	out, err = h.Wait(limited(t), out.Ref, Drive{Approver: approver(func(a effects.Approval) (effects.Verdict, error) {
		asked = append(asked, a)
		return effects.Verdict{Allow: true, By: "person"}, nil
	})})
	h.ended(t, out, err)
	if len(asked) != 1 || asked[0].Call != "r1.c1" || asked[0].Tool != "write" || asked[0].Summary == "" || asked[0].Class != reducer.ClassState {
		t.Errorf("asked %+v, want once about r1.c1", asked)
	}
	if data, err := os.ReadFile(filepath.Join(ws, "a")); err != nil || string(data) != "x" {
		t.Errorf("a = %q, %v, want what was allowed", data, err)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want 2: the first answer was not asked for again", n)
	}
	sound(t, h, out.Ref)
}

// approver answers with a function.
type approver func(effects.Approval) (effects.Verdict, error)

func (f approver) Review(_ context.Context, a effects.Approval) (effects.Verdict, error) { return f(a) }

func lastEvent(t testing.TB, h *Home, ref Ref) reducer.Event {
	t.Helper()
	var last reducer.Event
	for e, err := range h.Entries(t.Context(), ref) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Event
	}
	return last
}

// JRN-20: a journal that a newer program has written is read, listed and
// watched, and not gone on with; the error names that program.
func TestNewerJournal(t *testing.T) {
	for name, draft := range map[string]journal.Draft{
		"an unknown event": {Type: "new.kind", Data: []byte(`{}`)},
		"newer rules":      {Type: "agent.attached", Data: []byte(`{"gen":2,"rules":99,"program":"basis 9.9"}`), NextGen: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t)
			h, ws := newHome(t, nil), newWorkspace(t)
			ref, err := h.Spawn(asking(s, ws, "hi"))
			if err != nil {
				t.Fatal(err)
			}
			attach := journal.Draft{Type: "agent.attached", Data: []byte(`{"gen":2,"rules":1,"program":"basis 9.9"}`), NextGen: true}
			w, _, err := journal.Open(h.AgentDir(ref), journal.Options{}, func(journal.Recovery) ([]journal.Draft, error) {
				return []journal.Draft{attach, draft}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(h.AgentDir(ref), journal.JournalFile))
			_, err = h.Wait(limited(t), ref, Drive{})
			if newer, ok := errors.AsType[*NewerError](err); !ok || newer.Program != "basis 9.9" || !strings.Contains(err.Error(), "basis 9.9") {
				t.Errorf("Wait = %v, want it refused naming basis 9.9", err)
			}
			after, _ := os.ReadFile(filepath.Join(h.AgentDir(ref), journal.JournalFile))
			if string(before) != string(after) {
				t.Error("the journal was changed")
			}
			if rows, err := h.List(ws); err != nil || len(rows) != 1 || rows[0].State != "resumable" || rows[0].Prompt != "hi" {
				t.Errorf("List = %+v, %v, want it listed", rows, err)
			}
			seen := 0
			ctx, cancel := context.WithCancel(limited(t))
			defer cancel()
			for u, err := range h.Watch(ctx, ref) {
				if err != nil {
					t.Fatal(err)
				}
				if !u.Live {
					seen++
				}
				if seen == 4 {
					cancel()
				}
			}
			if seen != 4 {
				t.Errorf("Watch gave %d records, want 4", seen)
			}
			if ok, err := h.Cancel(ref, "test"); !ok || err != nil {
				t.Errorf("Cancel = %v, %v, want it left for a program that can", ok, err)
			}
		})
	}
}

// TASK-16: a handle that names nothing says so.
func TestNoSuchTask(t *testing.T) {
	h := newHome(t, nil)
	ref := Ref{Key: strings.Repeat("0", 16), ID: strings.Repeat("0", 32)}
	_, waited := h.Wait(limited(t), ref, Drive{})
	_, cancelled := h.Cancel(ref, "test")
	_, folded := h.State(ref)
	_, checked := h.Check(ref)
	for what, err := range map[string]error{"Wait": waited, "Cancel": cancelled, "State": folded, "Check": checked} {
		if !errors.Is(err, ErrNoTask) || !strings.Contains(err.Error(), ref.String()) {
			t.Errorf("%s = %v, want ErrNoTask by name", what, err)
		}
	}
	if left := files(t, h.Dir()); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TASK-63: the conversation's lock comes before the agent's; who is refused by
// either leaves both free.
func TestLockOrder(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{h.conversationLock(ref.Key, ref.ID), filepath.Join(h.AgentDir(ref), journal.LockFile)}
	for i, path := range paths {
		held, err := lockFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.attach(ref, Drive{}); !errors.Is(err, ErrAttached) {
			t.Errorf("attach with %s held = %v, want ErrAttached", filepath.Base(path), err)
		}
		other, err := lockFile(paths[1-i])
		if err != nil {
			t.Errorf("%s is still held after the refusal: %v", filepath.Base(paths[1-i]), err)
		}
		other.release()
		held.release()
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	h.ended(t, out, err)
	// An answer can be read whoever goes on with the conversation.
	held, err := lockFile(paths[0])
	if err != nil {
		t.Fatalf("the conversation is still locked: %v", err)
	}
	defer held.release()
	out, err = h.Wait(limited(t), ref, Drive{})
	h.ended(t, out, err)
}

// kinds are the kinds of a journal's records.
func kinds(t testing.TB, h *Home, ref Ref) []string {
	t.Helper()
	var all []string
	for e, err := range h.Entries(t.Context(), ref) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reducer.KindOf(e.Event))
	}
	return all
}

// TASK-82, TASK-69, TASK-90: messages wait their turn, one turn each in the
// order of arrival, and the task ends with the last answer.
func TestMessagesTakeTurns(t *testing.T) {
	s := providertest.Script(t, providertest.Text("one"), providertest.Text("two"), providertest.Text("three"))
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "first"))
	if err != nil {
		t.Fatal(err)
	}
	leave(t, h, ref, "second")
	leave(t, h, ref, "third")
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.Result != "three" {
		t.Errorf("Wait = %+v, want the last answer", got)
	}
	var asked []string
	for _, m := range s.Requests()[2].Messages() {
		asked = append(asked, m.Role+" "+m.Text)
	}
	if want := []string{"user first", "assistant one", "user second", "assistant two", "user third"}; !slices.Equal(asked, want) {
		t.Errorf("the last request holds %q, want %q", asked, want)
	}
	sound(t, h, ref)
}

// leave drops a message as another process would.
func leave(t testing.TB, h *Home, ref Ref, text string) {
	t.Helper()
	spool := newSpoolDir(h.agentDir(ref))
	unlock, err := spool.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	parts := []reducer.Part{{Type: reducer.PartText, Text: reducer.T(text)}}
	if err := spool.drop(randomID(), spoolMessage, reducer.MessageReceived{Parts: parts}); err != nil {
		t.Fatal(err)
	}
}
