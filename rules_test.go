package basis

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// answering is an approver that gives one answer and counts the questions.
type answering struct {
	verdict effects.Verdict
	exact   bool // narrowed to the call
	asked   int
}

func (a *answering) Review(_ context.Context, q effects.Approval) (effects.Verdict, error) {
	a.asked++
	v := a.verdict
	if a.exact {
		v.Pattern = q.Pattern
	}
	return v, nil
}

// results is a run of commands one after the other, and what the model read.
func results(t *testing.T, h *Home, ws string, a *answering, commands ...string) []string {
	t.Helper()
	var steps []providertest.Step
	for _, c := range commands {
		steps = append(steps, tasks("!"+c))
	}
	s := providertest.Script(t, append(steps, providertest.Text("done"))...)
	spec := asking(s, ws, "go")
	spec.Options.Approve = reducer.ApprovePrompt
	out, err := h.Run(limited(t), spec, Drive{Approver: a})
	h.ended(t, out, err)
	return outcomes(sound(t, h, out.Ref))
}

// TOOL-56, TOOL-57: what is answered for the project or for everywhere is not
// asked again by any later task there, holds for that command alone, and is
// asked again once it is revoked. An answer for the process is gone with it.
func TestRulesReach(t *testing.T) {
	h, ws, other := newHome(t, nil), newWorkspace(t), newWorkspace(t)
	for _, scope := range []string{"process", "project", "global"} {
		a := &answering{verdict: effects.Verdict{Allow: true, Scope: scope, By: "person"}, exact: true}
		results(t, h, ws, a, "echo a; true", "echo a; true", "echo  a; true", "echo a; true #")
		if a.asked != 3 {
			t.Errorf("%s: asked %d times, want once for each of three commands", scope, a.asked)
		}
		b := &answering{verdict: effects.Verdict{By: "person", Reason: "no"}}
		results(t, h, ws, b, "echo a; true")
		results(t, h, other, b, "echo a; true")
		if want := map[string]int{"process": 2, "project": 1, "global": 0}[scope]; b.asked != want {
			t.Errorf("%s: later tasks asked %d times, want %d", scope, b.asked, want)
		}
		rules, err := h.Rules(ws)
		if want := map[string]int{"process": 0, "project": 3, "global": 3}[scope]; err != nil || len(rules) != want {
			t.Fatalf("%s: rules = %v, %v, want %d", scope, rules, err, want)
		}
		for _, r := range rules {
			if _, err := h.Revoke(ws, r.ID); err != nil {
				t.Error(err)
			}
		}
		if rules, err := h.Rules(ws); err != nil || len(rules) > 0 {
			t.Errorf("%s: after revoking all: %v, %v", scope, rules, err)
		}
	}
	if _, err := h.Revoke(ws, "p1"); !errors.Is(err, ErrNoRule) {
		t.Errorf("Revoke of a revoked rule = %v, want ErrNoRule", err)
	}
}

// TOOL-56: a remembered denial holds against whatever is allowed, repeats its
// reason, and is not asked about.
func TestDenialsAreRemembered(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	for _, g := range []reducer.Grant{
		{Tool: "spawn", Allow: true},
		{Tool: "spawn", Pattern: `*"body":"*rm *`, Reason: "nothing is removed here"},
	} {
		for range 2 { // the same answer is stored once
			if err := h.Remember(ws, reducer.ScopeProject, g); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := &answering{verdict: effects.Verdict{Allow: true}}
	got := results(t, h, ws, a, "echo yes", "echo x && rm -f y")
	if len(got) != 2 || got[0] != "yes\n" || !strings.Contains(got[1], "nothing is removed here") || a.asked != 0 {
		t.Errorf("results %q after %d questions, want the first run and the second denied with the reason", got, a.asked)
	}
	if rules, err := h.Rules(ws); err != nil || len(rules) != 2 {
		t.Errorf("rules = %v, %v, want two", rules, err)
	}
}

// Rules that can't be read may hold a denial: nothing that they could forbid is
// run. A torn end is no damage; the next rule mends it.
func TestDamagedRules(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	for _, tool := range []string{"a", "b"} {
		if err := h.Remember(ws, reducer.ScopeGlobal, reducer.Grant{Tool: tool}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(h.Dir(), "rules", "events.jsonl")
	change(t, file, func(b []byte) []byte { return append(b, `{"seq":9,"type":"ru`...) })
	if rules, err := h.Rules(ws); err != nil || len(rules) != 2 {
		t.Errorf("rules with a torn end = %v, %v, want two", rules, err)
	}
	if err := h.Remember(ws, reducer.ScopeGlobal, reducer.Grant{Tool: "c"}); err != nil {
		t.Errorf("Remember after a torn end = %v", err)
	}
	change(t, file, func(b []byte) []byte { return bytes.Replace(b, []byte(`"tool":"a"`), []byte(`"tool":"z"`), 1) })
	a := &answering{verdict: effects.Verdict{Allow: true}}
	got := results(t, h, ws, a, "touch x")
	if len(got) != 1 || !strings.Contains(got[0], "rules cannot be read") || a.asked != 0 {
		t.Errorf("results %q, want the call refused because of the rules", got)
	}
	if _, err := os.Stat(filepath.Join(ws, "x")); err == nil {
		t.Error("the command ran")
	}
}

// Many processes remember at once: nothing is lost.
func TestRulesAtOnce(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	tools := []string{"a", "b", "c", "d", "e", "f"}
	var all sync.WaitGroup
	errs := make([]error, len(tools))
	for i, tool := range tools {
		all.Go(func() { errs[i] = h.Remember(ws, reducer.ScopeProject, reducer.Grant{Tool: tool, Allow: true}) })
	}
	all.Wait()
	rules, err := h.Rules(ws)
	var got []string
	for _, r := range rules {
		got = append(got, r.Tool)
	}
	slices.Sort(got)
	if err := errors.Join(append(errs, err)...); err != nil || !slices.Equal(got, tools) {
		t.Errorf("rules for %q, %v, want all", got, err)
	}
	for _, bad := range []struct{ scope, tool string }{{"process", "x"}, {"", "x"}, {"project", ""}} {
		if _, ok := errors.AsType[*OptionError](h.Remember(ws, bad.scope, reducer.Grant{Tool: bad.tool})); !ok {
			t.Errorf("Remember(%q, %q) is not refused", bad.scope, bad.tool)
		}
	}
}
