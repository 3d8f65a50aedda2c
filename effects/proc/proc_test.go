//go:build unix

package proc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// patient bounds a test whose command would otherwise run for ever.
const patient = 20 * time.Second

// runIn runs a line in a fresh directory unless c names one.
func runIn(t *testing.T, c Command) Result {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Env == nil {
		c.Env = Environ(os.Environ())
	}
	ctx, stop := context.WithTimeout(t.Context(), patient)
	defer stop()
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatalf("Run(%q) = %v, want a result", c.Shell, err)
	}
	return r
}

// TOOL-31: the shell, its input, its directory and its environment.
func TestRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		command        Command
		status         int
		stdout, stderr string
	}{
		{"both streams", Command{Shell: "echo out; echo err >&2"}, 0, "out\n", "err\n"},
		{"status", Command{Shell: "exit 3"}, 3, "", ""},
		{"signal", Command{Shell: "kill -9 $$"}, 128 + 9, "", ""},
		{"directory", Command{Shell: "pwd"}, 0, dir + "\n", ""},
		{"program", Command{Argv: []string{"/bin/echo", "a b", "$HOME"}}, 0, "a b $HOME\n", ""},
		{"environment", Command{Shell: "echo $A$B", Env: []string{"A=1", "A=2"}}, 0, "2\n", ""},
		{"no environment", Command{Shell: "echo [$HOME$USER]", Env: []string{}}, 0, "[]\n", ""},
		{"input", Command{Shell: "cat", Stdin: []byte("given")}, 0, "given", ""},
		{"input not read", Command{Shell: "echo done", Stdin: make([]byte, 1<<20)}, 0, "done\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.command.Dir = dir
			got := runIn(t, tt.command)
			want := Result{
				Ending: Exited, Status: tt.status,
				Stdout: Capture{Text: tt.stdout, Bytes: int64(len(tt.stdout))},
				Stderr: Capture{Text: tt.stderr, Bytes: int64(len(tt.stderr))},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Run(%q) differs (-want +got):\n%s", tt.command.Shell, diff)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Command{{}, {Shell: "true", Argv: []string{"true"}}} {
		if _, err := Run(t.Context(), c); !errors.Is(err, ErrNoCommand) {
			t.Errorf("Run(%+v) = %v, want %v", c, err, ErrNoCommand)
		}
	}
	if _, err := Run(t.Context(), Command{Shell: "true", Dir: file}); !isDirError(err) {
		t.Errorf("Run in a file = %v, want a *DirError", err)
	}
	_, err := Run(t.Context(), Command{Argv: []string{"no-such-program", "s3cret"}, Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("Run(no-such-program) = %v, want an error that names the program and not its arguments", err)
	}
}

// isDirError reports whether err is about the working directory.
func isDirError(err error) bool { _, ok := errors.AsType[*DirError](err); return ok }

// killLater ends a process that a test leaves running on purpose, once its id
// stands in a file.
func killLater(t *testing.T, pidFile string) {
	t.Cleanup(func() {
		data, err := os.ReadFile(pidFile)
		if err != nil {
			return
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// TOOL-34. FR-025: a finished command kept its caller waiting because something
// in the background still held the pipe.
func TestFR025BackgroundChildHoldsPipe(t *testing.T) {
	tests := []struct{ name, line string }{
		{"in the group", "sleep 300 & echo $! >pid; echo hi"},
		{"in a session of its own", "setsid sh -c 'echo $$ >pid; exec sleep 300' >/dev/null & echo hi; while [ ! -s pid ]; do sleep 0.01; done"},
		{"printing for ever", "sh -c 'echo $$ >pid; while :; do echo tick; sleep 0.01; done' & echo hi; while [ ! -s pid ]; do sleep 0.01; done"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			killLater(t, filepath.Join(dir, "pid"))
			got := runIn(t, Command{Shell: tt.line, Dir: dir, Drain: 100 * time.Millisecond})
			if got.Ending != Exited || got.Status != 0 || !got.LeftRunning || !strings.Contains(got.Stdout.Text, "hi\n") {
				t.Errorf("Run(%q) = %+v, want hi, status 0 and LeftRunning", tt.line, got)
			}
		})
	}
}

// FR-027: a command waited for, or ate, the input of the program that ran it.
func TestFR027NoInputAndNoTerminal(t *testing.T) {
	tests := []struct{ line, want string }{
		{"cat", ""},
		{`read x; echo "[$x]"`, "[]\n"},
		{"(: </dev/tty) 2>/dev/null && echo terminal || echo none", "none\n"},
	}
	for _, tt := range tests {
		if got := runIn(t, Command{Shell: tt.line}); got.Stdout.Text != tt.want {
			t.Errorf("Run(%q) printed %q, want %q", tt.line, got.Stdout.Text, tt.want)
		}
	}
}

// TOOL-32. FR-050: no line of a command's output is too long.
// FR-028: a command that printed without end filled the memory before
// its output was cut.
func TestFR028ChattyCommandIsBounded(t *testing.T) {
	for line, size := range map[string]int64{
		"yes | head -c 200000000":              200_000_000,
		"yes | tr -d '\\n' | head -c 50000000": 50_000_000,
	} {
		var before, after runtime.MemStats
		told := 0
		runtime.ReadMemStats(&before)
		got := runIn(t, Command{Shell: line, Progress: func(_ Stream, l string) { told += len(l) }})
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
			t.Errorf("Run(%q) allocated %d bytes in all, want at most 32 MiB", line, allocated)
		}
		if got.Stdout.Bytes != size || !got.Stdout.Cut || len(got.Stdout.Text) > DefaultKeep+200 {
			t.Errorf("Run(%q) kept %d bytes of %d, cut %v; want at most %d of %d, cut", line, len(got.Stdout.Text), got.Stdout.Bytes, got.Stdout.Cut, DefaultKeep+200, size)
		}
		if !strings.Contains(got.Stdout.Text, "[truncated: ") || !strings.Contains(got.Stdout.Text, strconv.FormatInt(size, 10)) {
			t.Errorf("Run(%q) does not say how much was left out", line)
		}
		if told > 2*freeProgress {
			t.Errorf("Run(%q) told %d bytes of progress, want at most %d", line, told, 2*freeProgress)
		}
	}
}

// FR-029: a cut in the middle of a character, or bytes that are none, made every
// later request invalid.
func TestFR029OutputIsValidText(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`printf 'aaaaaaa😀😀😀😀😀😀😀😀'`, "aaaaaaa\n[truncated: 24 of 39 bytes left out here]\n😀😀"},
		{`printf '\377\376ok\303'`, "\uFFFDok\uFFFD"},
		{`printf '%s' '\ud83c'`, `\ud83c`},
	} {
		if got := runIn(t, Command{Shell: tt.line, Keep: 16}); got.Stdout.Text != tt.want {
			t.Errorf("Run(%s) = %q, want %q", tt.line, got.Stdout.Text, tt.want)
		}
	}
}

// FR-030: when a working directory was gone the error spoke of a missing shell,
// and no later command worked.
func TestFR030MissingDirectoryIsNamed(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "d")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	runIn(t, Command{Shell: "rm -rf ../d", Dir: sub})
	_, err := Run(t.Context(), Command{Shell: "true", Dir: sub})
	if !isDirError(err) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), sub+" does not exist") {
		t.Errorf("Run in a deleted directory = %v, want a *DirError that names %s", err, sub)
	}
	if got := runIn(t, Command{Shell: "echo ok", Dir: dir}); got.Stdout.Text != "ok\n" {
		t.Errorf("Run afterwards printed %q, want ok", got.Stdout.Text)
	}
}

