package basis

import (
	"context"
	"iter"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// followDir yields what a directory's journal holds after a record number, and
// then what is appended, until ctx ends.
func followDir(ctx context.Context, dir string, after uint64) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		for c, err := range journal.Tail(ctx, dir, after, journal.TailOptions{}) {
			if err != nil {
				yield(reducer.Entry{}, err)
				return
			}
			if c.Rewound {
				yield(reducer.Entry{}, &RewoundError{To: c.To.Seq})
				return
			}
			e, err := projections.ReadableEntry(c.Record)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
