package basis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/reducer"
)

// reconcile makes what runs match what is owed: it starts what is open, stops
// what is unwanted or no longer open, and answers for what is unwanted and was
// never started.
func (r *run) reconcile(ctx context.Context) error {
	for {
		if err := r.closeInbox(); err != nil {
			return err
		}
		owed := r.state.Open()
		var unrun []arrival
		for _, f := range owed {
			answer, err := r.match(ctx, f)
			if err != nil {
				return err
			}
			if answer != nil {
				unrun = append(unrun, arrival{events: answer})
			}
		}
		r.endOthers(owed)
		if len(unrun) == 0 {
			return nil
		}
		if err := r.step(unrun); err != nil {
			return err
		}
	}
}

// match brings one effect's job in line. What it returns is to be recorded for
// an effect that was unwanted before it was started.
func (r *run) match(ctx context.Context, f reducer.Effect) ([]reducer.Event, error) {
	if child, ok := f.(reducer.DriveChild); ok {
		return nil, r.matchChild(child)
	}
	cause := reducer.Unwanted(f)
	switch j := r.jobs[reducer.EffectID(f)]; {
	case cause != "" && j == nil:
		return notRun(f, cause), nil
	case cause != "":
		j.end(effects.Unwanted(cause))
	case j == nil && r.stop == nil:
		if e, over := r.member.overspent(f); over {
			return []reducer.Event{e}, nil
		}
		r.launch(ctx, f)
	}
	return nil, nil
}

// endOthers stops the jobs of effects that are no longer owed.
func (r *run) endOthers(owed []reducer.Effect) {
	for id, j := range r.jobs {
		if !slices.ContainsFunc(owed, func(f reducer.Effect) bool { return reducer.EffectID(f) == id }) {
			j.end(effects.Unwanted("superseded"))
		}
	}
}

func (j *job) end(cause error) {
	lettingGo := errors.Is(cause, effects.ErrStopped)
	if j.told == nil || j.child && lettingGo && !errors.Is(j.told, effects.ErrStopped) {
		j.told = cause
		j.cancel(cause)
	}
}

// endJobs ends everything that runs.
func (r *run) endJobs(cause error) {
	for _, j := range r.jobs {
		j.end(cause)
	}
}

// notRun is what an effect reports that was unwanted before it was started.
func notRun(f reducer.Effect, cause string) []reducer.Event {
	switch f := f.(type) {
	case reducer.CallModel:
		return []reducer.Event{reducer.RoundFailed{Round: f.Round, Kind: cause}}
	case reducer.RunCall:
		return []reducer.Event{reducer.CallSettled{Call: f.Call, Outcome: reducer.OutcomeCancelled, Reason: "not run"}}
	case reducer.RunPostHooks:
		return []reducer.Event{reducer.HookAnswered{Call: f.Call, Event: "post", Last: true, Withheld: true}}
	case reducer.AwaitDeadline, reducer.OpenWorkspace, reducer.ReviewCall, reducer.Ask, reducer.DriveChild, reducer.CloseInbox:
	}
	return nil
}

// launch starts an effect. What needs the run's own clock or locks is done here.
func (r *run) launch(ctx context.Context, f reducer.Effect) {
	switch f := f.(type) {
	case reducer.CloseInbox, reducer.DriveChild:
		// closed before anything is launched, because that may begin another turn;
		// and a child is driven in a way of its own
	case reducer.Ask:
		if !r.askable {
			r.stop = &Stop{Reason: "unaskable", Detail: "nobody can be asked about " + f.Call + " here"}
			return
		}
		r.start(ctx, f, false)
	case reducer.AwaitDeadline:
		r.start(ctx, f, false)
	case reducer.RunCall:
		c, _ := r.state.Call(f.Call)
		r.start(ctx, f, c.Class != reducer.ClassNone)
	case reducer.OpenWorkspace, reducer.CallModel, reducer.ReviewCall, reducer.RunPostHooks:
		r.start(ctx, f, false)
	}
}

// start performs an effect in a goroutine of its own, as it is owed now.
func (r *run) start(ctx context.Context, f reducer.Effect, settles bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	id, state := reducer.EffectID(f), r.state
	r.jobs[id] = &job{cancel: cancel, settles: settles}
	r.workers.Go(func() {
		defer cancel(nil)
		out := outlet{run: r}
		if d, ok := f.(reducer.AwaitDeadline); ok {
			r.awaitDeadline(ctx, d, out)
		} else {
			r.performer.Perform(ctx, state, f, out)
		}
		r.send(arrival{done: id})
	})
}

func (r *run) awaitDeadline(ctx context.Context, d reducer.AwaitDeadline, out outlet) {
	at := time.UnixMilli(d.AtMS)
	timer := time.NewTimer(at.Sub(r.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		out.Report(reducer.BoundPassed{Bound: reducer.BoundDeadline, By: "clock", Limit: d.AtMS})
	case <-ctx.Done():
	}
}

// send hands an arrival to the loop. Once the loop has returned nobody takes
// it, and nobody needs it: what was not recorded is owed again.
func (r *run) send(a arrival) {
	select {
	case r.arrivals <- a:
	case <-r.gone:
	}
}

// outlet is where a job's reports go.
type outlet struct{ run *run }

// Report sends observations that belong together.
func (o outlet) Report(events ...reducer.Event) { o.run.send(arrival{events: events}) }

// Progress sends what is streaming now.
func (o outlet) Progress(p reducer.Progress) { o.run.send(arrival{progress: &p}) }

// closeInbox ends the intake where that is owed: under the inbox's lock, what
// is there is taken in, and if nothing is, the closing is recorded with the end
// of the task.
func (r *run) closeInbox() error {
	if r.stop != nil || !r.owesClosing() {
		return nil
	}
	unlock, err := r.inbox.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for {
		left, err := r.inbox.sweep()
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return r.step([]arrival{{events: []reducer.Event{reducer.InboxClosed{}}}})
		}
		if err := r.step(left); err != nil {
			return err
		}
		if !r.owesClosing() {
			return nil
		}
	}
}

func (r *run) owesClosing() bool {
	return slices.Contains(r.state.Open(), reducer.Effect(reducer.CloseInbox{}))
}

// letGo detaches in good order: it launches nothing, waits a moment for calls
// and children to say how far they came, and says why it left.
func (r *run) letGo() error {
	r.endJobs(effects.ErrStopped)
	timer := time.NewTimer(stopGrace >> min(r.member.depth(), 2)) // children detach first
	defer timer.Stop()
	for r.settling() && !r.state.Ended() {
		select {
		case a := <-r.arrivals:
			if err := r.step(r.drain([]arrival{a})); err != nil {
				return err
			}
		case <-timer.C:
			return errors.Join(r.detach(), r.stop)
		}
	}
	if r.state.Ended() {
		return nil
	}
	return errors.Join(r.detach(), r.stop)
}

// settling reports whether a job is left whose outcome is worth waiting for.
func (r *run) settling() bool {
	for _, j := range r.jobs {
		if j.settles {
			return true
		}
	}
	return false
}

func (r *run) detach() error {
	f := fold{r: r, state: r.state}
	f.record(reducer.AgentDetached{Reason: r.stop.Reason, Detail: r.stop.Detail})
	return r.commit(&f)
}
