package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// chunk is a piece of output on its way from a reader to the collector. The
// reader waits for taken before it uses the memory again.
type chunk struct {
	stream Stream
	data   []byte
	taken  chan<- struct{}
}

// run is one command on its way. Four goroutines serve it, and do waits for all:
// the owner starts the process and waits for it, two readers read its output,
// and the watcher stops it. The goroutine that called Run collects.
type run struct {
	command Command
	cmd     *exec.Cmd
	workers sync.WaitGroup

	started chan error    // sent once, by the owner
	exited  chan struct{} // closed by the owner when the process is reaped
	drained chan struct{} // closed by the collector when there is no more output
	chunks  chan chunk
	ending  Ending // set by the watcher, read when all workers are done
}

// do runs the command.
func (r *run) do(ctx context.Context) (Result, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return Result{}, r.command.startError(err)
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		outW.Close()
		return Result{}, r.command.startError(err)
	}
	defer errR.Close()

	r.cmd = r.command.cmd()
	r.cmd.Stdout, r.cmd.Stderr = outW, errW
	r.workers.Go(r.own)
	err = <-r.started
	outW.Close()
	errW.Close()
	if err != nil {
		r.workers.Wait()
		return Result{}, r.command.startError(err)
	}
	r.workers.Go(func() { r.read(Stdout, outR) })
	r.workers.Go(func() { r.read(Stderr, errR) })
	r.workers.Go(func() { r.watch(ctx) })
	result := r.collect(outR, errR)
	close(r.drained)
	r.workers.Wait()
	r.settle(&result)
	return result, nil
}

// own starts the process and waits for it, on one thread: the kernel may end
// the process when the thread that made it ends.
func (r *run) own() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sealDescriptors()
	err := r.cmd.Start()
	r.started <- err
	if err != nil {
		return
	}
	_ = r.cmd.Wait() // ProcessState says all there is to know
	if r.command.Alone {
		killGroup(r.cmd)
		r.gone(groupGone)
	}
	close(r.exited)
}

// read hands on what one stream brings until it ends or is closed.
func (r *run) read(stream Stream, from *os.File) {
	taken := make(chan struct{})
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			r.chunks <- chunk{stream, buf[:n], taken}
			<-taken
		}
		if err != nil {
			r.chunks <- chunk{stream: stream} // the end
			return
		}
	}
}

// collect keeps and shows the output of both streams. Once the process has
// exited it waits only so long for what is left, then closes the pipes.
func (r *run) collect(pipes ...*os.File) Result {
	keep := map[Stream]*keeper{Stdout: newKeeper(r.command.Keep), Stderr: newKeeper(r.command.Keep)}
	tell := map[Stream]*teller{
		Stdout: {stream: Stdout, show: r.command.Progress},
		Stderr: {stream: Stderr, show: r.command.Progress},
	}
	var result Result
	var patience <-chan time.Time
	exited := r.exited
	for open := len(pipes); open > 0; {
		select {
		case c := <-r.chunks:
			if c.taken == nil {
				tell[c.stream].end()
				open--
				continue
			}
			_, _ = keep[c.stream].Write(c.data) // never fails
			tell[c.stream].take(c.data)
			c.taken <- struct{}{}
		case <-exited:
			exited = nil
			timer := time.NewTimer(r.command.Drain)
			defer timer.Stop()
			patience = timer.C
		case <-patience:
			patience = nil
			result.LeftRunning = true
			for _, p := range pipes {
				p.Close() // wakes its reader
			}
		}
	}
	result.Stdout, result.Stderr = keep[Stdout].capture(), keep[Stderr].capture()
	return result
}

// watch stops the group at the time limit or when ctx ends. When the process
// has exited by itself only the end of ctx still stops what it left.
func (r *run) watch(ctx context.Context) {
	limited, stop := ctx, context.CancelFunc(func() {})
	if r.command.Timeout > 0 {
		limited, stop = context.WithTimeoutCause(ctx, r.command.Timeout, errTimeout)
	}
	defer stop()
	r.ending = Exited
	select {
	case <-r.exited:
		select {
		case <-r.drained:
		case <-ctx.Done():
			r.stop()
		}
		return
	case <-limited.Done():
	}
	r.ending = Cancelled
	if errors.Is(context.Cause(limited), errTimeout) {
		r.ending = TimedOut
	}
	r.stop()
}

// The pace at which a stopped group is looked at, and how long a killed one may
// take to disappear.
const (
	groupPoll = 20 * time.Millisecond
	groupGone = 500 * time.Millisecond
)

// stop asks the group to stop, gives it its grace, and then makes it. It does so
// even if the group seems to be gone, in case a member was just being born.
func (r *run) stop() {
	askGroup(r.cmd)
	r.gone(r.command.Grace)
	killGroup(r.cmd)
	r.gone(groupGone)
}

// gone waits for the group to disappear, but not longer than limit.
func (r *run) gone(limit time.Duration) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(groupPoll)
	defer tick.Stop()
	for groupAlive(r.cmd) {
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// settle fills in how the process ended.
func (r *run) settle(result *Result) {
	<-r.exited // the owner is done: Wait has set ProcessState
	result.Ending = r.ending
	result.Status = status(r.cmd.ProcessState)
	if r.ending == TimedOut {
		result.Status = StatusTimeout
	}
}
