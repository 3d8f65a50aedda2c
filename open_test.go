package basis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// CORE-12, CORE-17: what a task adds comes last, what replaces takes the place
// of everything, and nothing at all is no text.
func TestSystemText(t *testing.T) {
	word := func(s string) *string { return &s }
	for _, tt := range []struct {
		context string
		o       reducer.Options
		want    string
	}{
		{"", reducer.Options{}, ""},
		{"ctx", reducer.Options{}, "ctx"},
		{"ctx", reducer.Options{Append: "more"}, "ctx\n\nmore"},
		{"", reducer.Options{Append: "more"}, "more"},
		{"ctx", reducer.Options{System: word("mine"), Append: "more"}, "mine"},
		{"ctx", reducer.Options{System: word("")}, ""},
	} {
		if got := systemText(tt.context, tt.o); got != tt.want {
			t.Errorf("systemText(%q, %+v) = %q, want %q", tt.context, tt.o, got, tt.want)
		}
	}
}

// CORE-21: the user's settings are where BASIS_CONFIG_DIR says, else in the
// platform's place, else nowhere.
func TestConfigDir(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"BASIS_CONFIG_DIR": "/c", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/c"},
		{map[string]string{"BASIS_CONFIG_DIR": " ", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, filepath.Join("/x", "basis")},
		{map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"}, filepath.Join("/h", ".config", "basis")},
		{nil, ""},
	} {
		if got := newHome(t, tt.env).configDir(); got != tt.want && filepath.IsAbs("/c") {
			t.Errorf("configDir with %v = %q, want %q", tt.env, got, tt.want)
		}
	}
}

// TOOL-65: the user's own ignore rules are where git has them.
func TestGitExcludes(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, filepath.Join("/x", "git", "ignore")},
		{map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"}, filepath.Join("/h", ".config", "git", "ignore")},
		{nil, ""},
	} {
		if got := newHome(t, tt.env).gitExcludes(); got != tt.want && filepath.IsAbs("/c") {
			t.Errorf("gitExcludes with %v = %q, want %q", tt.env, got, tt.want)
		}
	}
}

// CORE-13, EV-26: context documents reach the model and are listed; where the
// task brings its own text they are only listed.
func TestContextReachesTheModel(t *testing.T) {
	s := providertest.Script(t, providertest.Text("one"), providertest.Text("two"))
	ws := newWorkspace(t)
	write(t, filepath.Join(ws, "AGENTS.md"), "be kind")
	spec := asking(s, ws, "hi")
	first := tell(t, newHome(t, nil), spec)
	own := "my own words"
	spec.Options.System = &own
	second := tell(t, newHome(t, nil), spec)
	for i, want := range []string{"be kind", own} {
		if m := s.Requests()[i].Messages()[0]; m.Role != "system" || !strings.Contains(m.Text, want) || i == 1 && strings.Contains(m.Text, "be kind") {
			t.Errorf("request %d begins with %+v, want %q", i+1, m, want)
		}
	}
	for _, l := range []told{first, second} {
		listed, _ := l.lines[0]["context_files"].([]any)
		if len(listed) == 0 || listed[len(listed)-1].(map[string]any)["path"] != filepath.Join(ws, "AGENTS.md") {
			t.Errorf("run_started lists %v, want AGENTS.md last", listed)
		}
	}
}

// CORE-96, TASK-65: commands see the baseline, the task's own names and
// what the task was told to pass on; no key and nothing else.
func TestCommandEnvironment(t *testing.T) {
	s := providertest.Script(t, providertest.CallTool("spawn", `{"input":"!env"}`), providertest.Text("done"))
	h := newHome(t, nil)
	h.o.Environ = func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=sk-0123456789", "SECRET=1", "WANTED=2"}
	}
	spec := asking(s, newWorkspace(t), "hi")
	spec.Options.PassEnv = []string{"WANTED", "ABSENT"}
	l := tell(t, h, spec)
	got := toolResults(s.Requests()[1])[0]
	for _, want := range []string{"PATH=", "WANTED=2", "BASIS_TASK_ID=" + l.out.Ref.String(), "BASIS_DATA_DIR=" + h.Dir()} {
		if !strings.Contains(got, want) {
			t.Errorf("env = %q, want %s", got, want)
		}
	}
	for _, not := range []string{"OPENAI_API_KEY", "SECRET", "ABSENT", "BASIS_PARENT_TASK_ID"} {
		if strings.Contains(got, not) {
			t.Errorf("env = %q, want no %s", got, not)
		}
	}
}

