package basis

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// hostTool is a tool of the program around basis that counts its calls.
type hostTool struct {
	name  string
	calls atomic.Int64
}

func (t *hostTool) Spec() effects.Spec {
	return effects.Spec{
		Name: t.name, Description: "A tool of the host.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		Class: reducer.ClassState, Lane: reducer.LaneExclusive,
	}
}

func (t *hostTool) Call(context.Context, effects.Invocation) (effects.Result, error) {
	t.calls.Add(1)
	return effects.Result{Output: t.name + " ran"}, nil
}

// calling is a step that calls tools without input.
func calling(names ...string) providertest.Step {
	s := providertest.Step{Usage: &providertest.Usage{Prompt: 10, Completion: 5}}
	for _, n := range names {
		s.Calls = append(s.Calls, providertest.Call{Name: n, Args: "{}"})
	}
	return s
}

// put writes a file of a workspace.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// declaring is a tools.json with one tool that says its name.
func declaring(name string) string {
	return `{"schema":1,"tools":{"` + name + `":{"description":"d","input_schema":{},"command":["echo","` + name + ` ran"]}}}`
}

// readBack is what the model of an agent read of its calls, in order.
func readBack(s reducer.State) []string {
	var all []string
	for _, item := range s.Transcript.Messages() {
		for _, r := range item.Results {
			all = append(all, r.Text.String())
		}
	}
	return all
}

