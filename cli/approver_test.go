package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis"
)

// CLI-70: what each answer means; whatever is no answer denies once, and each
// denial names the tool for the model.
func TestVerdict(t *testing.T) {
	for answer, want := range map[string]struct {
		allow bool
		scope string
	}{
		"y": {true, "once"}, " YES ": {true, "once"}, "a": {true, "process"}, "Always": {true, "process"},
		"r": {false, "process"}, "never": {false, "process"}, "n": {false, "once"}, "": {false, "once"}, "yess": {false, "once"},
		"p": {true, "project"}, "G": {true, "global"}, "rp": {false, "project"}, "rg": {false, "global"}, "pp": {false, "once"},
	} {
		v := verdict(answer, basis.Approval{Tool: "spawn", Pattern: "exactly"})
		if stored := v.Scope == "project" || v.Scope == "global"; stored != (v.Pattern == "exactly") {
			t.Errorf("verdict(%q) is for %q in scope %s, want exactly this call where it is stored", answer, v.Pattern, v.Scope)
		}
		if v.Allow != want.allow || v.Scope != want.scope || v.By != "person" {
			t.Errorf("verdict(%q) = %+v, want %+v", answer, v, want)
		}
		if !v.Allow && !strings.Contains(v.Reason, "spawn") && !strings.Contains(v.Reason, "this command") {
			t.Errorf("verdict(%q) gives the reason %q, want the tool named", answer, v.Reason)
		}
	}
}

// CLI-70: the question shows what would run: the command of a spawn, the path
// of a write, else the names of the input's members.
func TestSubject(t *testing.T) {
	for _, c := range []struct {
		preview, input, summary, want string
	}{
		{`{"mode":"shell","body":"cargo test","cwd":"/w"}`, `{"input":"!cargo test"}`, "", "cargo test"},
		{``, `{"command":"ls"}`, "", "ls"},
		{``, `{"input":"!ls\nrm x"}`, "spawn !ls", "!ls\nrm x"},
		{`{"path":"a.go"}`, `{"path":"a.go","content":"x"}`, "write a.go", "a.go"},
		{``, `{"b":1,"a":2}`, "", "a, b"},
		{``, `{"b":1}`, "a summary", "a summary"},
		{``, `{}`, "", ""},
		{``, `nonsense`, "", ""},
	} {
		a := basis.Approval{Preview: json.RawMessage(c.preview), Input: json.RawMessage(c.input), Summary: c.summary}
		if got := subject(a); got != c.want {
			t.Errorf("subject(%s, %s) = %q, want %q", c.preview, c.input, got, c.want)
		}
	}
}

// CLI-70, TOOL-35: a task for a subagent is not asked about as a command.
func TestPurpose(t *testing.T) {
	for _, c := range []struct{ tool, preview, want string }{
		{"spawn", `{"mode":"agent","body":"find it"}`, "Give this task to a subagent, which works here with the same tools."},
		{"spawn", `{"mode":"command","body":"ls"}`, "its own"},
		{"deploy", `{"mode":"agent"}`, "its own"},
		{"write", ``, "its own"},
	} {
		a := basis.Approval{Tool: c.tool, Preview: json.RawMessage(c.preview), Description: "its own"}
		if got := purpose(a); got != c.want {
			t.Errorf("purpose(%s, %s) = %q, want %q", c.tool, c.preview, got, c.want)
		}
	}
}

// CLI-4: a path in a command to type is one word of it.
func TestShellWord(t *testing.T) {
	for s, want := range map[string]string{"/a/b-c_1.d": "/a/b-c_1.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''"} {
		if got := shellWord(s); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", s, got, want)
		}
	}
}

