package reducer

import (
	"strings"
	"testing"
)

func prompt(id string) MessageReceived {
	return MessageReceived{Message: id, From: "inbox", Parts: []Part{{Type: PartText, Text: T("words of " + id)}}}
}

// What an answer without calls makes of its turn, by why it stopped.
func TestFinalAnswers(t *testing.T) {
	tests := []struct {
		stop Stop
		text string
		says string // of the failure; "" is a success
	}{
		{StopEndTurn, "done", ""},
		{StopStopSequence, "done", ""},
		{StopToolUse, "done", ""},
		{StopOther, "done", ""},
		{StopEndTurn, " \n", "answered nothing"},
		{StopOther, "", "answered nothing"},
		{StopMaxTokens, "half", "output limit"},
		{StopRefusal, " no way ", "refused to answer: no way"},
		{StopRefusal, "", "refused to answer"},
		{StopContentFilter, "half", "content filter"},
		{StopContextOverflow, "half", "context window"},
		{StopMalformedCall, "half", "could not read"},
		{StopError, "half", "did not arrive whole"},
		{StopCut, "half", "did not arrive whole"},
	}
	for _, tt := range tests {
		b := newBench(t, AgentCreated{})
		e := b.answer()
		e.Stop, e.Items = tt.stop, []Item{{Type: ItemText, Text: T(tt.text)}}
		said := strings.Join(b.sees(e), ", ")
		switch {
		case tt.says == "" && (said != "turn.ended ok" || b.s.Last.Result.String() != tt.text):
			t.Errorf("%s %q: decided %q with result %q, want ok with the text", tt.stop, tt.text, said, b.s.Last.Result)
		case tt.says != "" && (said != "turn.ended failed" || !strings.Contains(b.s.Last.Error, tt.says) || !b.s.Last.Result.IsZero()):
			t.Errorf("%s %q: decided %q with error %q, want a failure saying %q", tt.stop, tt.text, said, b.s.Last.Error, tt.says)
		}
	}
	b := newBench(t, AgentCreated{}) // pauses go on, and are no answers that could not be acted on
	for i := range 2 * MaxCutAnswers {
		e := b.answer()
		e.Stop = StopPause
		b.wantSaid("a pause", b.sees(e), "round.started "+roundID(i+2))
	}
}

// A graceful stop lets the calls of the round run, and ends the turn well.
func TestGracefulStop(t *testing.T) {
	b := newBench(t, AgentCreated{})
	stop := CancelRequested{Scope: "turn", Turn: "t1", Graceful: true}
	b.wantSaid("a stop before the answer", b.sees(stop), "")
	b.wantOwed("a stop before the answer", "model r1")
	b.wantSaid("the answer", b.sees(b.answer("read", "read")), "started c1, started c2")
	b.wantSaid("the calls", b.sees(b.settled(1), b.settled(2)), "turn.ended ok")
	if b.s.Last.StoppedBy != "" || !b.s.Last.Result.IsZero() {
		t.Errorf("Last = %+v, want ok without a bound or a result", b.s.Last)
	}
}

// A turn that is cancelled refuses what has not started, wants nothing that
// runs, waits for it, and ends when all of it is settled.
func TestCancelledTurn(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("read", "read", "edit"))
	cancel := CancelRequested{Scope: "task"}
	b.wantSaid("the cancel", b.sees(cancel), "refused c3 cancelled")
	b.wantOwed("the cancel", "run r1.c1 (cancelled), run r1.c2 (cancelled)")
	out := CallSettled{Call: b.call(1), Outcome: OutcomeCancelled, Output: T("so far\n"), Reason: "stopped"}
	b.wantSaid("one of two", b.sees(out), "")
	out = CallSettled{Call: b.call(2), Outcome: OutcomeCancelled}
	b.wantSaid("the other", b.sees(out), "turn.ended cancelled")
	for i, want := range []string{"cancelled: stopped.\nIts output until then:\nso far", "This call was cancelled.", "turn is ending (cancelled)"} {
		if r := b.results()[i]; !r.IsError || !strings.Contains(r.Text.String(), want) {
			t.Errorf("result %d = %+v, want %q", i+1, r, want)
		}
	}
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended cancelled")

	b = newBench(t, AgentCreated{})
	b.sees(cancel)
	b.wantOwed("a cancel in a request", "model r1 (cancelled)")
	b.wantSaid("its end", b.sees(RoundFailed{Round: "r1", Kind: "cancelled", Partial: T("par")}), "turn.ended cancelled")
	if m, _ := b.s.Transcript.Last(); m.Role != RoleAssistant || m.Items[0].Text.String() != "par\n[This turn was cancelled.]" {
		t.Errorf("last message = %+v, want the partial text and the outcome", m)
	}

	b = newBench(t, AgentCreated{}) // an answer that is there stays one
	b.sees(b.answer())
	b.wantSaid("a cancel after the answer", b.sees(cancel), "")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended cancelled")
}

