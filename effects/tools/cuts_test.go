package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/proc"
)

const cutSecret = "sk-canary-0123456789abcdef"

// unseen fails for a text in which something of the secret is left.
func unseen(t *testing.T, what, text string) {
	t.Helper()
	for n := range len(cutSecret) - 3 {
		if part := cutSecret[n : n+4]; strings.Contains(text, part) {
			t.Errorf("%s shows %q of the secret: …%s…", what, part, text[max(strings.Index(text, part)-40, 0):min(strings.Index(text, part)+60, len(text))])
			return
		}
	}
}

// JRN-88: the output of a command is cut before anybody knows what in it is
// secret: in the middle of all of it, and in a long line of its progress.
func TestSecretAtTheCutOfACommand(t *testing.T) {
	hide := effects.NewRedactor([]effects.Secret{{Name: "K", Value: cutSecret}})
	const keep = 16 << 10 // half of it at either end; a line of progress is cut at 2 KiB
	for n := 0; n <= len(cutSecret); n += 3 {
		fill := func(size int) string {
			return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' .; printf %s; ", size-n, cutSecret)
		}
		var told []string
		r, err := proc.Run(t.Context(), proc.Command{
			Shell: fill(2<<10) + fill(6<<10) + fill(64<<10) + fill(8<<10+n-len(cutSecret)+n), Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Keep: keep,
			Progress: func(_ proc.Stream, line string) { told = append(told, line) },
		})
		if err != nil || !r.Stdout.Cut || len(told) != 1 {
			t.Fatalf("%v, %+v, told %d", err, r.Ending, len(told))
		}
		unseen(t, fmt.Sprintf("output shifted by %d", n), hide.Replace(r.Stdout.Text))
		unseen(t, fmt.Sprintf("progress shifted by %d", n), hide.Replace(told[0]))
	}
}

// JRN-88: so are long lines of files, by read and by grep.
func TestSecretAtTheCutOfALine(t *testing.T) {
	hide := effects.NewRedactor([]effects.Secret{{Name: "K", Value: cutSecret}})
	ws := t.TempDir()
	set, err := New(Options{Root: ws})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(cutSecret); n += 3 {
		long := strings.Repeat(".", maxReadLine-n) + cutSecret + "\n" + strings.Repeat(".", maxGrepLine-1-n) + cutSecret + "\n" +
			strings.Repeat(".", 3*maxGrepLine) + cutSecret + strings.Repeat(".", maxGrepLine/5-n) + "needle\n"
		if err := os.WriteFile(filepath.Join(ws, "f"), []byte(long), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, input := range map[string]string{"read": `{"path":"f"}`, "grep": `{"pattern":"^[.]|needle"}`} {
			for _, tool := range set {
				if tool.Spec().Name != name {
					continue
				}
				res, err := tool.Call(t.Context(), effects.Invocation{Input: json.RawMessage(input), Progress: func(string) {}})
				if err != nil || res.IsError || !strings.Contains(res.Output, "…") {
					t.Fatalf("%s = %+v, %v, want lines that are cut", name, res, err)
				}
				unseen(t, fmt.Sprintf("%s shifted by %d", name, n), hide.Replace(res.Output))
			}
		}
	}
}
