//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/basisagent/basis/effects"
)

// TOOL-27: the grammar, row by row.
func TestParseOrder(t *testing.T) {
	tests := []struct {
		input string
		want  order
		says  string // of the error
	}{
		{"!cargo test -q", order{modeCommand, "", "cargo test -q"}, ""},
		{"  ! ls \n", order{modeCommand, "", "ls"}, ""},
		{"!a\nb", order{modeCommand, "", "a\nb"}, ""},
		{"!!important: fix x", order{modeDelegation, "", "!important: fix x"}, ""},
		{"!!@x", order{modeDelegation, "", "!@x"}, ""},
		{"!!", order{modeDelegation, "", "!"}, ""},
		{"!@mac xcodebuild", order{modeCommand, "mac", "xcodebuild"}, ""},
		{"!@a_B-9\tls  -l", order{modeCommand, "a_B-9", "ls  -l"}, ""},
		{"! @mac ls", order{modeCommand, "", "@mac ls"}, ""},
		{"find TODOs", order{modeDelegation, "", "find TODOs"}, ""},
		{"!", order{}, "nothing to run"},
		{"!  ", order{}, "nothing to run"},
		{"", order{}, "empty"},
		{" \n", order{}, "empty"},
		{"!@", order{}, "directly"},
		{"!@ mac ls", order{}, "directly"},
		{"!@local ls", order{}, "reserved"},
		{"!@local", order{}, "reserved"},
		{"!@mac", order{}, "no command"},
		{"!@mac  ", order{}, "no command"},
		{"!@a/b ls", order{}, "letters, digits, _ and -"},
		{"!@ä ls", order{}, "letters, digits, _ and -"},
	}
	for _, tt := range tests {
		got, err := parseOrder(tt.input)
		if tt.says == "" && (err != nil || got != tt.want) {
			t.Errorf("parseOrder(%q) = %+v, %v, want %+v", tt.input, got, err, tt.want)
		}
		if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("parseOrder(%q) = %+v, %v, want an error that says %q", tt.input, got, err, tt.says)
		}
	}
}

// TOOL-27: whatever the input, it is a command with a body, a task with a body,
// or an error; and a command is never made of what did not begin with "!".
func FuzzParseOrder(f *testing.F) {
	for _, s := range []string{"!ls", "!!x", "!@mac ls", "!@local x", "do", "!@", " !\t@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		o, err := parseOrder(input)
		if err != nil {
			return
		}
		s := strings.TrimSpace(input)
		command := strings.HasPrefix(s, "!") && !strings.HasPrefix(s, "!!")
		if command != (o.mode == modeCommand) || o.body != strings.TrimSpace(o.body) || o.body == "" || !strings.HasSuffix(s, o.body) {
			t.Errorf("parseOrder(%q) = %+v", input, o)
		}
		if o.target == local || (o.target != "" && !strings.HasPrefix(s, "!@"+o.target)) {
			t.Errorf("parseOrder(%q) has target %q", input, o.target)
		}
	})
}

// spawnInput is the input of spawn.
func spawnInput(s string) string { return in("input", s) }

// TOOL-31, TOOL-32: what the model reads of a command.
func TestSpawn(t *testing.T) {
	b := newBench(t, Options{}, "sub/", "")
	for input, output := range map[string]string{
		"!echo out; echo err >&2":     "out\n",
		"!echo err >&2":               "err\n",
		"!true":                       "(no output)",
		"!pwd":                        b.dir + "\n",
		"!cat; read x; echo \"[$x]\"": "[]\n",
	} {
		want(t, "spawn "+input, b.call(t, "spawn", spawnInput(input)), output)
	}
	for input, output := range map[string]string{
		"!echo out; echo err >&2; exit 3": "err\nstdout:\nout\nCommand exited with status 3",
		"!echo out; exit 1":               "out\nCommand exited with status 1",
		"!printf err >&2; exit 1":         "err\nCommand exited with status 1",
		"!exit 7":                         "Command exited with status 7",
		"!kill -TERM $$":                  "Command exited with status 143",
	} {
		got := b.call(t, "spawn", spawnInput(input))
		wantError(t, "spawn "+input, got, CodeFailed)
		if got.Output != output {
			t.Errorf("spawn %s = %q, want %q", input, got.Output, output)
		}
	}
}

// TOOL-31: a command sees the environment that it was given and no other.
func TestSpawnEnvironment(t *testing.T) {
	t.Setenv("SOME_VENDOR_API_KEY", "k")
	b := newBench(t, Options{})
	got := b.call(t, "spawn", spawnInput("!echo [$SOME_VENDOR_API_KEY]${PATH:+path}"))
	want(t, "spawn", got, "[]path\n")
}

