package reducer

import (
	"strconv"
	"strings"
	"testing"
)

// A text or a set of tools stands in the journal once: an opening with the same
// digest keeps what is known, another one replaces it.
func TestOpeningsShareBodies(t *testing.T) {
	b := newBench(t, AgentCreated{})
	first := opening()
	first.System, first.Tools = T("be kind"), []ToolInfo{{Name: "read"}}
	first.SystemDigest, first.ToolsDigest = "s1", "t1"
	reopen := func(e WorkspaceOpened) Setup {
		b.attach()
		b.sees(e)
		return b.s.Setup
	}
	if got := reopen(first); got.System.String() != "be kind" || len(got.Tools) != 1 {
		t.Errorf("Setup = %+v, want what was opened", got)
	}
	again := first
	again.System, again.Tools = Text{}, nil
	if got := reopen(again); got.System.String() != "be kind" || len(got.Tools) != 1 {
		t.Errorf("Setup = %+v, want the bodies of the first opening", got)
	}
	again.SystemDigest, again.ToolsDigest = "s2", "t2"
	if got := reopen(again); !got.System.IsZero() || got.Tools != nil {
		t.Errorf("Setup = %+v, want nothing of another digest", got)
	}
	if got := reopen(first); got.System.String() != "be kind" || len(got.Tools) != 1 {
		t.Errorf("Setup = %+v, want what was opened", got)
	}
	first.System, first.Tools = T("be kinder"), []ToolInfo{{Name: "read"}, {Name: "ls"}}
	if got := reopen(first); got.System.String() != "be kinder" || len(got.Tools) != 2 {
		t.Errorf("Setup = %+v, want the bodies that came along", got)
	}
}

// A task begins with its prompt; without one, and in a session, the first turn
// waits for a message.
func TestFirstPrompt(t *testing.T) {
	words := []Part{{Type: PartText, Text: T("go")}}
	for _, tt := range []struct {
		created AgentCreated
		want    int
	}{
		{AgentCreated{Kind: KindTask, Prompt: words}, 1},
		{AgentCreated{Kind: KindSubagent, Prompt: words}, 1},
		{AgentCreated{Kind: KindTask}, 0},
		{AgentCreated{Kind: KindSession, Prompt: words}, 0},
	} {
		if got := len(Apply(State{}, tt.created).Queue); got != tt.want {
			t.Errorf("Apply(%s with %d parts) queues %d, want %d", tt.created.Kind, len(tt.created.Prompt), got, tt.want)
		}
	}
}

// A session is changed member by member, from its next round on.
func TestSessionConfigured(t *testing.T) {
	b := newBench(t, AgentCreated{Kind: KindSession, Options: Options{Model: "m", Effort: "low", Approve: ApproveNever}})
	b.sees(SessionConfigured{Effort: "high"})
	if o := b.s.Options; o.Model != "m" || o.Effort != "high" || o.Approve != ApproveNever || b.s.Setup.Source.Model != "m" {
		t.Errorf("Options = %+v, want the effort alone changed", o)
	}
	b.sees(SessionConfigured{Model: "m2", Window: 7})
	b.sees(SessionConfigured{Approve: ApprovePrompt})
	if o, s := b.s.Options, b.s.Setup; o.Model != "m2" || s.Source.Model != "m2" || s.Window != 7 || o.Effort != "high" || o.Approve != ApprovePrompt {
		t.Errorf("Options = %+v, Setup = %+v, want each as it was last said", o, s)
	}
	b.s = Apply(b.s, prompt("m1"))
	next, _ := Next(Apply(b.s, TurnStarted{Turn: "t1", Message: "m1"}))
	if e, ok := next.(RoundStarted); !ok || e.Model != "m2" || e.Params.Effort != "high" || e.ToolsDigest != "t" {
		t.Errorf("Next = %+v, want a round as configured", next)
	}
}

