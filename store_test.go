package basis

import (
	"iter"
	"sync"
	"time"

	"github.com/basisagent/basis/reducer"
)

// memoryStore is a store that is gone with the process.
type memoryStore struct {
	now func() time.Time

	mu      sync.Mutex // guards what follows, for readers
	entries []reducer.Entry
}

func newMemoryStore(now func() time.Time) *memoryStore { return &memoryStore{now: now} }

func (s *memoryStore) append(events ...reducer.Event) ([]reducer.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.entries)
	for _, e := range events {
		s.entries = append(s.entries, reducer.Entry{Seq: uint64(len(s.entries) + 1), Time: s.now(), Event: e})
	}
	return s.entries[from:], nil
}

func (s *memoryStore) read(after uint64) iter.Seq2[reducer.Entry, error] {
	s.mu.Lock()
	entries := s.entries[min(after, uint64(len(s.entries))):]
	s.mu.Unlock()
	return func(yield func(reducer.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
