package reducer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TOOL-7: two reads run together, the edit waits for both and runs alone, the
// last read waits for the edit; the results stand in the order of the calls,
// in whatever order they came.
func TestLanes(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.wantSaid("the answer", b.sees(b.answer("read", "read", "edit", "read")), "started c1, started c2")
	b.wantOwed("the answer", "run r1.c1, run r1.c2")
	b.wantSaid("c2", b.sees(b.settled(2)), "")
	b.wantSaid("c1", b.sees(b.settled(1)), "")
	b.wantOwed("c1", "review r1.c3")
	b.wantSaid("the review", b.sees(b.reviewed(3)), "started c3 always")
	b.wantOwed("the review", "run r1.c3")
	b.wantSaid("c3", b.sees(b.settled(3)), "started c4")
	b.wantSaid("c4", b.sees(b.settled(4)), "round.started r2")
	for i, r := range b.results() {
		if want := fmt.Sprint("result ", i+1); r.Call != CallID("r1", i) || r.Text.String() != want || r.IsError {
			t.Errorf("result %d = %+v, want %q of %s", i+1, r, want, CallID("r1", i))
		}
	}
}

// TOOL-7: which calls run side by side, by lane. P is parallel, E exclusive,
// D a delegation, of which at most four run at once.
func TestLaneBatches(t *testing.T) {
	names := map[rune]string{'P': "read", 'E': "edit", 'D': "child"}
	for lanes, want := range map[string]string{
		"P":      "1",
		"PPEP":   "12 3 4",
		"EE":     "1 2",
		"PPP":    "123",
		"PEEPP":  "1 2 3 45",
		"DD":     "12",
		"PDDP":   "1 23 4",
		"DDDDDD": "1234 56",
		"DED":    "1 2 3",
	} {
		b := newBench(t, AgentCreated{})
		var calls []string
		for _, l := range lanes {
			calls = append(calls, names[l])
		}
		b.sees(b.answer(calls...))
		var got []string
		for b.s.Turn.Answer == "r1" && len(got) < 10 {
			got = append(got, b.batch())
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("batches of %s = %q, want %q", lanes, got, want)
		}
	}
}

// batch reviews what can be reviewed, then settles all that runs, and returns
// the numbers of those calls.
func (b *bench) batch() string {
	review := func(f Effect) bool { _, ok := f.(ReviewCall); return ok }
	for i := slices.IndexFunc(b.s.Open(), review); i >= 0; i = slices.IndexFunc(b.s.Open(), review) {
		b.sees(CallReviewed{Call: b.s.Open()[i].(ReviewCall).Call})
	}
	var numbers string
	for _, f := range b.s.Open() {
		switch f := f.(type) {
		case RunCall:
			numbers += strings.TrimPrefix(number(f.Call), "c")
			b.sees(CallSettled{Call: f.Call, Outcome: OutcomeDone})
		case DriveChild:
			numbers += strings.TrimPrefix(number(b.s.Family[f.N-1].Call), "c")
			b.sees(ChildSettled{N: f.N, Outcome: OutcomeDone})
		default:
		}
	}
	return numbers
}

// TOOL-6, TOOL-8: a read that no hook matches starts without a review; everything else
// is reviewed when its lane is reached, and runs with the input that the review
// left; its class and its lane stay what they were when the model asked.
func TestReview(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.wantSaid("the answer", b.sees(b.answer("guarded", "read", "edit")), "started c2")
	b.wantOwed("the answer", "review r1.c1, run r1.c2")
	review := b.reviewed(1)
	review.Input = T(`{"rewritten":true}`)
	b.wantSaid("the review", b.sees(review), "started c1")
	if c, _ := b.s.Call(b.call(1)); c.Args.String() != `{"rewritten":true}` || c.Class != ClassNone || c.Lane != LaneParallel {
		t.Errorf("call after the review = %+v, want the rewritten input and no other change", c)
	}
	b.sees(b.settled(2))
	b.wantSaid("the real result", b.sees(b.settled(1)), "")
	b.wantOwed("the real result", "post r1.c1")
	b.wantSaid("one of two hooks", b.sees(HookAnswered{Call: b.call(1), Event: "post"}), "")
	b.wantOwed("one of two hooks", "post r1.c1")
	isError := true
	b.sees(HookAnswered{Call: b.call(1), Event: "post", Last: true, Shown: T("redacted"), IsError: &isError})
	b.wantOwed("the last hook", "review r1.c3")
	b.sees(b.reviewed(3), b.settled(3))
	if r := b.results()[0]; r.Text.String() != "redacted" || !r.IsError {
		t.Errorf("result = %+v, want what the hook left", r)
	}
}

// A result whose last hook withheld it is not shown.
func TestWithheldResult(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("guarded"))
	b.sees(b.reviewed(1), b.settled(1))
	b.sees(HookAnswered{Call: b.call(1), Event: "post", Last: true, Withheld: true})
	if r := b.results()[0]; r.Text.String() != textWithheld || !r.IsError {
		t.Errorf("result = %+v, want it withheld", r)
	}
}

