package basis

import (
	"sync"

	"github.com/basisagent/basis/reducer"
)

// Update is one thing that a watcher of a run is told: a durable entry, or, if
// Live, something that is streaming now.
type Update struct {
	Entry    reducer.Entry
	Progress reducer.Progress
	Live     bool
}

// Sink takes updates in order. It may be slow: it never holds up a run.
type Sink func(Update)

// feed hands a run's updates to a sink in a goroutine of its own. Entries are
// never dropped; streaming text that waits is merged, and of a call's waiting
// output only the newest piece is kept.
type feed struct {
	in   chan Update
	done sync.WaitGroup
}

func newFeed(sink Sink) *feed {
	f := &feed{in: make(chan Update)}
	out := make(chan []waiting)
	f.done.Go(func() { gather(f.in, out) })
	f.done.Go(func() {
		for batch := range out {
			for _, w := range batch {
				sink(w.update())
			}
		}
	})
	return f
}

// push is called by the loop; it waits for nothing but the gatherer.
func (f *feed) push(u Update) { f.in <- u }

// close waits until the sink has seen everything.
func (f *feed) close() {
	close(f.in)
	f.done.Wait()
}

// gather keeps what waits while the sink is busy.
func gather(in <-chan Update, out chan<- []waiting) {
	defer close(out)
	var queue []waiting
	for {
		ready := out
		if len(queue) == 0 {
			ready = nil
		}
		select {
		case u, ok := <-in:
			if !ok {
				if len(queue) > 0 {
					out <- queue
				}
				return
			}
			queue = enqueue(queue, u)
		case ready <- queue:
			queue = nil
		}
	}
}

// waiting is an update, and the text that has been merged into it since.
type waiting struct {
	Update
	more []byte
}

// update is the update with everything that was merged into it.
func (w waiting) update() Update {
	if len(w.more) > 0 {
		w.Progress.Text += string(w.more)
	}
	return w.Update
}

// follows reports whether progress goes on where other progress stands.
func follows(last, next reducer.Progress) bool {
	return last.Kind == next.Kind && last.Call == next.Call && last.Round == next.Round
}

// streams reports whether pieces of such progress make one text.
func streams(p reducer.Progress) bool {
	return p.Kind == reducer.ProgressText || p.Kind == reducer.ProgressReasoning
}

// enqueue keeps one place for each kind of progress of a call or round since
// the last entry: what waits for a slow sink does not grow with what streams.
func enqueue(queue []waiting, u Update) []waiting {
	if !u.Live || u.Progress.Kind == reducer.ProgressVoid {
		return append(queue, waiting{Update: u})
	}
	for i := len(queue) - 1; i >= 0 && queue[i].Live && queue[i].Progress.Kind != reducer.ProgressVoid; i-- {
		switch {
		case !follows(queue[i].Progress, u.Progress):
		case streams(u.Progress):
			queue[i].more = append(queue[i].more, u.Progress.Text...)
			return queue
		default:
			queue[i] = waiting{Update: u}
			return queue
		}
	}
	return append(queue, waiting{Update: u})
}
