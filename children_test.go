package basis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// cast is what each agent's model says, by the prompt of the agent: one step for
// each answer that it has given. Beyond them it repeats the last.
type cast map[string][]providertest.Step

func (c cast) server(t testing.TB) *providertest.Server {
	t.Helper()
	return providertest.NewServer(t, providertest.Options{Answer: func(r providertest.Request) providertest.Step {
		prompt, n := "", 0
		for _, m := range r.Messages() {
			if m.Role == "user" && prompt == "" {
				prompt = m.Text
			}
			if m.Role == "assistant" {
				n++
			}
		}
		steps := c[prompt]
		if len(steps) == 0 {
			return providertest.Fail(400, "unexpected", "nobody is asked "+prompt)
		}
		return steps[min(n, len(steps)-1)]
	}})
}

// tasks is a step that delegates or runs commands.
func tasks(inputs ...string) providertest.Step {
	s := providertest.Step{Usage: &providertest.Usage{Prompt: 10, Completion: 5}}
	for _, in := range inputs {
		args, _ := json.Marshal(map[string]string{"input": in})
		s.Calls = append(s.Calls, providertest.Call{Name: "spawn", Args: string(args)})
	}
	return s
}

// soundTree checks an agent's journal and those of all its subagents.
func soundTree(t testing.TB, h *Home, ref Ref) reducer.State {
	t.Helper()
	s := sound(t, h, ref)
	for _, child := range h.Subagents(ref) {
		sound(t, h, child)
	}
	return s
}

// outcomes are the results that the model of an agent has read, in order.
func outcomes(s reducer.State) []string {
	var all []string
	for _, m := range s.Transcript.Messages() {
		for _, r := range m.Results {
			all = append(all, r.Text.String())
		}
	}
	return all
}

// TOOL-35, CORE-74, JRN-46: two delegations of one message run side by side, each
// with a journal of its own; their answers are the results, in call order; their
// usage is in the task's total, and they were told what they are.
func TestDelegations(t *testing.T) {
	both := make(chan struct{})
	slow := providertest.Text("a is one")
	slow.Hold = both
	s := cast{
		"go":     {tasks("find a", "find b"), providertest.Text("all found")},
		"find a": {slow},
		"find b": {tasks("!touch b"), providertest.Text("b is two")},
	}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	var spawned, settled []int
	out, err := h.Run(limited(t), asking(s, ws, "go"), Drive{Sink: func(u Update) {
		switch e := u.Entry.Event.(type) {
		case reducer.ChildSpawned:
			spawned = append(spawned, e.N)
		case reducer.ChildSettled:
			if settled = append(settled, e.N); e.N == 2 {
				close(both) // so the second ran while the first one waited
			}
		default:
		}
	}})
	if got := h.ended(t, out, err); got.Result != "all found" {
		t.Errorf("result = %q, want all found", got.Result)
	}
	if !slices.Equal(spawned, []int{1, 2}) || !slices.Equal(settled, []int{2, 1}) {
		t.Errorf("spawned %v, settled %v, want 1 2 and 2 1", spawned, settled)
	}
	state := soundTree(t, h, out.Ref)
	if got := outcomes(state); !slices.Equal(got, []string{"a is one", "b is two"}) {
		t.Errorf("results = %q, want both in call order", got)
	}
	if in, _ := state.End.Usage.Input.Get(); in != 50 {
		t.Errorf("usage = %d tokens of input, want 50 of five answers", in)
	}
	if _, err := os.Stat(filepath.Join(ws, "b")); err != nil {
		t.Errorf("the subagent's command: %v, want it run", err)
	}
	child := out.Ref.child(2)
	created, err := h.created(child)
	if err != nil || created.Kind != reducer.KindSubagent || created.Parent.Call != "r1.c2" || created.Parent.Seq == 0 || created.Depth != 1 {
		t.Errorf("created = %+v, %v, want a subagent of r1.c2 at depth 1", created, err)
	}
	cs, err := h.State(child)
	if err != nil || !strings.Contains(cs.Setup.System.String(), "subagent") || cs.Conversation != state.Conversation+"/2" {
		t.Errorf("state = %q of %s, %v, want it told what it is", cs.Setup.System, cs.Conversation, err)
	}
	again, err := h.Wait(limited(t), child, Drive{})
	if err != nil || h.Terminal(again).Result != "b is two" {
		t.Errorf("Wait(%s) = %+v, %v, want its answer", child, h.Terminal(again), err)
	}
	if _, err := h.Cancel(child, "test"); !errors.Is(err, ErrSubagent) {
		t.Errorf("Cancel(%s) = %v, want ErrSubagent", child, err)
	}
}

