package cli

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func yes() bool { return true }

// screen gathers what a terminal is sent.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// shown is what a terminal would show of its last line.
func (s *screen) shown() string {
	var line []rune
	at := 0
	for _, r := range s.String() {
		switch r {
		case '\n':
			line, at = nil, 0
		case '\r':
			at = 0
		case '\b':
			at = max(at-1, 0)
		default:
			if at < len(line) {
				line[at] = r
			} else {
				line = append(line, r)
			}
			at++
		}
	}
	return strings.TrimRight(string(line), " ")
}

func testEnv(out, err *screen, tty func() bool) Env {
	return Env{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: err, Getenv: func(string) string { return "" },
		StdoutTTY: tty, StderrTTY: tty, Now: time.Now,
	}
}

// CLI-100: the live line is one quiet line, redrawn in place by events and a
// clock, and gone before anything else is written there.
func TestLiveLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, err screen
		c := newConsole(testEnv(&out, &err, yes))
		c.begin()
		c.update(func(a *activity) { a.doing, a.tokens = "waiting for a model", 1234 })
		if got, want := err.shown(), "  0s · 1.2k tokens · waiting for a model"; got != want {
			t.Errorf("live line = %q, want %q", got, want)
		}
		<-time.After(3*time.Second + time.Millisecond)
		synctest.Wait()
		c.update(func(a *activity) { a.doing = "" })
		if got, want := err.shown(), "  3s · 1.2k tokens"; got != want {
			t.Errorf("live line after 3 s = %q, want %q", got, want)
		}
		c.say("basis: a notice")
		if s, want := err.String(), "\r"+strings.Repeat(" ", 18)+"\rbasis: a notice\n"; !strings.Contains(s, want) {
			t.Errorf("standard error = %q, want %q in it", s, want)
		}
		c.print("half a line")
		if got := err.shown(); got != "" {
			t.Errorf("live line beside half a line of the answer = %q, want none", got)
		}
		c.say("basis: more")
		c.close()
		if got, want := out.String(), "half a line\n"; got != want {
			t.Errorf("standard output = %q, want %q", got, want)
		}
		if got := err.shown(); got != "" {
			t.Errorf("after the end the terminal shows %q, want nothing", got)
		}
	})
}

// No pipe, no log and no terminal without a cursor ever sees the live line.
func TestNoLiveLine(t *testing.T) {
	for name, env := range map[string]func(*screen, *screen) Env{
		"pipe": func(o, e *screen) Env { return testEnv(o, e, nil) },
		"dumb": func(o, e *screen) Env {
			env := testEnv(o, e, yes)
			env.Getenv = func(n string) string { return map[string]string{"TERM": "dumb"}[n] }
			return env
		},
	} {
		var out, err screen
		c := newConsole(env(&out, &err))
		c.begin()
		c.update(func(a *activity) { a.doing = "something" })
		c.say("basis: a line")
		c.close()
		if got, want := err.String(), "basis: a line\n"; got != want {
			t.Errorf("%s: standard error = %q, want %q", name, got, want)
		}
	}
}

// The live line never wraps.
func TestLiveLineIsCut(t *testing.T) {
	a := activity{doing: strings.Repeat("long ", 50), tokens: 5}
	if got := []rune(a.line(time.Time{}, 40)); len(got) > 38 {
		t.Errorf("line of %d columns on a terminal of 40", len(got))
	}
}

type brokenPipe struct{ writes int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}

// EV-8, FR-056: after the first write that fails nothing more is written.
func TestFR056LostStdout(t *testing.T) {
	var out brokenPipe
	c := newConsole(Env{Stdout: &out, Stderr: &screen{}, Getenv: func(string) string { return "" }})
	for range 5 {
		c.print("line\n")
	}
	if out.writes != 1 {
		t.Errorf("%d writes to a stream that failed at the first, want 1", out.writes)
	}
}

// What a model or a file says can't move the cursor of a terminal.
func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[2Jb\r\x07\tc\nd\u009b"), "a\ufffd[2Jb\ufffd\ufffd\tc\nd\ufffd"; got != want {
		t.Errorf("printable = %q, want %q", got, want)
	}
	if got, want := printable("rm \u202efdp.a\u2066 \u05d0\u200f"), "rm \ufffdfdp.a\ufffd \u05d0\u200f"; got != want {
		t.Errorf("printable = %q, want %q", got, want)
	}
}

// Nor can it make lines among those that basis says.
func TestFlat(t *testing.T) {
	if got, want := flat("bad\r\n\nnext: x\u2028y\x1b\n"), "bad next: x y\ufffd"; got != want {
		t.Errorf("flat = %q, want %q", got, want)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 7500 * time.Millisecond: "7s", 127 * time.Second: "2m07s", 62 * time.Minute: "1h02m",
	} {
		if got := elapsed(d); got != want {
			t.Errorf("elapsed(%v) = %q, want %q", d, got, want)
		}
	}
}
