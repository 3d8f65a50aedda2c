package reducer

import (
	"slices"
	"strings"
	"testing"
)

// story plays commits by hand: each line is what came from outside, and what
// the rules must make of it, by kinds.
type story struct {
	t *testing.T
	s State
}

func begin(t *testing.T, created AgentCreated) *story {
	t.Helper()
	st := &story{t: t}
	st.s = Fold(State{}, JournalCreated{ID: "j"}, created)
	return st
}

func task(prompt string) AgentCreated {
	return AgentCreated{Kind: KindTask, ID: "a", Conversation: "a", Workspace: "/w", Prompt: []Part{{Type: PartText, Text: T(prompt)}}}
}

// happens admits and folds an event and compares what follows with want: kinds
// of decisions, with a detail after a colon where it matters.
func (st *story) happens(e Event, want ...string) *story {
	st.t.Helper()
	if ClassOf(e) == Observation {
		if err := Admit(st.s, e); err != nil {
			st.t.Fatalf("Admit(%s) = %v", Describe(e), err)
		}
	}
	st.s = Apply(st.s, e)
	d := Decide(st.s)
	var got []string
	for _, e := range d {
		got = append(got, short(e))
	}
	if !slices.Equal(got, want) {
		st.t.Fatalf("after %s the rules say %q, want %q", Describe(e), got, want)
	}
	st.s = Fold(st.s, d...)
	return st
}

// short is the kind with what tells it apart.
func short(e Event) string {
	switch e := e.(type) {
	case TurnEnded:
		return "turn.ended:" + string(e.Outcome)
	case TurnStarted:
		return "turn.started:" + e.Turn
	case CallSettled:
		return "call.settled:" + string(e.Outcome)
	case CallRefused:
		return "call.refused:" + e.Code
	case TaskEnded:
		return "task.ended:" + string(e.State)
	case MessageAnswered:
		return "message.answered:" + string(e.Outcome)
	default:
		return KindOf(e)
	}
}

// owes compares the effects that are owed, by id, with a ! before those that
// are unwanted.
func (st *story) owes(want ...string) *story {
	st.t.Helper()
	var got []string
	for _, f := range st.s.Open() {
		id := EffectID(f)
		if Unwanted(f) != "" {
			id = "!" + id
		}
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		st.t.Fatalf("Open() = %q, want %q", got, want)
	}
	return st
}

func (st *story) refuses(e Event, why string) *story {
	st.t.Helper()
	err := Admit(st.s, e)
	if err == nil || !strings.Contains(err.Error(), why) {
		st.t.Fatalf("Admit(%s) = %v, want a refusal with %q", Describe(e), err, why)
	}
	return st
}

func attach(gen uint64) Event { return AgentAttached{Gen: gen, Rules: RulesVersion, Program: "test"} }

var opened = WorkspaceOpened{Provider: "p", Model: "m", Wire: "w"}

func says(round, text string, heads ...CallHead) Event {
	e := ModelAnswered{Round: round, Stop: StopEndTurn, Usage: Usage{Input: Known(10), Output: Known(5)}}
	if text != "" {
		e.Items = append(e.Items, Item{Type: ItemText, Text: T(text)})
	}
	for i, h := range heads {
		h.ID = CallID(round, i)
		e.Calls = append(e.Calls, h)
		e.Items = append(e.Items, Item{Type: ItemCall, ID: "v", Name: h.Name, Args: T(`{}`)})
		e.Stop = StopToolUse
	}
	return e
}

var (
	aRead     = CallHead{Name: "read", Class: ClassNone, Lane: LaneParallel}
	aCommand  = CallHead{Name: "spawn", Class: ClassProcess, Lane: LaneExclusive}
	anEdit    = CallHead{Name: "edit", Class: ClassState, Lane: LaneExclusive}
	aSubagent = CallHead{Name: "spawn", Class: ClassState, Lane: LaneDelegation}
)

