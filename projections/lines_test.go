package projections_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// lines plays a history, with progress in between, and gives the public lines.
func lines(history ...any) []string {
	s := projections.NewStream(projections.StreamOptions{Task: "k/a", Program: "0"})
	var out []string
	seq := uint64(0)
	for _, h := range history {
		switch h := h.(type) {
		case reducer.Progress:
			if l, ok := s.Progress(h); ok {
				out = append(out, string(l.JSON(-1)))
			}
		case reducer.Event:
			seq++
			for _, l := range s.Entry(reducer.Entry{Seq: seq, Event: h}) {
				out = append(out, string(l.JSON(-1)))
			}
		}
	}
	return out
}

// types are the types of lines, in order.
func types(t *testing.T, lines []string) []string {
	t.Helper()
	var all []string
	for _, l := range lines {
		var m struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("line %s: %v", l, err)
		}
		all = append(all, m.Type)
	}
	return all
}

func begun(more ...any) []any {
	return append([]any{
		reducer.AgentCreated{
			Kind: reducer.KindTask, ID: "a", Conversation: "a", Workspace: "/w",
			Prompt: []reducer.Part{
				{Type: reducer.PartText, Text: reducer.T("look\nat this")},
				{Type: reducer.PartImage, Image: reducer.Ref{Media: "image/png"}},
			},
		},
		reducer.AgentAttached{Gen: 2, Rules: reducer.RulesVersion},
		reducer.WorkspaceOpened{
			Provider: "openai", Model: "m", Wire: "openai-chat", Context: []reducer.ContextFile{{Path: "/w/AGENTS.md", Scope: "workspace"}},
			Warnings: []string{"a file was skipped"},
		},
		reducer.TurnStarted{Turn: "t1"},
		reducer.RoundStarted{Round: "r1"},
	}, more...)
}

func answered(round, text string, calls ...reducer.CallHead) reducer.ModelAnswered {
	a := reducer.ModelAnswered{
		Round: round, Stop: reducer.StopEndTurn, Calls: calls,
		Usage: reducer.Usage{Input: reducer.Known(10), Output: reducer.Known(2), Reasoning: reducer.Known(1)},
	}
	if text != "" {
		a.Items = append(a.Items, reducer.Item{Type: reducer.ItemText, Text: reducer.T(text)})
	}
	for _, c := range calls {
		a.Stop = reducer.StopToolUse
		a.Items = append(a.Items, reducer.Item{Type: reducer.ItemCall, Name: c.Name, Args: reducer.T(`{"input":"!cargo test"}`)})
	}
	return a
}

func shell(id string) reducer.CallHead {
	return reducer.CallHead{ID: id, Name: "spawn", Class: reducer.ClassProcess, Lane: reducer.LaneExclusive}
}

