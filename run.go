package basis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// Performer carries out effects for a run.
type Performer interface {
	// Perform carries out f as it is owed in s and reports how it went through
	// out. It returns when everything is reported and nothing it started is
	// left. When ctx ends, the cause says whether the effect is unwanted
	// ([effects.Unwanted]) or only put off ([effects.ErrStopped]).
	Perform(ctx context.Context, s reducer.State, f reducer.Effect, out effects.Out)

	// Review is ReviewCall where no hook matches: it takes no time, so the
	// loop does it inside a step. No events drop it.
	Review(ctx context.Context, s reducer.State, call string) []reducer.Event
}

// run is one process's attachment to an agent. The goroutine that calls loop is
// the only one that touches the state or the store; everything else sends it
// an arrival.
type run struct {
	member    *member // of a tree of subagents; nil where nothing can be delegated
	store     store
	state     reducer.State
	performer Performer
	inbox     spool
	now       func() time.Time
	askable   bool
	tap       func(Update) // called after each commit, by the loop

	arrivals chan arrival
	gone     chan struct{} // closed when the loop has returned
	jobs     map[string]*job
	workers  sync.WaitGroup
	stop     *Stop  // set once the run lets go
	told     bool   // ctx has ended, and was a yield
	yielding string // the turn after which it lets go; "" is none
}

// job is an effect that this run has started.
type job struct {
	cancel  context.CancelCauseFunc
	told    error // with which cause it was cancelled last
	settles bool  // worth waiting for when the run lets go
	child   bool  // an agent, which may hear of a stop after a cancel
}

// arrival is something that reached the run: observations that belong
// together, progress, the end of a job, a look into the inbox, or a stop.
type arrival struct {
	events   []reducer.Event
	progress *reducer.Progress
	done     string // the id of the effect whose job has returned
	sweep    bool
	stop     *Stop
	err      error  // a child's store has failed, and so must this run
	recorded func() // called once the events are durable or refused
}

// Stop says why a run lets go of an agent that has not ended.
type Stop struct {
	Reason string // signal, yield, unaskable, disk_full or closed
	Detail string // such as the signal's name
	Yield  bool   // let the turn in flight end first
}

// Is makes a stop where nobody could be asked match [ErrUnaskable].
func (s *Stop) Is(target error) bool { return target == ErrUnaskable && s.Reason == "unaskable" }

func (s *Stop) Error() string {
	if s.Detail == "" {
		return "detached: " + s.Reason
	}
	return "detached: " + s.Reason + " (" + s.Detail + ")"
}

// stopGrace is how long a stopping run waits for what it has cancelled.
const stopGrace = 2 * time.Second

// loop drives the agent until it ends, ctx does, or the store fails. The error
// is nil if the agent has ended, a *[Stop] if the run let go of it, and
// whatever poisoned the store otherwise. A ctx that ends with a *Stop as its
// cause stops in that manner.
func (r *run) loop(ctx context.Context) error {
	jobs, cancelAll := context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.workers.Wait()
	defer cancelAll(effects.ErrStopped)
	defer r.endJobs(effects.ErrStopped)
	defer close(r.gone)
	r.workers.Go(func() { r.inbox.watch(jobs, func() { r.send(arrival{sweep: true}) }) })
	if err := r.reconcile(jobs); err != nil {
		return err
	}
	for !r.state.Ended() {
		if r.stop != nil {
			return r.letGo()
		}
		batch := r.receive(ctx)
		if r.stop == nil {
			var err error
			if batch, err = r.withInbox(batch); err != nil {
				return err
			}
		}
		if err := r.step(batch); err != nil {
			return err
		}
		if turn := r.state.Turn.ID; r.yielding != "" && turn != "" && turn != r.yielding {
			r.stop = &Stop{Reason: "yield"} // with nothing left to do, it may as well end
		}
		if err := r.reconcile(jobs); err != nil {
			return err
		}
	}
	return nil
}

// receive waits for one arrival and drains what else is there. A stop takes
// effect before anything else of its drain.
func (r *run) receive(ctx context.Context) []arrival {
	var batch []arrival
	done := ctx.Done()
	if r.told {
		done = nil // it has said what it had to say
	}
	select {
	case <-done:
		r.stopFor(context.Cause(ctx))
		r.told = true
	case a := <-r.arrivals:
		batch = append(batch, a)
	}
	batch = r.drain(batch)
	for _, a := range batch {
		if a.stop != nil {
			r.stopFor(a.stop)
		}
	}
	return batch
}