// TOOL-28, TOOL-30, TOOL-33: what is refused, inside the call too.
func TestSpawnRefuses(t *testing.T) {
	b := newBench(t, Options{})
	wantError(t, "target", b.call(t, "spawn", spawnInput("!@mac ls")), CodeInvalid, "no target mac", "leave out @mac")
	wantError(t, "task", b.call(t, "spawn", spawnInput("find TODOs")), CodeInvalid, "no subagents", "leading !")
	wantError(t, "nothing", b.call(t, "spawn", spawnInput("!")), CodeInvalid, "nothing to run")
	closed := newBench(t, Options{NoShell: true})
	if _, err := closed.tools["spawn"].(effects.Previewer).Preview(json.RawMessage(spawnInput("!touch P"))); err != nil {
		t.Errorf("Preview without a shell = %v, want the approver to be asked first", err)
	}
	wantError(t, "no shell", closed.call(t, "spawn", spawnInput("!touch P")), CodeDenied, "switched off")
	if _, err := os.Stat(filepath.Join(closed.dir, "P")); err == nil {
		t.Error("a command ran although commands are switched off")
	}
	want(t, "write", closed.call(t, "write", in("path", "a", "content", "x")), "Wrote 1 byte(s) to a")
}

// TOOL-32. FR-026: a command at its time limit says so, with what it had printed.
func TestFR026SpawnTimeout(t *testing.T) {
	b := newBench(t, Options{CommandTimeout: time.Hour, CommandCeiling: 200 * time.Millisecond})
	got := b.call(t, "spawn", spawnInput("!echo early; (sleep 5; touch P) & wait"))
	wantError(t, "spawn", got, CodeTimeout, "early\n", "timed out after 200ms", "status 124")
	if _, err := os.Stat(filepath.Join(b.dir, "P")); err == nil {
		t.Error("something of the command went on after its time limit")
	}
}

// TOOL-32: a cancelled command returns what it had printed; progress comes as it
// happens, with the name of its stream.
func TestSpawnCancelAndProgress(t *testing.T) {
	b := newBench(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []string
	r, err := b.tools["spawn"].Call(ctx, effects.Invocation{
		Input: json.RawMessage(spawnInput("!echo one; sleep 300")),
		Progress: func(line string) {
			lines = append(lines, line)
			cancel()
		},
	})
	if err != nil || r.Code != CodeCancelled || !strings.HasPrefix(r.Output, "one\n") {
		t.Errorf("spawn cancelled = %q (%s), %v, want one and %s", r.Output, r.Code, err, CodeCancelled)
	}
	if !slices.Equal(lines, []string{"stdout: one"}) {
		t.Errorf("progress = %q, want stdout: one", lines)
	}
}

// TOOL-34. FR-025: a background child does not hold the call, and is mentioned.
func TestFR025SpawnMentionsWhatIsLeft(t *testing.T) {
	b := newBench(t, Options{})
	got := b.call(t, "spawn", spawnInput("!sleep 300 & echo $! >pid; echo hi"))
	t.Cleanup(func() { b.call(t, "spawn", spawnInput("!kill $(cat pid) || true")) })
	if got.IsError || !strings.HasPrefix(got.Output, "hi\n") || !strings.Contains(got.Output, "still running") {
		t.Errorf("spawn = %q (%s), want hi and a remark", got.Output, got.Code)
	}
}

// FR-028, FR-029, TOOL-32: a flood of odd bytes becomes a bounded, valid text, of
// which a model is shown the beginning and the end of each stream, with how much
// there was.
func TestFR028FR029SpawnOutputIsBounded(t *testing.T) {
	b := newBench(t, Options{})
	got := b.call(t, "spawn", spawnInput("!head -c 20000000 /dev/urandom | tee /dev/stderr; echo last words; echo the reason >&2; exit 3"))
	if len(got.Output) > 3*2*commandKeep+1000 || !utf8.ValidString(got.Output) || !strings.Contains(got.Output, "of 20000011 bytes left out") {
		t.Errorf("spawn gives %d bytes that end %q, want a bounded valid text with the size", len(got.Output), tail(got.Output))
	}
	shown, _ := effects.Limits{Bytes: effects.DefaultResultBytes, Lines: effects.DefaultResultLines}.Fit(got.Pieces, "/blob")
	for _, want := range []string{"of 20000011 bytes left out", "the reason\nstdout:\n", "last words\nCommand exited with status 3\n[truncated: showing ", "the beginning and the end of the full output at /blob]"} {
		if !strings.Contains(shown, want) {
			t.Errorf("shown lacks %q; it ends %q", want, tail(shown))
		}
	}
	if len(shown) > effects.DefaultResultBytes+1000 || !utf8.ValidString(shown) {
		t.Errorf("shown has %d bytes, want at most 50 KiB and its remarks", len(shown))
	}
}

// TOOL-11, TOOL-32: all that a command of some length prints is there to be read.
func TestSpawnKeepsTheWholeOutput(t *testing.T) {
	b := newBench(t, Options{})
	got := b.call(t, "spawn", spawnInput("!i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"))
	if strings.Count(got.Output, "\n") != 20000 || !strings.Contains(got.Output, "\nline 10000\n") {
		t.Errorf("spawn gives %d lines, want all 20000", strings.Count(got.Output, "\n"))
	}
}

// FR-030: a command after the workspace was moved away names the directory.
func TestFR030SpawnInMissingWorkspace(t *testing.T) {
	b := newBench(t, Options{})
	if err := os.Remove(b.dir); err != nil {
		t.Fatal(err)
	}
	wantError(t, "spawn", b.call(t, "spawn", spawnInput("!true")), CodeNoStart, b.dir+" does not exist")
}
