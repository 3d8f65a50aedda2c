package basis

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// ballast keeps room on the disk for the last words of a run.
func (h *Home) ballast() journal.Ballast {
	return journal.Ballast{Path: filepath.Join(h.dir, "ballast"), Disk: h.disk}
}

// keepBallast makes the ballast, or makes it again once there is room. Without
// it a full disk loses the word for why a run ended, and nothing else.
func (h *Home) keepBallast() {
	if h.o.MinFree >= 0 {
		_ = h.ballast().Ensure() // another process may be at it
	}
}

// suspend ends a run whose commit met a full disk (JRN-85). What that commit
// held was acknowledged to nobody. The writer is closed, the ballast given up,
// and the journal says why it was let go of; if even that fails, it is intact up
// to its last acknowledged record all the same.
func (h *Home) suspend(a *attachment, cause error) error {
	defer a.conversation.release()
	err := fmt.Errorf("%w; what was recorded is safe: make room, then wait for the task again", cause)
	closed := a.writer.Close()
	_, freed := h.ballast().Release()
	return &TaskError{Ref: a.ref, Err: errors.Join(err, closed, freed, h.recordSuspension(a.ref))}
}

func (h *Home) recordSuspension(ref Ref) error {
	base, err := strictBase(h.agentDir(ref))
	if err != nil {
		return err
	}
	o := h.journalOptions(ref.ID)
	o.MinFree = -1
	w, _, err := journal.Open(h.agentDir(ref), o, func(rec journal.Recovery) ([]journal.Draft, error) {
		r := newRun(nil, h.o.Now)
		r.stop = &Stop{Reason: "disk_full"}
		f := &fold{r: r, state: base}
		if err := f.replay(projections.Entries(rec.Records())); err != nil {
			return nil, err
		}
		f.attach(nil, 0)
		f.record(reducer.AgentDetached{Reason: r.stop.Reason})
		return projections.Drafts(f.events...)
	})
	if errors.Is(err, journal.ErrLocked) || errors.Is(err, errEnded) {
		return nil // somebody else goes on with it, or the last record had room after all
	}
	if err != nil {
		return fmt.Errorf("record that the disk is full: %w", err)
	}
	return w.Close()
}