func (r *run) drain(batch []arrival) []arrival {
	for {
		select {
		case a := <-r.arrivals:
			batch = append(batch, a)
		default:
			return batch
		}
	}
}

func (r *run) stopFor(cause error) {
	s, ok := errors.AsType[*Stop](cause)
	if !ok {
		s = &Stop{Reason: "signal", Detail: cause.Error()}
	}
	if s.Yield && r.state.Turn.ID != "" {
		r.yielding = r.state.Turn.ID
		return
	}
	if r.stop == nil {
		r.stop = s
	}
}

// withInbox puts what other processes have left before the rest of the batch.
func (r *run) withInbox(batch []arrival) ([]arrival, error) {
	for _, a := range batch {
		if a.sweep {
			spooled, err := r.inbox.sweep()
			if err != nil {
				return nil, err
			}
			return append(spooled, batch...), nil
		}
	}
	return batch, nil
}

// step folds a batch on the side, records all of it in one commit and adopts
// the new state: the state never holds what the disk does not.
func (r *run) step(batch []arrival) error {
	f := fold{r: r, state: r.state}
	counts := make([]int, len(batch))
	for i, a := range batch {
		if r.stop == nil || survivesStop(a) {
			f.observe(a.events)
		}
		counts[i] = len(f.events)
	}
	if err := r.commit(&f); err != nil {
		return err
	}
	shown := 0
	for i, a := range batch {
		for ; shown < counts[i]; shown++ {
			r.tap(Update{Entry: f.entries[shown]})
		}
		if a.progress != nil {
			r.tap(Update{Progress: *a.progress, Live: true})
		}
		if a.recorded != nil {
			a.recorded()
		}
	}
	return r.retire(batch)
}

// commit records what f has gathered and adopts its state.
func (r *run) commit(f *fold) error {
	if len(f.events) == 0 {
		return nil
	}
	var err error
	if f.entries, err = r.store.append(f.events...); err != nil {
		return err
	}
	r.state = f.state
	r.member.charge(f.events)
	return nil
}

// survivesStop: once the run lets go, nothing is recorded that could lead to
// the start of a call with effects; it is asked for again at the next attach.
func survivesStop(a arrival) bool {
	for _, e := range a.events {
		switch e.(type) {
		case reducer.CallReviewed, reducer.ApprovalAnswered:
			return false
		default:
		}
	}
	return true
}

// retire forgets jobs that have returned. One that returned and left its
// effect open has broken its contract, or can't do it.
func (r *run) retire(batch []arrival) error {
	for _, a := range batch {
		if a.err != nil {
			return a.err
		}
		if a.done == "" {
			continue
		}
		delete(r.jobs, a.done)
		if r.stop != nil {
			continue
		}
		for _, f := range r.state.Open() {
			if reducer.EffectID(f) == a.done {
				return fmt.Errorf("the effect %q ended without a result", a.done)
			}
		}
	}
	return nil
}

// fold gathers the events of one commit and the state they lead to.
type fold struct {
	r         *run
	about     projections.About // if a journal was replayed
	from      reducer.State     // what the replay came to
	unfounded error             // why what the agent continues can't be read
	state     reducer.State
	events    []reducer.Event
	entries   []reducer.Entry
	taken     []func() // to be called once the events are durable
}

// record takes events without asking whether they are allowed.
func (f *fold) record(events ...reducer.Event) {
	for _, e := range events {
		f.state = reducer.Apply(f.state, e)
		f.events = append(f.events, e)
	}
}

// decide records everything that follows, immediate effects included.
func (f *fold) decide() {
	for {
		f.record(reducer.Decide(f.state)...)
		events := f.immediate()
		if len(events) == 0 {
			return
		}
		f.record(events...)
	}
}

// observe records a group of observations and all that follows from it, or
// nothing if any of them is refused.
func (f *fold) observe(group []reducer.Event) {
	trial := f.state
	for _, e := range group {
		if reducer.Admit(trial, e) != nil {
			return
		}
		trial = reducer.Apply(trial, e)
	}
	if len(group) > 0 {
		f.record(group...)
		f.decide()
	}
}

// immediate is a review that needs no waiting: it shares the commit of what
// reached its call. Nothing is reviewed any more once the run lets go.
func (f *fold) immediate() []reducer.Event {
	if f.r.stop != nil {
		return nil
	}
	for _, e := range f.state.Open() {
		if review, ok := e.(reducer.ReviewCall); ok && !review.Hooked {
			return f.r.performer.Review(context.Background(), f.state, review.Call)
		}
	}
	return nil
}
