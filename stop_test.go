package basis

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// running is a run whose command has begun: its output has reached the sink.
type running struct {
	began chan Ref
	drive Drive
}

func newRunning() *running {
	r := &running{began: make(chan Ref, 1)}
	var ref Ref
	r.drive = Drive{
		Started: func(started Ref, _ reducer.State) { ref = started },
		Sink: func(u Update) {
			if u.Live && u.Progress.Kind == reducer.ProgressOutput && strings.Contains(u.Progress.Text, "began") {
				select {
				case r.began <- ref:
				default:
				}
			}
		},
	}
	return r
}

// longCommand notes its process group and then sleeps for longer than any test.
const longCommand = `{"input":"!echo $$ > pid; echo began; sleep 300 & sleep 300"}`

// TASK-45, FR-072: a cancel only counted at the next boundary, minutes later. It
// reaches a running command, whose whole process group is gone when the run is over.
func TestFR072CancelReachesARunningCommand(t *testing.T) {
	s := providertest.Script(t, providertest.Step{Calls: []providertest.Call{{Name: "spawn", Args: longCommand}, {Name: "write", Args: `{"path":"never","content":"x"}`}}})
	h, ws := newHome(t, nil), newWorkspace(t)
	r := newRunning()
	var driver sync.WaitGroup
	driver.Go(func() {
		out, err := h.Run(limited(t), asking(s, ws, "hi"), r.drive)
		if got := h.ended(t, out, err); got.State != "cancelled" {
			t.Errorf("Run = %+v, want cancelled", got)
		}
	})
	ref := <-r.began
	if ok, err := h.Cancel(ref, "test"); !ok || err != nil {
		t.Errorf("Cancel = %v, %v, want it accepted", ok, err)
	}
	driver.Wait()
	gone(t, filepath.Join(ws, "pid"))
	if _, err := os.Stat(filepath.Join(ws, "never")); !os.IsNotExist(err) {
		t.Errorf("Stat(never) = %v, want the next call not run", err)
	}
	results := map[string]string{}
	for e := range h.Entries(t.Context(), ref) {
		switch e := e.Event.(type) {
		case reducer.CallSettled:
			results[e.Call] = string(e.Outcome) + " " + e.Output.String()
		case reducer.CallRefused:
			results[e.Call] = "refused " + e.Code
		default:
		}
	}
	if !strings.HasPrefix(results["r1.c1"], "cancelled") || !strings.Contains(results["r1.c1"], "began") || results["r1.c2"] != "refused cancelled" {
		t.Errorf("results = %q, want r1.c1 cancelled with its output and r1.c2 refused", results)
	}
	sound(t, h, ref)
}

// FR-057, TASK-68: a signal left commands running and the journal torn. It ends
// the command with its group, is recorded, and the task goes on later without
// running the command again.
func TestFR057SignalLetsGo(t *testing.T) {
	s := providertest.Script(t, providertest.CallTool("spawn", longCommand), providertest.Text("went on"))
	h, ws := newHome(t, nil), newWorkspace(t)
	r := newRunning()
	ctx, cancel := context.WithCancelCause(limited(t))
	var driver sync.WaitGroup
	driver.Go(func() {
		_, err := h.Run(ctx, asking(s, ws, "hi"), r.drive)
		stop, ok := errors.AsType[*Stop](err)
		if !ok || stop.Reason != "signal" || stop.Detail != "terminated" || err.Error() != "detached: signal (terminated)" {
			t.Errorf("Run = %v, want it stopped by the signal", err)
		}
	})
	ref := <-r.began
	cancel(&Stop{Reason: "signal", Detail: "terminated"})
	driver.Wait()
	gone(t, filepath.Join(ws, "pid"))
	all := kinds(t, h, ref)
	if got := strings.Join(all[len(all)-3:], " "); got != "call.settled round.started agent.detached" {
		t.Errorf("the journal ends with %q, want the call settled and the run let go of", got)
	}
	if h.Held(ref) {
		t.Error("the task is still held")
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.Result != "went on" {
		t.Errorf("Wait = %+v, want it to go on", got)
	}
	last := s.Requests()[1].Last()
	if last.Role != "tool" || !strings.Contains(last.Text, "interrupted") || !strings.Contains(last.Text, "began") {
		t.Errorf("the model read %+v, want that the call was interrupted, and its output", last)
	}
	sound(t, h, ref)
}

// FR-057, TASK-74 (decision 52): an answer to a question that comes together with a stop
// begins nothing: it is not recorded, the question is put again, and no call is reported
// as possibly done that nobody ran.
func TestStopDropsWhatWouldBeginACall(t *testing.T) {
	l := task(t, reducer.ApprovePrompt, answer("", call("edit", `{"y":1}`)), answer("done"))
	l.asked = silent{}
	l.seen = func(int, func()) {
		all := l.journal()
		if _, asked := all[len(all)-1].Event.(reducer.ApprovalRequested); asked {
			l.run.send(arrival{events: []reducer.Event{reducer.ApprovalAnswered{Call: "r1.c1", Allow: true, Scope: "once"}}})
			l.run.send(arrival{stop: &Stop{Reason: "signal", Detail: "interrupt"}})
		}
	}
	err := l.attach(t.Context())
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" {
		t.Fatalf("attach = %v, want the signal's stop\n%s", err, l.dump())
	}
	if c, _ := l.verified("stopped").Call("r1.c1"); c.Phase != reducer.PhaseAsked {
		t.Errorf("the call is %s, want it asked about still\n%s", c.Phase, l.dump())
	}
	l.seen, l.asked = nil, nil
	if err := l.attach(t.Context()); err != nil || l.verified("gone on").End.State != reducer.StateSucceeded || l.marks.count["r1.c1"] != 1 {
		t.Errorf("the next attach: %v, ran %d times, want it asked again and run once\n%s", err, l.marks.count["r1.c1"], l.dump())
	}
}

