package projections

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/reducer"
)

func testOptions() StreamOptions { return StreamOptions{Task: "k/a1", Program: "0.1.0"} }

// EV-1, EV-2, EV-3: one flat object a line; the whole of two histories.
func TestGolden(t *testing.T) {
	golden(t, "plain", stream(testOptions(), entries(plain()...)))
	golden(t, "full", stream(testOptions(), entries(full()...)))
}

// line is a line of the stream as a reader takes it apart.
type line map[string]any

func (l line) str(key string) string { s, _ := l[key].(string); return s }

func lines(t *testing.T, events ...reducer.Event) []line {
	t.Helper()
	var all []line
	for text := range strings.Lines(stream(testOptions(), entries(events...))) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

func ofType(all []line, kind string) []line {
	return slices.DeleteFunc(slices.Clone(all), func(l line) bool { return l.str("type") != kind })
}

func types(all []line) string {
	var names []string
	for _, l := range all {
		names = append(names, l.str("type"))
	}
	return strings.Join(names, " ")
}

// EV-2, EV-3, EV-5: numbers rise by one, nothing optional is null, no object
// but inputs, previews and usage is nested.
func TestLinesAreFlatAndNumbered(t *testing.T) {
	for i, l := range lines(t, full()...) {
		if l["seq"] != float64(i+1) {
			t.Errorf("line %d has seq %v, want %d", i, l["seq"], i+1)
		}
		for key, v := range l {
			_, nested := v.(map[string]any)
			if v == nil || nested && !slices.Contains([]string{"input", "preview", "usage"}, key) {
				t.Errorf("line %d: member %s = %v, want a plain value", i, key, v)
			}
		}
	}
}

// EV-4, EV-6, EV-15, TASK-33: each turn opens with run_started, which carries the
// schema, and the prompt, and closes with run_finished, whatever happened.
func TestTurnsArePairs(t *testing.T) {
	for name, events := range map[string][]reducer.Event{
		"plain": plain(), "full": full(),
		"never opened": append(begun(reducer.Options{})[:3:3], reducer.WorkspaceFailed{Code: "open", Error: "no model"}),
		"never begun": append(begun(reducer.Options{})[:3:3], reducer.CancelRequested{Scope: "task"}, reducer.InboxClosed{},
			reducer.TaskEnded{State: reducer.StateCancelled}),
	} {
		open := false
		all := lines(t, events...)
		for i, l := range all {
			switch l.str("type") {
			case "run_started":
				if open || l["schema"] != 2.0 || l.str("basis") != "0.1.0" || all[i+1].str("type") != "user_message" {
					t.Errorf("%s: line %d = %v, want it to open a turn with schema 2 and the prompt after it", name, i, l)
				}
				open = true
			case "run_finished":
				if !open {
					t.Errorf("%s: line %d closes what is not open", name, i)
				}
				open = false
			case "assistant_message", "tool_queued", "tool_started", "tool_completed", "usage", "error":
				if !open {
					t.Errorf("%s: line %d, %s, stands outside a turn", name, i, l.str("type"))
				}
			}
		}
		if open || len(all) == 0 || all[0].str("type") != "run_started" {
			t.Errorf("%s: %s, want closed turns that begin with run_started", name, types(all))
		}
	}
}

// EV-7: a prompt that is refused before there is a task says nothing, and one
// that waits says nothing either.
func TestNothingBeforeTheTurn(t *testing.T) {
	if got := lines(t, begun(reducer.Options{})[:4]...); len(got) != 0 {
		t.Errorf("lines before a turn = %v, want none", got)
	}
}

// EV-16, EV-17, EV-18, EV-27: the lines of a call come in their order; usage
// stands once an answer, after its text and before its calls.
func TestOrderWithinACall(t *testing.T) {
	all := lines(t, full()...)
	const order = "tool_queued permission_requested permission_resolved tool_started tool_completed"
	at := map[string]int{}
	for _, l := range all {
		id := l.str("tool_call_id")
		if id == "" {
			continue
		}
		pos := strings.Index(order, l.str("type"))
		if last, seen := at[id]; seen && pos <= last || !seen && l.str("type") != "tool_queued" {
			t.Errorf("call %s: %s comes out of order", id, l.str("type"))
		}
		at[id] = pos
		if l.str("type") == "tool_completed" && l.str("tool_name") == "" {
			t.Errorf("call %s is completed without the name of its tool", id)
		}
	}
	for id, last := range at {
		if last != strings.Index(order, "tool_completed") {
			t.Errorf("call %s is never completed", id)
		}
	}
	got := types(lines(t, plain()[:7]...))
	if want := "run_started user_message assistant_message usage tool_queued tool_queued tool_queued tool_queued"; got != want {
		t.Errorf("lines of an answer = %q, want %q", got, want)
	}
}

// EV-10, EV-20: of an output only a summary is shown, and it is the real
// result, whatever a hook lets the model read.
func TestNoOutputsOnTheStream(t *testing.T) {
	long := strings.Repeat("x", 5000)
	events := plain()
	for i, e := range events {
		if s, ok := e.(reducer.CallSettled); ok {
			s.Output = reducer.T(s.Output.String() + "\n" + long)
			events[i] = s
		}
	}
	if out := stream(testOptions(), entries(events...)); strings.Contains(out, long) {
		t.Error("the stream holds a whole output, want a summary")
	}
	for _, l := range ofType(lines(t, full()...), "tool_completed") {
		if l.str("tool_call_id") == "r3.c2" && (l.str("summary") != "write bb" || l["is_error"] != false) {
			t.Errorf("tool_completed of a call whose result a hook replaced = %v, want the real result", l)
		}
	}
}

// EV-17, EV-9: deltas carry no number, are not there on a replay, and what a
// retry voids is shown whole by the message.
func TestProgressLines(t *testing.T) {
	s := NewStream(testOptions())
	for _, tt := range []struct {
		p    reducer.Progress
		want string
	}{
		{reducer.Progress{Kind: reducer.ProgressText, Text: "Twe"}, `{"type":"assistant_delta","text":"Twe"}`},
		{reducer.Progress{Kind: reducer.ProgressReasoning, Text: "hm"}, `{"type":"assistant_reasoning_delta","text":"hm"}`},
		{reducer.Progress{Kind: reducer.ProgressOutput, Call: "r1.c3", Tool: "spawn", Text: "ok"}, `{"type":"tool_progress","tool_call_id":"r1.c3","tool_name":"spawn","progress":"ok"}`},
		{reducer.Progress{Kind: reducer.ProgressVoid}, ""},
		{reducer.Progress{Kind: reducer.ProgressCall, Text: "read"}, ""},
	} {
		l, ok := s.Progress(tt.p)
		got := ""
		if ok {
			got = string(l.JSON(-1))
		}
		if got != tt.want || l.Durable() {
			t.Errorf("Progress(%+v) = %s, durable %v, want %s", tt.p, got, l.Durable(), tt.want)
		}
	}
	retries := ofType(lines(t, plain()...), "retry")
	if len(retries) != 1 || retries[0].str("error") != "stream_cut: ended early" || retries[0]["next_delay_ms"] != 500.0 {
		t.Errorf("retry lines = %v, want one that says why and when", retries)
	}
}

// EV-21, EV-28, EV-29: a failed turn says why before it finishes, and whether
// trying again is worth it; a bound can end a run that answered.
func TestHowTurnsEnd(t *testing.T) {
	answer := reducer.ModelAnswered{Round: "r1", Stop: reducer.StopEndTurn, Items: []reducer.Item{text("x")}}
	failed := func(kind string) reducer.Event { return reducer.RoundFailed{Round: "r1", Kind: kind, Message: "m"} }
	ended := func(o reducer.Outcome, text string, by reducer.Bound) reducer.Event {
		return reducer.TurnEnded{Turn: "t1", Outcome: o, Error: text, StoppedBy: by}
	}
	for name, tt := range map[string]struct {
		events                     []reducer.Event
		status, message, stoppedBy string
		recoverable                bool
	}{
		"answered":      {[]reducer.Event{answer, ended("ok", "", "")}, "ok", "", "", false},
		"over budget":   {[]reducer.Event{answer, ended("ok", "", reducer.BoundTokens)}, "ok", "", "token_budget", false},
		"graceful stop": {[]reducer.Event{ended("ok", "", "")}, "ok", "", "", false},
		"overloaded":    {[]reducer.Event{failed("overloaded"), ended("failed", "overloaded: m", "")}, "error", "overloaded: m", "", true},
		"network":       {[]reducer.Event{failed("network"), ended("failed", "network: m", "")}, "error", "network: m", "", true},
		"wrong key":     {[]reducer.Event{failed("auth"), ended("failed", "auth: m", "")}, "error", "auth: m", "", false},
		"deadline":      {[]reducer.Event{failed("deadline"), ended("failed", "the deadline passed", reducer.BoundDeadline)}, "error", "the deadline passed", "deadline", false},
		"cancelled":     {[]reducer.Event{failed("cancelled"), ended("cancelled", "", "")}, "error", "cancelled", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := lines(t, append(begun(reducer.Options{}), tt.events...)...)
			end := all[len(all)-1]
			if end.str("status") != tt.status || end.str("message") != tt.message || end.str("stopped_by") != tt.stoppedBy {
				t.Errorf("run_finished = %v, want %+v", end, tt)
			}
			errs := ofType(all, "error")
			if tt.status == "ok" {
				if len(errs) > 0 {
					t.Errorf("error lines = %v, want none", errs)
				}
				return
			}
			before := all[len(all)-2]
			if len(errs) != 1 || before.str("type") != "error" || before.str("message") != tt.message || before["recoverable"] != tt.recoverable {
				t.Errorf("the line before run_finished = %v, want an error, recoverable %v", before, tt.recoverable)
			}
		})
	}
}