// A turn that is ending waits for the hooks of a result that is there.
func TestEndingWaitsForHooks(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("guarded"))
	b.sees(b.reviewed(1), b.settled(1))
	b.wantSaid("a cancel", b.sees(CancelRequested{Scope: "task"}), "")
	b.wantOwed("a cancel", "post r1.c1 (cancelled)")
	last := HookAnswered{Call: b.call(1), Event: "post", Last: true, Withheld: true}
	b.wantSaid("the hook", b.sees(last), "turn.ended cancelled")
}

// Child tasks are driven when the task would end, and are unwanted where it
// ends badly.
func TestChildTasksAreUnwanted(t *testing.T) {
	tests := map[string]struct {
		sees Event
		want string
	}{
		"a success": {nil, "task k/1"},
		"a failure": {RoundFailed{Round: "r1", Kind: "auth"}, "task k/1 (failed)"},
		"a cancel":  {CancelRequested{Scope: "task"}, "task k/1 (cancelled)"},
		"a bound":   {BoundPassed{Bound: BoundDeadline, By: "clock"}, "task k/1 (deadline)"},
	}
	for name, tt := range tests {
		b := newBench(t, AgentCreated{DeadlineMS: 1})
		b.sees(ChildSpawned{Task: "k/1"})
		if _, failure := tt.sees.(RoundFailed); !failure {
			b.sees(b.answer())
			b.wantOwed(name, "task k/1")
		}
		if tt.sees != nil {
			b.sees(tt.sees)
		}
		b.wantOwed(name, tt.want)
	}
}

// A cancelled delegation that had a child ends with it; one without never was.
func TestCancelledDelegations(t *testing.T) {
	b := newBench(t, AgentCreated{}) // what is left after a crash needs no workspace to be ended
	b.sees(b.answer("child"))
	b.sees(b.reviewed(1))
	b.attach()
	b.wantOwed("an attach", "open, child 1")
	b.sees(CancelRequested{Scope: "task"})
	b.wantOwed("a cancel after it", "child 1 (cancelled)")

	b = newBench(t, AgentCreated{})
	b.sees(b.answer("child"))
	b.sees(b.reviewed(1))
	b.sees(CancelRequested{Scope: "task"})
	b.wantOwed("the cancel", "child 1 (cancelled)")
	b.wantSaid("the child", b.sees(ChildSettled{N: 1, Outcome: OutcomeCancelled, Text: T("half")}), "settled c1 cancelled, turn.ended cancelled")

	b = newBench(t, AgentCreated{})
	b.sees(b.answer("child"))
	b.s = Apply(b.s, b.reviewed(1))
	b.s = Fold(b.s, CallStarted{Call: b.call(1)}, AgentAttached{Gen: 9}) // torn before child.spawned
	b.wantSaid("an attach", b.decide(), "")
	b.wantSaid("the workspace", b.sees(opening()), "child.spawned c1")

	b = newBench(t, AgentCreated{})
	b.sees(b.answer("child"))
	b.s = Apply(b.s, b.reviewed(1))
	b.s = Fold(b.s, CallStarted{Call: b.call(1)}, AgentAttached{Gen: 9}, CancelRequested{Scope: "task"})
	b.wantSaid("a cancel without a child", b.decide(), "settled c1 cancelled, turn.ended cancelled")
}

// A failed child's error is what the model reads where it said nothing.
func TestFailedDelegation(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("child", "child"))
	b.sees(b.reviewed(1), b.reviewed(2))
	b.sees(ChildSettled{N: 1, Outcome: OutcomeFailed, Error: "no model"})
	b.sees(ChildSettled{N: 2, Outcome: OutcomeFailed, Error: "no model", Text: T("half")})
	if r := b.results(); r[0].Text.String() != "The subagent failed: no model" || r[1].Text.String() != "half" || !r[0].IsError {
		t.Errorf("results = %+v, want the error and the text", r)
	}
}

