package basis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

var errCrash = errors.New("killed")

// disk is what survives a kill: the records of one agent, and what its tools
// did outside. It takes a number of records and then nothing more, also inside
// a batch.
type disk struct {
	*memoryStore
	left    int        // records until the kill; negative is never
	commits [][]string // the kinds of each batch
}

func (d *disk) append(events ...reducer.Event) ([]reducer.Entry, error) {
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, reducer.KindOf(e))
	}
	landed := len(kinds)
	if d.left >= 0 {
		landed = min(landed, d.left)
	}
	d.commits = append(d.commits, kinds[:landed])
	if d.left >= 0 && len(events) > d.left {
		d.memoryStore.append(events[:d.left]...)
		d.left = 0
		return nil, errCrash
	}
	if d.left >= 0 {
		d.left -= len(events)
	}
	return d.memoryStore.append(events...)
}

// heap is a blob store in memory.
type heap struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (h *heap) Put(data []byte, media string) (reducer.Ref, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := reducer.Ref{Digest: fmt.Sprintf("sha256:%064x", len(h.m)+1), Size: int64(len(data)), Media: media}
	h.m[r.Digest] = slices.Clone(data)
	return r, nil
}

func (h *heap) Get(ref reducer.Ref) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[ref.Digest], nil
}

func (h *heap) Path(ref reducer.Ref) string { return ref.Digest }

// marks is the outside world: how often each call was really run.
type marks struct {
	mu    sync.Mutex
	count map[string]int
}

func (m *marks) add(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count[call]++
}

// fakeTool runs a call by leaving a mark.
type fakeTool struct {
	spec  effects.Spec
	marks *marks
}

func (f fakeTool) Spec() effects.Spec { return f.spec }

func (f fakeTool) Call(_ context.Context, in effects.Invocation) (effects.Result, error) {
	f.marks.add(in.Call)
	in.Progress("working\n")
	if strings.Contains(string(in.Input), "fail") {
		return effects.Result{Output: "it failed", IsError: true, Code: "bad"}, nil
	}
	return effects.Result{Output: "result of " + in.Call}, nil
}

// scriptedModel answers by how many assistant messages it is shown, so that a
// request that is sent again gets the same answer.
type scriptedModel struct{ rounds []provider.Answer }

func (m scriptedModel) Stream(_ context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		n := 0
		for _, msg := range req.Messages {
			if msg.Role == provider.RoleAssistant {
				n++
			}
		}
		if n >= len(m.rounds) {
			yield(nil, &provider.Error{Kind: provider.KindInvalid, Message: "the script has ended"})
			return
		}
		if !yield(provider.TextDelta{Text: "hm"}, nil) {
			return
		}
		if n == 1 && len(m.rounds) > 2 && !yield(provider.Retrying{Attempt: 1, Max: 6, Err: &provider.Error{Kind: provider.KindCut}}, nil) {
			return
		}
		a := m.rounds[n]
		a.Items = slices.Clone(a.Items)
		yield(provider.Done{Answer: a}, nil)
	}
}

func answer(text string, calls ...reducer.Item) provider.Answer {
	a := provider.Answer{
		Stop: reducer.StopEndTurn, Usage: reducer.Usage{Input: reducer.Known(10), Output: reducer.Known(2)},
		Source: reducer.Provenance{Provider: "p", Model: "m", Wire: "w"}, Request: reducer.RequestInfo{Digest: "d", Size: 1},
	}
	if text != "" {
		a.Items = append(a.Items, reducer.Item{Type: reducer.ItemText, Text: reducer.T(text)})
	}
	if len(calls) > 0 {
		a.Items, a.Stop = append(a.Items, calls...), reducer.StopToolUse
	}
	return a
}

func call(name, args string) reducer.Item {
	return reducer.Item{Type: reducer.ItemCall, ID: "x", Name: name, Args: reducer.T(args)}
}

type yes struct{}

func (yes) Review(context.Context, effects.Approval) (effects.Verdict, error) {
	return effects.Verdict{Allow: true, Scope: "once", By: "person"}, nil
}