// EV-25, EV-26: context files are listed weakest first with their scope, also
// where the host's own system text replaced them.
func TestContextFiles(t *testing.T) {
	replaced := ""
	start := lines(t, begun(reducer.Options{System: &replaced})...)[0]
	got, _ := json.Marshal(start["context_files"])
	want := `[{"path":"/h/AGENTS.md","scope":"global"},{"path":"/srv/AGENTS.md","scope":"ancestor:1"},{"path":"/srv/app/AGENTS.md","scope":"workspace"}]`
	if string(got) != want {
		t.Errorf("context_files = %s, want %s", got, want)
	}
	if start.str("task") != "k/a1" || start.str("session_id") != "a1" || start.str("model") != "m" || start.str("provider") != "openai" {
		t.Errorf("run_started = %v, want its task, conversation, model and provider", start)
	}
}

// EV-35, EV-36, EV-37, EV-38: a usage line for each response that reported any,
// a delegation's included; the total of a turn at its end; never a 0 for what
// nobody said.
func TestUsageLines(t *testing.T) {
	all := lines(t, full()...)
	var agents []string
	for _, l := range ofType(all, "usage") {
		agents = append(agents, l.str("agent_id"))
		if _, ok := l["cache_read_tokens"]; ok {
			t.Errorf("usage = %v, want no counter that was not reported", l)
		}
	}
	if got := strings.Join(agents, " "); got != "a1 a1 a1/1 a1" {
		t.Errorf("usage lines are about %q, want a1 a1 a1/1 a1", got)
	}
	ends := ofType(all, "run_finished")
	if got, _ := json.Marshal(ends[0]["usage"]); string(got) != `{"input_tokens":210,"output_tokens":16}` {
		t.Errorf("usage of the first turn = %s", got)
	}
	if got, _ := json.Marshal(ends[1]["usage"]); string(got) != `{"input_tokens":12,"output_tokens":1}` {
		t.Errorf("usage of the second turn = %s, want the delegation's and the failed request's", got)
	}
	silent := lines(t, append(begun(reducer.Options{}), reducer.ModelAnswered{Round: "r1", Stop: reducer.StopEndTurn, Items: []reducer.Item{text("x")}},
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK})...)
	if _, ok := silent[len(silent)-1]["usage"]; ok || len(ofType(silent, "usage")) > 0 {
		t.Errorf("lines without a report = %v, want no usage anywhere", silent)
	}
}

