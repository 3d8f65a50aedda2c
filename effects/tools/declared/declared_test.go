//go:build unix

package declared

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// tool is a declared tool whose program is a script for sh.
func tool(t *testing.T, script string, change func(*workspace.Tool)) *Tool {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "run.sh"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	d := workspace.Tool{
		Name: "t", Description: "does", Schema: json.RawMessage(`{"type":"object"}`), Command: []string{"./run.sh", "arg one"},
		Dir: root, Timeout: time.Minute, Level: workspace.Local, File: "/r/.basis/tools.json",
		Env: []workspace.Variable{{Name: "LAYER", Value: "manifest"}, {Name: "TOKEN", Value: "t0ken-value"}},
	}
	if change != nil {
		change(&d)
	}
	return New(d, root, []string{"PATH=" + os.Getenv("PATH"), "LAYER=task", "TASK=1"})
}

func call(t *testing.T, d *Tool, in string) effects.Result {
	t.Helper()
	r, err := d.Call(t.Context(), effects.Invocation{Input: json.RawMessage(in)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TOOL-43: the input is on standard input as it is, the program runs in its place
// with its arguments, and of the environment's layers the later wins.
func TestRun(t *testing.T) {
	d := tool(t, `cat; echo; echo "$1 $LAYER $TASK $TOKEN"; pwd; env | wc -l`, nil)
	r := call(t, d, `{"q":"SELECT '$x' \"; rm -rf"}`)
	lines := strings.Split(r.Output, "\n")
	if r.IsError || len(lines) != 4 || lines[0] != `{"q":"SELECT '$x' \"; rm -rf"}` || lines[1] != "arg one manifest 1 t0ken-value" || lines[2] != d.tool.Dir {
		t.Errorf("result %+v", r)
	}
}

// TOOL-44: what each ending comes to.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		change       func(*workspace.Tool)
		code, want   string
	}{
		{"text", `printf 'a\n\nb\r\n\n'`, nil, "", "a\n\nb"},
		{"nothing", `printf ' \n\n'; echo noise >&2`, nil, "", "t finished and printed nothing"},
		{"never reads", `echo ok`, nil, "", "ok"},
		{"status and words", `echo out; echo "no job" >&2; exit 3`, nil, CodeStatus, "t exited 3: no job"},
		{"status and output", `echo only out; exit 1`, nil, CodeStatus, "t exited 1: only out"},
		{"status alone", `exit 9`, nil, CodeStatus, "t exited 9: it printed nothing"},
		{"signal", `kill -9 $$`, nil, CodeStatus, "t exited 137: it printed nothing"},
		{"slow", `sleep 600`, func(d *workspace.Tool) { d.Timeout = 150 * time.Millisecond }, CodeTimeout, "t took longer than 150ms and was stopped"},
		{"missing", ``, func(d *workspace.Tool) { d.Command = []string{"./gone-t0ken-value"} }, CodeNoStart, "t could not be started: no such file or directory; see command in /r/.basis/tools.json"},
		{"not in PATH", ``, func(d *workspace.Tool) { d.Command = []string{"gone-t0ken-value"} }, CodeNoStart, "t could not be started: executable file not found in $PATH; see command in /r/.basis/tools.json"},
		{"no place", ``, func(d *workspace.Tool) { d.Dir += "/t0ken-value" }, CodeNoStart, "t could not be started: its cwd cannot be used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, tool(t, tt.script, tt.change), `{"a":1}`)
			if r.Output != tt.want || r.Code != tt.code || r.IsError != (tt.code != "") {
				t.Errorf("result %+v, want %q %q", r, tt.code, tt.want)
			}
		})
	}
	long := call(t, tool(t, `head -c 100000 /dev/zero | tr '\0' x >&2; echo end >&2; exit 1`, nil), `{}`)
	if len(long.Output) > maxStderr+100 || !strings.HasSuffix(long.Output, "xend") {
		t.Errorf("%d bytes of a failure, want its end alone", len(long.Output))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := tool(t, "", nil).Call(ctx, effects.Invocation{Input: json.RawMessage(`{}`)}); err != nil || r.Code != CodeCancelled {
		t.Errorf("a cancelled call: %+v, %v", r, err)
	}
}

// TOOL-44: a large output keeps its size, so that its cut can be said.
func TestLargeOutput(t *testing.T) {
	r := call(t, tool(t, `head -c 9000000 /dev/zero | tr '\0' '\n'; echo end`, nil), `{}`)
	if len(r.Pieces) != 1 || r.Pieces[0].Size != 9000004 || !strings.HasSuffix(r.Output, "end") {
		t.Errorf("%d bytes, pieces %d", len(r.Output), len(r.Pieces))
	}
}

// TOOL-45: who is asked sees the command and the input, never the environment;
// input that says something twice is refused before.
func TestPreview(t *testing.T) {
	d := tool(t, "", nil)
	got, err := d.Preview(json.RawMessage(`{"b":1,"a":"x"}`))
	want := fmt.Sprintf(`{"command":[%q,"arg one"],"cwd":%q,"input":{"b":1,"a":"x"},"tool":"t"}`, d.command[0], d.tool.Dir)
	if err != nil || string(got) != want {
		t.Errorf("Preview = %s, %v, want %s", got, err, want)
	}
	if _, err := d.Normalize(json.RawMessage(`{"a":1,"a":2}`)); err == nil {
		t.Error("input with a member twice is taken")
	}
	if s := d.Summarize(json.RawMessage(`{"a": "` + strings.Repeat("é", 300) + `"}`)); len([]rune(s)) != maxSummary || !strings.HasPrefix(s, `t {"a": "é`) {
		t.Errorf("Summarize = %q", s)
	}
}

// TOOL-3: every declared tool has an effect, and runs alone.
func TestSpec(t *testing.T) {
	spec := tool(t, "", nil).Spec()
	if spec.Class != reducer.ClassProcess || spec.Lane != reducer.LaneExclusive || spec.From != "workspace" {
		t.Errorf("Spec = %+v", spec)
	}
	if spec := tool(t, "", func(d *workspace.Tool) { d.External = true }).Spec(); spec.Class != reducer.ClassExternal {
		t.Errorf("Spec = %+v", spec)
	}
}
