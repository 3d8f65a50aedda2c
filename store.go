package basis

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// store is where a run keeps its agent's events: a journal on disk, or memory.
type store interface {
	// append records events in one commit and returns once they are durable.
	// After an error it takes no more.
	append(events ...reducer.Event) ([]reducer.Entry, error)

	// read yields what is recorded, oldest first.
	read() iter.Seq2[reducer.Entry, error]

	// follow yields what stands after a record number, and then what is
	// appended, until ctx ends.
	follow(ctx context.Context, after uint64) iter.Seq2[reducer.Entry, error]
}

// fileStore is a store in an agent's directory.
type fileStore struct {
	dir string
	w   *journal.Writer
}

func (s *fileStore) append(events ...reducer.Event) ([]reducer.Entry, error) {
	drafts, err := projections.Drafts(events...)
	if err != nil {
		return nil, err
	}
	records, err := s.w.Append(drafts...)
	if err != nil {
		return nil, err
	}
	return entriesOf(records, events), nil
}

// entriesOf pairs records with the events they were made of.
func entriesOf(records []journal.Record, events []reducer.Event) []reducer.Entry {
	entries := make([]reducer.Entry, len(records))
	for i, r := range records {
		entries[i] = reducer.Entry{Seq: r.Seq, Time: r.Time, Event: events[i]}
	}
	return entries
}

func (s *fileStore) read() iter.Seq2[reducer.Entry, error] {
	return projections.Entries(journal.Read(s.dir, 0))
}

func (s *fileStore) follow(ctx context.Context, after uint64) iter.Seq2[reducer.Entry, error] {
	return followDir(ctx, s.dir, after)
}

// memoryStore is a store that is gone with the process.
type memoryStore struct {
	now func() time.Time

	mu      sync.Mutex // guards what follows, for followers
	entries []reducer.Entry
	grown   chan struct{} // closed and replaced at each append
}

func newMemoryStore(now func() time.Time) *memoryStore {
	return &memoryStore{now: now, grown: make(chan struct{})}
}

func (s *memoryStore) append(events ...reducer.Event) ([]reducer.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.entries)
	for _, e := range events {
		s.entries = append(s.entries, reducer.Entry{Seq: uint64(len(s.entries) + 1), Time: s.now(), Event: e})
	}
	close(s.grown)
	s.grown = make(chan struct{})
	return s.entries[from:], nil
}

// since is what stands after a record number, and a channel that closes when
// there is more.
func (s *memoryStore) since(after uint64) ([]reducer.Entry, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[min(after, uint64(len(s.entries))):], s.grown
}

func (s *memoryStore) read() iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		entries, _ := s.since(0)
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *memoryStore) follow(ctx context.Context, after uint64) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		for {
			entries, grown := s.since(after)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}
