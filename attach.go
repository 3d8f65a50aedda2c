package basis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// errEnded says that there is nothing to attach to any more.
var errEnded = errors.New("the task has ended")

// endedError is errEnded with what the attach found. A last record that lacks
// the end of its line counts here, and not yet for readers.
type endedError struct{ all history }

func (e *endedError) Error() string { return errEnded.Error() }

func (e *endedError) Unwrap() error { return errEnded }

// attachment is an agent that this process holds.
type attachment struct {
	run          *run
	ref          Ref
	writer       *journal.Writer
	conversation *fileLock
	from         reducer.State   // before the attach
	first        []reducer.Entry // what the attach recorded
	about        projections.About
}

// attach takes the agent's locks, folds what is there and records the attach
// with everything that is due. It fails with [ErrAttached] if somebody else
// has it, and with errEnded if there is nothing left to do.
func (h *Home) attach(ref Ref, d Drive) (*attachment, error) {
	if err := h.exists(ref); err != nil {
		return nil, err
	}
	created, err := h.created(ref)
	if err != nil {
		return nil, err
	}
	conversation, err := lockFile(h.conversationLock(ref.Key, created.Conversation))
	if err != nil {
		return nil, err
	}
	a, err := h.take(ref, newSpoolDir(h.agentDir(ref)), nil)
	if err != nil {
		conversation.release()
		return nil, err
	}
	a.conversation = conversation
	h.plant(a, d)
	return a, nil
}

// take takes the agent's own lock, folds what is there and records the attach
// with everything that is due: what is in the inbox, and what the caller knows of.
func (h *Home) take(ref Ref, inbox spool, due []arrival) (*attachment, error) {
	dir := h.agentDir(ref)
	base, unfounded := strictBase(dir)
	if isNewer(unfounded) {
		return nil, &TaskError{Ref: ref, Err: unfounded}
	}
	r := newRun(inbox, h.o.Now)
	f := &fold{r: r, state: base, unfounded: unfounded}
	o := h.journalOptions(ref.ID)
	o.Anchors = anchors(dir)
	w, _, err := journal.Open(dir, o, func(rec journal.Recovery) ([]journal.Draft, error) {
		if err := f.resume(projections.Entries(rec.Records()), due, h.o.Now().UnixMilli()); err != nil {
			return nil, err
		}
		return projections.Drafts(f.events...)
	})
	if err != nil {
		if errors.Is(err, journal.ErrLocked) {
			err = ErrAttached
		}
		if unfounded != nil && errors.Is(err, unfounded) {
			err = &TaskError{Ref: ref, Err: err}
		}
		return nil, err
	}
	a := &attachment{run: r, ref: ref, writer: w, from: f.from, about: f.about}
	if err := a.adopt(w, f); err != nil {
		return nil, errors.Join(err, a.release())
	}
	for _, recorded := range f.taken {
		recorded()
	}
	return a, nil
}

// adopt takes over the state that the attach recorded.
func (a *attachment) adopt(w *journal.Writer, f *fold) error {
	a.run.state = f.state
	a.run.store = &fileStore{dir: w.Dir(), w: w}
	for _, rec := range w.First() {
		e, err := projections.Entry(rec)
		if err != nil {
			return err
		}
		a.first = append(a.first, e)
	}
	return nil
}

// resume folds what is recorded and gathers the attach commit: the attach, what
// the rules make of it, and what is due from outside, the inbox first.
func (f *fold) resume(recorded iter.Seq2[reducer.Entry, error], due []arrival, nowMS int64) error {
	if err := f.replay(recorded); err != nil {
		return err
	}
	spooled, err := f.r.inbox.sweep()
	if err != nil {
		return err
	}
	f.from = f.state
	f.attach(append(spooled, due...), nowMS)
	if s := f.state; f.unfounded != nil && !s.Cancelled && !s.Failed && !s.Ended() {
		return f.unfounded // whatever is to end asks no model, and needs no conversation
	}
	return nil
}

// replay folds what the journal holds, and says why it must not be gone on with.
func (f *fold) replay(recorded iter.Seq2[reducer.Entry, error]) error {
	all := history{state: f.state, unfounded: f.unfounded != nil}
	for e, err := range recorded {
		if err != nil {
			return newerKind(all.state.Program, err)
		}
		all.add(e)
	}
	f.state, f.about = all.state, all.about
	switch {
	case f.state.Ended():
		return &endedError{all}
	case f.state.Rules > reducer.RulesVersion:
		return &NewerError{Program: f.state.Program, Detail: fmt.Sprintf("rules version %d", f.state.Rules)}
	}
	return nil
}

// attach records the attach, what the rules make of it, and what is due from
// outside: all of it is one commit, before anything is started.
func (f *fold) attach(due []arrival, nowMS int64) {
	f.record(attached(f.state.Gen + 1))
	f.decide()
	for _, a := range due {
		f.observe(a.events)
		f.taken = append(f.taken, a.recorded)
	}
	if d := f.state.DeadlineMS; d != 0 && nowMS >= d {
		f.observe([]reducer.Event{reducer.BoundPassed{Bound: reducer.BoundDeadline, By: "clock", Limit: d}})
	}
}

func attached(gen uint64) reducer.AgentAttached {
	host, _ := os.Hostname()
	return reducer.AgentAttached{Gen: max(gen, 2), Rules: reducer.RulesVersion, Program: "basis " + Version, PID: os.Getpid(), Host: host}
}

// begin makes a task that this process holds from its first moment.
func (h *Home) begin(spec Spec, d Drive) (*attachment, error) {
	m, err := h.mint(spec)
	if err != nil {
		return nil, err
	}
	h.sweepTemporary(h.agentsDir(m.ref.Key))
	a, err := h.hold(m.ref, h.temporaryDir(m.ref), m.created, m.base, newSpoolDir(h.agentDir(m.ref)))
	if err != nil {
		m.abandon()
		return nil, err
	}
	a.conversation = m.conversation
	h.plant(a, d)
	return a, nil
}

// hold makes an agent in a temporary directory, where its long texts are, and
// holds it from its first moment.
func (h *Home) hold(ref Ref, tmp string, created reducer.AgentCreated, base reducer.State, inbox spool) (*attachment, error) {
	r := newRun(inbox, h.o.Now)
	f := &fold{r: r, state: base}
	f.record(created, attached(2))
	f.decide()
	w, err := h.create(tmp, ref, f.events...)
	if err != nil {
		return nil, err
	}
	a := &attachment{
		run: r, ref: ref, writer: w, from: base,
		about: projections.About{Prompt: projections.PartsText(created.Prompt), Created: h.o.Now()},
	}
	if err := a.adopt(w, f); err != nil {
		return nil, errors.Join(err, a.release())
	}
	return a, nil
}

func newRun(inbox spool, now func() time.Time) *run {
	return &run{
		inbox: inbox, now: now, tap: func(Update) {},
		arrivals: make(chan arrival, 256), gone: make(chan struct{}), jobs: map[string]*job{},
	}
}

// drive runs the agent until it ends or ctx does.
func (a *attachment) drive(ctx context.Context) error {
	for _, e := range a.first {
		a.run.tap(Update{Entry: e})
	}
	return a.run.loop(ctx)
}

// release gives up the locks, last taken first.
func (a *attachment) release() error {
	err := a.writer.Close()
	a.conversation.release()
	return err
}

var _ Performer = (*effects.Performer)(nil)