// FR-071, TOOL-36: children started children without end. Depth and number have limits,
// and a delegation beyond them is an error for the model.
func TestFR071DelegationEnds(t *testing.T) {
	s := cast{"go": {tasks("go", "go"), providertest.Text("done")}}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	out, err := h.Run(limited(t), asking(s, ws, "go"), Drive{})
	h.ended(t, out, err)
	if n := len(h.Subagents(out.Ref)); n != 6 {
		t.Errorf("%d subagents, want 2 and 2 of each", n)
	}
	leaf, err := h.State(out.Ref.child(1).child(2))
	if got := outcomes(leaf); err != nil || len(got) != 2 || !strings.Contains(got[0], "ends at depth 2") {
		t.Errorf("the deepest one reads %q, %v, want that delegation ends", got, err)
	}
	soundTree(t, h, out.Ref)

	var many []string
	for range MaxSubagents + 3 {
		many = append(many, "help")
	}
	s = cast{"go": {tasks(many...), providertest.Text("done")}, "help": {providertest.Text("ok")}}.server(t)
	out, err = h.Run(limited(t), asking(s, ws, "go"), Drive{})
	h.ended(t, out, err)
	refused := slices.DeleteFunc(outcomes(soundTree(t, h, out.Ref)), func(s string) bool { return s == "ok" })
	if n := len(h.Subagents(out.Ref)); n != MaxSubagents || len(refused) != 3 {
		t.Errorf("%d subagents and %q, want %d and three refusals", n, refused, MaxSubagents)
	}
}

// FR-072: stopping the parent left its children and their commands at work. A
// cancel ends the whole tree, the deepest first, and their commands.
func TestFR072CancelReachesTheTree(t *testing.T) {
	s := cast{
		"go":         {tasks("child")},
		"child":      {tasks("grandchild")},
		"grandchild": {tasks("!echo $$ >pid; touch started; sleep 300; touch P")},
	}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "go"))
	if err != nil {
		t.Fatal(err)
	}
	var run sync.WaitGroup
	var out Outcome
	run.Go(func() { out, err = h.Wait(limited(t), ref, Drive{}) })
	awaitFile(t, filepath.Join(ws, "started"))
	if ok, err := h.Cancel(ref, "test"); !ok || err != nil {
		t.Errorf("Cancel = %v, %v, want it accepted", ok, err)
	}
	run.Wait()
	if got := h.ended(t, out, err); got.State != "cancelled" {
		t.Errorf("ended %+v, want it cancelled", got)
	}
	soundTree(t, h, ref)
	for _, child := range []Ref{ref.child(1), ref.child(1).child(1)} {
		if s, err := h.State(child); err != nil || s.End.State != reducer.StateCancelled {
			t.Errorf("%s ended %q, %v, want it cancelled", child, s.End.State, err)
		}
	}
	if _, err := os.Stat(filepath.Join(ws, "P")); err == nil {
		t.Error("the command went on after the cancel")
	}
	gone(t, filepath.Join(ws, "pid"))
}

// awaitFile waits until a file is there.
func awaitFile(t testing.TB, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx := limited(t)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s never came", path)
		}
	}
}

// FR-073: the spending limit held for the parent only. One budget holds for the
// tree, and what was spent is in the task's total.
func TestFR073OneBudgetForTheTree(t *testing.T) {
	costly := func(s providertest.Step) providertest.Step {
		s.Usage = &providertest.Usage{Prompt: 200, Completion: 100}
		return s
	}
	work := costly(providertest.CallTool("ls", `{}`))
	s := cast{
		"go":   {costly(tasks("work", "work", "work", "work", "work")), costly(providertest.Text("done"))},
		"work": {work, work, work, work, costly(providertest.Text("worked"))},
	}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "go")
	spec.Bounds.Tokens = reducer.Known(1000)
	out, err := h.Run(limited(t), spec, Drive{})
	got := h.ended(t, out, err)
	if got.State != "failed" || got.StoppedBy != string(reducer.BoundTokens) {
		t.Errorf("ended %+v, want it stopped by the tokens", got)
	}
	total := out.State.End.Usage.Total()
	if n := int64(len(s.Requests())) * 300; total != n || total > 1000+300*reducer.MaxDelegations {
		t.Errorf("%d tokens in total of %d asked, want all, and 1000 and one request of each at work at most", total, n)
	}
	soundTree(t, h, out.Ref)
}

