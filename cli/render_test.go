package cli

import (
	"strings"
	"testing"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// played shows a history to a renderer and gives both streams.
func played(t *testing.T, tty func() bool, updates ...any) (stdout, stderr string) {
	t.Helper()
	var out, err screen
	env := testEnv(&out, &err, nil)
	env.StdoutTTY = tty
	con := newConsole(env)
	r := &renderer{con: con, stream: projections.NewStream(projections.StreamOptions{}), calls: map[string]string{}}
	seq := uint64(0)
	for _, u := range updates {
		switch u := u.(type) {
		case reducer.Progress:
			r.update(basis.Update{Progress: u, Live: true})
		case reducer.Event:
			seq++
			r.update(basis.Update{Entry: reducer.Entry{Seq: seq, Event: u}})
		}
	}
	con.close()
	return out.String(), err.String()
}

func opened() []any {
	return []any{
		reducer.AgentCreated{
			Kind: reducer.KindTask, ID: "a", Conversation: "a", Workspace: "/w",
			Prompt: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}},
		},
		reducer.AgentAttached{Gen: 2, Rules: reducer.RulesVersion},
		reducer.WorkspaceOpened{Provider: "openai", Model: "m", Wire: "openai-chat", Context: []reducer.ContextFile{{Path: "/w/AGENTS.md"}}},
		reducer.TurnStarted{Turn: "t1"},
		reducer.RoundStarted{Round: "r1"},
	}
}

func said(round, text string) reducer.ModelAnswered {
	return reducer.ModelAnswered{Round: round, Stop: reducer.StopEndTurn, Items: []reducer.Item{{Type: reducer.ItemText, Text: reducer.T(text)}}}
}

func delta(text string) reducer.Progress {
	return reducer.Progress{Kind: reducer.ProgressText, Round: "r1", Text: text}
}

// CLI-100, decision 31: on a terminal the text comes as it streams, and of the
// durable message only what has not been shown.
func TestStreamedText(t *testing.T) {
	for name, c := range map[string]struct {
		updates []any
		want    string
	}{
		"all of it streamed":   {[]any{delta("one "), delta("two"), said("r1", "one two")}, "one two\n"},
		"none of it streamed":  {[]any{said("r1", "one two")}, "one two\n"},
		"its end was missed":   {[]any{delta("one "), said("r1", "one two")}, "one two\n"},
		"its start was missed": {[]any{delta("two"), said("r1", "one two")}, "two\none two\n"},
		"a retry in between": {[]any{
			delta("one t"),
			reducer.Progress{Kind: reducer.ProgressVoid, Round: "r1"},
			reducer.AttemptFailed{Round: "r1", Attempt: 1, Max: 4, Kind: "cut"},
			delta("one "), delta("two"), said("r1", "one two"),
		}, "one t\none two\n"},
	} {
		got, _ := played(t, yes, append(opened(), append(c.updates, reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})...)...)
		if got != c.want {
			t.Errorf("%s: standard output = %q, want %q", name, got, c.want)
		}
	}
}

// CLI-3, decision 28: anything but a terminal gets the final message of the
// turn alone, once it is durable, and exactly as it is.
func TestFinalMessageAlone(t *testing.T) {
	calls := said("r1", "first I'll look")
	calls.Stop = reducer.StopToolUse
	calls.Items = append(calls.Items, reducer.Item{Type: reducer.ItemCall, Name: "read", Args: reducer.T(`{"path":"a"}`)})
	calls.Calls = []reducer.CallHead{{ID: "r1.c1", Name: "read", Class: reducer.ClassNone, Lane: reducer.LaneParallel}}
	out, err := played(t, nil, append(opened(), delta("first"), calls,
		reducer.CallStarted{Call: "r1.c1"},
		reducer.CallSettled{Call: "r1.c1", Outcome: reducer.OutcomeFailed, Output: reducer.T("no such file\nmore")},
		reducer.RoundStarted{Round: "r2"}, delta("the "), said("r2", "the answer\x1b"),
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})...)
	if want := "the answer\x1b\n"; out != want {
		t.Errorf("standard output = %q, want %q", out, want)
	}
	// CLI-101: what is said beside it.
	want := "basis: m, 1 context file\n  · read a\n  ! read: no such file\n"
	if err != want {
		t.Errorf("standard error = %q, want %q", err, want)
	}
}

// A turn that fails leaves what was streamed on a line of its own, and its
// error to the end.
func TestFailedTurn(t *testing.T) {
	out, err := played(t, yes, append(opened(), delta("half"),
		reducer.RoundFailed{Round: "r1", Kind: "auth", Message: "no"},
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeFailed, Error: "auth: no"})...)
	if out != "half\n" || strings.Contains(err, "auth") {
		t.Errorf("streams = %q and %q, want half a line ended, and no error yet", out, err)
	}
}

// CLI-102: a summary is one line.
func TestUsageLine(t *testing.T) {
	a := said("r1", "x")
	a.Usage = reducer.Usage{Input: reducer.Known(12_345), Output: reducer.Known(1_200)}
	_, err := played(t, nil, append(opened(), a, reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})...)
	if want := "basis: 12k in · 1.2k out\n"; !strings.HasSuffix(err, want) {
		t.Errorf("standard error = %q, want %q at its end", err, want)
	}
}
