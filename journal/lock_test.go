package journal_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/journal"
)

// childDir makes the test binary a process that attaches to a journal, says so
// and waits for its input to end.
const childDir = "BASIS_TEST_ATTACH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(attachAndWait(dir))
	}
	os.Exit(m.Run())
}

func attachAndWait(dir string) int {
	w, _, err := journal.Open(dir, journal.Options{MinFree: -1, Program: "the other"}, attachDrafts)
	if err != nil {
		os.Stdout.WriteString("failed: " + err.Error() + "\n")
		return 1
	}
	os.Stdout.WriteString("attached\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if w.Close() != nil {
		return 1
	}
	return 0
}

// otherProcess attaches to a journal in a process of its own.
func otherProcess(t testing.TB, dir string) (cmd *exec.Cmd, release func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "attached\n" {
		t.Fatalf("other process says %q, %v, want attached", line, err)
	}
	return cmd, func() {
		in.Close()
		_ = cmd.Wait()
	}
}

// FR-006, JRN-50, JRN-53: two processes cannot drive one agent. The second
// fails fast, names the first, and gets in once that is gone.
func TestFR006SecondProcessIsRefusedNamingTheHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	mint(t, testOptions(), dir).Close()
	cmd, release := otherProcess(t, dir)
	defer release()
	if held, err := journal.Held(dir); err != nil || !held {
		t.Errorf("Held = %v, %v, want true", held, err)
	}
	_, _, err := journal.Open(dir, testOptions(), attachDrafts)
	if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), "the other") {
		t.Errorf("Open = %v, want ErrLocked naming the holder", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if held, err := journal.Held(dir); err != nil || held {
		t.Errorf("Held after the kill = %v, %v, want false", held, err)
	}
	w, rec := attach(t, testOptions(), dir)
	if rec.Gen != 3 || w.Gen() != 4 {
		t.Errorf("generations = %d, then %d, want 3, then 4", rec.Gen, w.Gen())
	}
}

// JRN-52: a child process does not inherit the lock or the journal.
func TestLockDoesNotReachAChild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	w := mint(t, testOptions(), dir)
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = child.Wait()
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := journal.Held(dir); err != nil || held {
		t.Errorf("Held with a child alive = %v, %v, want false", held, err)
	}
	attach(t, testOptions(), dir)
}

// JRN-50: a probe in another's way is waited for.
func TestOpenWaitsForAProbe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	mint(t, testOptions(), dir).Close()
	probe, err := journal.OSDisk().Lock(filepath.Join(dir, journal.LockFile), true)
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions()
	if _, _, err := journal.Open(dir, o, nil); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("Open without waiting = %v, want ErrLocked", err)
	}
	o.LockWait = time.Hour
	timer := time.AfterFunc(time.Millisecond, func() { _ = probe.Unlock() })
	defer timer.Stop()
	w, _, err := journal.Open(dir, o, nil)
	if err != nil {
		t.Fatalf("Open = %v, want nil after the probe", err)
	}
	w.Close()
}

// JRN-51, JRN-53: the probe creates nothing.
func TestHeldCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	if held, err := journal.Held(dir); held || !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Held(no lock file) = %v, %v, want ErrNotFound", held, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("Held left %v, %v, want nothing", entries, err)
	}
}

// JRN-51: attaching never replaces the lock file.
func TestLockFileStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	w := mint(t, testOptions(), dir)
	name := filepath.Join(dir, journal.LockFile)
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	w, _ = attach(t, testOptions(), dir)
	w.Close()
	if after, err := os.Stat(name); err != nil || !os.SameFile(before, after) {
		t.Errorf("lock file after an attach = %v, %v, want the same file", after, err)
	}
}