// FR-057 (decision 52): what ends while the run lets go is recorded, but the call behind it
// is not even reviewed: it would be recorded as started and never run.
func TestStopBeginsNoFurtherCall(t *testing.T) {
	l := task(t, reducer.ApproveAlways, answer("", call("edit", `{"y":1}`), call("edit", `{"y":2}`)), answer("done"))
	l.seen = func(int, func()) {
		all := l.journal()
		if c, started := all[len(all)-1].Event.(reducer.CallStarted); started && c.Call == "r1.c1" {
			l.run.send(arrival{stop: &Stop{Reason: "signal", Detail: "interrupt"}})
		}
	}
	err := l.attach(t.Context())
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" {
		t.Fatalf("attach = %v, want the signal's stop\n%s", err, l.dump())
	}
	s := l.verified("stopped")
	first, _ := s.Call("r1.c1")
	if second, _ := s.Call("r1.c2"); first.Phase != reducer.PhaseSettled || second.Phase != reducer.PhaseWaiting {
		t.Errorf("the calls are %s and %s, want the first settled and the second as it was\n%s", first.Phase, second.Phase, l.dump())
	}
	l.seen = nil
	if err := l.attach(t.Context()); err != nil || l.verified("gone on").End.State != reducer.StateSucceeded || l.marks.count["r1.c2"] != 1 {
		t.Errorf("the next attach: %v, ran %d times, want the second call run once\n%s", err, l.marks.count["r1.c2"], l.dump())
	}
}

// TASK-68: a run whose waiter is out of time finishes its turn; with another
// turn due it lets go, with nothing left to do it ends.
func TestYield(t *testing.T) {
	for _, more := range []bool{false, true} {
		l := task(t, reducer.ApproveAlways, work(), answer("first answer"), answer("second answer"))
		if more {
			l.inbox.files = everything(t).inbox.files
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		l.seen = func(records int, _ func()) {
			if records > 6 {
				cancel(&Stop{Reason: "yield", Yield: true})
			}
		}
		err := l.attach(ctx)
		s := l.verified("yield")
		stop, stopped := errors.AsType[*Stop](err)
		switch {
		case more && (!stopped || stop.Reason != "yield" || s.Ended() || s.Last.Result.String() != "first answer" || s.Turn.ID != "t2"):
			t.Errorf("with a message: %v, ended %v, last %+v, want it to let go after the first answer", err, s.Ended(), s.Last)
		case !more && (err != nil || s.End.Result.String() != "first answer"):
			t.Errorf("without one: %v, %+v, want it to end", err, s.End)
		}
		if !more {
			continue
		}
		l.seen = nil
		if err := l.attach(t.Context()); err != nil || l.verified("after a yield").End.Result.String() != "second answer" {
			t.Errorf("the next attach: %v\n%s", err, l.dump())
		}
	}
}

// CLI-51, TASK-68: the wait is over and a turn is still in flight: a signal
// ends it like any other run.
func TestSignalAfterAYield(t *testing.T) {
	l := task(t, reducer.ApproveAlways, work(), answer("never"))
	ctx, cancel := context.WithCancelCause(t.Context())
	l.seen = func(records int, _ func()) {
		if records > 6 {
			l.run.stopFor(&Stop{Reason: "yield", Yield: true})
			cancel(&Stop{Reason: "signal", Detail: "interrupt"})
		}
	}
	err := l.attach(ctx)
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" || l.verified("signal").Ended() {
		t.Errorf("attach = %v, want the signal's stop", err)
	}
}

// TASK-68: who has no time at all begins no turn.
func TestYieldBeforeATurn(t *testing.T) {
	l := task(t, reducer.ApproveAlways, answer("never"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&Stop{Reason: "yield", Yield: true})
	err := l.attach(ctx)
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "yield" {
		t.Errorf("attach = %v, want a yield", err)
	}
	if s := l.verified("yield"); s.Turn.ID != "" || s.Ended() {
		t.Errorf("turn %q, ended %v, want neither", s.Turn.ID, s.Ended())
	}
}
