package basis

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// liveName is the file in an agent's directory that holds what is streaming
// now: never synced, never folded, begun anew at each round, gone when nobody
// drives the agent.
const liveName = "live.jsonl"

// Limits of the live file.
const (
	livePause = 30 * time.Millisecond // what comes within it shares a write
	liveBatch = 32 << 10              // bytes that are written at once in any case
	liveLimit = 4 << 20               // bytes of one round; what comes after is left out
)

// liveLine is one line: what streams after the record with the number At. N
// counts the lines of a file.
type liveLine struct {
	At uint64 `json:"at"`
	N  int    `json:"n"`
	reducer.Progress
}

// elided is the kind of the line that says that a file is full.
const elided reducer.ProgressKind = "elided"

// live writes the live file in a goroutine of its own. Its failures are
// nobody's: who misses the file reads the journal.
type live struct {
	in   chan Update
	done sync.WaitGroup

	path    string
	at      uint64
	round   string
	n       int
	size    int
	file    *os.File
	pending []waiting
	bytes   int
}

func newLive(dir string) *live {
	l := &live{in: make(chan Update, 256), path: filepath.Join(dir, liveName)}
	for _, path := range leftovers(dir) {
		_ = os.Remove(path) // of a process that was killed
	}
	l.done.Go(l.run)
	return l
}

// push is called by the loop.
func (l *live) push(u Update) { l.in <- u }

// close writes nothing more and removes the file.
func (l *live) close() {
	close(l.in)
	l.done.Wait()
}

func (l *live) run() {
	var due <-chan time.Time
	for {
		select {
		case u, ok := <-l.in:
			if !ok {
				l.remove()
				return
			}
			l.take(u)
			switch {
			case l.bytes >= liveBatch:
				l.flush()
				due = nil
			case l.bytes > 0 && due == nil:
				due = time.After(livePause)
			}
		case <-due:
			l.flush()
			due = nil
		}
	}
}

func (l *live) take(u Update) {
	if !u.Live {
		l.flush()
		l.at = u.Entry.Seq
		switch e := u.Entry.Event.(type) {
		case reducer.RoundStarted:
			l.round = e.Round
			l.renew()
		case reducer.WorkspaceOpened: // a round that was open is asked again
			l.renew()
		default:
		}
		return
	}
	p := u.Progress
	if n := len(l.pending); n > 0 && streams(p) && follows(l.pending[n-1].Progress, p) {
		l.pending[n-1].more = append(l.pending[n-1].more, p.Text...)
		l.bytes += len(p.Text)
		return
	}
	l.pending = append(l.pending, waiting{Update: u})
	l.bytes += len(p.Text) + 1
}

// renew begins a new file: a reader that had the old one open sees another
// file under the name.
func (l *live) renew() {
	l.shut()
	l.n, l.size = 0, 0
	f, err := os.CreateTemp(filepath.Dir(l.path), projections.TemporaryPrefix+"live-*")
	if err != nil {
		return
	}
	if os.Rename(f.Name(), l.path) != nil {
		_ = os.Remove(f.Name())
		_ = f.Close()
		return
	}
	l.file = f
}

func (l *live) flush() {
	pending := l.pending
	l.pending, l.bytes = nil, 0
	if l.file == nil || len(pending) == 0 || l.size > liveLimit {
		return
	}
	var b bytes.Buffer
	for _, w := range pending {
		l.line(&b, w.update().Progress)
	}
	if l.size += b.Len(); l.size > liveLimit {
		b.Reset()
		l.line(&b, reducer.Progress{Kind: elided})
	}
	if _, err := l.file.Write(b.Bytes()); err != nil {
		l.shut()
	}
}

func (l *live) line(b *bytes.Buffer, p reducer.Progress) {
	if p.Round == "" {
		p.Round = l.round
	}
	l.n++
	data, err := json.Marshal(liveLine{At: l.at, N: l.n, Progress: p})
	if err == nil {
		b.Write(append(data, '\n'))
	}
}

func (l *live) shut() {
	if l.file != nil {
		_ = l.file.Close() // nothing in it is owed to anybody
		l.file = nil
	}
}

func (l *live) remove() {
	l.shut()
	_ = os.Remove(l.path)
}

// liveReader reads what another process streams.
type liveReader struct {
	path string
	file *os.File
	rest []byte
}

// next gives the lines that have come since.
func (r *liveReader) next() []liveLine {
	now, err := os.Stat(r.path)
	if err != nil {
		r.close()
		return nil
	}
	if r.file != nil {
		if was, err := r.file.Stat(); err != nil || !os.SameFile(was, now) {
			r.close()
		}
	}
	if r.file == nil {
		if r.file, err = os.Open(r.path); err != nil {
			r.file = nil
			return nil
		}
	}
	data, err := io.ReadAll(r.file)
	if err != nil {
		return nil
	}
	r.rest = append(r.rest, data...)
	var lines []liveLine
	for {
		line, rest, ok := bytes.Cut(r.rest, []byte("\n"))
		if !ok {
			return lines
		}
		r.rest = rest
		var l liveLine
		if json.Unmarshal(line, &l) == nil && l.Kind != elided {
			lines = append(lines, l)
		}
	}
}

func (r *liveReader) close() {
	if r.file != nil {
		_ = r.file.Close() // only read
	}
	r.file, r.rest = nil, nil
}

// watchTick is how often a watcher looks at what is streaming.
const watchTick = 50 * time.Millisecond

// Watch yields what a task's journal holds and then what happens, streaming
// included, until the task ends or ctx does. It never drives and takes no lock.
func (h *Home) Watch(ctx context.Context, ref Ref) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var follower sync.WaitGroup
		defer follower.Wait()
		defer cancel()
		entries := make(chan followed)
		follower.Go(func() { h.follow(ctx, ref, entries) })
		reader := &liveReader{path: filepath.Join(h.agentDir(ref), liveName)}
		defer reader.close()
		merge(entries, reader, yield)
	}
}

// merge yields entries as they come and, after each, what streams after it.
func merge(entries <-chan followed, reader *liveReader, yield func(Update, error) bool) {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	var last uint64
	var ahead []liveLine // what streams after records that are still to come
	for {
		select {
		case e, ok := <-entries:
			if !ok || !yield(Update{Entry: e.entry}, e.err) || e.err != nil {
				return
			}
			last = e.entry.Seq
		case <-tick.C:
			ahead = append(ahead, reader.next()...)
		}
		for len(ahead) > 0 && ahead[0].At <= last {
			if l := ahead[0]; l.At == last && !yield(Update{Progress: l.Progress, Live: true}, nil) {
				return
			}
			ahead = ahead[1:]
		}
	}
}

type followed struct {
	entry reducer.Entry
	err   error
}

func (h *Home) follow(ctx context.Context, ref Ref, to chan<- followed) {
	defer close(to)
	for e, err := range h.Follow(ctx, ref, 0) {
		select {
		case to <- followed{e, err}:
		case <-ctx.Done():
			return
		}
	}
}