// TOOL-35: a subagent asks its model thirty times at most, and a limit that it
// reached is what its caller reads (FR-074).
func TestLimitsOfASubagent(t *testing.T) {
	b := newBench(t, AgentCreated{Kind: KindSubagent})
	for range MaxSubagentRounds - 1 {
		b.sees(b.answer("read"))
		b.sees(b.settled(1))
	}
	b.sees(b.answer("read"))
	b.wantSaid("the last answer's call", b.sees(b.settled(1)), "turn.ended failed, task.ended failed")
	if !strings.Contains(b.s.End.Error, "30 times") {
		t.Errorf("error = %q, want the number of requests", b.s.End.Error)
	}

	b = newBench(t, AgentCreated{})
	b.sees(b.answer("child"))
	b.sees(b.reviewed(1))
	b.sees(ChildSettled{N: 1, Outcome: OutcomeFailed, Error: "the tool budget is spent", StoppedBy: BoundTools})
	if r := b.results(); !r[0].IsError || !strings.Contains(r[0].Text.String(), "tool_budget") {
		t.Errorf("results = %+v, want the limit by name", r)
	}
}

// CORE-75: where the tokens are spent already nothing is delegated, though the
// other calls of that answer run.
func TestNoDelegationOnSpentTokens(t *testing.T) {
	b := newBench(t, AgentCreated{Bounds: Bounds{Tokens: Known(5)}})
	b.sees(b.answer("child"))
	b.wantSaid("a delegation", b.sees(b.reviewed(1)), "refused c1 token_budget, turn.ended failed token_budget")
}

// The tools that an agent is offered (TOOL-37).
func TestRoster(t *testing.T) {
	var all *Roster
	some := &Roster{Offered: []string{"read", "spawn"}, Hidden: []string{"spawn"}}
	none := &Roster{Offered: []string{}}
	if !all.Has("x") || !some.Has("read") || some.Has("spawn") || some.Has("ls") || none.Has("read") || !(&Roster{Hidden: []string{"x"}}).Has("y") {
		t.Error("a roster offers something else than its lists say")
	}
}

// A bound that passes fails the open turn, or the work that waits for one, and
// leaves a success alone.
func TestBoundPassed(t *testing.T) {
	late := BoundPassed{Bound: BoundDeadline, By: "clock"}
	dated := AgentCreated{DeadlineMS: 1}
	b := newBench(t, dated)
	b.sees(late)
	b.wantOwed("a bound in a request", "model r1 (deadline)")
	b.wantSaid("its end", b.sees(RoundFailed{Round: "r1", Kind: "deadline"}), "turn.ended failed deadline")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended failed deadline")

	b = newBench(t, dated)
	b.sees(b.answer())
	b.wantSaid("a bound after the answer", b.sees(late), "")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended succeeded")

	dated.Kind, dated.Prompt = KindTask, []Part{{Type: PartText, Text: T("go")}}
	b = &bench{t: t, s: Fold(State{}, dated)}
	b.attach()
	b.wantSaid("a bound before the first turn", b.sees(late), "")
	b.wantOwed("a bound before the first turn", "close")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended failed deadline")
}

// JRN-36: what an attach finds running is lost where it may have happened, and goes on
// where it changes nothing; nothing is started before the workspace is open.
func TestOrphans(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("read", "edit", "read"))
	b.sees(b.settled(1))
	b.sees(b.reviewed(2))
	b.wantSaid("an attach", b.attach(), "settled c2 lost")
	b.wantOwed("an attach", "open")
	b.wantSaid("the workspace", b.sees(opening()), "started c3")
	b.wantSaid("another attach", b.attach(), "")
	b.sees(opening())
	b.wantOwed("another attach", "run r1.c3")
	b.wantSaid("the rest", b.sees(b.settled(3)), "round.started r2")
	if r := b.results()[1]; r.Text.String() != textLost || !r.IsError {
		t.Errorf("result = %+v, want that it may or may not have happened", r)
	}
}

// A turn that ends while nothing runs settles what nobody will.
func TestEndingWhileAttaching(t *testing.T) {
	cancel := CancelRequested{Scope: "task"}
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("read", "edit"))
	b.attach()
	b.wantSaid("a cancel", b.sees(cancel), "settled c1 lost, refused c2 cancelled, turn.ended cancelled")
	if r := b.results()[0]; r.Text.String() != textLostRead {
		t.Errorf("result of the read = %q, want that it changed nothing", r.Text)
	}

	b = newBench(t, AgentCreated{})
	b.attach()
	b.wantSaid("a cancel in a round", b.sees(cancel), "turn.ended cancelled")

	b = newBench(t, AgentCreated{})
	b.sees(b.answer("guarded"))
	b.sees(b.reviewed(1), b.settled(1))
	b.attach()
	b.wantSaid("a cancel in a hook", b.sees(cancel), "turn.ended cancelled")
	if r := b.results()[0]; r.Text.String() != textWithheld {
		t.Errorf("result under a hook = %q, want it withheld", r.Text)
	}

	b = newBench(t, AgentCreated{})
	b.attach()
	b.wantSaid("no workspace", b.sees(WorkspaceFailed{Error: "gone"}), "turn.ended failed")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended failed")
	if b.s.End.Error != "gone" {
		t.Errorf("End = %+v, want the reason", b.s.End)
	}
}