// EV-35: who begins in the middle of a turn, as the driver of a resumed task does,
// is told the same total at its end.
func TestTotalsOfAResumedTurn(t *testing.T) {
	all := entries(full()...)
	totals := func(o StreamOptions, from []reducer.Entry) map[uint64]string {
		got := map[uint64]string{}
		s := NewStream(o)
		for _, e := range from {
			for _, l := range s.Entry(e) {
				if end, ok := l.Body.(RunFinished); ok {
					text, _ := json.Marshal(end.Usage)
					got[l.Record] = string(text)
				}
			}
		}
		return got
	}
	want := totals(testOptions(), all)
	if len(want) < 2 {
		t.Fatalf("the history has %d turns, want two at least", len(want))
	}
	base := reducer.State{}
	for i, e := range all {
		o := testOptions()
		o.Base = base
		for record, got := range totals(o, all[i:]) {
			if got != want[record] {
				t.Errorf("from entry %d on the total at record %d is %s, want %s", i, record, got, want[record])
			}
		}
		base = reducer.Apply(base, e.Event)
	}
}

// EV-42, TOOL-59: who was asked is asked on the stream; a rule resolves without
// a question; a read and a call that --approve never refuses have neither.
func TestPermissionLines(t *testing.T) {
	got := map[string]string{}
	for _, l := range lines(t, full()...) {
		if strings.HasPrefix(l.str("type"), "permission_") {
			id := l.str("tool_call_id")
			got[id] += strings.TrimPrefix(l.str("type"), "permission_") + " " + l.str("outcome") + l.str("rule_scope") + ";"
		}
	}
	want := map[string]string{
		"r1.c3": "requested ;resolved allowed;",        // --approve always
		"r3.c1": "resolved allowedproject;",            // a rule
		"r3.c2": "requested ;resolved allowedprocess;", // a person, for this run
		"r3.c3": "resolved deniedglobal;",              // a rule
		"r3.c4": "requested ;resolved denied;",         // a person
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permission lines by call (-want +got):\n%s", diff)
	}
	never := lines(t, append(plain()[:7:7], reducer.CallReviewed{Call: "r1.c3"},
		reducer.CallRefused{Call: "r1.c3", Code: "denied", Text: "The call of spawn was denied: this run may not change anything (--approve never)."})...)
	if p := append(ofType(never, "permission_requested"), ofType(never, "permission_resolved")...); len(p) > 0 {
		t.Errorf("permission lines under --approve never = %v, want none", p)
	}
}

