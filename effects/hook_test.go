package effects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/reducer"
)

// hearing is a hook that answers as told and keeps what it was asked.
type hearing struct {
	info reducer.HookInfo
	say  func(q HookQuestion) (HookAnswer, error)
	seen []HookQuestion
}

func (a *hearing) Info() reducer.HookInfo { return a.info }

func (a *hearing) Ask(_ context.Context, q HookQuestion) (HookAnswer, error) {
	a.seen = append(a.seen, q)
	return a.say(q)
}

func hook(event, name, from string, answer HookAnswer, err error, tools ...string) *hearing {
	return &hearing{
		info: reducer.HookInfo{Name: name, Event: event, From: from, Tools: tools},
		say:  func(HookQuestion) (HookAnswer, error) { return answer, err },
	}
}

var allow = HookAnswer{Decision: HookAllow}

// strict is a tool with a schema and nothing else.
func strict(schema string) plain {
	return plain{Spec{Name: "strict", Class: reducer.ClassState, Schema: json.RawMessage(schema)}, result(Result{Output: "ran"}, nil)}
}

// hooked is a performer with hooks, and what it warned of.
func hooked(t *testing.T, warned *[]string, hooks ...Hook) *Performer {
	t.Helper()
	p := NewPerformer(Options{
		Blobs: newMemory(), Secrets: []Secret{{Name: "KEY", Value: secret}},
		Open: func(context.Context, reducer.State) (Workspace, error) {
			return Workspace{Hooks: hooks, Tools: []Tool{
				strict(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"n":{"type":"integer"}}}`),
				clever{plain{Spec{Name: "clever"}, nil}},
			}}, nil
		},
		Now:  func() time.Time { return time.Time{} },
		Warn: func(line string) { *warned = append(*warned, line) },
	})
	p.open(t.Context(), reducer.State{}, &recorder{})
	return p
}

func reviewedBy(t *testing.T, tool, args string, hooks ...Hook) (verdicts []string, e reducer.CallReviewed, warned []string) {
	t.Helper()
	p := hooked(t, &warned, hooks...)
	s := state(aCall(tool, args, reducer.ClassState))
	s.Workspace, s.Conversation = "/w", "a1/2"
	for _, event := range p.Review(t.Context(), s, "r1.c1") {
		switch event := event.(type) {
		case reducer.HookAnswered:
			verdicts = append(verdicts, strings.TrimSpace(event.Hook+" "+event.Decision+" "+event.Reason))
		case reducer.CallReviewed:
			e = event
		default:
			t.Errorf("reported %v", event)
		}
	}
	return verdicts, e, warned
}

// TOOL-47, TOOL-52, FR-021: an input that the first hook had rewritten was lost when
// the second answered a plain allow; each sees what the one before it left,
// and the call runs with what the last one left.
func TestFR021HooksCompose(t *testing.T) {
	first := hook("pre", "first", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`{"path":"b"}`), Reason: "b is safer"}, nil)
	second := hook("pre", "second", "workspace", allow, nil, "str*")
	other := hook("pre", "other", "workspace", HookAnswer{Decision: HookDeny}, nil, "stri", "strictly", "trict")
	post := hook("post", "post", "workspace", HookAnswer{Decision: HookDeny}, nil)
	verdicts, e, _ := reviewedBy(t, "strict", `{"path":"a"}`, first, other, post, second)
	if got := strings.Join(verdicts, "; "); got != "first modify b is safer; second allow" {
		t.Errorf("verdicts %q", got)
	}
	if e.Refuse != nil || e.Input.String() != `{"path":"b"}` {
		t.Errorf("reviewed as %+v, want the rewritten input", e)
	}
	want := HookQuestion{Event: "pre", Workspace: "/w", Agent: "a1/2", Call: "r1.c1", Tool: "strict", Input: json.RawMessage(`{"path":"b"}`)}
	if len(second.seen) != 1 || fmt.Sprint(second.seen[0]) != fmt.Sprint(want) {
		t.Errorf("the second hook was asked %v, want %v", second.seen, want)
	}
	if len(other.seen)+len(post.seen) != 0 {
		t.Errorf("hooks of other tools or of what comes after were asked: %v, %v (FR-023)", other.seen, post.seen)
	}
}

// TOOL-45: input that says something twice is refused before any hook sees it: the
// hook might take the one and the tool the other.
func TestInputThatSaysSomethingTwice(t *testing.T) {
	for _, args := range []string{`{"path":"safe","path":"other"}`, `{"path":"a","more":[{"old":"x","old":"y"}]}`} {
		h := hook("pre", "h", "global", allow, nil)
		_, e, _ := reviewedBy(t, "strict", args, h)
		if e.Refuse == nil || e.Refuse.Code != "invalid_arguments" || !strings.Contains(e.Refuse.Text, "stands in it twice") || len(h.seen) != 0 {
			t.Errorf("%s: reviewed as %+v, the hook was asked %v; want it refused", args, e, h.seen)
		}
	}
}

// TOOL-50, TOOL-51: the first refusal ends the chain, and so does a hook that
// cannot answer, unless it may; what a user should know is said.
func TestHooksRefuse(t *testing.T) {
	panics := &hearing{info: reducer.HookInfo{Name: "wild", Event: "pre", From: reducer.FromHost}, say: func(HookQuestion) (HookAnswer, error) { panic("oh") }}
	for _, tt := range []struct {
		name   string
		hook   *hearing
		want   string // of the model's text; "" runs
		warned string
	}{
		{"deny", hook("pre", "guard", "workspace", HookAnswer{Decision: HookDeny, Reason: "not on main"}, nil), "denied by hook 'guard': not on main", ""},
		{"deny of a host", hook("pre", "guard", reducer.FromHost, HookAnswer{Decision: HookDeny, Reason: "no"}, nil), "denied by interceptor 'guard': no", ""},
		{"deny without a reason", hook("pre", "guard", "global", HookAnswer{Decision: HookDeny}, nil), "denied by hook 'guard': no reason is given", ""},
		{"a reason with a secret", hook("pre", "guard", "global", HookAnswer{Decision: HookDeny, Reason: "saw " + secret}, nil), "denied by hook 'guard': saw [redacted:KEY]", ""},
		{"an endless reason", hook("pre", "guard", "global", HookAnswer{Decision: HookDeny, Reason: strings.Repeat("x", 1<<20)}, nil), "x [cut]", ""},
		{"broken", hook("pre", "guard", "global", HookAnswer{}, errors.New("it is gone")), "denied by hook 'guard': it could not answer: it is gone", "counts as a refusal: it is gone"},
		{"panics", panics, "denied by interceptor 'wild': it could not answer: it panicked: oh", "panicked"},
		{"may fail", hook("pre", "guard", "global", HookAnswer{Decision: HookFailed, Reason: "it is gone"}, nil), "", "set not to refuse then: it is gone"},
		{"unknown decision", hook("pre", "guard", "global", HookAnswer{Decision: "perhaps"}, nil), `it decided "perhaps"`, "perhaps"},
		{"of the other event", hook("pre", "guard", "global", HookAnswer{Decision: HookReplace}, nil), "nothing that can be decided before a call", "replace"},
		{"modify to no object", hook("pre", "guard", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`[]`)}, nil), "no input that is a JSON object", "modify"},
		{"modify to nothing", hook("pre", "guard", "global", HookAnswer{Decision: HookModify}, nil), "no input that is a JSON object", "modify"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last := hook("pre", "last", "workspace", allow, nil)
			_, e, warned := reviewedBy(t, "strict", `{"path":"a"}`, tt.hook, last)
			got := ""
			if e.Refuse != nil {
				got = e.Refuse.Text
			}
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("the model reads %q, want %q", got, tt.want)
			}
			if (len(last.seen) == 1) != (tt.want == "") {
				t.Errorf("the hook after it was asked %d times", len(last.seen))
			}
			if said := strings.Join(warned, "\n"); (tt.warned == "") != (said == "") || !strings.Contains(said, tt.warned) {
				t.Errorf("warned %q, want %q", said, tt.warned)
			}
		})
	}
}

// TOOL-10, TOOL-52: what the hooks left is held against the schema, and the
// refusal says who made it so.
func TestSchemaAfterHooks(t *testing.T) {
	if _, e, _ := reviewedBy(t, "strict", `{"n":"x"}`); e.Refuse == nil ||
		!strings.HasPrefix(e.Refuse.Text, "invalid arguments for strict: 'n' should be integer, got string; 'path' is required. Send") ||
		strings.Contains(e.Refuse.Text, "made of it") {
		t.Errorf("reviewed as %+v", e.Refuse)
	}
	fix := hook("pre", "fix", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`{"path":"a"}`)}, nil)
	if _, e, _ := reviewedBy(t, "strict", `{"n":"x"}`, fix); e.Refuse != nil {
		t.Errorf("what a hook has mended was refused: %v", e.Refuse)
	}
	spoil := hook("pre", "spoil", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`{"n":1}`), Reason: "why not"}, nil)
	if _, e, _ := reviewedBy(t, "strict", `{"path":"a"}`, fix, spoil); e.Refuse == nil ||
		!strings.HasSuffix(e.Refuse.Text, "made of it by hook 'fix'; hook 'spoil': why not") {
		t.Errorf("reviewed as %+v, want both rewriters named", e.Refuse)
	}
	loose := hook("pre", "loose", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`{"filePath":"b"}`)}, nil)
	if _, e, _ := reviewedBy(t, "clever", `{"path":"a"}`, loose); e.Refuse != nil || e.Input.String() != `{"path":"b"}` {
		t.Errorf("reviewed as %+v, want the looser shape brought into the published one", e)
	}
}

// TOOL-8: a hook cannot make a command of a task for a subagent.
func TestHookCannotChangeTheLane(t *testing.T) {
	turn := hook("pre", "turn", "global", HookAnswer{Decision: HookModify, Input: json.RawMessage(`{"path":"b"}`)}, nil)
	var warned []string
	p := hooked(t, &warned, turn)
	c := aCall("clever", `{"path":"a"}`, reducer.ClassProcess)
	c.Lane = reducer.LaneDelegation
	e, _ := review(p, state(c), c.ID)
	if r := e.(reducer.CallReviewed).Refuse; r == nil || !strings.Contains(r.Text, "can't become the other") || !strings.Contains(r.Text, "hook 'turn'") {
		t.Errorf("reviewed as %+v", e)
	}
}

// A review that is given up reports nothing, so that it is done again.
func TestReviewGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var warned []string
	slow := &hearing{info: reducer.HookInfo{Name: "slow", Event: "pre"}, say: func(HookQuestion) (HookAnswer, error) {
		cancel()
		return HookAnswer{}, errors.New("stopped")
	}}
	p := hooked(t, &warned, slow)
	if events := p.Review(ctx, state(aCall("strict", `{"path":"a"}`, reducer.ClassState)), "r1.c1"); len(events)+len(warned) != 0 {
		t.Errorf("reported %v and warned %q, want nothing", events, warned)
	}
}

// settledCall is a call that has come to something that is not shown yet.
func settledCall() reducer.State {
	c := aCall("strict", `{"path":"a"}`, reducer.ClassState)
	c.Phase, c.Shown, c.Outcome = reducer.PhasePending, reducer.T("password hunter2"), reducer.OutcomeDone
	return state(c)
}

// TOOL-51, TOOL-52: what the model reads is what the last hook left; only the
// last verdict ends the wait, and a refusal stands in place of the result.
func TestPostHooks(t *testing.T) {
	first := hook("post", "first", "global", HookAnswer{Decision: HookReplace, Output: "password ***", Reason: "hidden"}, nil)
	failing := hook("post", "marks", "global", HookAnswer{Decision: HookReplace, Output: "bad", IsError: new(true)}, nil)
	keep := hook("post", "keep", "workspace", allow, nil)
	for _, tt := range []struct {
		name  string
		hooks []Hook
		want  string
	}{
		{"none", nil, "last"},
		{"kept", []Hook{keep}, "keep allow last"},
		{"replaced", []Hook{first, keep}, "first replace; keep allow last shown=password ***"},
		{"marked", []Hook{failing}, "marks replace last shown=bad error=true"},
		{"emptied", []Hook{hook("post", "e", "global", HookAnswer{Decision: HookReplace}, nil)}, "e replace last shown=(nothing)"},
		{"denied", []Hook{hook("post", "no", "global", HookAnswer{Decision: HookDeny, Reason: "leak"}, nil), keep}, "no deny last shown=denied by hook 'no': leak error=true"},
		{"broken", []Hook{hook("post", "no", "global", HookAnswer{}, errors.New("gone"))}, "no failed last shown=denied by hook 'no': it could not answer: gone error=true"},
		{"wrong", []Hook{hook("post", "no", "global", HookAnswer{Decision: HookModify}, nil)}, "no failed last shown=denied by hook 'no': it could not answer: it decided \"modify\", which is nothing that can be decided after a call error=true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warned []string
			out := &recorder{}
			hooked(t, &warned, tt.hooks...).Perform(t.Context(), settledCall(), reducer.RunPostHooks{Call: "r1.c1"}, out)
			var got []string
			for _, e := range out.events {
				got = append(got, describe(e.(reducer.HookAnswered)))
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("reported %q, want %q", strings.Join(got, "; "), tt.want)
			}
		})
	}
	q := keep.seen[len(keep.seen)-1]
	if q.Output != "password ***" || q.IsError || string(q.Input) != `{"path":"a"}` {
		t.Errorf("the last hook was asked %+v, want what the first one left", q)
	}
}

func describe(e reducer.HookAnswered) string {
	words := []string{e.Hook, e.Decision}
	if e.Last {
		words = append(words, "last")
	}
	if !e.Shown.IsZero() {
		words = append(words, "shown="+e.Shown.String())
	}
	if e.IsError != nil {
		words = append(words, fmt.Sprintf("error=%v", *e.IsError))
	}
	if e.Withheld {
		words = append(words, "withheld")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// A result whose hooks are no longer wanted is withheld; one whose hooks are only
// put off is judged again later.
func TestPostHooksStopped(t *testing.T) {
	for cause, want := range map[error]string{Unwanted("cancelled"): "last withheld", ErrStopped: ""} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var warned []string
		slow := &hearing{info: reducer.HookInfo{Name: "slow", Event: "post"}, say: func(HookQuestion) (HookAnswer, error) {
			cancel(cause)
			return allow, nil
		}}
		out := &recorder{}
		hooked(t, &warned, slow).Perform(ctx, settledCall(), reducer.RunPostHooks{Call: "r1.c1"}, out)
		got := ""
		for _, e := range out.events {
			got += describe(e.(reducer.HookAnswered))
		}
		if got != want {
			t.Errorf("%v: reported %q, want %q", cause, got, want)
		}
	}
}

// TOOL-10: a schema that can't be used is noted at the opening, and calls of its
// tool are not judged; one that can is held against reads too, which nobody reviews.
func TestOpeningNotesSchemas(t *testing.T) {
	loose := strict(`{"$ref":"http://example.com/x"}`)
	reads := strict(`{"required":["path"]}`)
	reads.spec.Name, reads.spec.Class = "reads", reducer.ClassNone
	out := &recorder{}
	p := NewPerformer(Options{Blobs: newMemory(), Open: func(context.Context, reducer.State) (Workspace, error) {
		return Workspace{Tools: []Tool{loose, reads}}, nil
	}})
	p.open(t.Context(), reducer.State{}, out)
	opened := out.only(t).(reducer.WorkspaceOpened)
	if len(opened.Warnings) != 1 || !strings.HasPrefix(opened.Warnings[0], "tool strict: its input_schema is shown to the model, but") {
		t.Errorf("warnings %q", opened.Warnings)
	}
	if e, _ := review(p, state(aCall("strict", `{}`, reducer.ClassState)), "r1.c1"); e.(reducer.CallReviewed).Refuse != nil {
		t.Errorf("reviewed as %+v, want no judgement", e)
	}
	out = &recorder{}
	p.Perform(t.Context(), state(aCall("reads", `{}`, reducer.ClassNone)), reducer.RunCall{Call: "r1.c1"}, out)
	if e := out.only(t).(reducer.CallSettled); e.Code != "invalid_arguments" {
		t.Errorf("settled as %+v", e)
	}
}
