package basis

import (
	"context"
	"iter"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// Entries yields what a task's journal holds, from the first record on. It
// takes no lock. A damaged journal yields what is good and then a
// *[CorruptError]. Of an event that this program does not know it yields a
// [reducer.Note].
func (h *Home) Entries(_ context.Context, ref Ref) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		if err := h.exists(ref); err != nil {
			yield(reducer.Entry{}, err)
			return
		}
		projections.Readable(journal.Read(h.agentDir(ref), 0))(yield)
	}
}
