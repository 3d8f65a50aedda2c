package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// The defaults of Command, and the statuses that Run makes up.
const (
	DefaultKeep  = 64 << 10               // bytes kept of each stream
	DefaultGrace = 500 * time.Millisecond // from asking a group to stop to making it
	DefaultDrain = time.Second            // from the exit to letting go of the output

	StatusTimeout = 124 // Result.Status at the time limit, as of timeout(1)
)

// ErrNoCommand says that a Command has nothing to run.
var ErrNoCommand = errors.New("nothing to run")

// DirError says that a command's working directory cannot be used. Nothing was
// started.
type DirError struct {
	Dir string
	Err error // what the system said, or nil if it is not a directory
}

// Error names the directory.
func (e *DirError) Error() string {
	switch {
	case e.Err == nil:
		return "working directory " + e.Dir + " is not a directory"
	case errors.Is(e.Err, os.ErrNotExist):
		return "working directory " + e.Dir + " does not exist"
	}
	return "working directory " + e.Dir + ": " + e.Err.Error()
}

// Unwrap returns what the system said.
func (e *DirError) Unwrap() error { return e.Err }

// Stream is one of a command's two outputs.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Command is what to run and how far it may go. Exactly one of Shell and Argv
// is set.
type Command struct {
	Shell string   // a line for the system's shell: /bin/sh -c, cmd.exe /C on Windows
	Argv  []string // a program, looked up in this program's PATH if it is a bare name, and its arguments
	Dir   string   // the working directory; it must exist
	Env   []string // the whole environment, as NAME=value; later ones win
	Stdin []byte   // what it reads; nil is the null device

	Timeout time.Duration // 0 is no limit
	Keep    int           // bytes kept of each stream; 0 is DefaultKeep
	Grace   time.Duration // 0 is DefaultGrace
	Drain   time.Duration // 0 is DefaultDrain

	// Alone ends what is left of the group as soon as the started process has
	// exited, for a program that has no business going on after its answer.
	Alone bool

	// Progress is told each line as it comes, without its line break, by one
	// goroutine at a time. Long lines are cut, and beyond 1 MiB of a stream
	// only one line for each further MiB is told. The command waits while
	// Progress does. nil is allowed.
	Progress func(stream Stream, line string)
}

// Ending says why a command is over.
type Ending string

// The endings.
const (
	Exited    Ending = "exited"    // by itself
	TimedOut  Ending = "timed_out" // it was stopped at Command.Timeout
	Cancelled Ending = "cancelled" // it was stopped because the context ended
)

// Result is what a command came to.
type Result struct {
	Ending      Ending
	Status      int // the exit status; 128 and the signal if one ended it; StatusTimeout at the time limit
	Stdout      Capture
	Stderr      Capture
	LeftRunning bool // something that the command started still held its output at the end of the drain
}

// errTimeout is the cause with which a command's time limit ends its context.
var errTimeout = errors.New("time limit reached")

// Run runs a command to its end, its time limit or the end of ctx. An error
// means that nothing was started; a command that fails is a Result.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	select {
	case <-ctx.Done():
		return Result{Ending: Cancelled, Status: -1}, nil
	default:
	}
	r := &run{
		command: c.withDefaults(),
		started: make(chan error, 1),
		exited:  make(chan struct{}),
		drained: make(chan struct{}),
		chunks:  make(chan chunk),
	}
	return r.do(ctx)
}

// check judges a command before anything is made for it.
func (c Command) check() error {
	if (c.Shell == "") == (len(c.Argv) == 0) {
		return ErrNoCommand
	}
	fi, err := os.Stat(c.Dir)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return &DirError{Dir: c.Dir, Err: err}
	}
	if !fi.IsDir() {
		return &DirError{Dir: c.Dir}
	}
	return nil
}

// withDefaults fills in what was left at zero.
func (c Command) withDefaults() Command {
	if c.Keep <= 0 {
		c.Keep = DefaultKeep
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Drain <= 0 {
		c.Drain = DefaultDrain
	}
	return c
}

// cmd prepares the process.
func (c Command) cmd() *exec.Cmd {
	var cmd *exec.Cmd
	if c.Shell != "" {
		cmd = shell(c.Shell)
	} else {
		cmd = exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // the whole group is stopped by hand
	}
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // nil would mean everything
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.WaitDelay = c.Drain // a program that never reads its input does not hold us
	isolate(cmd)
	return cmd
}

// name is what errors call the command; its arguments may hold secrets.
func (c Command) name() string {
	if c.Shell != "" {
		return "the shell"
	}
	return c.Argv[0]
}

// startError wraps why a command could not be started.
func (c Command) startError(err error) error { return fmt.Errorf("start %s: %w", c.name(), err) }
