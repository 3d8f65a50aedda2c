package basis

import (
	"iter"
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

// queueLimit is how many updates wait for a sink. What is recorded beyond it is
// read again when the sink gets there.
const queueLimit = 256

// feed hands a run's updates to a sink in a goroutine of its own. No entry is
// dropped, though no more than a few wait: the others are in the journal.
// Streaming text that waits is merged, and of a call's waiting output only the
// newest piece is kept.
type feed struct {
	in   chan Update
	read func(after uint64) iter.Seq2[reducer.Entry, error]
	sink Sink
	done sync.WaitGroup
}

func newFeed(sink Sink, read func(after uint64) iter.Seq2[reducer.Entry, error]) *feed {
	f := &feed{in: make(chan Update), read: read, sink: sink}
	out := make(chan []waiting)
	f.done.Go(func() { gather(f.in, out) })
	f.done.Go(func() {
		for batch := range out {
			for _, w := range batch {
				f.tell(w)
			}
		}
	})
	return f
}

// tell tells the sink of one place in the queue.
func (f *feed) tell(w waiting) {
	f.sink(w.update())
	if w.upTo == 0 {
		return
	}
	for e, err := range f.read(w.Entry.Seq) {
		if err != nil || e.Seq > w.upTo {
			return // what can't be read any more can't be told
		}
		f.sink(Update{Entry: e})
	}
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
	upTo uint64 // if it is not 0, an entry that stands for those behind it, too, up to this number
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
	if !u.Live && len(queue) >= queueLimit {
		return spilled(queue, u)
	}
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

// spilled puts the first entry that waits in the place of them all. What streamed
// before the newest one is over.
func spilled(queue []waiting, newest Update) []waiting {
	for _, w := range queue {
		if !w.Live {
			return []waiting{{Update: w.Update, upTo: newest.Entry.Seq}}
		}
	}
	return []waiting{{Update: newest}}
}