// A round names the model and the tools only where
// they are not those of the round before, and a journal's first round always does.
func TestRoundsNameWhatIsNew(t *testing.T) {
	b := newBench(t, AgentCreated{Kind: KindSession, Options: Options{Model: "m"}})
	round := func(n int) RoundStarted {
		t.Helper()
		turn, id := "t"+strconv.Itoa(n), "r"+strconv.Itoa(n)
		b.s = Apply(b.s, prompt("m"+strconv.Itoa(n)))
		b.s = Apply(b.s, TurnStarted{Turn: turn, Message: "m" + strconv.Itoa(n)})
		next, _ := Next(b.s)
		e, ok := next.(RoundStarted)
		if !ok || e.Round != id {
			t.Fatalf("Next = %+v, want round %s", next, id)
		}
		b.s = Fold(b.s, e, ModelAnswered{Round: id, Stop: StopEndTurn}, TurnEnded{Turn: turn, Outcome: OutcomeOK}, MessageAnswered{Message: "m" + strconv.Itoa(n), Outcome: OutcomeOK})
		return e
	}
	if e := round(1); e.Model != "m" || e.ToolsDigest != "t" {
		t.Errorf("the first round = %+v, want the model and the tools", e)
	}
	if e := round(2); e.Model != "" || e.ToolsDigest != "" {
		t.Errorf("the second round = %+v, want nothing said again", e)
	}
	b.sees(SessionConfigured{Model: "m2"})
	if e := round(3); e.Model != "m2" || e.ToolsDigest != "" {
		t.Errorf("after a change of model = %+v, want the model alone", e)
	}
	if a := b.s.Asked; a.Model != "m2" || a.ToolsDigest != "t" {
		t.Errorf("Asked = %+v, want whom the newest round asked", a)
	}
	if a := Continue(b.s).Asked; a != (Asked{}) {
		t.Errorf("Continue = %+v, want a journal that explains itself", a)
	}
}

// A task whose workspace cannot be opened fails, with the reason, before its
// first turn too.
func TestWorkspaceFailedBeforeTheFirstTurn(t *testing.T) {
	b := &bench{t: t, s: Fold(State{}, AgentCreated{Kind: KindTask, Prompt: []Part{{Type: PartText, Text: T("go")}}})}
	b.attach()
	b.wantOwed("an attach", "open")
	b.wantSaid("a failure", b.sees(WorkspaceFailed{Code: "open", Error: "gone"}), "")
	b.wantOwed("a failure", "close")
	b.wantSaid("the inbox", b.sees(InboxClosed{}), "task.ended failed")
	if b.s.End.Error != "gone" {
		t.Errorf("End = %+v, want the reason", b.s.End)
	}
	s := newBench(t, AgentCreated{Kind: KindSession})
	s.attach()
	s.sees(prompt("m1"))
	s.s = Apply(s.s, WorkspaceFailed{Code: "open", Error: "gone"})
	if e, _ := Next(s.s); e != (MessageAnswered{Message: "m1", Outcome: OutcomeFailed, Error: "gone"}) {
		t.Errorf("Next = %+v, want the prompt answered with the reason", e)
	}
}

// CORE-75: a delegation gets its prompt, of the tokens what is left, one level more.
func TestChildSpawned(t *testing.T) {
	created := AgentCreated{Depth: 1, Bounds: Bounds{Tokens: Known(100)}, Parent: Parent{ID: "p"}, Detached: true}
	b := newBench(t, created)
	b.sees(b.answer("child"))
	review := b.reviewed(1)
	review.Input = T(`{"input":"look"}`)
	b.sees(review)
	if b.s.Parent != created.Parent || !b.s.Detached || len(b.s.Family) != 1 {
		t.Fatalf("state = %+v, want parent, detached and one child", b.s)
	}
	c := b.s.Family[0]
	if c.N != 1 || c.Call != "r1.c1" || c.Prompt.String() != `{"input":"look"}` || c.Bounds != (Bounds{Tokens: Known(90)}) || c.Depth != 2 {
		t.Errorf("child = %+v, want number 1 at depth 2 with the prompt and the tokens that are left", c)
	}
	if call, _ := b.s.Call("r1.c1"); call.Child != 1 {
		t.Errorf("Call.Child = %d, want 1", call.Child)
	}
}

// Whatever ends a turn, the conversation ends with one message of the
// assistant's that says so where its answer does not.
func TestClosingWords(t *testing.T) {
	tests := []struct {
		name  string
		drive func(b *bench)
		want  string
	}{
		{"an answer", func(b *bench) { b.sees(b.answer()) }, "done"},
		{"a refusal", func(b *bench) {
			e := b.answer()
			e.Stop = StopRefusal
			b.sees(e)
		}, "done"},
		{"a failure", func(b *bench) { b.sees(RoundFailed{Round: "r1", Kind: "auth"}) }, "[This turn failed before an answer.]"},
		{"a cut failure", func(b *bench) { b.sees(RoundFailed{Round: "r1", Kind: "auth", Partial: T("half")}) }, "half\n[This turn failed before an answer.]"},
		{"a graceful stop", func(b *bench) {
			b.sees(CancelRequested{Scope: "turn", Turn: "t1", Graceful: true})
			b.sees(b.answer("read"))
			b.sees(b.settled(1))
		}, "[This turn was stopped after its last round.]"},
		{"a budget", func(b *bench) {
			b.s.Bounds.Tools = Known(0)
			b.sees(b.answer("read"))
		}, "[This turn was ended by its limit: tool_budget.]"},
		{"nothing said", func(b *bench) {
			e := b.answer()
			e.Items = nil
			b.sees(e)
		}, "[This turn failed before an answer.]"},
	}
	for _, tt := range tests {
		b := newBench(t, AgentCreated{})
		tt.drive(b)
		var said []string
		for m := range b.s.Transcript.Backward() {
			if m.Role != RoleAssistant || callsOf(m) > 0 {
				break
			}
			said = append(said, m.Items[0].Text.String())
		}
		if got := strings.Join(said, " | "); got != tt.want || b.s.Turn.ID != "" {
			t.Errorf("%s ends with %q, want %q", tt.name, got, tt.want)
		}
	}
	b := newBench(t, AgentCreated{Kind: KindSession})
	b.sees(prompt("m1"))
	b.attach()
	if m, _ := b.s.Transcript.Last(); m.Items[0].Text.String() != "[This turn was interrupted.]" {
		t.Errorf("an interrupted turn ends with %q", m.Items[0].Text)
	}
}

