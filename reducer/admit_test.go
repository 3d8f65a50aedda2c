package reducer

import (
	"errors"
	"strings"
	"testing"
)

// refused checks that an event may not be recorded now, and that the reason
// says why; "" wants it admitted.
func (b *bench) refused(e Event, says string) {
	b.t.Helper()
	err := Admit(b.s, e)
	switch r, ok := errors.AsType[*RefusedError](err); {
	case says == "" && err != nil:
		b.t.Errorf("Admit(%s) = %v, want nil", Describe(e), err)
	case says != "" && (!ok || r.Kind != KindOf(e) || !strings.Contains(err.Error(), says)):
		b.t.Errorf("Admit(%s) = %v, want a *RefusedError that says %q", Describe(e), err, says)
	}
}

const notOwed = "nothing is owed"

// An observation that reports on an effect is taken only while that effect is
// owed.
func TestAdmitWhatIsOwed(t *testing.T) {
	b := newBench(t, AgentCreated{})
	inTurn := []Event{
		ModelAnswered{Round: "r1"}, AttemptFailed{Round: "r1"}, RoundFailed{Round: "r1"},
	}
	for _, e := range inTurn {
		b.refused(e, "")
	}
	for _, e := range []Event{
		ModelAnswered{Round: "r2"},
		AttemptFailed{Round: "r2"},
		RoundFailed{Round: "r2"},
		opening(),
		WorkspaceFailed{},
		InboxClosed{},
		BoundPassed{Bound: BoundDeadline, By: "clock"},
		CallReviewed{Call: "r1.c1"},
		CallSettled{Call: "r1.c1", Outcome: OutcomeDone},
		ApprovalAnswered{Call: "r1.c1"},
		HookAnswered{Call: "r1.c1", Event: "pre"},
		HookAnswered{Call: "r1.c1", Event: "post"},
		ChildSettled{N: 1},
		ChildSettled{Task: "k/1"},
		UsageSampled{Child: 1},
	} {
		b.refused(e, notOwed)
	}
	b.sees(b.answer("guarded"))
	for _, e := range inTurn {
		b.refused(e, notOwed)
	}
	b.refused(HookAnswered{Call: "r1.c1", Event: "pre"}, "")
	b.refused(HookAnswered{Call: "r1.c1", Event: "post"}, notOwed)
	b.refused(b.reviewed(1), "")
	b.refused(b.settled(1), notOwed)
	b.sees(b.reviewed(1))
	b.refused(b.reviewed(1), notOwed)
	b.refused(b.settled(1), "")
	b.sees(b.settled(1))
	b.refused(b.settled(1), notOwed)
	b.refused(HookAnswered{Call: "r1.c1", Event: "post"}, "")
	b.refused(HookAnswered{Call: "r1.c1", Event: "pre"}, notOwed)

	b = newBench(t, AgentCreated{DeadlineMS: 1, Options: Options{Approve: ApprovePrompt}})
	b.refused(BoundPassed{Bound: BoundDeadline, By: "clock"}, "")
	b.sees(b.answer("child"))
	b.sees(b.reviewed(1))
	b.refused(ApprovalAnswered{Call: "r1.c1"}, "")
	b.sees(ApprovalAnswered{Call: b.call(1), Allow: true})
	b.refused(ApprovalAnswered{Call: "r1.c1"}, notOwed)
	b.refused(UsageSampled{Child: 1}, "")
	b.refused(ChildSettled{N: 1}, "")
	b.refused(CallSettled{Call: "r1.c1", Outcome: OutcomeDone}, notOwed) // the child's to say

	b.attach()
	b.refused(opening(), "")
	b.refused(WorkspaceFailed{}, "")
}

// Nothing is taken before an attach, after the end, while a decision is due, or
// that is no observation.
func TestAdmitNothing(t *testing.T) {
	b := &bench{t: t, s: Fold(State{}, AgentCreated{Kind: KindTask, Prompt: []Part{{Type: PartText}}})}
	b.refused(prompt("m1"), "nobody is attached")
	b = newBench(t, AgentCreated{})
	b.s = Apply(b.s, b.answer())
	b.refused(prompt("m1"), "a decision comes first")
	b.decide()
	b.refused(prompt("m1"), "")
	for _, e := range []Event{
		TurnStarted{},
		RoundStarted{},
		CallStarted{},
		CallSettled{Outcome: OutcomeLost},
		CallSettled{Outcome: OutcomeDone, Child: 1},
		ChildSpawned{N: 1},
		TaskEnded{},
		AgentAttached{},
		AgentDetached{},
		Note{Name: "note.text"},
	} {
		b.refused(e, "not an observation")
	}
	b.s = Apply(b.s, InboxClosed{})
	b.refused(CancelRequested{Scope: "task"}, "a decision comes first")
	b.decide()
	b.refused(prompt("m1"), "the agent has ended")
}

// JRN-38: what comes by itself is judged by who it is for, and taken once.
func TestAdmitUnasked(t *testing.T) {
	task, session, sub := newBench(t, AgentCreated{}), newBench(t, AgentCreated{Kind: KindSession}), newBench(t, AgentCreated{Kind: KindSubagent})

	task.refused(prompt("m1"), "")
	task.sees(prompt("m1"))
	task.refused(prompt("m1"), "received already")
	sub.refused(prompt("m1"), "takes no messages")
	session.refused(prompt("m1"), "")

	task.refused(ChildSpawned{Task: "k/1"}, "")
	task.sees(ChildSpawned{Task: "k/1"})
	task.refused(ChildSpawned{Task: "k/1"}, "known already")
	task.refused(ChildSpawned{Task: "k/2"}, "")

	for _, b := range []*bench{task, sub} {
		b.refused(SessionConfigured{Model: "m2"}, "only a session")
		b.refused(InboxClosed{By: "client"}, "only a session")
	}
	session.refused(SessionConfigured{Model: "m2"}, "")
	session.refused(InboxClosed{By: "client"}, "")
	session.sees(prompt("m1"))
	session.refused(InboxClosed{By: "client"}, "without an open turn")

	task.refused(BoundPassed{Bound: BoundTokens, By: "pool"}, "")
	task.sees(BoundPassed{Bound: BoundTokens, By: "pool"})
	task.refused(BoundPassed{Bound: BoundTokens, By: "parent"}, "passed already")
}

// A cancel names what it means, and is taken once.
func TestAdmitCancels(t *testing.T) {
	whole, turn := CancelRequested{Scope: "task"}, CancelRequested{Scope: "turn", Turn: "t1"}
	soft, softTask := CancelRequested{Scope: "turn", Turn: "t1", Graceful: true}, CancelRequested{Scope: "task", Graceful: true}

	b := newBench(t, AgentCreated{})
	b.refused(turn, "cancelled as a whole")
	b.refused(soft, "")
	b.refused(softTask, "")
	b.sees(soft)
	b.refused(soft, "stopping already")
	b.refused(whole, "")
	b.sees(whole)
	b.refused(whole, "cancelled already")

	b = newBench(t, AgentCreated{Kind: KindSession})
	b.refused(turn, "is not open")
	b.refused(soft, "no turn is open")
	b.refused(whole, "one by one")
	b.sees(prompt("m1"))
	b.refused(CancelRequested{Scope: "turn", Turn: "t2"}, "is not open")
	b.refused(CancelRequested{Scope: "turn", Turn: "t2", Graceful: true}, "is not open")
	b.refused(turn, "")
	b.sees(turn)
	b.refused(turn, "cancelled already")
	b.refused(soft, "")
}