// TOOL-32: lines come while the command runs, not at its end.
func TestProgressComesAsItHappens(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	runIn(t, Command{
		Shell: "echo one; while [ ! -e seen ]; do sleep 0.01; done; echo two >&2; printf three",
		Dir:   dir,
		Progress: func(s Stream, line string) {
			lines = append(lines, string(s)+" "+line)
			if line == "one" { // the command goes on only if this came in time
				if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		},
	})
	slices.Sort(lines[1:]) // the two streams are not ordered among each other
	if want := []string{"stdout one", "stderr two", "stdout three"}; !slices.Equal(lines, want) {
		t.Errorf("progress = %q, want %q", lines, want)
	}
}

func TestProgressIsBounded(t *testing.T) {
	var lines []string
	tell := &teller{stream: Stdout, show: func(_ Stream, l string) { lines = append(lines, l) }}
	tell.take([]byte(strings.Repeat("ä", maxProgressLine) + "\nshort\r\n"))
	tell.take([]byte("end"))
	tell.end()
	tell.end()
	want := []string{strings.Repeat("ä", maxProgressLine/2) + "… [line of 4096 bytes]", "short", "end"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	lines = nil
	for range 4 * freeProgress / 64 {
		tell.take([]byte(strings.Repeat("x", 63) + "\n"))
	}
	if most := freeProgress/64 + 8; len(lines) > most {
		t.Errorf("4 MiB of output told %d lines, want at most %d", len(lines), most)
	}
}

func TestEnviron(t *testing.T) {
	got := Environ([]string{"PATH=/bin", "HOME=/h", "OPENAI_API_KEY=k", "TZ=", "broken", "CI_TOKEN=t", "LC_ALL=C"}, "CI_TOKEN")
	want := []string{"PATH=/bin", "HOME=/h", "TZ=", "CI_TOKEN=t", "LC_ALL=C"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Environ differs (-want +got):\n%s", diff)
	}
	if got := Environ(nil); got == nil {
		t.Error("Environ(nil) = nil, want an empty list, because nil would mean everything")
	}
}

// FR-029: whatever the pieces are in which output comes, what is kept is valid,
// bounded and counted.
func FuzzKeeper(f *testing.F) {
	f.Add([]byte("aaaaaaa😀😀😀😀😀"), uint8(16), uint8(3))
	f.Add([]byte("one\ntwo\nthree\nfour\n"), uint8(8), uint8(1))
	f.Add([]byte{0xff, 0, 0xe2, 0x82, '\n', 0xf0, 0x9f, 0x98}, uint8(4), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, limit, piece uint8) {
		k := newKeeper(int(limit))
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			_, _ = k.Write(rest[:n])
			rest = rest[n:]
		}
		c := k.capture()
		if c.Bytes != int64(len(data)) || !utf8.ValidString(c.Text) {
			t.Errorf("capture of %q = %+v, want valid text and %d bytes", data, c, len(data))
		}
		if !c.Cut && c.Text != strings.ToValidUTF8(string(data), "\uFFFD") {
			t.Errorf("capture of %q = %q, want all of it", data, c.Text)
		}
		if kept := len(k.head) + len(k.tail); kept > max(int(limit), 2) {
			t.Errorf("keeper of %d holds %d bytes", limit, kept)
		}
	})
}
