//go:build unix

package hooks

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// program is a hook whose program is a script for sh.
func program(t *testing.T, script string, timeout time.Duration, lenient bool) *Program {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "hook.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(workspace.Hook{
		Info: reducer.HookInfo{Name: "h", Event: "pre"}, Command: []string{"sh", "hook.sh"}, Timeout: timeout, Lenient: lenient,
	}, root, []string{"PATH=" + os.Getenv("PATH")})
}

var question = effects.HookQuestion{
	Event: "pre", Workspace: "/repo", Agent: "a1", Call: "c1", Tool: "spawn", Input: json.RawMessage(`{"input":"!git push -f"}`),
}

// TOOL-48: the question is one line of JSON; after a call it has the result too.
func TestQuestion(t *testing.T) {
	p := program(t, `cat > asked; echo '{"decision":"allow"}'`, time.Minute, false)
	for _, tt := range []struct {
		q    effects.HookQuestion
		want string
	}{
		{question, `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a1","tool_call_id":"c1","tool_name":"spawn","input":{"input":"!git push -f"}}`},
		{
			effects.HookQuestion{Event: "post", Tool: "read", Input: json.RawMessage(`{}`), Output: "<a>\n"},
			`{"hook_schema":1,"event":"post_tool_use","workspace":"","agent_id":"","tool_call_id":"","tool_name":"read","input":{},"output":"<a>\n","is_error":false}`,
		},
	} {
		if a, err := p.Ask(t.Context(), tt.q); err != nil || a.Decision != effects.HookAllow {
			t.Fatalf("Ask = %+v, %v", a, err)
		}
		got, err := os.ReadFile(filepath.Join(p.root, "asked"))
		if err != nil || string(got) != tt.want+"\n" {
			t.Errorf("it was asked %s (%v), want %s", got, err, tt.want)
		}
	}
}

// TOOL-49: what a program can answer.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct{ event, say, want string }{
		{"pre", `{"decision":"allow","extra":1}`, `{"Decision":"allow","Reason":"","Input":null,"Output":"","IsError":null}`},
		{"pre", "\uFEFF {\"decision\":\"deny\",\"reason\":\"no\"}\r\n", `{"Decision":"deny","Reason":"no","Input":null,"Output":"","IsError":null}`},
		{"pre", `{"decision":"modify","input":{"a":1},"reason":"r"}`, `{"Decision":"modify","Reason":"r","Input":{"a":1},"Output":"","IsError":null}`},
		{"post", `{"decision":"replace","output":"x","is_error":false}`, `{"Decision":"replace","Reason":"","Input":null,"Output":"x","IsError":false}`},
		{"post", `{"decision":"replace","output": {"a": [1]}}`, `{"Decision":"replace","Reason":"","Input":null,"Output":"{\"a\": [1]}","IsError":null}`},
	} {
		a, err := parse(tt.event, tt.say)
		got, _ := json.Marshal(a)
		if err != nil || string(got) != tt.want {
			t.Errorf("parse(%s) = %s, %v, want %s", tt.say, got, err, tt.want)
		}
	}
}

