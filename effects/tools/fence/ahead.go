package fence

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A walk is one goroutine that visits in order, and helpers that do ahead of it
// what takes time: they open and list directories and prepare files. What the
// walk needs and no helper has begun it does itself, so it never waits for work
// that nobody does.

const (
	maxHelpers = 3  // beside the walk itself
	ahead      = 8  // tasks of one directory that may be begun before their turn
	together   = 32 // files that are prepared in one task
)

// task is work that is done once, by whoever comes first.
type task struct {
	run   func()
	turn  int // which one of its directory it is
	taken atomic.Bool
	done  chan struct{}
}

// do does the work, unless somebody else has begun it.
func (t *task) do() {
	if t.taken.CompareAndSwap(false, true) {
		t.run()
		t.run = nil // which holds a directory
		close(t.done)
	}
}

// wait returns when the work is done.
func (t *task) wait() {
	t.do()
	<-t.done
}

// drop keeps the work from being begun, or waits for its end.
func (t *task) drop() {
	if t.taken.CompareAndSwap(false, true) {
		t.run = nil
		close(t.done)
	}
	<-t.done
}

// helpers do tasks ahead of their turn. Whoever begins a walk dismisses them at
// its end; they come with the first task.
type helpers struct {
	queue chan *task
	wg    sync.WaitGroup
}

// offer offers a task, and reports whether it was taken.
func (h *helpers) offer(t *task) bool {
	number := min(runtime.GOMAXPROCS(0)-1, maxHelpers)
	if number == 0 {
		return false
	}
	if h.queue == nil {
		h.queue = make(chan *task, 8*ahead)
		for range number {
			h.wg.Go(h.work)
		}
	}
	select {
	case h.queue <- t:
		return true
	default:
		return false
	}
}

// work does tasks until there are no more.
func (h *helpers) work() {
	for t := range h.queue {
		t.do()
	}
}

// dismiss ends the helpers and waits for them.
func (h *helpers) dismiss() {
	if h.queue != nil {
		close(h.queue)
		h.wg.Wait()
	}
}
