package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/cli"
)

// signals returns a context that the first signal ends, with what it was as
// the cause. The second one ends the process at once: whoever sends it does
// not want to wait. done forgets about signals.
func signals() (ctx context.Context, done func()) {
	// A reader of standard output that goes away is seen by the write that
	// fails. Being told of the signal, unlike ignoring it, is not passed on to
	// commands.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup leaves it
			signal.Notify(got, s)
		}
	}
	var watcher sync.WaitGroup
	watcher.Go(func() {
		seen := false
		for s := range got {
			if seen {
				killCommands()
				os.Exit(128 + number(s))
			}
			seen = true
			cancel(&basis.Stop{Reason: "signal", Detail: word(s)})
		}
	})
	return ctx, func() {
		signal.Stop(got)
		close(got)
		watcher.Wait()
		cancel(nil)
	}
}

func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}

// word is what the command line calls a signal, on every system.
func word(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "interrupt"
	case syscall.SIGHUP:
		return "hangup"
	}
	return "terminated"
}

func environment() cli.Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	return cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ, Dir: dir,
		StdinTTY: tty(os.Stdin), StdoutTTY: tty(os.Stdout), StderrTTY: tty(os.Stderr),
		Width: func() int {
			w, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		Terminal: terminal,
	}
}

func tty(f *os.File) func() bool {
	return func() bool { return term.IsTerminal(int(f.Fd())) }
}

// terminal opens the terminal that the process belongs to.
func terminal() (io.ReadCloser, error) {
	if runtime.GOOS == "windows" {
		return os.Open("CONIN$")
	}
	return os.Open("/dev/tty")
}
