package basis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// TestMain lets the test binary stand in for the program: with a task named in
// the environment it is a process that drives it, and tells each record that
// is durable.
func TestMain(m *testing.M) {
	if handle := os.Getenv("BASIS_TEST_DRIVE"); handle != "" {
		os.Exit(driveAs(handle, os.Stdout))
	}
	os.Exit(m.Run())
}

func driveAs(handle string, told io.Writer) int {
	ref, err := ParseRef(handle)
	if err != nil {
		return 2
	}
	h, err := Open(Options{MinFree: -1})
	if err != nil {
		return 2
	}
	out, err := h.Wait(context.Background(), ref, Drive{Sink: func(u Update) {
		if !u.Live {
			fmt.Fprintln(told, u.Entry.Seq)
		}
	}})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		fmt.Fprintln(os.Stderr, err, out.State.End.Error)
		return 1
	}
	return 0
}

// driver starts a process that drives a task, in a home's data root.
func driver(t *testing.T, h *Home, ref Ref) (*exec.Cmd, io.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(limited(t), exe)
	cmd.Env = append(os.Environ(), "BASIS_TEST_DRIVE="+ref.String(), "BASIS_DATA_DIR="+h.Dir())
	told, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, told
}

// workServer answers by how many answers it is shown: a read and a command by
// turns, and at last the answer.
func workServer(t *testing.T, rounds int) *providertest.Server {
	return providertest.NewServer(t, providertest.Options{KeepBodies: 1, Answer: func(r providertest.Request) providertest.Step {
		n := 0
		for _, m := range r.Messages() {
			if m.Role == "assistant" {
				n++
			}
		}
		switch {
		case n >= rounds:
			return providertest.Text("the answer")
		case n%2 == 0:
			return providertest.CallTool("ls", `{}`)
		}
		return providertest.CallTool("spawn", `{"input":"!echo x >> did/`+strconv.Itoa(n)+`"}`)
	}})
}

// JRN-100, JRN-99, FR-004: processes that drive a task are killed at random
// moments. The task comes to its answer all the same, each record that was told
// is still there, no command ran twice, and one that was running is told to the
// model as possibly done.
func TestKilledProcesses(t *testing.T) {
	const rounds = 50
	kills := 20
	if os.Getenv("BASIS_TORTURE") != "" {
		kills = 200
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("BASIS_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("BASIS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for kills > 0 {
		s := workServer(t, rounds)
		h, ws := newHome(t, nil), newWorkspace(t)
		if err := os.Mkdir(filepath.Join(ws, "did"), 0o700); err != nil {
			t.Fatal(err)
		}
		spec := asking(s, ws, "work")
		spec.Deadline = NoDeadline
		ref, err := h.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		told := uint64(2)
		for finished := false; !finished && kills > 0; kills-- {
			told, finished = killOnce(t, h, ref, told, random)
		}
		cmd, rest := driver(t, h, ref)
		_, _ = io.Copy(io.Discard, rest)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the last process: %v", err)
		}
		checkKilled(t, h, ref, told)
	}
}

// killOnce drives the task in a process that is killed after some of its
// records, or some time after. It gives the last record that was told, and
// whether the process came to the end first.
func killOnce(t *testing.T, h *Home, ref Ref, told uint64, random *rand.Rand) (uint64, bool) {
	t.Helper()
	cmd, out := driver(t, h, ref)
	after := random.IntN(40)
	delay := time.Duration(random.IntN(5_000)) * time.Microsecond
	lines := bufio.NewScanner(out)
	kill := func() { _ = cmd.Process.Kill() } // it may have ended
	timer := time.AfterFunc(time.Duration(20+random.IntN(130))*time.Millisecond, kill)
	defer timer.Stop()
	for n := 0; lines.Scan(); n++ {
		seq, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // cut by the kill
		}
		told = max(told, seq)
		if n == after {
			time.AfterFunc(delay, kill)
		}
	}
	return told, cmd.Wait() == nil
}

// checkKilled looks at a task that has ended after kills.
func checkKilled(t *testing.T, h *Home, ref Ref, told uint64) {
	t.Helper()
	state := sound(t, h, ref)
	if state.End.Result.String() != "the answer" {
		t.Errorf("ended %+v, want the answer", state.End)
	}
	ran := map[string]int{} // by the file that a command writes to
	names, err := os.ReadDir(filepath.Join(state.Workspace, "did"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(state.Workspace, "did", name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		ran[name.Name()] = strings.Count(string(data), "\n")
	}
	last, lost := uint64(0), 0
	for e, err := range h.Entries(t.Context(), ref) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Seq
		c, ok := e.Event.(reducer.CallSettled)
		if !ok {
			continue
		}
		if c.Outcome == reducer.OutcomeLost {
			lost++
		}
		round, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(c.Call, "r"), ".c1"))
		if n := ran[strconv.Itoa(round-1)]; round%2 == 0 && (n > 1 || n == 0 && c.Outcome == reducer.OutcomeDone) {
			t.Errorf("the command of %s (%s) ran %d times", c.Call, c.Outcome, n)
		}
	}
	if last < told {
		t.Errorf("the journal ends at %d, but %d was told", last, told)
	}
	t.Logf("%d records, gen %d, %d calls possibly done", last, state.Gen, lost)
	for _, m := range state.Transcript.Messages() {
		for _, r := range m.Results {
			if strings.Contains(r.Text.String(), "may or may not have happened") {
				lost--
			}
		}
	}
	if lost != 0 {
		t.Errorf("%d lost calls are not told to the model as possibly done", lost)
	}
}

// FR-006, JRN-53: of two processes one drives; the other takes over as soon as the
// first is killed, and comes to the answer.
func TestTakeover(t *testing.T) {
	hold := make(chan struct{})
	s := providertest.Script(t, providertest.Step{Text: "never", Hold: hold}, providertest.Text("the answer"))
	defer close(hold)
	h := newHome(t, nil)
	ref, err := h.Spawn(asking(s, newWorkspace(t), "hi"))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := driver(t, h, ref)
	if err := s.WaitFor(limited(t), 1); err != nil {
		t.Fatal(err)
	}
	second, told := driver(t, h, ref)
	if !h.Held(ref) {
		t.Error("nobody holds the task, want the first process to")
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	_, _ = io.Copy(io.Discard, told)
	if err := second.Wait(); err != nil {
		t.Errorf("the second process: %v", err)
	}
	if got := sound(t, h, ref); got.End.Result.String() != "the answer" || got.Gen != 3 {
		t.Errorf("ended %+v in gen %d, want the answer in gen 3", got.End, got.Gen)
	}
}