// Messages have a turn each, in their order, and each end answers its own.
func TestMessages(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(prompt("m1"), prompt("m2"))
	b.wantSaid("the first answer", b.sees(b.answer()), "turn.ended ok, turn.started t2 m1, round.started r2")
	failed := RoundFailed{Round: "r2", Kind: "auth", Message: "bad key"}
	b.wantSaid("a failure", b.sees(failed), "turn.ended failed, message.answered m1 failed")
	b.wantOwed("a failure", "close")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended failed")
	if b.s.End.Error != "auth: bad key" {
		t.Errorf("End = %+v, want kind and words of the failure", b.s.End)
	}
}

// A task ends only when no child is open; a subagent ends with its turn.
func TestEnds(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(ChildSpawned{Task: "k/1"})
	b.wantOwed("a child task", "model r1")
	b.sees(b.answer())
	b.wantOwed("the answer", "task k/1")
	b.sees(ChildSettled{Task: "k/1", Outcome: OutcomeDone})
	b.wantOwed("the child", "close")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended succeeded")
	if b.s.End.Result.String() != "done" || Decide(b.s) != nil || b.s.Open() != nil {
		t.Errorf("after the end: %+v, %v, %v, want the result and nothing more", b.s.End, Decide(b.s), b.s.Open())
	}

	b = newBench(t, AgentCreated{Kind: KindSubagent})
	b.wantSaid("a subagent's answer", b.sees(b.answer()), "turn.ended ok, task.ended succeeded")
}

// A session's turns fail for themselves; what a crash interrupted is answered
// as such; closing answers what waits.
func TestSessions(t *testing.T) {
	b := newBench(t, AgentCreated{Kind: KindSession})
	b.wantSaid("a prompt", b.sees(prompt("m1")), "turn.started t1 m1, round.started r1")
	b.wantSaid("a failure", b.sees(RoundFailed{Round: "r1", Kind: "auth"}), "turn.ended failed, message.answered m1 failed")
	b.wantSaid("the next", b.sees(prompt("m2")), "turn.started t2 m2, round.started r2")
	b.sees(b.answer("edit"))
	b.sees(prompt("m3"))
	b.wantSaid("an attach", b.attach(), "refused c1 interrupted, turn.ended interrupted, message.answered m2 interrupted, message.answered m3 interrupted")
	b.wantOwed("an attach", "")
	b.sees(prompt("m4"))
	b.wantOwed("a prompt", "open")
	b.wantSaid("no workspace", b.sees(WorkspaceFailed{Error: "gone"}), "message.answered m4 failed")
	b.sees(prompt("m5"))
	b.wantOwed("another prompt", "open")
	b.wantSaid("the close", b.sees(InboxClosed{By: "client"}), "message.answered m5 cancelled, task.ended closed")
}

// JRN-17: Apply is total: events that make no sense change nothing, and a note
// never does.
func TestApplyIgnoresNonsense(t *testing.T) {
	b := newBench(t, AgentCreated{})
	before, _ := encodeJSON(b.s)
	for _, e := range []Event{
		TurnStarted{Turn: "t9"},
		ModelAnswered{Round: "r9"},
		RoundFailed{Round: "r9", Kind: "x"},
		CallReviewed{Call: "r9.c1"},
		CallStarted{Call: "r9.c1"},
		CallSettled{Call: "r9.c1", Outcome: OutcomeDone},
		CallRefused{Call: "r9.c1"},
		ApprovalAnswered{Call: "r9.c1", Allow: true, Scope: "process"},
		HookAnswered{Call: "r9.c1", Event: "post", Last: true},
		MessageAnswered{Message: "m9"},
		MessageReceived{},
		ChildSettled{N: 9},
		UsageSampled{Child: 9, Usage: Usage{Input: Known(1)}},
		Note{Name: "note.text"},
		AgentDetached{Reason: "signal"},
	} {
		after, _ := encodeJSON(Apply(b.s, e))
		if string(after) != string(before) {
			t.Errorf("Apply(%s) = %s, want %s", Describe(e), after, before)
		}
	}
	idle := Fold(State{}, AgentCreated{Kind: KindTask, Prompt: []Part{{Type: PartText}}}, AgentAttached{Gen: 2})
	if s := Apply(idle, TurnEnded{Turn: "t1", Outcome: OutcomeOK}); s.Transcript.Len() != 0 || s.Last != idle.Last {
		t.Errorf("Apply(turn.ended) without a turn = %+v, want no change", s)
	}
}