// A call that is refused stops no other, nor does one that fails; each has its
// result. TOOL-9: arguments that are no JSON object are refused with what came.
func TestRefusedCallStopsNoOther(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.wantSaid("the answer", b.sees(b.answer("edit", "broken", "edit", "read")), "refused c2 invalid_arguments")
	b.wantOwed("the answer", "review r1.c1")
	no := b.reviewed(1)
	no.Refuse = &Refusal{Code: "outside", Text: "That lies outside."}
	b.wantSaid("a refusal", b.sees(no), "refused c1 outside")
	b.sees(b.reviewed(3))
	failed := CallSettled{Call: b.call(3), Outcome: OutcomeFailed, Output: T("it failed")}
	b.wantSaid("a failure", b.sees(failed), "started c4")
	b.wantSaid("the last", b.sees(b.settled(4)), "round.started r2")
	var got []string
	for _, r := range b.results() {
		got = append(got, fmt.Sprint(r.IsError, " ", r.Text))
	}
	want := []string{
		"true That lies outside.",
		`true This call was not run: its arguments are not one valid JSON object. Send it again with valid JSON for the tool's schema. Received: {"a":`,
		"true it failed", "false result 4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("results = %q, want %q", got, want)
	}
}

// FR-018: an answer that ended for any other reason than to use tools runs none
// of its calls, the model reads that they were cut, and after four such answers
// in a row the turn fails.
func TestFR018TruncatedAnswersAreNotRun(t *testing.T) {
	for _, stop := range []Stop{StopMaxTokens, StopEndTurn, StopCut, StopRefusal, StopContentFilter, StopError, StopOther} {
		b := newBench(t, AgentCreated{})
		e := b.answer("read", "edit", "child")
		e.Stop = stop
		b.wantSaid(string(stop), b.sees(e), "refused c1 truncated, refused c2 truncated, refused c3 truncated, round.started r2")
		if r := b.results()[1]; !r.IsError || !strings.Contains(r.Text.String(), "truncated") || !strings.Contains(r.Text.String(), string(stop)) {
			t.Errorf("result after %s = %+v, want one that says why", stop, r)
		}
	}
	b := newBench(t, AgentCreated{})
	cut := func() []string {
		e := b.answer("edit")
		e.Stop = StopMaxTokens
		return b.sees(e)
	}
	cut()
	cut()
	b.sees(b.answer("broken"))
	b.sees(b.answer("broken", "read")) // one that can run: counted anew
	b.sees(b.settled(2))
	cut()
	b.sees(b.answer("broken", "broken"))
	cut()
	b.wantSaid("the fourth in a row", cut(), "refused c1 truncated, turn.ended failed")
	if !strings.Contains(b.s.Last.Error, "4 times in a row") {
		t.Errorf("error = %q, want it to name the count", b.s.Last.Error)
	}
}

// CORE-53: the calls beyond the budget are refused before the first of that
// answer starts, those within it run, and then the turn ends. Refused and
// broken calls count.
func TestToolBudget(t *testing.T) {
	limit := func(n int64) AgentCreated { return AgentCreated{Bounds: Bounds{Tools: Known(n)}} }
	b := newBench(t, limit(2))
	b.wantSaid("three calls", b.sees(b.answer("read", "read", "read")), "refused c3 tool_budget, started c1, started c2")
	b.sees(b.settled(1))
	b.wantSaid("the last that runs", b.sees(b.settled(2)), "turn.ended failed tool_budget")
	if r := b.results()[2]; !strings.Contains(r.Text.String(), "the tool budget is spent") {
		t.Errorf("result beyond the budget = %+v, want it named", r)
	}

	b = newBench(t, limit(2))
	b.wantSaid("a call within", b.sees(b.answer("broken")), "refused c1 invalid_arguments, round.started r2")
	b.sees(b.answer("read"))
	b.wantSaid("the budget's last call", b.sees(b.settled(1)), "round.started r3")
	b.wantSaid("one more", b.sees(b.answer("read")), "refused c1 tool_budget, turn.ended failed tool_budget")

	b = newBench(t, limit(0))
	b.wantSaid("no calls at all", b.sees(b.answer("edit")), "refused c1 tool_budget, turn.ended failed tool_budget")

	b = newBench(t, limit(1)) // an answer that needs no call is an answer
	b.wantSaid("an answer", b.sees(b.answer()), "turn.ended ok")
}

// CORE-54: the calls of the answer that crosses the token bound still run; a
// turn that still owes an answer then fails, one that has it does not.
func TestTokenBudget(t *testing.T) {
	limit := func(n int64) AgentCreated { return AgentCreated{Bounds: Bounds{Tokens: Known(n)}} }
	b := newBench(t, limit(9))
	b.wantSaid("the crossing answer", b.sees(b.answer("read")), "started c1")
	b.wantSaid("its call", b.sees(b.settled(1)), "turn.ended failed token_budget")

	b = newBench(t, limit(10)) // as much as the limit is not over it
	b.sees(b.answer("read"))
	b.wantSaid("a call at the limit", b.sees(b.settled(1)), "round.started r2")
	b.wantSaid("the answer beyond it", b.sees(b.answer()), "turn.ended ok token_budget")

	b = newBench(t, limit(14)) // attempts that failed are paid for too
	b.sees(AttemptFailed{Round: "r1", Attempt: 1, Usage: Usage{Input: Known(5)}}, b.answer("read"))
	b.wantSaid("a call after a paid attempt", b.sees(b.settled(1)), "turn.ended failed token_budget")

	b = newBench(t, limit(14)) // and so is a delegation, the last word replacing what was relayed
	b.sees(b.answer("child"))
	b.sees(b.reviewed(1), UsageSampled{Child: 1, Round: "r1", Usage: Usage{Output: Known(2)}})
	b.wantSaid("a dear child", b.sees(ChildSettled{N: 1, Outcome: OutcomeDone, Usage: Usage{Output: Known(5)}}), "settled c1 done, turn.ended failed token_budget")
	if got := b.s.Usage().Total(); got != 15 {
		t.Errorf("Usage() = %d tokens, want 15", got)
	}
}