// One prompt: two parallel reads, a rewriting hook, an approval, a failing edit.
func TestExampleA(t *testing.T) {
	created := task("go")
	created.Options.Approve = ApprovePrompt
	created.DeadlineMS = 99
	guarded := opened
	guarded.Hooks = []HookInfo{{Name: "guard", Event: "pre", Tools: []string{"spawn"}}}
	begin(t, created).
		happens(attach(2)).owes("deadline", "open").
		happens(guarded, "turn.started:t1", "round.started").owes("deadline", "model r1").
		happens(says("r1", "", aRead, aRead, aCommand, anEdit), "call.started", "call.started").
		owes("deadline", "run r1.c1", "run r1.c2").
		happens(CallSettled{Call: "r1.c2", Outcome: OutcomeDone, Output: T("two")}).
		happens(CallSettled{Call: "r1.c1", Outcome: OutcomeDone, Output: T("one")}).owes("deadline", "review r1.c3").
		happens(HookAnswered{Call: "r1.c3", Event: "pre", Hook: "guard", Decision: "modify"}).
		happens(CallReviewed{Call: "r1.c3", Input: T(`{"input":"!make"}`)}, "approval.requested").owes("deadline", "ask r1.c3").
		happens(ApprovalAnswered{Call: "r1.c3", Allow: true, Scope: "once", By: "person"}, "call.started").owes("deadline", "run r1.c3").
		happens(CallSettled{Call: "r1.c3", Outcome: OutcomeDone, Output: T("three")}).owes("deadline", "review r1.c4").
		happens(CallReviewed{Call: "r1.c4", Rule: "project/allow"}, "call.started").
		happens(CallSettled{Call: "r1.c4", Outcome: OutcomeFailed, Code: "not_unique", Output: T("four")}, "round.started").
		inOrder("one", "two", "three", "four").
		happens(says("r2", "done"), "turn.ended:ok").owes("deadline", "close").
		happens(InboxClosed{}, "task.ended:succeeded").owes()
}

// inOrder: the model reads the results in the order of the calls.
func (st *story) inOrder(want ...string) *story {
	st.t.Helper()
	m, _ := st.s.Transcript.Last()
	var got []string
	for _, r := range m.Results {
		got = append(got, r.Text.String())
	}
	if !slices.Equal(got, want) {
		st.t.Fatalf("the model reads %q, want %q", got, want)
	}
	return st
}

// A kill -9 in each gap: what the next attach decides and owes.
func TestExampleB(t *testing.T) {
	created := task("go")
	upToCalls := func() *story {
		return begin(t, created).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(says("r1", "", aRead, aCommand, anEdit), "call.started")
	}
	commandRuns := func() *story {
		return upToCalls().happens(CallSettled{Call: "r1.c1", Outcome: OutcomeDone}).
			happens(CallReviewed{Call: "r1.c2"}, "call.started")
	}
	t.Run("1|2", func(t *testing.T) { begin(t, created).happens(attach(2)).happens(attach(3)).owes("open") })
	t.Run("2|3", func(t *testing.T) {
		begin(t, created).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(attach(3)).owes("open").happens(opened).owes("model r1")
	})
	t.Run("in 3", func(t *testing.T) {
		st := begin(t, created).happens(attach(2)).happens(opened, "turn.started:t1", "round.started")
		st.s = Apply(st.s, says("r1", "", aRead, aRead)) // the answer alone survived
		st.happens(attach(3)).owes("open").happens(opened, "call.started", "call.started")
	})
	t.Run("3|4", func(t *testing.T) { upToCalls().happens(attach(3)).owes("open").happens(opened).owes("run r1.c1") })
	t.Run("7|8", func(t *testing.T) {
		commandRuns().happens(attach(3), "call.settled:lost").owes("open").happens(opened).owes("review r1.c3")
	})
	t.Run("10|11", func(t *testing.T) {
		begin(t, created).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(says("r1", "done"), "turn.ended:ok").happens(attach(3)).owes("close")
	})
	t.Run("in 11", func(t *testing.T) {
		st := begin(t, created).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(says("r1", "done"), "turn.ended:ok")
		st.s = Apply(st.s, InboxClosed{}) // without task.ended
		st.happens(attach(3), "task.ended:succeeded")
	})
	t.Run("a cancel was left", func(t *testing.T) {
		commandRuns().happens(attach(3), "call.settled:lost").
			happens(CancelRequested{Scope: "task"}, "call.refused:cancelled", "turn.ended:cancelled").owes("close").
			happens(InboxClosed{}, "task.ended:cancelled")
	})
	t.Run("the deadline lapsed", func(t *testing.T) {
		timed := created
		timed.DeadlineMS = 5
		begin(t, timed).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(attach(3)).happens(BoundPassed{Bound: BoundDeadline, By: "clock"}, "turn.ended:failed").owes("close").
			happens(InboxClosed{}, "task.ended:failed")
	})
	t.Run("a read while the turn ends", func(t *testing.T) {
		upToCalls().happens(attach(3)).
			happens(CancelRequested{Scope: "task"}, "call.settled:lost", "call.refused:cancelled", "call.refused:cancelled", "turn.ended:cancelled")
	})
}

