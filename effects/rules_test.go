package effects

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/basisagent/basis/reducer"
)

// saying is an approver with one answer.
type saying Verdict

func (v saying) Review(context.Context, Approval) (Verdict, error) { return Verdict(v), nil }

// TOOL-57: what reaches beyond the process is stored; what can't be stored holds
// for the process, and that is said.
func TestRemembered(t *testing.T) {
	for _, tt := range []struct {
		say    Verdict
		fail   error
		scope  string // as recorded
		stored string
	}{
		{say: Verdict{Allow: true}, scope: "once"},
		{say: Verdict{Allow: true, Scope: "once", Pattern: "x"}, scope: "once"},
		{say: Verdict{Allow: true, Scope: "process", Pattern: "x"}, scope: "process"},
		{say: Verdict{Allow: true, Scope: "project", Pattern: "x"}, scope: "project", stored: "project x"},
		{say: Verdict{Scope: "global", Reason: "no"}, scope: "global", stored: "global "},
		{say: Verdict{Allow: true, Scope: "global"}, fail: errors.New("full, " + secret), scope: "process", stored: "global "},
		{say: Verdict{Allow: true, Scope: "for ever"}, scope: "process"},
	} {
		p := performer(newMemory(), nil)
		stored, warned := "", ""
		p.o.Approver = saying(tt.say)
		p.o.Remember = func(scope string, g reducer.Grant) error {
			stored = scope + " " + g.Pattern
			return tt.fail
		}
		p.o.Warn = func(line string) { warned = line }
		out := &recorder{}
		c := aCall("plain", `{}`, reducer.ClassState)
		c.Phase = reducer.PhaseAsked
		p.Perform(t.Context(), state(c), reducer.Ask{Call: c.ID}, out)
		e, ok := out.only(t).(reducer.ApprovalAnswered)
		if !ok || e.Scope != tt.scope || stored != tt.stored || (e.Scope == "once" && e.Pattern != "") || e.Allow != tt.say.Allow {
			t.Errorf("%+v: recorded %+v, stored %q, want scope %s and %q", tt.say, e, stored, tt.scope, tt.stored)
		}
		if failed := tt.fail != nil; failed != strings.Contains(warned, "counts for this run only") || strings.Contains(warned, secret) {
			t.Errorf("%+v: warned %q", tt.say, warned)
		}
	}
}

// TOOL-56: the rules are held against the preview, whole and without secrets, and
// where they or the input can't be read the call is refused.
func TestRulesInReview(t *testing.T) {
	deny := []reducer.Rule{{Grant: reducer.Grant{Tool: "clever", Pattern: `*touch*`, Reason: "not that"}, Scope: "project"}}
	for _, tt := range []struct {
		tool, args string
		rules      []reducer.Rule
		err        error
		rule, code string
	}{
		{"clever", `{"path":"a"}`, nil, nil, "", ""},
		{"clever", `{"path":"a"}`, deny, nil, "project/deny", ""},
		{"plain", `{"path":"touch"}`, deny, nil, "", ""},
		{"plain", `{"path":"a"}`, nil, errors.New("damaged"), "", "rules"},
		{"plain", `{"path":"a","path":"b"}`, deny, nil, "", "invalid_arguments"},
		{"plain", `{"path":"` + secret + `"}`, []reducer.Rule{{Grant: reducer.Grant{Tool: "plain", Pattern: `{"path":"[redacted:KEY]"}`, Allow: true}, Scope: "global"}}, nil, "global/allow", ""},
	} {
		p := performer(newMemory(), nil)
		p.o.Rules = func() ([]reducer.Rule, error) { return tt.rules, tt.err }
		c := aCall(tt.tool, tt.args, reducer.ClassState)
		ev, _ := review(p, state(c), c.ID)
		e := ev.(reducer.CallReviewed)
		code := ""
		if e.Refuse != nil {
			code = e.Refuse.Code
		}
		if e.Rule != tt.rule || code != tt.code || (tt.rule == "project/deny" && e.Reason != "not that") {
			t.Errorf("%s %s: reviewed %+v, want rule %q and refusal %q", tt.tool, tt.args, e, tt.rule, tt.code)
		}
	}
	if got := exactPattern(json.RawMessage(`{"mode":"command","cwd":"/w","body":"ls *","target":"local"}`)); got != `{"body":"ls \u002a","cwd":"*","mode":"command","target":"local"}` {
		t.Errorf("exactPattern = %s", got)
	}
	for _, other := range []string{`{"mode":"agent","body":"x"}`, `{}`, `nonsense`, ``} {
		if got := exactPattern(json.RawMessage(other)); got != "" {
			t.Errorf("exactPattern(%s) = %s, want none", other, got)
		}
	}
}
