package basis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// matchChild brings the driving of a child in line. A child hears of what is
// wanted by arrivals, never by a context: it ends, or lets go, in good order. One
// that is unwanted before it is driven is attached in order to be ended.
func (r *run) matchChild(f reducer.DriveChild) error {
	switch j := r.jobs[reducer.EffectID(f)]; {
	case j != nil && f.Unwanted != "":
		j.end(effects.Unwanted(f.Unwanted))
	case j == nil && r.stop == nil:
		if f.N == 0 || r.member == nil {
			return fmt.Errorf("%s: this version cannot drive it", reducer.EffectID(f))
		}
		r.startChild(f)
	}
	return nil
}

// startChild drives a child in a goroutine of its own.
func (r *run) startChild(f reducer.DriveChild) {
	id, s := reducer.EffectID(f), r.state
	orders := make(chan error, 2) // at most that it is unwanted, and that the run lets go
	r.jobs[id] = &job{cancel: func(cause error) { orders <- cause }, settles: true, child: true}
	r.workers.Go(func() {
		d := delegation{caller: r.member, ref: r.member.ref.child(f.N), n: f.N, orders: orders, state: s}
		if a := d.drive(f.Unwanted); a != nil {
			r.send(*a)
		}
		r.send(arrival{done: id})
	})
}

// delegation is one subagent, as its caller's run drives it.
type delegation struct {
	caller *member
	ref    Ref
	n      int
	orders <-chan error
	state  reducer.State // the caller's, when the driving began
}

// errLetGo says that the caller let go before its child was taken up.
var errLetGo = errors.New("the caller lets go")

// drive brings the subagent to its end, and returns what the caller is to be
// told: how it ended, or why the whole tree must stop. Nil is nothing: it let go
// because the caller does.
func (d delegation) drive(unwanted string) *arrival {
	a, err := d.take(unwanted)
	if err != nil {
		return d.untaken(err)
	}
	err = d.attend(a)
	s, head := a.run.state, a.writer.Head()
	if e := a.release(); err == nil {
		err = e
	}
	stop, stopped := errors.AsType[*Stop](err)
	switch {
	case s.Ended():
		return d.settled(s, head.Seq, head.Link)
	case stopped && stop.Reason == "unaskable":
		return &arrival{stop: stop}
	case stopped:
		return nil
	}
	return &arrival{err: fmt.Errorf("subagent %s: %w", d.ref, err)}
}

// attend runs a subagent that is held, and passes on what its caller says.
func (d delegation) attend(a *attachment) error {
	m := &member{tree: d.caller.tree, ref: d.ref, caller: d.caller, env: d.caller.env}
	m.equip(a)
	a.run.tap = d.relay
	var passing sync.WaitGroup
	defer passing.Wait()
	passing.Go(func() {
		for {
			select {
			case cause := <-d.orders:
				a.run.send(order(cause))
			case <-a.run.gone:
				return
			}
		}
	})
	return a.drive(context.Background()) // it hears of everything by arrivals
}

// order is what a subagent is told when its caller no longer wants it, or lets go.
func order(cause error) arrival {
	if errors.Is(cause, effects.ErrStopped) {
		return arrival{stop: &Stop{Reason: "parent"}}
	}
	return arrival{events: []reducer.Event{ended(cause.Error())}}
}

// ended is the event that ends an agent for a cause in the words of the rules.
func ended(cause string) reducer.Event {
	switch b := reducer.Bound(cause); b {
	case reducer.BoundDeadline, reducer.BoundTokens, reducer.BoundTools:
		return reducer.BoundPassed{Bound: b, By: "parent"}
	}
	return reducer.CancelRequested{Scope: "task", By: "parent"}
}