// CORE-50, CORE-51, CORE-53, CORE-54, TASK-69: each bound ends the turn in good
// order, keeps what is done, and is exit code 3.
func TestBounds(t *testing.T) {
	two := providertest.Step{Usage: &providertest.Usage{Prompt: 10, Completion: 5}, Calls: []providertest.Call{
		{Name: "write", Args: `{"path":"a","content":"x"}`}, {Name: "write", Args: `{"path":"b","content":"x"}`},
	}}
	for name, tt := range map[string]struct {
		bounds        reducer.Bounds
		steps         []providertest.Step
		state, result string
		by            string
		files         string
	}{
		"tools":            {reducer.Bounds{Tools: reducer.Known(1)}, []providertest.Step{two}, "failed", "", "tool_budget", "a"},
		"no tools at all":  {reducer.Bounds{Tools: reducer.Known(0)}, []providertest.Step{two}, "failed", "", "tool_budget", ""},
		"enough tools":     {reducer.Bounds{Tools: reducer.Known(2)}, []providertest.Step{two, providertest.Text("done")}, "succeeded", "done", "", "a b"},
		"tokens":           {reducer.Bounds{Tokens: reducer.Known(14)}, []providertest.Step{two}, "failed", "", "token_budget", "a b"},
		"tokens, answered": {reducer.Bounds{Tokens: reducer.Known(14)}, []providertest.Step{providertest.Text("done")}, "succeeded", "done", "token_budget", ""},
		"enough tokens":    {reducer.Bounds{Tokens: reducer.Known(30)}, []providertest.Step{two, providertest.Text("done")}, "succeeded", "done", "", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, tt.steps...)
			ws := newWorkspace(t)
			spec := asking(s, ws, "hi")
			spec.Bounds = tt.bounds
			l := tell(t, newHome(t, nil), spec)
			if l.end.State != tt.state || l.end.Result != tt.result || l.end.StoppedBy != tt.by || (l.end.Exit() == 3) != (tt.by != "") {
				t.Errorf("ended %+v, exit %d, want %s %q by %q", l.end, l.end.Exit(), tt.state, tt.result, tt.by)
			}
			if last := l.lines[len(l.lines)-1]; last["type"] != "run_finished" || last["stopped_by"] != nil && last["stopped_by"] != tt.by {
				t.Errorf("the last line is %v, want it closed by %q", last, tt.by)
			}
			if got := strings.Join(files(t, ws), " "); got != tt.files {
				t.Errorf("files = %q, want %q", got, tt.files)
			}
		})
	}
}

// PROV-9, TASK-65: the model is the one named, else the environment's, else the
// newest that the server lists; and it stays for the task's life.
func TestModelStays(t *testing.T) {
	for name, tt := range map[string]struct{ option, env, want string }{
		"named":       {"mine", "theirs", "mine"},
		"environment": {"", "theirs", "theirs"},
		"newest":      {"", "", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Models: []string{"old", "new"}, Steps: []providertest.Step{
				providertest.CallTool("write", `{"path":"a","content":"x"}`), providertest.Text("done"),
			}})
			env := map[string]string{"BASIS_MODEL": tt.env}
			h := newHome(t, env)
			spec := asking(s, newWorkspace(t), "hi")
			spec.Options.Model, spec.Options.Approve = tt.option, reducer.ApprovePrompt
			out, err := h.Run(limited(t), spec, Drive{})
			if !errors.Is(err, ErrUnaskable) {
				t.Fatalf("Run = %v, want ErrUnaskable", err)
			}
			env["BASIS_MODEL"] = "another"
			out, err = h.Wait(limited(t), out.Ref, Drive{Approver: approver(func(effects.Approval) (effects.Verdict, error) {
				return effects.Verdict{Allow: true}, nil
			})})
			h.ended(t, out, err)
			for _, r := range s.Requests() {
				if got := r.Model(); got != tt.want {
					t.Errorf("request %d asks %s, want %s", r.N, got, tt.want)
				}
			}
		})
	}
}

// TASK-73: under --approve never what could change something is
// refused, reads are not, and the run goes on.
func TestApproveNever(t *testing.T) {
	s := providertest.Script(t, providertest.Step{Calls: []providertest.Call{
		{Name: "ls", Args: `{}`}, {Name: "write", Args: `{"path":"a","content":"x"}`}, {Name: "spawn", Args: `{"input":"!touch b"}`},
	}}, providertest.Text("done"))
	ws := newWorkspace(t)
	spec := asking(s, ws, "hi")
	spec.Options.Approve = reducer.ApproveNever
	l := tell(t, newHome(t, nil), spec)
	if l.end.Result != "done" || len(files(t, ws)) != 0 || len(l.ofType("permission_requested")) != 0 {
		t.Errorf("ended %+v, files %q, asked %v, want nothing changed and nobody asked", l.end, files(t, ws), l.ofType("permission_requested"))
	}
	if got := toolResults(s.Requests()[1]); len(got) != 3 || !strings.Contains(got[1], "denied") || !strings.Contains(got[2], "denied") {
		t.Errorf("results = %q, want two denials", got)
	}
}
