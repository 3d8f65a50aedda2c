package basis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools"
	"github.com/basisagent/basis/reducer"
)

// Limits of a task with its subagents.
const (
	// DefaultDepth is how many delegations deep a subagent may be, where
	// nothing else is said: a subagent's subagent has nobody to delegate to.
	DefaultDepth = 2

	// MaxSubagents is how many subagents a task may have in its life, those of
	// its subagents included.
	MaxSubagents = 64
)

// ChildRequest is a delegation that a [ChildPolicy] is asked about.
type ChildRequest struct {
	Task      string // what the subagent is to do
	Caller    Ref    // who delegates
	Workspace string
}

// ChildOptions is what a subagent gets in place of what its caller has. The zero
// value changes nothing.
type ChildOptions struct {
	Provider string          // with Model: who answers; "" is the caller's
	Model    string          // "" is the caller's
	Roster   *reducer.Roster // the tools; what is hidden from the caller stays hidden
	System   *string         // the whole system text
}

// ChildPolicy says what a subagent gets. It must answer the same request always
// in the same way: it is asked before somebody judges the delegation, and again
// when the subagent is made (TOOL-37). Bounds are not its to change.
type ChildPolicy func(ChildRequest) ChildOptions

// tree is a task with its subagents, as one process drives them: what they share.
type tree struct {
	home     *Home
	approver effects.Approver
	warn     func(string)
	tools    []effects.Tool // the host's own
	born     atomic.Int64   // subagents, ever
	limit    reducer.Count
	spent    atomic.Int64 // tokens in the task's open turn, by all of them
}

// member is one agent of a tree.
type member struct {
	*tree
	ref    Ref
	caller *member // nil is the task itself
	run    *run
	means  *effects.Performer
	env    []string // what commands and declared tools are told of the task

	workspace string
	options   reducer.Options

	opened chan struct{} // closed once found is there
	found  found
}

// plant makes a held task the root of its tree.
func (h *Home) plant(a *attachment, d Drive) {
	t := &tree{home: h, warn: d.warn, tools: slices.Concat(h.o.Tools, d.Tools), limit: a.run.state.Bounds.Tokens}
	if d.Approver != nil {
		t.approver = oneByOne{d.Approver, make(chan struct{}, 1), d.AnswerWithin}
	}
	t.born.Store(int64(len(h.Subagents(a.ref))))
	t.spent.Store(a.run.state.Turn.Usage.Total())
	m := &member{tree: t, ref: a.ref, env: h.taskEnv(a.run.state)}
	m.equip(a)
}

// equip gives a held agent what carries out its effects.
func (m *member) equip(a *attachment) {
	m.run, m.opened = a.run, make(chan struct{})
	m.workspace, m.options = a.run.state.Workspace, a.run.state.Options
	m.means = effects.NewPerformer(effects.Options{
		Open: func(ctx context.Context, s reducer.State) (effects.Workspace, error) {
			return m.openWorkspace(ctx, s)
		},
		Approver: m.approver,
		Subagent: m.ref.Sub,
		Blobs:    blobsIn(a.writer.Dir()),
		Now:      m.home.o.Now,
		Secrets:  m.home.secrets(),
		Rules:    func() ([]reducer.Rule, error) { return m.home.granted(m.ref.Key) },
		Remember: func(scope string, g reducer.Grant) error { return m.home.Remember(m.workspace, scope, g) },
		Warn:     m.warn,
	})
	a.run.performer, a.run.askable, a.run.member = m.means, m.means.CanAsk(), m
}

// oneByOne asks one question of a tree at a time.
type oneByOne struct {
	effects.Approver
	turn   chan struct{}
	within time.Duration // for an answer; 0 is any
}

// Review waits for its turn and asks. No answer in time denies (TOOL-55).
func (o oneByOne) Review(ctx context.Context, a effects.Approval) (effects.Verdict, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return effects.Verdict{}, context.Cause(ctx)
	}
	if o.within <= 0 {
		return o.Approver.Review(ctx, a)
	}
	limited, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	v, err := o.Approver.Review(limited, a)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return effects.Verdict{Scope: "once", By: "basis", Reason: fmt.Sprintf("nobody answered within %v", o.within)}, nil
	}
	return v, err
}

// depth is how many delegations are between the task and this agent.
func (m *member) depth() int {
	if m == nil {
		return 0
	}
	return m.ref.depth()
}