// take takes hold of the subagent: a new one, or what a crash has left of it.
func (d delegation) take(unwanted string) (*attachment, error) {
	h := d.caller.home
	if err := h.exists(d.ref); errors.Is(err, ErrNoTask) {
		if unwanted != "" {
			return nil, &unborn{event: ended(unwanted)}
		}
		return d.bear()
	} else if err != nil {
		return nil, err
	}
	var due []arrival
	if unwanted != "" {
		due = []arrival{{events: []reducer.Event{ended(unwanted)}, recorded: func() {}}}
	}
	tick := time.NewTicker(retryTick)
	defer tick.Stop()
	for {
		a, err := h.take(d.ref, noSpool{}, due)
		if !errors.Is(err, ErrAttached) {
			return a, err
		}
		select { // whoever has it is on its way out, or only looks
		case <-tick.C:
		case cause := <-d.orders:
			if errors.Is(cause, effects.ErrStopped) {
				return nil, errLetGo
			}
			due = []arrival{{events: []reducer.Event{ended(cause.Error())}, recorded: func() {}}}
		}
	}
}

// unborn says that a subagent never came to be.
type unborn struct {
	event reducer.Event // that would have ended it, if it was no longer wanted
	why   string
}

func (e *unborn) Error() string { return "never made: " + e.why }

// bear makes the subagent. Its directory becomes visible whole, with the first
// commit in it (decision: a crash leaves either all of it or nothing).
func (d delegation) bear() (*attachment, error) {
	m, s := d.caller, d.state
	i := childOf(s, d.n)
	text, err := projections.Whole(s.Family[i].Prompt, m.home.Load(m.ref))
	if err != nil {
		return nil, &unborn{why: "its task cannot be read: " + err.Error()}
	}
	task, ok := tools.Task(text)
	if !ok {
		return nil, &unborn{why: "this is no task for a subagent"}
	}
	if _, err := m.mayDelegate(task); err != nil {
		return nil, &unborn{why: err.Error()}
	}
	created := reducer.AgentCreated{
		Kind: reducer.KindSubagent, ID: s.ID + "/" + strconv.Itoa(d.n), Conversation: s.Conversation + "/" + strconv.Itoa(d.n),
		Workspace: s.Workspace, Parent: reducer.Parent{ID: s.ID, Call: s.Family[i].Call, Seq: spawnedAt(m.run.store, d.n)},
		Depth: s.Family[i].Depth, Options: childOptions(s.Options, m.policy(task)), Bounds: s.Family[i].Bounds, DeadlineMS: s.DeadlineMS,
	}
	if m.born.Add(1) > MaxSubagents { // others were made since it was looked at
		m.born.Add(-1)
		return nil, &unborn{why: errTooMany.Error()}
	}
	a, err := m.home.bear(d.ref, created, task)
	if err != nil {
		m.born.Add(-1)
	}
	return a, err
}

func childOf(s reducer.State, n int) int {
	for i, c := range s.Family {
		if c.N == n {
			return i
		}
	}
	return -1
}

// spawnedAt is the number of the record that says that there is an n-th child.
func spawnedAt(from store, n int) uint64 {
	for e, err := range from.read(0) {
		if c, ok := e.Event.(reducer.ChildSpawned); ok && c.N == n {
			return e.Seq
		}
		if err != nil {
			break
		}
	}
	return 0
}

