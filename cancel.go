package basis

import (
	"fmt"

	"github.com/basisagent/basis/reducer"
)

// Cancel asks for the end of a task. It reports whether there was anything to
// cancel; the task may be driven by any process, or by none.
func (h *Home) Cancel(ref Ref, by string) (bool, error) {
	if err := h.exists(ref); err != nil {
		return false, err
	}
	if ref.Sub != "" {
		return false, &TaskError{Ref: ref, Err: ErrSubagent}
	}
	spool := newSpoolDir(h.agentDir(ref))
	unlock, err := spool.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	spooled, err := spool.list() // before the fold: what moves from here to there is then counted
	if err != nil {
		return false, err
	}
	s, err := h.foldOnto(reducer.State{}, ref) // what it continues says nothing about its end
	if err != nil {
		return false, err
	}
	if s.InboxClosed || s.Ended() {
		return false, nil
	}
	for _, f := range spooled {
		if f.kind == spoolCancel {
			return true, nil
		}
	}
	if s.Cancelled {
		return true, nil
	}
	if err := spool.drop(h.o.NewID(), spoolCancel, reducer.CancelRequested{Scope: "task", By: by}); err != nil {
		return false, fmt.Errorf("leave the cancel for task %s: %w", ref, err)
	}
	return true, nil
}