// FR-074: a limit reached inside a child left the parent waiting, or passed for a
// clean success. The caller reads which limit it was, and goes on.
func TestFR074LimitInsideAChild(t *testing.T) {
	s := cast{
		"go":   {tasks("work"), providertest.Text("done")},
		"work": {providertest.CallTool("ls", `{}`)},
	}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "go")
	spec.Bounds.Tools = reducer.Known(1)
	out, err := h.Run(limited(t), spec, Drive{})
	if got := h.ended(t, out, err); got.State != "succeeded" {
		t.Errorf("ended %+v, want it done", got)
	}
	if got := outcomes(soundTree(t, h, out.Ref)); len(got) != 1 || !strings.Contains(got[0], "tool_budget") {
		t.Errorf("results = %q, want the limit by name", got)
	}
}

// TOOL-37: a policy gives a subagent another model, other tools and another
// system text; what is hidden from the caller stays hidden, and the question says it.
func TestChildPolicy(t *testing.T) {
	s := cast{"go": {tasks("look"), providertest.Text("done")}, "look": {providertest.Text("seen")}}.server(t)
	words := "Look only."
	h := openHome(t, Options{
		Dir: filepath.Join(t.TempDir(), "data"), MinFree: -1, Getenv: func(string) string { return "" },
		Children: func(r ChildRequest) ChildOptions {
			if r.Task != "look" {
				return ChildOptions{}
			}
			return ChildOptions{Model: "small", Roster: &reducer.Roster{Offered: []string{"read", "ls", "grep"}}, System: &words}
		},
	})
	spec := asking(s, newWorkspace(t), "go")
	spec.Options.Tools = &reducer.Roster{Hidden: []string{"grep"}}
	spec.Options.Approve = reducer.ApprovePrompt
	asked := &asker{allow: true}
	out, err := h.Run(limited(t), spec, Drive{Approver: asked})
	h.ended(t, out, err)
	r := s.Requests()[1]
	if got := r.Tools(); r.Model() != "small" || !slices.Equal(got, []string{"read", "ls"}) || r.Messages()[0].Text != words {
		t.Errorf("the subagent asks %s with %q and %q, want the policy's", r.Model(), got, r.Messages()[0].Text)
	}
	if len(asked.seen) != 1 || !strings.Contains(string(asked.seen[0].Preview), `"child":{"model":"small","roster":{"offered":["read","ls","grep"]},"system":"replaced"}`) {
		t.Errorf("asked %+v, want what the subagent gets", asked.seen)
	}
	soundTree(t, h, out.Ref)
}

// asker is an approver that takes down the questions.
type asker struct {
	allow bool
	seen  []effects.Approval
	busy  bool
}

func (a *asker) Review(_ context.Context, q effects.Approval) (effects.Verdict, error) {
	if a.busy {
		return effects.Verdict{}, errors.New("two questions at once")
	}
	a.busy = true
	a.seen = append(a.seen, q)
	a.busy = false
	return effects.Verdict{Allow: a.allow, By: "test"}, nil
}

// The questions of a tree come one by one and say who asks; where nobody can be
// asked the whole tree lets go, and goes on at the next attach.
func TestQuestionsOfATree(t *testing.T) {
	s := cast{
		"go":  {tasks("one", "two"), providertest.Text("done")},
		"one": {tasks("!true"), providertest.Text("1")}, "two": {tasks("!true"), providertest.Text("2")},
	}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "go")
	spec.Options.Approve = reducer.ApprovePrompt
	asked := &asker{allow: true}
	ctx, cancel := context.WithCancelCause(limited(t))
	out, err := h.Run(ctx, spec, Drive{Approver: asked, Sink: func(u Update) {
		if e, ok := u.Entry.Event.(reducer.ChildSpawned); ok && e.N == 2 {
			cancel(&Stop{Reason: "signal"})
		}
	}})
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" {
		t.Fatalf("Run = %v, want it stopped", err)
	}
	out, err = h.Wait(limited(t), out.Ref, Drive{})
	if !errors.Is(err, ErrUnaskable) {
		t.Fatalf("Wait with nobody to ask = %v, want ErrUnaskable", err)
	}
	out, err = h.Wait(limited(t), out.Ref, Drive{Approver: asked})
	if got := h.ended(t, out, err); got.Result != "done" {
		t.Errorf("ended %+v, want done", got)
	}
	var who []string
	for _, q := range asked.seen {
		who = append(who, q.Subagent)
	}
	slices.Sort(who)
	if who = slices.Compact(who); !slices.Equal(who, []string{"", "1", "2"}) {
		t.Errorf("asked by %q, want the task and both subagents", who)
	}
	soundTree(t, h, out.Ref)
}