// bear makes and holds the agent of a delegation. The caller is held, so nobody
// else makes it.
func (h *Home) bear(ref Ref, created reducer.AgentCreated, task string) (*attachment, error) {
	dir := h.agentDir(ref)
	if err := makePrivate(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	tmp := filepath.Join(filepath.Dir(dir), temporaryPrefix+filepath.Base(dir))
	if err := os.RemoveAll(tmp); err != nil { // of a process that was killed
		return nil, err
	}
	var err error
	if created.Prompt, err = h.keepPrompt(tmp, task, nil); err != nil {
		return nil, err
	}
	return h.hold(ref, tmp, created, reducer.State{}, noSpool{})
}

// untaken is what the caller is told of a subagent that could not be taken up.
func (d delegation) untaken(err error) *arrival {
	if e, ok := errors.AsType[*endedError](err); ok {
		return d.found(e.all)
	}
	c := reducer.ChildSettled{N: d.n, Outcome: reducer.OutcomeFailed, Usage: d.state.Family[childOf(d.state, d.n)].Usage}
	if e, ok := errors.AsType[*unborn](err); ok {
		c.Code, c.Error = "refused", e.why
		switch e := e.event.(type) {
		case reducer.BoundPassed:
			c.Code, c.Error, c.StoppedBy = "", "it was not begun", e.Bound
		case reducer.CancelRequested:
			c.Code, c.Error, c.Outcome = "", "", reducer.OutcomeCancelled
		default:
		}
		return &arrival{events: []reducer.Event{c}}
	}
	damage, damaged := errors.AsType[*CorruptError](err)
	switch {
	case errors.Is(err, errLetGo):
		return nil
	case damaged:
		c.Code, c.Error = "damaged", damage.Error()
		return &arrival{events: []reducer.Event{c}}
	}
	return &arrival{err: fmt.Errorf("subagent %s: %w", d.ref, err)}
}

// found settles a subagent whose end stood in its journal already. What the
// caller records of it must not outlive it (JRN-40).
func (d delegation) found(all history) *arrival {
	dir := journal.Dir{Path: d.caller.home.agentDir(d.ref)}
	err := dir.Sync()
	rep, e := dir.Check(journal.CheckOptions{})
	if err = errors.Join(err, e, rep.Err()); err != nil && !errors.Is(err, fs.ErrPermission) {
		return d.untaken(err)
	}
	return d.settled(all.state, rep.Head.Seq, rep.Head.Link)
}

// settled is how the subagent ended, for its caller.
func (d delegation) settled(s reducer.State, seq uint64, head string) *arrival {
	c := reducer.ChildSettled{
		N: d.n, Outcome: reducer.OutcomeFailed, Error: s.End.Error, StoppedBy: s.End.StoppedBy, Usage: s.End.Usage, Seq: seq, Head: head,
	}
	switch s.End.State {
	case reducer.StateSucceeded:
		c.Outcome = reducer.OutcomeDone
		text, err := projections.Whole(s.End.Result, d.caller.home.Load(d.ref))
		if err != nil {
			text += "\n[the whole answer cannot be read: " + err.Error() + "]"
		}
		c.Text, c.Shown = d.caller.means.Result(text)
	case reducer.StateCancelled:
		c.Outcome = reducer.OutcomeCancelled
	case reducer.StateFailed, reducer.StateClosed:
	}
	return &arrival{events: []reducer.Event{c}}
}

// relay passes on what the subagent's tokens cost, and what it is doing.
func (d delegation) relay(u Update) {
	n := strconv.Itoa(d.n)
	to := outlet{d.caller.run}
	say := func(text string) {
		call := d.state.Family[childOf(d.state, d.n)].Call
		to.Progress(reducer.Progress{Kind: reducer.ProgressOutput, Call: call, Tool: "spawn", Text: n + ": " + text})
	}
	if u.Live {
		if u.Progress.Kind == reducer.ProgressOutput {
			say(u.Progress.Text)
		}
		return
	}
	var round string
	var cost reducer.Usage
	switch e := u.Entry.Event.(type) {
	case reducer.WorkspaceOpened:
		say("a subagent on " + e.Model + " begins")
	case reducer.ModelAnswered:
		round, cost = e.Round, e.Usage
		for _, it := range e.Items {
			if it.Type == reducer.ItemCall {
				say(projections.Summary(it.Name, []byte(it.Args.String())))
			}
		}
	case reducer.AttemptFailed:
		round, cost = e.Round, e.Usage
	case reducer.RoundFailed:
		round, cost = e.Round, e.Usage
	case reducer.UsageSampled:
		round, cost = strconv.Itoa(e.Child)+"/"+e.Round, e.Usage
	default:
	}
	if !cost.IsZero() {
		to.Report(reducer.UsageSampled{Child: d.n, Round: round, Usage: cost})
	}
}

// noSpool is the inbox of a subagent, which has none.
type noSpool struct{}

func (noSpool) sweep() ([]arrival, error) { return nil, nil }

func (noSpool) watch(ctx context.Context, _ func()) { <-ctx.Done() }

func (noSpool) lock() (func(), error) { return func() {}, nil }