// An answer that is on disk ends its turn well, whatever stood between it and
// the end: an attach, a cancel, a deadline.
func TestAnswerOnDiskStays(t *testing.T) {
	for name, e := range map[string]Event{
		"an attach":            AgentAttached{Gen: 9},
		"an attach and cancel": CancelRequested{Scope: "turn", Turn: "t1"},
		"a deadline":           BoundPassed{Bound: BoundDeadline, By: "clock"},
	} {
		b := newBench(t, AgentCreated{Kind: KindSession})
		b.sees(prompt("m1"))
		b.s = Fold(b.s, b.answer(), AgentAttached{Gen: 5}, e)
		b.wantSaid(name, b.decide(), "turn.ended ok, message.answered m1 ok")
	}
}

// The text of an answer is that of its pieces, or of the last where one is
// kept apart; a result that differs is what the model reads.
func TestTextsOfAnswers(t *testing.T) {
	far := Text{Blob: Ref{Digest: "sha256:1", Size: 9, Head: "far"}}
	text := func(s Text) Item { return Item{Type: ItemText, Text: s} }
	for _, tt := range []struct {
		items []Item
		want  Text
	}{
		{[]Item{text(T("a")), {Type: ItemReasoning, Text: T("hm")}, text(T("b"))}, T("ab")},
		{[]Item{text(T("a")), text(far)}, far},
		{[]Item{text(far), text(T("b"))}, T("b")},
	} {
		if got := answerText(tt.items); got != tt.want {
			t.Errorf("answerText(%v) = %v, want %v", tt.items, got, tt.want)
		}
	}
	b := newBench(t, AgentCreated{})
	b.sees(b.answer("read"))
	done := b.settled(1)
	done.Shown = T("shorter")
	b.sees(done)
	if got := b.results()[0].Text.String(); got != "shorter" {
		t.Errorf("the model reads %q, want what is to be shown", got)
	}
}

// PROV-34, CORE-54: a request that failed has cost what it reported, in its attempts and at its end.
func TestFailedRequestsCost(t *testing.T) {
	b := newBench(t, AgentCreated{})
	b.sees(AttemptFailed{Round: "r1", Attempt: 1, Kind: "stream_cut", Usage: Usage{Input: Known(10)}})
	b.sees(RoundFailed{Round: "r1", Kind: "server", Usage: Usage{Input: Known(5), Output: Known(2)}})
	if got := b.s.Usage(); got != (Usage{Input: Known(15), Output: Known(2)}) {
		t.Errorf("Usage = %+v, want that of both failures", got)
	}
}

// Decision 14: a continuation goes on from what was said, with the counters and with what each
// file looked like; everything else begins anew.
func TestContinue(t *testing.T) {
	b := newBench(t, AgentCreated{DeadlineMS: 5})
	b.sees(b.answer("read"))
	settled := b.settled(1)
	settled.Files = []FileSeen{{Path: "/w/a", Digest: "d"}}
	b.sees(settled)
	b.sees(CancelRequested{Scope: "task"})
	got := Continue(b.s)
	if got.Turns != 1 || got.Rounds != 2 || got.Transcript.Len() != b.s.Transcript.Len() || len(got.Files) != 1 {
		t.Errorf("Continue = %d turns, %d rounds, %d messages, %d files, want what was said and seen", got.Turns, got.Rounds, got.Transcript.Len(), len(got.Files))
	}
	if got.Cancelled || got.Gen != 0 || got.DeadlineMS != 0 || got.Turn.ID != "" || !got.Usage().IsZero() {
		t.Errorf("Continue = %+v, want nothing of how the old task ended", got)
	}
}