// EV-43, EV-30: the queued input is what the model sent, or its raw text; the
// preview is what the approver saw.
func TestInputsAndPreviews(t *testing.T) {
	all := lines(t, plain()...)
	queued := ofType(all, "tool_queued")
	if got, _ := json.Marshal(queued[2]["input"]); string(got) != `{"input":"!cargo test"}` {
		t.Errorf("input = %s, want it as sent", got)
	}
	if queued[3]["input"] != "not json" {
		t.Errorf("input that is no JSON = %v, want the raw text", queued[3]["input"])
	}
	asked := ofType(all, "permission_requested")
	if got, _ := json.Marshal(asked[0]["preview"]); string(got) != `{"body":"cargo test","mode":"command","target":"local"}` {
		t.Errorf("preview = %s, want the tool's", got)
	}
	want := []string{"read_only", "read_only", "mutating", "mutating"}
	for i, q := range queued {
		if q.str("mutability") != want[i] {
			t.Errorf("mutability of %s = %s, want %s", q.str("tool_name"), q.str("mutability"), want[i])
		}
	}
}

// EV-4, JRN-20: an event that this program does not know is told, not fatal.
func TestUnknownEventIsTold(t *testing.T) {
	all := ofType(lines(t, append(begun(reducer.Options{}), reducer.Note{Name: "new.kind"}, reducer.Note{Name: "note.x"}, reducer.Note{Name: "x.y"})...), "notice")
	if len(all) != 1 || all[0].str("severity") != "warning" || !strings.Contains(all[0].str("message"), "new.kind") {
		t.Errorf("lines = %v, want one warning that names the kind", all)
	}
}

// EV-3, EV-1: the same lines on every replay, also where the first part was
// seen live, with progress in between, and the rest later.
func TestLiveEqualsReplay(t *testing.T) {
	all := entries(full()...)
	want := stream(testOptions(), all)
	for split := range all {
		var b strings.Builder
		n := int64(1)
		emit := func(ls []Line) {
			for _, l := range ls {
				b.Write(append(l.JSON(n), '\n'))
				n++
			}
		}
		live := NewStream(testOptions())
		for _, e := range all[:split] {
			live.Progress(reducer.Progress{Kind: reducer.ProgressText, Text: "x"})
			emit(live.Entry(e))
		}
		again := NewStream(testOptions())
		for i, e := range all {
			if ls := again.Entry(e); i >= split {
				emit(ls)
			}
		}
		if got := b.String(); got != want {
			t.Fatalf("split at %d differs from a replay (-want +got):\n%s", split, cmp.Diff(want, got))
		}
	}
}

// EV-2: a line break in a text is escaped, and so a line stays a line; what a
// call is about is cut to one line of 120 characters.
func TestSummary(t *testing.T) {
	for _, tt := range []struct{ tool, in, want string }{
		{"grep", `{"pattern":"a\nb","path":"src"}`, "grep /a/ src"},
		{"read", `{"path":""}`, "read"},
		{"x", `[1]`, "x"},
		{"count", `{"text": "a\nb", "n": 1}`, `count {"text":"a\nb","n":1}`},
		{"spawn", `{"input":"` + strings.Repeat("é", 200) + `"}`, "spawn " + strings.Repeat("é", 114) + "…"},
	} {
		if got := Summary(tt.tool, json.RawMessage(tt.in)); got != tt.want {
			t.Errorf("Summary(%s, %s) = %q, want %q", tt.tool, tt.in, got, tt.want)
		}
	}
}
