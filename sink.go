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
	out := make(chan []Update)
	f.done.Go(func() { gather(f.in, out) })
	f.done.Go(func() {
		for batch := range out {
			for _, u := range batch {
				sink(u)
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
func gather(in <-chan Update, out chan<- []Update) {
	defer close(out)
	var waiting []Update
	for {
		ready := out
		if len(waiting) == 0 {
			ready = nil
		}
		select {
		case u, ok := <-in:
			if !ok {
				if len(waiting) > 0 {
					out <- waiting
				}
				return
			}
			waiting = enqueue(waiting, u)
		case ready <- waiting:
			waiting = nil
		}
	}
}

// enqueue merges progress with what stands last of the same kind.
func enqueue(waiting []Update, u Update) []Update {
	if !u.Live || len(waiting) == 0 {
		return append(waiting, u)
	}
	last := &waiting[len(waiting)-1]
	if !last.Live || last.Progress.Kind != u.Progress.Kind || last.Progress.Call != u.Progress.Call || last.Progress.Round != u.Progress.Round {
		return append(waiting, u)
	}
	switch u.Progress.Kind {
	case reducer.ProgressText, reducer.ProgressReasoning:
		last.Progress.Text += u.Progress.Text
	case reducer.ProgressOutput, reducer.ProgressCall, reducer.ProgressVoid:
		last.Progress = u.Progress
	}
	return waiting
}