// TOOL-35: killed at any write, a tree goes on where it was: no delegation is
// made twice, no command runs twice, and the answer is the same.
func TestKilledInATree(t *testing.T) {
	for writes := 1; ; writes++ {
		s := cast{
			"go":  {tasks("one", "two"), providertest.Text("done")},
			"one": {tasks("!echo 1 >>ran"), providertest.Text("1")}, "two": {tasks("deep"), providertest.Text("2")},
			"deep": {providertest.Text("3")},
		}.server(t)
		h, ws := newHome(t, nil), newWorkspace(t)
		ref, err := h.Spawn(asking(s, ws, "go"))
		if err != nil {
			t.Fatal(err)
		}
		dying := *h
		dying.disk = &dyingDisk{Disk: journal.OSDisk(), left: writes}
		if out, err := dying.Wait(limited(t), ref, Drive{}); err == nil {
			if got := dying.ended(t, out, err); got.Result != "done" || writes < 15 {
				t.Errorf("%d writes: %+v, want it done, and not so soon", writes, got)
			}
			return
		}
		out, err := h.Wait(limited(t), ref, Drive{})
		if got := h.ended(t, out, err); got.Result != "done" {
			t.Errorf("killed at write %d: %+v, want it done", writes, got)
		}
		if n := len(h.Subagents(ref)); n != 3 {
			t.Errorf("killed at write %d: %d subagents, want 3", writes, n)
		}
		if ran, _ := os.ReadFile(filepath.Join(ws, "ran")); len(ran) > 2 {
			t.Errorf("killed at write %d: the command ran %q, want once at most", writes, ran)
		}
		soundTree(t, h, ref)
	}
}

// A subagent whose journal is damaged is a failed delegation, and nothing of it
// is run again.
func TestDamagedSubagent(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	held := providertest.Text("never")
	held.Hold = hold
	s := cast{"go": {tasks("one"), providertest.Text("done")}, "one": {held}}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "go"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(limited(t))
	var run sync.WaitGroup
	run.Go(func() { _, err = h.Wait(ctx, ref, Drive{}) })
	if e := s.WaitFor(limited(t), 2); e != nil {
		t.Fatal(e)
	}
	cancel(&Stop{Reason: "signal"})
	run.Wait()
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" {
		t.Fatalf("Wait = %v, want it stopped", err)
	}
	child, err := h.State(ref.child(1))
	if err != nil || child.Ended() || lastEvent(t, h, ref.child(1)) != (reducer.AgentDetached{Reason: "parent"}) {
		t.Errorf("the subagent is %+v, %v, want it let go of by its caller", lastEvent(t, h, ref.child(1)), err)
	}
	change(t, h.journalFile(ref.child(1)), func(b []byte) []byte {
		i := strings.Index(string(b), "turn.started")
		b[i] = 'T'
		return b
	})
	out, err := h.Wait(limited(t), ref, Drive{})
	if got := h.ended(t, out, err); got.Result != "done" {
		t.Errorf("ended %+v, want done", got)
	}
	if got := outcomes(mustState(t, h, ref)); len(got) != 1 || !strings.Contains(got[0], "damaged") && !strings.Contains(got[0], "checksum") {
		t.Errorf("results = %q, want the damage", got)
	}
}

// FR-075: that a child is finished was told once and lost. It stands in two
// journals, and whoever asks reads it.
func TestFR075TheEndOfAChildIsAFact(t *testing.T) {
	s := cast{"go": {tasks("one"), providertest.Text("done")}, "one": {providertest.Text(strings.Repeat("long ", 20000))}}.server(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	out, err := h.Run(limited(t), asking(s, ws, "go"), Drive{})
	h.ended(t, out, err)
	for range 2 {
		got, err := h.Wait(limited(t), out.Ref.child(1), Drive{})
		text, e := h.Answer(got)
		if err != nil || e != nil || len(text) != 100000 {
			t.Errorf("Wait = %d bytes, %v, %v, want the whole answer", len(text), err, e)
		}
	}
	if got := outcomes(soundTree(t, h, out.Ref)); len(got) != 1 || !strings.Contains(got[0], "truncated") || len(got[0]) > 60<<10 {
		t.Errorf("the caller reads %d bytes, want a cut text that says so", len(got[0]))
	}

	// The caller's journal knows how the child's ended (JRN-46): a shorter one is found out.
	child := h.journalFile(out.Ref.child(1))
	change(t, child, func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] })
	if rep, err := h.Check(out.Ref); err != nil || rep.Err() == nil {
		t.Errorf("Check = %v, %v, want the cut journal found", rep.Err(), err)
	}
	if err := os.RemoveAll(filepath.Dir(child)); err != nil {
		t.Fatal(err)
	}
	if rep, err := h.Check(out.Ref); err != nil || rep.Err() == nil {
		t.Errorf("Check = %v, %v, want the missing journal found", rep.Err(), err)
	}
}