// A delegation with calls of its own, and a crash in mid-child.
func TestExampleC(t *testing.T) {
	parent := func() *story {
		return begin(t, task("go")).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(says("r1", "", aSubagent)).owes("review r1.c1").
			happens(CallReviewed{Call: "r1.c1"}, "call.started", "child.spawned").owes("child 1").
			happens(UsageSampled{Child: 1, Round: "r1", Usage: Usage{Input: Known(7)}})
	}
	done := ChildSettled{N: 1, Outcome: OutcomeDone, Text: T("found"), Usage: Usage{Input: Known(9)}}
	st := parent().happens(done, "call.settled:done", "round.started").inOrder("found")
	if got, _ := st.s.Usage().Input.Get(); got != 19 {
		t.Errorf("usage = %d tokens, want 10 of its own and 9 of the child, which replace the relayed 7", got)
	}
	parent().happens(attach(3)).owes("open", "child 1").happens(done, "call.settled:done")
	parent().happens(CancelRequested{Scope: "task"}).owes("!child 1").
		happens(ChildSettled{N: 1, Outcome: OutcomeCancelled}, "call.settled:cancelled", "turn.ended:cancelled").owes("close")
	begin(t, AgentCreated{Kind: KindSubagent, ID: "1", Prompt: []Part{{Type: PartText, Text: T("find")}}}).
		happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
		happens(says("r1", "found"), "turn.ended:ok", "task.ended:succeeded").owes()
}