// life is one agent over all its attaches.
type life struct {
	run   *run // of the newest attach
	t     *testing.T
	disk  *disk
	marks *marks
	heap  *heap
	inbox *memorySpool
	model provider.Model
	asked effects.Approver               // nil says yes
	hooks []effects.Hook                 // nobody judges
	nowMS int64                          // what the clock says at an attach
	seen  func(records int, stop func()) // called after each commit of a run
}

// memorySpool is a spool whose content survives a kill.
type memorySpool struct {
	mu      sync.Mutex
	files   []reducer.Event
	put1    bool // something has been put by the test
	found   func()
	workers sync.WaitGroup
}

func (s *memorySpool) sweep() ([]arrival, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []arrival
	for _, e := range s.files {
		all = append(all, arrival{events: []reducer.Event{e}, recorded: func() { s.remove(e) }})
	}
	return all, nil
}

func (s *memorySpool) remove(e reducer.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := reducer.Describe(e)
	s.files = slices.DeleteFunc(s.files, func(f reducer.Event) bool { return reducer.Describe(f) == want })
}

// put leaves something, once.
func (s *memorySpool) put(e reducer.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put1 {
		return
	}
	s.put1 = true
	s.files = append(s.files, e)
	if s.found != nil {
		s.workers.Go(s.found)
	}
}

func (s *memorySpool) watch(ctx context.Context, found func()) {
	s.mu.Lock()
	s.found = found
	n := len(s.files)
	s.mu.Unlock()
	if n > 0 {
		found()
	}
	<-ctx.Done()
	s.workers.Wait()
}

func (s *memorySpool) lock() (func(), error) { return func() {}, nil }

func newLife(t *testing.T, created reducer.AgentCreated, model provider.Model, spooled ...reducer.Event) *life {
	l := &life{
		t: t, disk: &disk{memoryStore: newMemoryStore(time.Now), left: -1}, marks: &marks{count: map[string]int{}},
		heap: &heap{m: map[string][]byte{}}, inbox: &memorySpool{files: spooled}, model: model,
	}
	l.disk.append(reducer.JournalCreated{ID: "j", Format: 1}, created)
	return l
}

func (l *life) performer() *effects.Performer {
	tool := func(name string, class reducer.Class, lane reducer.Lane) effects.Tool {
		return fakeTool{effects.Spec{Name: name, Schema: json.RawMessage(`{}`), Class: class, Lane: lane}, l.marks}
	}
	tools := []effects.Tool{
		tool("read", reducer.ClassNone, reducer.LaneParallel),
		tool("edit", reducer.ClassState, reducer.LaneExclusive),
		tool("spawn", reducer.ClassProcess, reducer.LaneExclusive),
	}
	var asked effects.Approver = yes{}
	if l.asked != nil {
		asked = l.asked
	}
	return effects.NewPerformer(effects.Options{
		Blobs: l.heap, Approver: asked,
		Open: func(context.Context, reducer.State) (effects.Workspace, error) {
			opened := reducer.WorkspaceOpened{Provider: "p", Model: "m", Wire: "w", SystemDigest: "s", System: reducer.T("sys")}
			return effects.Workspace{Opened: opened, Model: l.model, Tools: tools, Hooks: l.hooks}, nil
		},
	})
}