// charge counts what the events of a commit have cost. The tokens of a tree are
// those of the task's open turn (FR-073).
func (m *member) charge(events []reducer.Event) {
	if m == nil {
		return
	}
	for _, e := range events {
		switch e := e.(type) {
		case reducer.TurnStarted:
			if m.caller == nil {
				m.spent.Store(0)
			}
		case reducer.ModelAnswered:
			m.spent.Add(e.Usage.Total())
		case reducer.AttemptFailed:
			m.spent.Add(e.Usage.Total())
		case reducer.RoundFailed:
			m.spent.Add(e.Usage.Total())
		default:
		}
	}
}

// overspent says that a subagent may ask its model no more, because the tree has
// no tokens left. The task itself ends by its own count.
func (m *member) overspent(f reducer.Effect) (reducer.Event, bool) {
	if m == nil || m.caller == nil {
		return nil, false
	}
	if _, asks := f.(reducer.CallModel); !asks {
		return nil, false
	}
	limit, limited := m.limit.Get()
	spent := m.spent.Load()
	return reducer.BoundPassed{Bound: reducer.BoundTokens, By: "pool", Limit: limit, Spent: spent}, limited && spent > limit
}

// mayDelegate says what a subagent for a task would get of its own, or why there
// can be none (TOOL-36).
func (m *member) mayDelegate(task string) (tools.ChildPreview, error) {
	if m.ref.depth() >= m.home.depth() {
		return tools.ChildPreview{}, fmt.Errorf("delegation ends at depth %d, and this agent is there: do the task yourself, or run commands", m.home.depth())
	}
	if m.born.Load() >= MaxSubagents {
		return tools.ChildPreview{}, errTooMany
	}
	o := m.policy(task)
	p := tools.ChildPreview{Model: o.Model, Roster: o.Roster}
	if o.System != nil {
		p.System = "replaced"
	}
	return p, nil
}

// errTooMany says that a tree is as large as one may be.
var errTooMany = fmt.Errorf("this task has had %d subagents, which is the most: do the task yourself, or run commands", MaxSubagents)

// policy is what a subagent for a task gets of its own.
func (m *member) policy(task string) ChildOptions {
	if m.home.o.Children == nil {
		return ChildOptions{}
	}
	return m.home.o.Children(ChildRequest{Task: task, Caller: m.ref, Workspace: m.workspace})
}

// depth is how deep delegation goes here.
func (h *Home) depth() int {
	switch d := h.o.Depth; {
	case d < 0:
		return 0
	case d > 0:
		return d
	}
	return DefaultDepth
}

// childOptions are the caller's, with what the policy puts in their place.
func childOptions(o reducer.Options, p ChildOptions) reducer.Options {
	if p.Model != "" {
		o.Model = p.Model
		if p.Provider != "" && p.Provider != o.Provider {
			o.Provider, o.BaseURL = p.Provider, ""
		}
	}
	if p.Roster != nil {
		r := *p.Roster
		if o.Tools != nil {
			r.Hidden = slices.Concat(r.Hidden, o.Tools.Hidden)
		}
		o.Tools = &r
	}
	switch {
	case p.System != nil:
		o.System = p.System
	case o.System == nil:
		o.Append = blocks(o.Append, subagentWord)
	case *o.System != "":
		o.System = new(blocks(*o.System, subagentWord))
	}
	return o
}

// subagentWord is what a subagent is told of what it is.
const subagentWord = "You are a subagent: the message is a task from another agent, which can't answer questions. " +
	"Do the task, then reply with what was asked for. Only that last reply is passed on, so it must stand by itself."

// Subagents lists the subagents of a task or of a subagent, theirs included, as
// far as their directories are there.
func (h *Home) Subagents(ref Ref) []Ref {
	var all []Ref
	for _, child := range h.children(ref) {
		all = append(append(all, child), h.Subagents(child)...)
	}
	return all
}

// children are the subagents of an agent that have a directory.
func (h *Home) children(ref Ref) []Ref {
	names, _ := os.ReadDir(filepath.Join(h.agentDir(ref), subagentsDir)) // none is the usual case
	var numbers []int
	for _, e := range names {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && isPath(e.Name()) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	all := make([]Ref, len(numbers))
	for i, n := range numbers {
		all[i] = ref.child(n)
	}
	return all
}