// CLI-70: what would be written is shown, as the lines that go and that come.
func TestChange(t *testing.T) {
	for _, tt := range []struct {
		input string
		want  []string
	}{
		{`{"path":"a","content":"one\ntwo\n"}`, []string{"+ one", "+ two"}},
		{`{"path":"a","edits":[{"old_string":"x","new_string":"y\nz"},{"oldText":"b","newText":""}]}`, []string{"- x", "+ y", "+ z", "- b"}},
		{`{"path":"a","old":"x","new":"y"}`, []string{"- x", "+ y"}},
		{`{"input":"!ls"}`, nil},
		{`nonsense`, nil},
	} {
		if got := change(json.RawMessage(tt.input)); !slices.Equal(got, tt.want) {
			t.Errorf("change(%s) = %q, want %q", tt.input, got, tt.want)
		}
	}
}

// CLI-70: nothing of a long line is left out, and of very many lines a person
// sees both ends and how many are between them.
func TestExcerpt(t *testing.T) {
	long := "!true" + strings.Repeat(" ", 5000) + "; rm -rf é"
	lines := excerpt([]string{"first", long})
	if got := strings.Join(lines[1:], ""); got != long || len(lines) < 30 {
		t.Errorf("excerpt of a long line = %d lines, want all of it", len(lines))
	}
	many := excerpt(slices.Repeat([]string{"l"}, askedHead+askedTail+3))
	if len(many) != askedHead+askedTail+1 || many[askedHead] != "… 3 lines are not shown …" {
		t.Errorf("excerpt of many lines = %d lines, %q between them", len(many), many[askedHead])
	}
}

var noDeadline time.Time

func asking(in io.ReadCloser, out, err *screen) *approver {
	env := testEnv(out, err, nil)
	env.Terminal = func() (io.ReadCloser, error) { return in, nil }
	return &approver{env: env, con: newConsole(env)}
}

// CLI-66: a question that is given up returns at once and eats nothing of what
// is typed afterwards.
func TestQuestionIsGivenUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var out, shown screen
	p := asking(io.NopCloser(nil), &out, &shown)
	p.env.Terminal = func() (io.ReadCloser, error) { return keptOpen{r}, nil }
	cause := errors.New("unwanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := p.Review(ctx, basis.Approval{Tool: "spawn"}); !errors.Is(err, cause) {
		t.Errorf("Review = %v, want %v", err, cause)
	}
	if _, err := io.WriteString(w, "y\nnext\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(noDeadline); err != nil {
		t.Fatal(err)
	}
	v, err := p.Review(t.Context(), basis.Approval{Tool: "spawn"})
	if err != nil || !v.Allow {
		t.Errorf("Review = %+v, %v, want it allowed", v, err)
	}
	if rest, err := oneLine(r); rest != "next" || err != nil {
		t.Errorf("the line behind the answer = %q, %v, want next", rest, err)
	}
}

// keptOpen is a file that its reader does not close.
type keptOpen struct{ *os.File }

func (keptOpen) Close() error { return nil }

// CLI-70: the end of the input is no permission; a question that can't be put
// is an error.
func TestNoAnswerDenies(t *testing.T) {
	var out, shown screen
	v, err := asking(io.NopCloser(strings.NewReader("")), &out, &shown).Review(t.Context(), basis.Approval{Tool: "edit"})
	if err != nil || v.Allow || v.Scope != "once" {
		t.Errorf("Review at the end of input = %+v, %v, want denied once", v, err)
	}
	p := asking(nil, &out, &shown)
	p.env.Terminal = func() (io.ReadCloser, error) { return nil, os.ErrNotExist }
	if _, err := p.Review(t.Context(), basis.Approval{Tool: "edit"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Review without a terminal = %v, want %v", err, os.ErrNotExist)
	}
	if !strings.Contains(shown.String(), "\nedit wants to run\n") || out.String() != "" {
		t.Errorf("standard error = %q, standard output = %q, want the question on the first alone", shown.String(), out.String())
	}
}

// CLI-33: reading a prompt ends with the command.
func TestReadIsGivenUp(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	stop := &basis.Stop{Reason: "signal", Detail: "interrupt"}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := readAll(ctx, r); !errors.Is(err, stop) {
		t.Errorf("readAll = %v, want %v", err, stop)
	}
}
