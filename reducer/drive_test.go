package reducer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// bench drives one agent by hand: each step is one observation with everything
// that is decided because of it.
type bench struct {
	t *testing.T
	s State
}

// newBench is an agent whose workspace is open, and whose first round has been
// asked unless it is a session. A call of guarded is seen by a hook before and
// after it.
func newBench(t *testing.T, created AgentCreated) *bench {
	t.Helper()
	if created.Kind == "" {
		created.Kind = KindTask
	}
	if created.Kind != KindSession {
		created.Prompt = []Part{{Type: PartText, Text: T("go")}}
	}
	b := &bench{t: t, s: Fold(State{}, JournalCreated{ID: "j"}, created)}
	b.attach()
	b.s = Apply(b.s, opening())
	b.decide()
	return b
}

func opening() WorkspaceOpened {
	return WorkspaceOpened{Provider: "p", Model: "m", Wire: "w", SystemDigest: "s", ToolsDigest: "t", Hooks: []HookInfo{
		{Name: "before", Event: "pre", Tools: []string{"guarded"}},
		{Name: "after", Event: "post", Tools: []string{"guarded"}},
	}}
}

// attach is another process taking over.
func (b *bench) attach() []string {
	b.t.Helper()
	b.s = Apply(b.s, AgentAttached{Gen: b.s.Gen + 2, Rules: RulesVersion})
	return b.decide()
}

// sees records observations and returns what is decided after the last.
func (b *bench) sees(events ...Event) []string {
	b.t.Helper()
	var said []string
	for _, e := range events {
		if err := Admit(b.s, e); err != nil {
			b.t.Fatalf("Admit(%s) = %v, want nil", Describe(e), err)
		}
		b.s = Apply(b.s, e)
		said = b.decide()
	}
	return said
}

func (b *bench) decide() []string {
	var said []string
	for _, d := range Decide(b.s) {
		b.s = Apply(b.s, d)
		said = append(said, brief(d))
	}
	return said
}

// brief is a decision in a few words.
func brief(e Event) string {
	words := []string{strings.TrimPrefix(KindOf(e), "call.")}
	switch e := e.(type) {
	case TurnStarted:
		words = append(words, e.Turn, e.Message)
	case TurnEnded:
		words = append(words, string(e.Outcome), string(e.StoppedBy))
	case RoundStarted:
		words = append(words, e.Round)
	case CallRefused:
		words = append(words, number(e.Call), e.Code)
	case CallStarted:
		words = append(words, number(e.Call), e.By)
	case CallSettled:
		words = append(words, number(e.Call), string(e.Outcome))
	case ApprovalRequested:
		words = append(words, number(e.Call))
	case ChildSpawned:
		words = append(words, number(e.Call))
	case MessageAnswered:
		words = append(words, e.Message, string(e.Outcome))
	case TaskEnded:
		words = append(words, string(e.State), string(e.StoppedBy))
	default:
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// number is a call's number within its answer.
func number(call string) string { return call[strings.LastIndexByte(call, '.')+1:] }

// answer is what the model says in the open round: calls by name.
func (b *bench) answer(names ...string) ModelAnswered {
	e := ModelAnswered{Round: b.s.Turn.Round, Stop: StopToolUse, Usage: Usage{Input: Known(9), Output: Known(1)}}
	for i, name := range names {
		h := CallHead{ID: CallID(e.Round, i), Name: name}
		args := "{}"
		switch name {
		case "read", "guarded":
			h.Class, h.Lane = ClassNone, LaneParallel
		case "broken":
			h.Class, h.Lane, h.Broken, args = ClassNone, LaneParallel, true, `{"a":`
		case "child":
			h.Class, h.Lane = ClassState, LaneDelegation
		default:
			h.Class, h.Lane = ClassState, LaneExclusive
		}
		e.Calls = append(e.Calls, h)
		e.Items = append(e.Items, Item{Type: ItemCall, ID: "x", Name: name, Args: T(args)})
	}
	if len(names) == 0 {
		e.Stop, e.Items = StopEndTurn, []Item{{Type: ItemText, Text: T("done")}}
	}
	return e
}

func (b *bench) call(n int) string { return CallID(b.s.Turn.Answer, n-1) }

func (b *bench) reviewed(n int) CallReviewed { return CallReviewed{Call: b.call(n)} }

func (b *bench) settled(n int) CallSettled {
	return CallSettled{Call: b.call(n), Outcome: OutcomeDone, Output: T(fmt.Sprint("result ", n))}
}

// owed lists the open effects but the deadline.
func (b *bench) owed() string {
	var all []string
	for _, f := range b.s.Open() {
		if _, ok := f.(AwaitDeadline); ok {
			continue
		}
		id := EffectID(f)
		if u := Unwanted(f); u != "" {
			id += " (" + u + ")"
		}
		all = append(all, id)
	}
	return strings.Join(all, ", ")
}

func (b *bench) wantSaid(what string, got []string, want string) {
	b.t.Helper()
	if got := strings.Join(got, ", "); got != want {
		b.t.Errorf("decided after %s = %q, want %q", what, got, want)
	}
}

func (b *bench) wantOwed(what, want string) {
	b.t.Helper()
	if got := b.owed(); got != want {
		b.t.Errorf("Open() after %s = %q, want %q", what, got, want)
	}
}

// results are what the model reads of the newest calls.
func (b *bench) results() []Result {
	for m := range b.s.Transcript.Backward() {
		if m.Role == RoleResults {
			return m.Results
		}
	}
	return nil
}