// attach is one process's life: from the fold of what survived to its end.
func (l *life) attach(ctx context.Context) error {
	r := newRun(l.inbox, time.Now)
	r.performer, r.askable, r.store = l.performer(), true, l.disk
	l.run = r
	f := &fold{r: r}
	err := f.resume(l.disk.read(0), nil, l.nowMS)
	if errors.Is(err, errEnded) {
		return nil
	}
	if err == nil {
		err = r.commit(f)
	}
	if err != nil {
		return err
	}
	for _, recorded := range f.taken {
		recorded()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.seen != nil {
		r.tap = func(Update) {
			l.seen(len(l.disk.entries), func() { cancel(&Stop{Reason: "signal", Detail: "interrupt"}) })
		}
	}
	return r.loop(ctx)
}

func (l *life) journal() []reducer.Entry {
	var all []reducer.Entry
	for e := range l.disk.read(0) {
		all = append(all, e)
	}
	return all
}

func (l *life) dump() string {
	var b strings.Builder
	for _, e := range l.journal() {
		fmt.Fprintf(&b, "%3d %s\n", e.Seq, reducer.Describe(e.Event))
	}
	return b.String()
}

// everything is a prompt whose run uses every effect that a task of this
// version has: a workspace, requests with a failed attempt, parallel reads, an
// approval, a command, a failing edit, a message in mid-run.
func everything(t *testing.T) *life {
	model := scriptedModel{rounds: []provider.Answer{
		answer("looking", call("read", `{"p":1}`), call("read", `{"p":2}`), call("spawn", `{"c":1}`), call("edit", `{"x":"fail"}`)),
		answer("", call("edit", `{"y":1}`), call("read", `{"p":3}`), call("nosuch", ``), call("spawn", `not json`)),
		answer("first answer"),
		answer("second answer"),
	}}
	return newLife(t, reducer.AgentCreated{
		Kind: reducer.KindTask, ID: "a", Conversation: "a", Workspace: "/w",
		Prompt:  []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}},
		Options: reducer.Options{Approve: reducer.ApprovePrompt},
	}, model, reducer.MessageReceived{
		Message: strings.Repeat("0", 32), From: "inbox", Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("and?")}},
	})
}

// check looks at a life that has ended.
func (l *life) check(name string) {
	l.t.Helper()
	var s reducer.State
	result, err := replay.Verify(s, l.disk.read(0))
	if err != nil {
		l.t.Fatalf("%s: %v\n%s", name, err, l.dump())
	}
	s = result.State
	if s.End.State != reducer.StateSucceeded || s.End.Result.String() != "second answer" {
		l.t.Fatalf("%s: ended %+v, want succeeded with the second answer\n%s", name, s.End, l.dump())
	}
	settled := map[string]int{}
	for _, e := range l.journal() {
		switch e := e.Event.(type) {
		case reducer.CallSettled:
			settled[e.Call]++
		case reducer.CallRefused:
			settled[e.Call]++
		default:
		}
	}
	for i := range 8 {
		id := reducer.CallID(fmt.Sprintf("r%d", 1+i/4), i%4)
		if settled[id] != 1 {
			l.t.Errorf("%s: call %s has %d results, want 1\n%s", name, id, settled[id], l.dump())
		}
	}
	for _, id := range []string{"r1.c3", "r1.c4", "r2.c1"} { // calls with effects
		if n := l.marks.count[id]; n > 1 {
			l.t.Errorf("%s: call %s ran %d times, want at most once\n%s", name, id, n, l.dump())
		}
	}
}

// JRN-33, JRN-34…38, JRN-99, TASK-67, FR-004, FR-005: a kill after every record, inside
// batches too, and again after every record of the attach that follows; the
// task ends with the same answer, each call has one result, and no call with
// effects ran twice. (FR-004: other harnesses ran the interrupted command
// again. FR-005: two recovery paths each closed the same call.)
func TestFR004FR005KilledAfterEveryRecord(t *testing.T) {
	whole := everything(t)
	if err := whole.attach(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, whole.dump())
	}
	whole.check("no kill")
	records := len(whole.journal()) - 2
	for k := range records + 1 {
		for k2 := -1; k2 < 12; k2++ {
			l := everything(t)
			l.disk.left = k
			if err := l.attach(t.Context()); err != nil && !errors.Is(err, errCrash) {
				t.Fatalf("kill after %d: %v\n%s", k, err, l.dump())
			}
			l.disk.left = k2
			if err := l.attach(t.Context()); err != nil && !errors.Is(err, errCrash) {
				t.Fatalf("kill after %d and %d: %v\n%s", k, k2, err, l.dump())
			}
			l.disk.left = -1
			if err := l.attach(t.Context()); err != nil {
				t.Fatalf("kill after %d and %d: %v\n%s", k, k2, err, l.dump())
			}
			l.check(fmt.Sprintf("kill after %d and %d", k, k2))
		}
	}
}