// TOOL-50, FR-020, FR-024: a hook that was slow, killed, crashed, missing or printed
// rubbish let the call through; it is no answer, and the reason says why.
func TestFR020BrokenAnswers(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"killed", `kill -9 $$`, "status 137"},
		{"crashed", `echo oops >&2; exit 7`, "status 7 and said oops"},
		{"silent", ``, "it printed nothing"},
		{"rubbish", `echo not json`, "not one JSON document: not json"},
		{"words before", `echo hello; echo '{"decision":"allow"}'`, "not one JSON document: hello"},
		{"two answers", `echo '{"decision":"allow"}'; echo '{"decision":"allow"}'`, "not one JSON document"},
		{"a list", `echo '["allow"]'`, "not a JSON object"},
		{"null", `echo null`, "not a JSON object"},
		{"twice", `echo '{"decision":"deny","decision":"allow"}'`, `"decision" stands in it twice`},
		{"another spelling", `echo '{"Decision":"allow"}'`, "has no decision"},
		{"no decision", `echo '{}'`, "has no decision"},
		{"unknown", `echo '{"decision":"ok"}'`, "it decided ok"},
		{"wrong type", `echo '{"decision":true}'`, "decision is of the wrong type"},
		{"reason of the wrong type", `echo '{"decision":"allow","reason":1}'`, "reason is of the wrong type"},
		{"modify without input", `echo '{"decision":"modify"}'`, "no input that is a JSON object"},
		{"modify to null", `echo '{"decision":"modify","input":null}'`, "no input that is a JSON object"},
		{"replace before", `echo '{"decision":"replace","output":"x"}'`, "nothing that can be decided at pre_tool_use"},
		{"failed but said allow", `echo '{"decision":"allow"}'; exit 1`, "status 1"},
		{"too much", `echo '{"decision":"allow","reason":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'`, "more than 1048576 bytes"},
		{"bytes", `printf '\377\001{"decision":"allow"}'`, "not one JSON document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := program(t, tt.script, time.Minute, false).Ask(t.Context(), question)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x01") {
				t.Errorf("Ask = %+v, %v, want an error with %q on one line", a, err, tt.want)
			}
			a, err = program(t, tt.script, time.Minute, true).Ask(t.Context(), question)
			if err != nil || a.Decision != effects.HookFailed || !strings.Contains(a.Reason, tt.want) {
				t.Errorf("a lenient hook's Ask = %+v, %v, want it failed with %q", a, err, tt.want)
			}
		})
	}
	if _, err := parse("post", `{"decision":"replace"}`); err == nil || !strings.Contains(err.Error(), "no output") {
		t.Errorf("parse of a replace without output: %v", err)
	}
	if _, err := parse("post", `{"decision":"modify","input":{}}`); err == nil || !strings.Contains(err.Error(), "post_tool_use") {
		t.Errorf("parse of a modify after the call: %v", err)
	}
}

// FR-020: a hook that takes too long is stopped with all that it started.
func TestSlowHook(t *testing.T) {
	p := program(t, `sleep 600 & echo $! > child; wait`, 200*time.Millisecond, false)
	if _, err := p.Ask(t.Context(), question); err == nil || !strings.Contains(err.Error(), "longer than 200ms") {
		t.Errorf("Ask: %v", err)
	}
	pid, err := os.ReadFile(filepath.Join(p.root, "child"))
	if err != nil {
		t.Fatal(err)
	}
	if state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("what the hook started still runs: %s", state)
	}
}

// A hook that is not there, or whose place is not, is none that answers; a
// context that ends is no failure that a lenient hook may have.
func TestHookThatCannotStart(t *testing.T) {
	p := New(workspace.Hook{Command: []string{"./missing"}, Timeout: time.Minute}, t.TempDir(), nil)
	if _, err := p.Ask(t.Context(), question); err == nil || !strings.Contains(err.Error(), "missing: no such file") {
		t.Errorf("Ask: %v", err)
	}
	p = New(workspace.Hook{Command: []string{"true"}, Timeout: time.Minute}, filepath.Join(t.TempDir(), "gone"), nil)
	if _, err := p.Ask(t.Context(), question); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("Ask: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := program(t, "", time.Minute, true).Ask(ctx, question); err == nil {
		t.Error("a hook that was stopped has an answer")
	}
}

// FR-024: a hook is started without a login shell, so shell start-up files print nothing into its answer.
func TestFR024NoStartUpFiles(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{".profile", ".bashrc", ".bash_profile", ".zshenv", ".shrc"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("echo noise\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := program(t, `echo '{"decision":"allow"}'`, time.Minute, false)
	p.env = append(p.env, "HOME="+home)
	if a, err := p.Ask(t.Context(), question); err != nil || a.Decision != effects.HookAllow {
		t.Errorf("Ask = %+v, %v", a, err)
	}
}

// Whatever a program prints is an answer or an error.
func FuzzAnswer(f *testing.F) {
	f.Add("pre", `{"decision":"modify","input":{"a":1}}`)
	f.Add("post", `{"decision":"replace","output":[1,"\ud800"],"is_error":null}`)
	f.Fuzz(func(t *testing.T, event, text string) {
		a, err := parse(event, text)
		if err == nil && a.Decision == "" {
			t.Errorf("parse(%q) has neither a decision nor an error", text)
		}
	})
}