// EV-2, EV-4, EV-5, EV-15…18, EV-25, EV-26, EV-36: the order of a whole turn, each line flat,
// what there is nothing to say about absent, and run_started before every notice (FR-055).
func TestWholeTurn(t *testing.T) {
	got := lines(begun(
		reducer.Progress{Kind: reducer.ProgressReasoning, Text: "hm"},
		reducer.Progress{Kind: reducer.ProgressText, Text: "I'll "},
		reducer.Progress{Kind: reducer.ProgressText, Text: "test."},
		reducer.Progress{Kind: reducer.ProgressCall, Text: "spawn"},
		answered("r1", "I'll test.", shell("r1.c1")),
		reducer.CallReviewed{Call: "r1.c1", Preview: json.RawMessage(`{"mode":"shell","body":"cargo test","cwd":"/w","target":"local"}`)},
		reducer.CallStarted{Call: "r1.c1", By: "always"},
		reducer.Progress{Kind: reducer.ProgressOutput, Call: "r1.c1", Tool: "spawn", Text: "1 ok"},
		reducer.CallSettled{Call: "r1.c1", Outcome: reducer.OutcomeDone, Output: reducer.T("1 ok\nsecret second line"), MS: 5},
		reducer.RoundStarted{Round: "r2"},
		answered("r2", "It passes."),
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK},
		reducer.InboxClosed{},
		reducer.TaskEnded{State: reducer.StateSucceeded},
	)...)
	want := []string{
		`{"type":"run_started","record":4,"schema":2,"basis":"0","session_id":"a","task":"k/a","workspace":"/w","model":"m","provider":"openai","context_files":[{"path":"/w/AGENTS.md","scope":"workspace"}]}`,
		`{"type":"user_message","record":4,"text":"look\nat this","image_count":1}`,
		`{"type":"notice","record":4,"severity":"warning","message":"a file was skipped"}`,
		`{"type":"assistant_reasoning_delta","text":"hm"}`,
		`{"type":"assistant_delta","text":"I'll "}`,
		`{"type":"assistant_delta","text":"test."}`,
		`{"type":"assistant_message","record":6,"text":"I'll test."}`,
		`{"type":"usage","record":6,"agent_id":"a","input_tokens":10,"output_tokens":2,"reasoning_tokens":1}`,
		`{"type":"tool_queued","record":6,"tool_call_id":"r1.c1","tool_name":"spawn","summary":"spawn !cargo test","mutability":"mutating","input":{"input":"!cargo test"}}`,
		`{"type":"permission_requested","record":8,"request_id":"r1.c1","tool_call_id":"r1.c1","tool_name":"spawn","description":"spawn !cargo test","preview":{"mode":"shell","body":"cargo test","cwd":"/w","target":"local"}}`,
		`{"type":"permission_resolved","record":8,"request_id":"r1.c1","tool_call_id":"r1.c1","tool_name":"spawn","outcome":"allowed"}`,
		`{"type":"tool_started","record":8,"tool_call_id":"r1.c1","tool_name":"spawn"}`,
		`{"type":"tool_progress","tool_call_id":"r1.c1","tool_name":"spawn","progress":"1 ok"}`,
		`{"type":"tool_completed","record":9,"tool_call_id":"r1.c1","tool_name":"spawn","summary":"spawn !cargo test","is_error":false}`,
		`{"type":"assistant_message","record":11,"text":"It passes."}`,
		`{"type":"usage","record":11,"agent_id":"a","input_tokens":10,"output_tokens":2,"reasoning_tokens":1}`,
		`{"type":"run_finished","record":12,"status":"ok","usage":{"input_tokens":20,"output_tokens":4,"reasoning_tokens":2}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// EV-1, EV-3: the same journal gives the same durable lines, watched or replayed.
func TestReplayIsTheSame(t *testing.T) {
	history := begun(answered("r1", "x"), reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})
	live := slices.Insert(slices.Clone(history), 5, any(reducer.Progress{Kind: reducer.ProgressText, Text: "x"}))
	watched := slices.DeleteFunc(lines(live...), func(l string) bool { return strings.Contains(l, "assistant_delta") })
	if diff := cmp.Diff(lines(history...), watched); diff != "" {
		t.Errorf("durable lines (-replayed +watched):\n%s", diff)
	}
}

// EV-7: a workspace that can't be opened opens no turn; a run that is streamed still ends.
func TestWorkspaceFailed(t *testing.T) {
	got := lines(begun()[0], begun()[1], reducer.WorkspaceFailed{Code: "open", Error: "no key"})
	want := []string{
		`{"type":"run_started","record":3,"schema":2,"basis":"0","session_id":"a","task":"k/a","workspace":"/w","model":"","provider":"","context_files":[]}`,
		`{"type":"user_message","record":3,"text":"look\nat this","image_count":1}`,
		`{"type":"error","record":3,"message":"no key","recoverable":false}`,
		`{"type":"run_finished","record":3,"status":"error","message":"no key"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// EV-6, EV-21, EV-28, EV-29: how a turn's end is told.
func TestTurnEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  reducer.TurnEnded
		want []string
	}{
		"ok":        {reducer.TurnEnded{Outcome: reducer.OutcomeOK}, []string{`"status":"ok"}`}},
		"ok, bound": {reducer.TurnEnded{Outcome: reducer.OutcomeOK, StoppedBy: reducer.BoundTokens}, []string{`"status":"ok","stopped_by":"token_budget"}`}},
		"failed": {reducer.TurnEnded{Outcome: reducer.OutcomeFailed, Error: "auth: no"}, []string{
			`"type":"error","record":6,"message":"auth: no","recoverable":false}`, `"status":"error","message":"auth: no"}`,
		}},
		"deadline": {reducer.TurnEnded{Outcome: reducer.OutcomeFailed, Error: "late", StoppedBy: reducer.BoundDeadline}, []string{
			`"message":"late"`, `"status":"error","message":"late","stopped_by":"deadline"}`,
		}},
		"cancelled": {reducer.TurnEnded{Outcome: reducer.OutcomeCancelled}, []string{`"message":"cancelled"`, `"status":"error","message":"cancelled"}`}},
	} {
		c.end.Turn = "t1"
		got := lines(begun(c.end)...)[3:]
		if len(got) != len(c.want) {
			t.Errorf("%s: lines = %q, want %d", name, got, len(c.want))
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: line %d = %s, want %s in it", name, i, got[i], w)
			}
		}
	}
}

// EV-35, EV-37: what nobody reported is not shown, not even as 0.
func TestNoUsage(t *testing.T) {
	a := answered("r1", "x")
	a.Usage = reducer.Usage{}
	got := lines(begun(a, reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})...)
	for _, l := range got {
		if strings.Contains(l, "usage") {
			t.Errorf("a line tells of usage that nobody reported: %s", l)
		}
	}
}

