package golden

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// jobs are the programs that a script has started.
type jobs struct {
	names   []string // of the variables that each is given
	running map[string]*job
}

type jobsKey struct{}

type job struct {
	cmd   *exec.Cmd
	files []*os.File
}

func newJobs(e *testscript.Env) *jobs {
	j := &jobs{names: names(e), running: map[string]*job{}}
	e.Defer(j.kill)
	return j
}

// kill ends what a script has left behind.
func (j *jobs) kill() {
	for _, r := range j.running {
		_ = r.cmd.Process.Kill() // it may be gone
		_ = r.cmd.Wait()         // how it ended is of no interest any more
		r.close()
	}
}

func (j *job) close() {
	for _, f := range j.files {
		_ = f.Close() // the program wrote it
	}
}

func jobsOf(ts *testscript.TestScript) *jobs { return ts.Value(jobsKey{}).(*jobs) }

func start(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) >= 2, "start NAME PROGRAM ARGS…")
	js := jobsOf(ts)
	// Nothing ends it but the script: see kill.
	j := &job{cmd: exec.CommandContext(context.Background(), args[1], args[2:]...)}
	for _, n := range js.names {
		j.cmd.Env = append(j.cmd.Env, n+"="+ts.Getenv(n))
	}
	j.cmd.Dir = ts.MkAbs(".")
	for _, s := range []string{".stdout", ".stderr"} {
		f, err := os.Create(ts.MkAbs(args[0] + s))
		ts.Check(err)
		j.files = append(j.files, f)
	}
	j.cmd.Stdout, j.cmd.Stderr = j.files[0], j.files[1]
	ts.Check(j.cmd.Start())
	js.running[args[0]] = j
}

func find(ts *testscript.TestScript, name string) *job {
	j, ok := jobsOf(ts).running[name]
	if !ok {
		ts.Fatalf("nothing is running under the name %s", name)
	}
	return j
}

func signal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
	}
	positive(ts, neg, len(args) == 2, "signal SIG NAME")
	s, ok := signals[args[0]]
	positive(ts, neg, ok, "signal INT|TERM|HUP|QUIT|KILL NAME")
	ts.Check(find(ts, args[1]).cmd.Process.Signal(s))
}

func ended(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 2, "ended NAME N")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	j := find(ts, args[0])
	delete(jobsOf(ts).running, args[0])
	got := codeOf(ts, j.cmd.Wait())
	j.close()
	if got != want {
		ts.Fatalf("%s ended with code %d, want %d\n[stdout]\n%s[stderr]\n%s", args[0], got, want,
			ts.ReadFile(args[0]+".stdout"), ts.ReadFile(args[0]+".stderr"))
	}
}

// codeOf is a program's exit code, 128 and the signal's number if one killed it.
func codeOf(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("%v", err)
	}
	if n := killedBy(exit); n != 0 {
		return 128 + n
	}
	return exit.ExitCode()
}

func gone(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 1, "gone PID-FILE")
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	if !until(func() bool { return !alive(pid) }) {
		ts.Fatalf("process %d is still there", pid)
	}
}
