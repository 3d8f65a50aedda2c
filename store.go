package basis

import (
	"iter"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// store is where a run keeps its agent's events: a journal on disk, or memory.
// The run itself only appends. Whoever lags behind it, a slow sink say, reads.
type store interface {
	// append records events in one commit and returns once they are durable.
	// After an error it takes no more.
	append(events ...reducer.Event) ([]reducer.Entry, error)

	// read yields what is recorded after a record number, oldest first.
	read(after uint64) iter.Seq2[reducer.Entry, error]
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

func (s *fileStore) read(after uint64) iter.Seq2[reducer.Entry, error] {
	return projections.Entries(journal.Read(s.dir, after))
}