// EV-38: what a delegation costs is relayed under its own id and is in the total.
func TestChildUsage(t *testing.T) {
	call := reducer.CallHead{ID: "r1.c1", Name: "spawn", Class: reducer.ClassProcess, Lane: reducer.LaneDelegation}
	got := lines(begun(
		answered("r1", "", call), reducer.CallStarted{Call: "r1.c1"}, reducer.ChildSpawned{N: 1, Call: "r1.c1", Prompt: reducer.T("find X")},
		reducer.UsageSampled{Child: 1, Round: "r1", Usage: reducer.Usage{Input: reducer.Known(7), Output: reducer.Known(3)}},
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeFailed, Error: "x"},
	)...)
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`"type":"task_updated","record":8,"task_id":"1","kind":"subagent","status":"spawned","title":"find X"}`,
		`"agent_id":"a/1","input_tokens":7,"output_tokens":3}`,
		`"usage":{"input_tokens":17,"output_tokens":5,"reasoning_tokens":1}}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("lines lack %s:\n%s", want, all)
		}
	}
}

// EV-16, EV-42: a question is shown where somebody is asked and under always,
// never for a read; a remembered answer shows its scope; a refusal goes straight to its end.
func TestPermissions(t *testing.T) {
	read := reducer.CallHead{ID: "r1.c1", Name: "read", Class: reducer.ClassNone, Lane: reducer.LaneParallel}
	for name, c := range map[string]struct {
		call   reducer.CallHead
		events []any
		want   []string
		has    string
	}{
		"a read": {read, []any{reducer.CallStarted{Call: "r1.c1"}}, []string{"tool_started"}, ""},
		"asked and allowed": {shell("r1.c1"), []any{
			reducer.ApprovalRequested{Call: "r1.c1"},
			reducer.ApprovalAnswered{Call: "r1.c1", Allow: true, Scope: "once", By: "person"},
			reducer.CallStarted{Call: "r1.c1", By: "person"},
		}, []string{"permission_requested", "permission_resolved", "tool_started"}, `"outcome":"allowed"}`},
		"asked and denied for the run": {shell("r1.c1"), []any{
			reducer.ApprovalRequested{Call: "r1.c1"},
			reducer.ApprovalAnswered{Call: "r1.c1", Scope: "process", By: "person"},
			reducer.CallRefused{Call: "r1.c1", Code: "denied", Text: "The user said no."},
		}, []string{"permission_requested", "permission_resolved", "tool_completed"}, `"outcome":"denied","rule_scope":"process"}`},
		"remembered in this process": {
			shell("r1.c1"),
			[]any{reducer.CallStarted{Call: "r1.c1", By: "process"}},
			[]string{"permission_resolved", "tool_started"},
			`"rule_scope":"process"`,
		},
		"by a rule": {
			shell("r1.c1"),
			[]any{reducer.CallStarted{Call: "r1.c1", By: "project/allow"}},
			[]string{"permission_resolved", "tool_started"},
			`"rule_scope":"project"`,
		},
		"never": {
			shell("r1.c1"),
			[]any{reducer.CallRefused{Call: "r1.c1", Code: "denied", Text: "Not allowed.\nmore"}},
			[]string{"tool_completed"},
			`"summary":"Not allowed.","is_error":true}`,
		},
	} {
		events := c.events
		if c.call.Class != reducer.ClassNone {
			events = append([]any{reducer.CallReviewed{Call: "r1.c1"}}, events...)
		}
		got := lines(begun(append([]any{answered("r1", "", c.call)}, events...)...)...)[5:]
		if diff := cmp.Diff(c.want, types(t, got)); diff != "" {
			t.Errorf("%s: types (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(strings.Join(got, "\n"), c.has) {
			t.Errorf("%s: lines lack %s:\n%s", name, c.has, strings.Join(got, "\n"))
		}
	}
}

// EV-10: a summary, never the output.
func TestSummariesAreShort(t *testing.T) {
	long := strings.Repeat("é", 500)
	got := lines(begun(answered("r1", "", shell("r1.c1")), reducer.CallStarted{Call: "r1.c1"},
		reducer.CallSettled{Call: "r1.c1", Outcome: reducer.OutcomeFailed, Output: reducer.T("\n\n" + long + "\nsecond")})...)
	last := got[len(got)-1]
	if !strings.Contains(last, `"summary":"`+strings.Repeat("é", 120)+`…","is_error":true`) || strings.Contains(last, "second") {
		t.Errorf("tool_completed = %s, want 120 characters of the first line", last)
	}
}

// EV-43: the input is what the model sent, as JSON or, where it is none, as a string.
func TestBrokenInput(t *testing.T) {
	a := answered("r1", "", shell("r1.c1"))
	a.Items[0].Args = reducer.T(`{"input":`)
	got := lines(begun(a)...)
	if last := got[len(got)-1]; !strings.HasSuffix(last, `"input":"{\"input\":"}`) {
		t.Errorf("tool_queued = %s, want the raw string as input", last)
	}
}

// A retry says that what was streamed of its round does not count.
func TestRetry(t *testing.T) {
	got := lines(begun(reducer.AttemptFailed{Round: "r1", Attempt: 1, Max: 5, Kind: "cut", Message: "the stream ended", DelayMS: 400})...)
	want := `{"type":"retry","record":6,"agent_id":"a","error":"cut: the stream ended","attempt":1,"max_attempts":5,"next_delay_ms":400}`
	if last := got[len(got)-1]; last != want {
		t.Errorf("line = %s, want %s", last, want)
	}
}