// Meeting the end: messages, cancels, deadlines, cut streams.
func TestExampleD(t *testing.T) {
	m := MessageReceived{Message: strings.Repeat("a", 32), From: "inbox", Parts: []Part{{Type: PartText, Text: T("and?")}}}
	asked := func() *story {
		return begin(t, task("go")).happens(attach(2)).happens(opened, "turn.started:t1", "round.started")
	}
	t.Run("a message in mid-round", func(t *testing.T) {
		asked().happens(m).happens(says("r1", "one"), "turn.ended:ok", "turn.started:t2", "round.started").
			happens(says("r2", "two"), "turn.ended:ok", "message.answered:ok").owes("close").
			happens(InboxClosed{}, "task.ended:succeeded").refuses(m, "has ended")
	})
	t.Run("a message at the last moment", func(t *testing.T) {
		asked().happens(says("r1", "one"), "turn.ended:ok").owes("close").happens(m, "turn.started:t2", "round.started").owes("model r2")
	})
	t.Run("a message twice", func(t *testing.T) { asked().happens(m).refuses(m, "received already") })
	t.Run("a cancel in a command", func(t *testing.T) {
		asked().happens(says("r1", "", aCommand, anEdit)).happens(CallReviewed{Call: "r1.c1"}, "call.started").
			happens(CancelRequested{Scope: "task"}, "call.refused:cancelled").owes("!run r1.c1").
			happens(CallSettled{Call: "r1.c1", Outcome: OutcomeCancelled, Output: T("half")}, "turn.ended:cancelled").
			happens(InboxClosed{}, "task.ended:cancelled")
	})
	t.Run("a cancel after success", func(t *testing.T) {
		asked().happens(says("r1", "one"), "turn.ended:ok").happens(CancelRequested{Scope: "task"}).
			happens(InboxClosed{}, "task.ended:cancelled")
	})
	t.Run("the deadline in a round", func(t *testing.T) {
		timed := task("go")
		timed.DeadlineMS = 5
		begin(t, timed).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(BoundPassed{Bound: BoundDeadline, By: "clock"}).owes("!model r1").
			happens(RoundFailed{Round: "r1", Kind: "deadline", Partial: T("so far")}, "turn.ended:failed").
			happens(InboxClosed{}, "task.ended:failed")
	})
	t.Run("the deadline after the work", func(t *testing.T) {
		timed := task("go")
		timed.DeadlineMS = 5
		begin(t, timed).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
			happens(says("r1", "one"), "turn.ended:ok").happens(BoundPassed{Bound: BoundDeadline, By: "clock"}).
			happens(InboxClosed{}, "task.ended:succeeded")
	})
	t.Run("a cut stream", func(t *testing.T) {
		asked().happens(AttemptFailed{Round: "r1", Attempt: 1, Max: 6, Kind: "stream_cut"}).owes("model r1").
			happens(says("r1", "one"), "turn.ended:ok")
	})
}

// A session: turns by messages, a crash in a turn, a continuation, the close.
func TestExampleE(t *testing.T) {
	prompt := func(c string) MessageReceived {
		return MessageReceived{Message: strings.Repeat(c, 32), From: "client", Parts: []Part{{Type: PartText, Text: T(c)}}}
	}
	session := AgentCreated{Kind: KindSession, ID: "s", Conversation: "a"}
	first := begin(t, task("go")).happens(attach(2)).happens(opened, "turn.started:t1", "round.started").
		happens(says("r1", "one"), "turn.ended:ok").happens(InboxClosed{}, "task.ended:succeeded")
	st := &story{t: t, s: Apply(Continue(first.s), session)}
	st.happens(attach(2)).owes().
		happens(prompt("1")).owes("open").
		happens(opened, "turn.started:t2", "round.started").owes("model r2").
		happens(says("r2", "", aCommand, anEdit)).happens(CallReviewed{Call: "r2.c1"}, "call.started")
	killed := &story{t: t, s: st.s}
	killed.happens(attach(3), "call.settled:lost", "call.refused:interrupted", "turn.ended:interrupted", "message.answered:interrupted").owes()
	st.refuses(CancelRequested{Scope: "turn", Turn: "t1"}, "not open").
		happens(CancelRequested{Scope: "turn", Turn: "t2"}, "call.refused:cancelled").owes("!run r2.c1").
		happens(CallSettled{Call: "r2.c1", Outcome: OutcomeCancelled}, "turn.ended:cancelled", "message.answered:cancelled").owes().
		happens(prompt("2"), "turn.started:t3", "round.started").
		refuses(InboxClosed{By: "client"}, "open turn").
		happens(RoundFailed{Round: "r3", Kind: "auth"}, "turn.ended:failed", "message.answered:failed").
		happens(prompt("3"), "turn.started:t4", "round.started").
		happens(says("r4", "four"), "turn.ended:ok", "message.answered:ok").
		happens(InboxClosed{By: "client"}, "task.ended:closed")
	stale := &story{t: t, s: Fold(State{}, session, attach(2))}
	stale.happens(prompt("4")).happens(attach(3), "message.answered:interrupted").owes()
	failing := &story{t: t, s: Fold(State{}, session, attach(2))}
	failing.happens(prompt("5")).happens(WorkspaceFailed{Code: "x", Error: "no"}, "message.answered:failed").owes().
		happens(prompt("6")).owes("open")
}
