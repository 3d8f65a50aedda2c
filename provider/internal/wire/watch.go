package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

// errStalled cancels a request whose server has been silent for too long.
var errStalled = errors.New("stalled")

// watch cancels a request after a time of silence. Its methods belong to the
// goroutine that reads the response.
type watch struct {
	timer *time.Timer
	limit time.Duration
	data  bool // a data event came: from now on nothing less counts
}

// newWatch starts with the limit for the headers.
func newWatch(limit time.Duration, cancel context.CancelCauseFunc) *watch {
	return &watch{limit: limit, timer: time.AfterFunc(limit, func() { cancel(errStalled) })}
}

// expect begins a new wait of another limit.
func (w *watch) expect(limit time.Duration) {
	w.limit = limit
	w.timer.Reset(limit)
}

// alive notes bytes of any sort, comments included. They prove a connection,
// which is enough only until the answer has begun.
func (w *watch) alive() {
	if !w.data {
		w.timer.Reset(w.limit)
	}
}

// progress notes a data event.
func (w *watch) progress() {
	w.data = true
	w.timer.Reset(w.limit)
}

func (w *watch) stop() { w.timer.Stop() }

// watched is a body whose bytes are signs of life.
type watched struct {
	io.Reader
	watch *watch
}

func (r watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watch.alive()
	}
	return n, err
}
