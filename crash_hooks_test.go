package basis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/reducer"
)

// judge is a hook that gives always the same answer.
type judge struct {
	info   reducer.HookInfo
	answer effects.HookAnswer
}

func (j judge) Info() reducer.HookInfo { return j.info }

func (j judge) Ask(context.Context, effects.HookQuestion) (effects.HookAnswer, error) {
	return j.answer, nil
}

// hooked is a run that uses every effect, with two hooks before and two after most
// calls: the first before rewrites, the first after hides the result.
func hooked(t *testing.T) *life {
	l := everything(t)
	allow := effects.HookAnswer{Decision: effects.HookAllow}
	for _, j := range []judge{
		{reducer.HookInfo{Name: "rewrite", Event: "pre", Tools: []string{"spawn"}}, effects.HookAnswer{Decision: effects.HookModify, Input: json.RawMessage(`{"c":"rewritten"}`)}},
		{reducer.HookInfo{Name: "look", Event: "pre"}, allow},
		{reducer.HookInfo{Name: "hide", Event: "post", Tools: []string{"read", "spawn"}}, effects.HookAnswer{Decision: effects.HookReplace, Output: "hidden"}},
		{reducer.HookInfo{Name: "look", Event: "post"}, allow},
	} {
		l.hooks = append(l.hooks, j)
	}
	return l
}

// TOOL-6, TOOL-51: a kill after every record of a run with hooks, inside batches
// too, and again in the attach that follows. No call runs unjudged or
// twice, the rewritten input is what runs, and the model never reads a result
// that a hook was to hide.
func TestKilledAmongHooks(t *testing.T) {
	whole := hooked(t)
	if err := whole.attach(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, whole.dump())
	}
	whole.checkHooks("no kill")
	records := len(whole.journal()) - 2
	for k := range records + 1 {
		for k2 := -1; k2 < 8; k2++ {
			l := hooked(t)
			for _, left := range []int{k, k2, -1} {
				l.disk.left = left
				if err := l.attach(t.Context()); err != nil && (left < 0 || !errors.Is(err, errCrash)) {
					t.Fatalf("kill after %d and %d: %v\n%s", k, k2, err, l.dump())
				}
			}
			l.checkHooks(fmt.Sprintf("kill after %d and %d", k, k2))
		}
	}
}

// checkHooks looks at a life with hooks that has ended.
func (l *life) checkHooks(name string) {
	l.t.Helper()
	l.check(name)
	var s reducer.State
	judged, started := map[string]bool{}, map[string]bool{}
	for _, e := range l.journal() {
		s = reducer.Apply(s, e.Event)
		switch e := e.Event.(type) {
		case reducer.CallReviewed:
			judged[e.Call] = true
			if e.Call == "r1.c3" && e.Input.String() != `{"c":"rewritten"}` {
				l.t.Errorf("%s: reviewed %+v, want the rewritten input\n%s", name, e, l.dump())
			}
		case reducer.CallStarted:
			started[e.Call] = true
		default:
		}
	}
	for call := range started {
		if !judged[call] {
			l.t.Errorf("%s: call %s ran unjudged\n%s", name, call, l.dump())
		}
	}
	for _, text := range readBack(s) {
		if strings.HasPrefix(text, "result of ") && !strings.HasPrefix(text, "result of r2.c1") { // an edit, which nothing hides
			l.t.Errorf("%s: the model reads %q\n%s", name, text, l.dump())
		}
	}
}
