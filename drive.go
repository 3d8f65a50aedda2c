package basis

import (
	"context"
	"errors"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// Drive says how this process drives or watches a task.
type Drive struct {
	// Approver answers for calls that must be asked about. Nil means that
	// nobody can be asked: such a task is let go of, still resumable.
	Approver effects.Approver

	// AnswerWithin denies a call that the approver has not answered about for so
	// long. 0 waits.
	AnswerWithin time.Duration

	// Sink is told everything that is recorded or streamed while this process
	// drives. It may be slow and it is called from one goroutine.
	Sink Sink

	// Started is called once the task is this process's to drive, with the state
	// that the first entry for Sink goes on from.
	Started func(ref Ref, from reducer.State)

	// Warn takes one line about something that went wrong and was dealt with.
	Warn func(string)

	// Tools are the host's own, for this task and its subagents while this
	// process drives them; nobody else has them.
	Tools []effects.Tool

	// Timeout bounds the wait: no new turn begins after it. 0 is no bound.
	Timeout time.Duration
}

// Outcome is how a task stands when a wait for it returns.
type Outcome struct {
	Ref   Ref
	State reducer.State // Ended unless the error says why not
	Drove bool          // this process did the last of the work
}

// Terminal is what the task came to, as scripts read it; Seq and Head are in the
// file beside the journal only.
func (h *Home) Terminal(o Outcome) projections.Terminal {
	return projections.TerminalOf(o.State, h.blobs(o.Ref).Get)
}

// Answer is the task's whole result. If it is kept in a blob that can't be read,
// the error says why, and the text is its head and its tail.
func (h *Home) Answer(o Outcome) (string, error) {
	return projections.Whole(o.State.End.Result, h.Load(o.Ref))
}

// Run makes a task and drives it to its end. That a task fails is no error: its
// State.End says how it ended and what it answered. The error is a *[Stop] if the
// run let go of it, [ErrTimeout] if the wait ended first.
func (h *Home) Run(ctx context.Context, spec Spec, d Drive) (Outcome, error) {
	a, err := h.begin(spec, d)
	if err != nil {
		return Outcome{}, err
	}
	return h.finish(ctx, a, d)
}

// Wait brings a task to its end: it drives it if nobody does, else it watches.
// A task that has ended is answered from its journal; nothing runs again.
func (h *Home) Wait(ctx context.Context, ref Ref, d Drive) (Outcome, error) {
	if err := h.exists(ref); err != nil {
		return Outcome{Ref: ref}, err
	}
	var timeout <-chan time.Time
	end := time.Now().Add(d.Timeout)
	if d.Timeout > 0 {
		t := time.NewTimer(d.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	if ref.Sub != "" {
		return h.waitForSubagent(ctx, ref, timeout)
	}
	for {
		a, err := h.attach(ref, d)
		if err == nil {
			if d.Timeout > 0 {
				d.Timeout = max(time.Until(end), 1) // what the watching has left of it
			}
			return h.finish(ctx, a, d)
		}
		all, ended, damage := h.endOf(ref, err)
		switch {
		case ended:
			return h.settled(ref, all), nil
		case damage != nil:
			return Outcome{Ref: ref}, damage
		}
		if !errors.Is(err, ErrAttached) {
			return Outcome{Ref: ref}, err
		}
		s, err := h.watchUntilFree(ctx, ref, timeout)
		if err != nil {
			return Outcome{Ref: ref, State: s}, err
		}
	}
}

// waitForSubagent waits for the end of a subagent, which only its task drives.
func (h *Home) waitForSubagent(ctx context.Context, ref Ref, timeout <-chan time.Time) (Outcome, error) {
	for {
		driven := h.Held(ref.Task())
		all, over, err := h.endOf(ref, nil)
		out := Outcome{Ref: ref, State: all.state}
		switch {
		case over || err != nil:
			return out, err
		case !driven:
			return out, &TaskError{Ref: ref, Err: ErrSubagent}
		}
		if _, err := h.watchUntilFree(ctx, ref, timeout); err != nil {
			return out, err
		}
	}
}

// retryTick is how often a waiting process looks whether a task is free.
const retryTick = 100 * time.Millisecond

// watchUntilFree waits while somebody else drives the task: until it ends, or
// its lock is free.
func (h *Home) watchUntilFree(ctx context.Context, ref Ref, timeout <-chan time.Time) (reducer.State, error) {
	tick := time.NewTicker(retryTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			held, err := journal.Held(h.agentDir(ref))
			if err != nil || !held {
				return reducer.State{}, err
			}
		case <-timeout:
			s, err := h.State(ref)
			return s, errors.Join(ErrTimeout, err)
		case <-ctx.Done():
			return reducer.State{}, context.Cause(ctx)
		}
	}
}

// finish drives what this process holds, leaves the files that others read and
// lets go.
func (h *Home) finish(ctx context.Context, a *attachment, d Drive) (Outcome, error) {
	if d.Started != nil {
		d.Started(a.ref, a.from)
	}
	h.keepBallast()
	streaming := newLive(a.writer.Dir())
	a.run.tap = func(u Update) { streaming.push(u); h.keepMeta(a, u) }
	if d.Sink != nil {
		f := newFeed(d.Sink, a.run.store.read)
		defer f.close()
		a.run.tap = func(u Update) { f.push(u); streaming.push(u); h.keepMeta(a, u) }
	}
	if d.Timeout > 0 {
		timer := time.AfterFunc(d.Timeout, func() {
			a.run.send(arrival{stop: &Stop{Reason: "yield", Yield: true}})
		})
		defer timer.Stop()
	}
	err := a.drive(ctx)
	streaming.close()
	out := Outcome{Ref: a.ref, State: a.run.state, Drove: true}
	if stop, ok := errors.AsType[*Stop](err); ok && stop.Reason == "yield" {
		err = ErrTimeout
	}
	if errors.Is(err, ErrDiskFull) {
		return out, h.suspend(a, err)
	}
	if e := h.leaveFiles(a, err); e != nil {
		d.warn("the files beside the journal could not be written: " + e.Error())
	}
	return out, errors.Join(err, a.release())
}

// leaveFiles writes the files that people and scripts read. They are derived:
// losing one changes nothing.
func (h *Home) leaveFiles(a *attachment, cause error) error {
	if errors.Is(cause, journal.ErrFailed) {
		return nil // a disk that fails is left alone
	}
	dir, s := a.writer.Dir(), a.run.state
	err := h.writeMeta(a)
	if s.Ended() {
		t := projections.TerminalOf(s, h.blobs(a.ref).Get)
		t.Seq, t.Head = a.writer.Head().Seq, a.writer.Head().Link
		err = errors.Join(err, projections.WriteTerminal(dir, t))
	}
	return err
}

// keepMeta renews meta.json where something has changed that it shows. The
// last word is leaveFiles'.
func (h *Home) keepMeta(a *attachment, u Update) {
	switch u.Entry.Event.(type) {
	case reducer.AgentAttached, reducer.MessageReceived, reducer.TurnEnded:
		_ = h.writeMeta(a) // written again at the end, where a failure is told
	default:
	}
}

func (h *Home) writeMeta(a *attachment) error {
	about := a.about
	about.Updated = h.o.Now()
	return projections.WriteMeta(a.writer.Dir(), a.ref.String(), about, a.run.state)
}

func (d Drive) warn(line string) {
	if d.Warn != nil {
		d.Warn(line)
	}
}

// Held reports whether some process drives the task now.
func (h *Home) Held(ref Ref) bool {
	held, err := journal.Held(h.agentDir(ref))
	return err == nil && held
}