// TOOL-71, TOOL-73, TOOL-74, CORE-90: on one runtime each task has the tools of its own
// workspace and of its own driver: not those of another directory, not
// those that another drive of the same directory brought, not after a resume
// without them, and not where a sibling opens later. A subagent has its caller's.
func TestToolsStayWhereTheyBelong(t *testing.T) {
	script := cast{
		"a":         {calling("of_a", "of_b", "everyones", "mine"), tasks("as child"), providertest.Text("done")},
		"b":         {calling("of_a", "of_b", "everyones", "mine"), providertest.Text("done")},
		"same root": {calling("of_a", "everyones", "mine"), providertest.Text("done")},
		"as child":  {calling("of_a", "of_b", "everyones", "mine"), providertest.Text("child done")},
	}
	server := script.server(t)
	everyones, mine := &hostTool{name: "everyones"}, &hostTool{name: "mine"}
	env := map[string]string{"PATH": os.Getenv("PATH")}
	h := openHome(t, Options{
		Dir: filepath.Join(t.TempDir(), "data"), MinFree: -1, Getenv: func(name string) string { return env[name] }, Tools: []effects.Tool{everyones},
	})
	a, b := newWorkspace(t), newWorkspace(t)
	put(t, a, ".basis/tools.json", declaring("of_a"))
	put(t, b, ".basis/tools.json", declaring("of_b"))

	none := func(name string) string { return `There is no tool "` + name + `".` }
	run := func(ws, prompt string, d Drive, want ...string) Outcome {
		t.Helper()
		out, err := h.Run(limited(t), asking(server, ws, prompt), d)
		h.ended(t, out, err)
		checkResults(t, prompt, readBack(out.State), want)
		return out
	}
	first := run(a, "a", Drive{Tools: []effects.Tool{mine}}, "of_a ran", none("of_b"), "everyones ran", "mine ran", "child done")
	child := soundTree(t, h, first.Ref.child(1))
	checkResults(t, "as child", readBack(child), []string{"of_a ran", none("of_b"), "everyones ran", "mine ran"})
	run(b, "b", Drive{}, none("of_a"), "of_b ran", "everyones ran", none("mine"))
	run(a, "same root", Drive{}, "of_a ran", "everyones ran", none("mine"))
	if everyones.calls.Load() != 4 || mine.calls.Load() != 2 {
		t.Errorf("calls of everyone's %d, of mine %d", everyones.calls.Load(), mine.calls.Load())
	}
	if i := slices.IndexFunc(first.State.Setup.Tools, func(k reducer.ToolInfo) bool { return k.Name == "mine" }); i < 0 || first.State.Setup.Tools[i].From != "host" {
		t.Errorf("the journal does not say whose tool it is: %+v", first.State.Setup.Tools)
	}

	// Made with the tools in sight, driven without them.
	ref, err := h.Spawn(asking(server, a, "same root"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	h.ended(t, out, err)
	checkResults(t, "resumed", readBack(out.State), []string{"of_a ran", "everyones ran", none("mine")})
}

func checkResults(t *testing.T, who string, got, want []string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range got {
		ok = ok && strings.HasPrefix(got[i], want[i])
	}
	if !ok {
		t.Errorf("%s read %q, want %q", who, got, want)
	}
}

// TOOL-42, TOOL-72: a name has one holder.
func TestHostToolNames(t *testing.T) {
	server := providertest.Script(t, providertest.Text("x"))
	ws := newWorkspace(t)
	put(t, ws, ".basis/tools.json", declaring("of_a"))
	for _, tt := range []struct {
		tools []effects.Tool
		want  string
	}{
		{[]effects.Tool{&hostTool{name: "spawn"}}, "the host's tool spawn has a name of basis itself"},
		{[]effects.Tool{&hostTool{name: "mcp__a__b"}}, "the host's tool mcp__a__b has a name of basis itself"},
		{[]effects.Tool{&hostTool{name: "x"}, &hostTool{name: "x"}}, "the host has two tools of the name x"},
		{[]effects.Tool{&hostTool{name: "of_a"}}, filepath.Join(ws, ".basis", "tools.json") + ": tools.of_a: the name is taken by a tool of the program"},
	} {
		h := newHome(t, nil)
		out, err := h.Run(limited(t), asking(server, ws, "hi"), Drive{Tools: tt.tools})
		if end := h.ended(t, out, err); !strings.HasPrefix(end.Error, tt.want) {
			t.Errorf("the task ends with %q, want %q", end.Error, tt.want)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// deny is an interceptor that refuses what a word is in.
type deny struct{ word string }

func (deny) Info() reducer.HookInfo {
	return reducer.HookInfo{Name: "host", Event: "pre", From: "global"}
}

func (d deny) Ask(_ context.Context, q effects.HookQuestion) (effects.HookAnswer, error) {
	switch {
	case strings.Contains(string(q.Input), "broken"):
		return effects.HookAnswer{}, errors.New("no opinion")
	case strings.Contains(string(q.Input), d.word):
		return effects.HookAnswer{Decision: effects.HookDeny, Reason: "by policy, for " + q.Workspace}, nil
	}
	return effects.HookAnswer{Decision: effects.HookAllow}, nil
}

// CORE-81, CORE-18, TOOL-47, TOOL-54: without discovery no file says anything, and what the
// host says counts: its interceptors are asked about every call, of subagents too.
func TestNoDiscovery(t *testing.T) {
	script := cast{
		"go":     {tasks("!touch ran; echo rm"), tasks("as sub"), calling("everyones", "of_a"), providertest.Text("done")},
		"as sub": {tasks("!echo rm"), tasks("!echo broken"), tasks("!echo fine"), providertest.Text("sub done")},
	}
	server := script.server(t)
	ws, config := newWorkspace(t), t.TempDir()
	put(t, ws, ".basis/tools.json", declaring("of_a"))
	put(t, ws, ".basis/hooks.json", "broken")
	put(t, ws, ".basis/config.json", "broken")
	put(t, ws, ".basis/templates/go.md", "---\nbroken")
	put(t, ws, "AGENTS.md", "instructions")
	put(t, config, "AGENTS.md", "instructions")
	put(t, config, "skills/s/SKILL.md", "a skill")
	put(t, config, "memory/m.md", "broken")
	env := map[string]string{"BASIS_CONFIG_DIR": config}
	h := openHome(t, Options{
		Dir: filepath.Join(t.TempDir(), "data"), MinFree: -1, Getenv: func(name string) string { return env[name] }, NoDiscovery: true,
		Tools: []effects.Tool{&hostTool{name: "everyones"}}, Interceptors: []effects.Hook{deny{"rm"}},
	})
	if p, err := h.Expand(ws, "/go"); err != nil || p != "/go" {
		t.Errorf("Expand = %q, %v, want it as it is", p, err)
	}
	out, err := h.Run(limited(t), asking(server, ws, "go"), Drive{})
	h.ended(t, out, err)
	denied := "denied by interceptor 'host': by policy, for " + ws
	checkResults(t, "go", readBack(out.State), []string{denied, "sub done", "everyones ran", `There is no tool "of_a".`})
	sub := soundTree(t, h, out.Ref.child(1))
	checkResults(t, "as sub", readBack(sub), []string{denied, "denied by interceptor 'host': it could not answer: no opinion", "fine"})
	if text := out.State.Setup.System.String(); text != "" || len(out.State.Setup.Context) != 0 {
		t.Errorf("system text %q", text)
	}
	if _, err := os.Stat(filepath.Join(ws, "ran")); err == nil {
		t.Error("a denied command ran")
	}
}

// silent is an approver that never answers.
type silent struct{}

func (silent) Review(ctx context.Context, _ effects.Approval) (effects.Verdict, error) {
	<-ctx.Done()
	return effects.Verdict{}, ctx.Err()
}

// TOOL-55: a question that nobody answers in time is a denial, and the run goes on.
func TestAnswerWithin(t *testing.T) {
	server := providertest.Script(t, tasks("!touch ran"), providertest.Text("done"))
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(server, ws, "go")
	spec.Options.Approve = reducer.ApprovePrompt
	out, err := h.Run(limited(t), spec, Drive{Approver: silent{}, AnswerWithin: time.Millisecond})
	h.ended(t, out, err)
	checkResults(t, "go", readBack(out.State), []string{"The call of spawn was denied: nobody answered within 1ms."})
	sound(t, h, out.Ref)
}
