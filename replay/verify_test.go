package replay_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

func history(err error, events ...reducer.Event) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		for i, e := range events {
			if !yield(reducer.Entry{Seq: uint64(i + 1), Event: e}, nil) {
				return
			}
		}
		if err != nil {
			yield(reducer.Entry{}, err)
		}
	}
}

func created() reducer.Event {
	return reducer.AgentCreated{Kind: reducer.KindTask, ID: "a", Conversation: "a", Prompt: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}}}
}

func attached(rules int) reducer.Event { return reducer.AgentAttached{Gen: 2, Rules: rules} }

// What stands where it must not is named with its number.
func TestVerifyRejects(t *testing.T) {
	opened := reducer.WorkspaceOpened{Provider: "p", Model: "m"}
	for name, tt := range map[string]struct {
		events []reducer.Event
		seq    uint64
	}{
		"an observation before a decision":   {[]reducer.Event{created(), attached(reducer.RulesVersion), opened, reducer.CancelRequested{Scope: "task"}}, 4},
		"an answer to nothing":               {[]reducer.Event{created(), attached(reducer.RulesVersion), reducer.ModelAnswered{Round: "r1"}}, 3},
		"a decision where none is due":       {[]reducer.Event{created(), attached(reducer.RulesVersion), reducer.TurnStarted{Turn: "t1"}}, 3},
		"another decision than is due":       {[]reducer.Event{created(), attached(reducer.RulesVersion), opened, reducer.TurnStarted{Turn: "t2"}}, 4},
		"letting go with a decision due":     {[]reducer.Event{created(), attached(reducer.RulesVersion), opened, reducer.AgentDetached{Reason: "signal"}}, 4},
		"an agent that is made twice":        {[]reducer.Event{created(), created()}, 2},
		"an attach before there is an agent": {[]reducer.Event{attached(reducer.RulesVersion), created()}, 1},
		"an attach that stands twice":        {[]reducer.Event{created(), attached(reducer.RulesVersion), attached(reducer.RulesVersion)}, 3},
		"an opening without an attach":       {[]reducer.Event{created(), opened}, 2},
		"a decision without an attach":       {[]reducer.Event{created(), reducer.TurnStarted{Turn: "t1"}}, 2},
		"an attach after the end":            {[]reducer.Event{created(), attached(reducer.RulesVersion), reducer.CancelRequested{Scope: "task"}, reducer.InboxClosed{}, reducer.TaskEnded{State: "cancelled"}, attached(reducer.RulesVersion)}, 6},
		"something from outside at the end":  {[]reducer.Event{created(), attached(reducer.RulesVersion), reducer.CancelRequested{Scope: "task"}, reducer.InboxClosed{}, reducer.TaskEnded{State: "cancelled"}, reducer.CancelRequested{Scope: "task"}}, 6},
	} {
		_, err := replay.Verify(reducer.State{}, history(nil, tt.events...))
		if d, ok := errors.AsType[*replay.DivergedError](err); !ok || d.Seq != tt.seq || d.Got == "" || d.Want == "" {
			t.Errorf("%s: Verify = %v, want record %d named", name, err, tt.seq)
		}
	}
}

// JRN-20: decisions made under other rules are counted and not judged; an event
// of a newer program can't be.
func TestVerifyOtherRules(t *testing.T) {
	r, err := replay.Verify(reducer.State{}, history(nil, created(), attached(reducer.RulesVersion+1), reducer.TurnStarted{Turn: "t7"}))
	if err != nil || r.Skipped != 1 || r.Decisions != 0 || r.LastKind != "turn.started" {
		t.Errorf("Verify under newer rules = %+v, %v, want one decision skipped", r, err)
	}
	_, err = replay.Verify(reducer.State{}, history(nil, created(), reducer.Note{Name: "note.x"}, reducer.Note{Name: "new.kind"}))
	if unknown, ok := errors.AsType[*reducer.UnknownKindError](err); !ok || unknown.Kind != "new.kind" {
		t.Errorf("Verify of an unknown event = %v, want it named", err)
	}
	broken := errors.New("bad sector")
	if r, err := replay.Verify(reducer.State{}, history(broken, created())); !errors.Is(err, broken) || r.Records != 1 {
		t.Errorf("Verify of a broken source = %+v, %v, want its error after one record", r, err)
	}
}

// A continuation is judged over the fold of what it continues: its turns and
// rounds count on.
func TestVerifyOverABase(t *testing.T) {
	base := reducer.Continue(reducer.State{Turns: 3, Rounds: 7, Cancelled: true})
	events := []reducer.Event{
		created(), attached(reducer.RulesVersion),
		reducer.WorkspaceOpened{Provider: "p", Model: "m"},
		reducer.TurnStarted{Turn: "t4"},
		reducer.RoundStarted{Round: "r8", Model: "m"},
	}
	if r, err := replay.Verify(base, history(nil, events...)); err != nil || r.Decisions != 2 {
		t.Errorf("Verify over a base = %+v, %v, want two decisions that fit", r.Decisions, err)
	}
	if _, err := replay.Verify(reducer.State{}, history(nil, events...)); err == nil {
		t.Error("Verify without the base = nil, want the first turn's number found")
	}
}
