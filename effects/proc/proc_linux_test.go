package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alive returns the commands of a process group that have not ended, as /proc
// tells it. Dead ones that nobody has reaped don't count.
func alive(t *testing.T, group int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		end := strings.LastIndexByte(string(data), ')')
		fields := strings.Fields(string(data[end+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			found = append(found, string(data[:end+1]))
		}
	}
	return found
}

// firstNumber is the number in the first line that a command printed.
func firstNumber(t *testing.T, text string) int {
	t.Helper()
	line, _, _ := strings.Cut(text, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the command printed %q, want its process id first", text)
	}
	return n
}

// TOOL-32. FR-026: at the time limit only the shell died, and what it had started
// changed files later.
func TestFR026TimeoutEndsTheGroup(t *testing.T) {
	for _, line := range []string{
		"echo $$; (trap '' TERM; sleep 5; touch P) & wait",
		"echo $$; trap '' TERM; while :; do :; done",
		"echo $$; sleep 300 & sleep 300 & kill -STOP $$",
	} {
		dir := t.TempDir()
		got := runIn(t, Command{Shell: line, Dir: dir, Timeout: 300 * time.Millisecond, Grace: 50 * time.Millisecond})
		if got.Ending != TimedOut || got.Status != StatusTimeout {
			t.Errorf("Run(%q) = %v with status %d, want %v with %d", line, got.Ending, got.Status, TimedOut, StatusTimeout)
		}
		if left := alive(t, firstNumber(t, got.Stdout.Text)); len(left) > 0 {
			t.Errorf("Run(%q) left %v running", line, left)
		}
		if _, err := os.Stat(filepath.Join(dir, "P")); err == nil {
			t.Errorf("Run(%q) was stopped, and yet it wrote its file", line)
		}
	}
}

// TOOL-48: a command that is to be alone leaves nothing running, and nobody waits
// for what still holds its output.
func TestAloneLeavesNoProcess(t *testing.T) {
	got := runIn(t, Command{Shell: "echo $$; sleep 300 & sleep 300 >/dev/null 2>&1 &", Dir: t.TempDir(), Alone: true, Drain: patient})
	if got.Ending != Exited || got.Status != 0 || got.LeftRunning {
		t.Errorf("Run = %+v, want an exit with status 0 and nothing left", got)
	}
	if left := alive(t, firstNumber(t, got.Stdout.Text)); len(left) > 0 {
		t.Errorf("Run left %v running", left)
	}
}

// TOOL-32: a cancel ends the group and keeps the output so far.
func TestCancelLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	got, err := Run(ctx, Command{
		Shell: "echo $$; sleep 300 & sleep 300 | cat; touch P",
		Dir:   t.TempDir(), Env: Environ(os.Environ()),
		Progress: func(Stream, string) { cancel() },
	})
	if err != nil || got.Ending != Cancelled {
		t.Fatalf("Run cancelled = %v, %v, want %v", got.Ending, err, Cancelled)
	}
	if left := alive(t, firstNumber(t, got.Stdout.Text)); len(left) > 0 {
		t.Errorf("a cancelled command left %v running", left)
	}
}

// TOOL-32: a cancel ends what a command left behind too, as long as it is waited
// for.
func TestCancelInTheDrainLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	got, err := Run(ctx, Command{
		Shell: "sleep 300 & echo $$",
		Dir:   t.TempDir(), Env: Environ(os.Environ()), Drain: time.Hour,
		Progress: func(_ Stream, line string) {
			for shell := firstNumber(t, line); syscall.Kill(shell, 0) == nil && ctx.Err() == nil; {
				runtime.Gosched() // until the shell has been reaped
			}
			cancel()
		},
	})
	if err != nil || got.Status != 0 {
		t.Errorf("Run = %+v, %v, want status 0", got, err)
	}
	if left := alive(t, firstNumber(t, got.Stdout.Text)); len(left) > 0 {
		t.Errorf("a cancelled command left %v running", left)
	}
}

func TestCancelledBeforeTheStartRunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	got, err := Run(ctx, Command{Shell: "touch P", Dir: dir})
	if err != nil || got.Ending != Cancelled {
		t.Errorf("Run = %v, %v, want %v", got.Ending, err, Cancelled)
	}
	if _, err := os.Stat(filepath.Join(dir, "P")); err == nil {
		t.Error("a command ran although its context had ended before")
	}
}

// TOOL-31: a session of its own, and no descriptors but the three.
func TestCommandInheritsNothing(t *testing.T) {
	fd, err := syscall.Dup(1) // open in commands unless somebody takes care
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	got := runIn(t, Command{Shell: fmt.Sprintf("[ -e /proc/self/fd/%d ] && echo leaked; cut -d' ' -f6 /proc/$$/stat; echo $$", fd)})
	session, self, _ := strings.Cut(strings.TrimSpace(got.Stdout.Text), "\n")
	if session != self {
		t.Errorf("the command printed %q, want its session to be its own and nothing leaked", got.Stdout.Text)
	}
}
