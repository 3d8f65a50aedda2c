package basis

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// history is the fold of a whole journal and when it began and last grew.
type history struct {
	state reducer.State
	seq   uint64
	about projections.About

	unfounded bool // what it continues can't be read
}

func (h *history) add(e reducer.Entry) {
	if c, ok := e.Event.(reducer.AgentCreated); ok {
		h.about.Created, h.about.Prompt = e.Time, projections.PartsText(c.Prompt)
	}
	h.state, h.seq, h.about.Updated = reducer.Apply(h.state, e.Event), e.Seq, e.Time
}

// endOf is the history of a task that could not be attached because it has
// ended, or whose answer can be read whatever else stood in the way, but damage
// of its own, which is the error then. What it continues is not needed for that.
func (h *Home) endOf(ref Ref, cause error) (all history, ended bool, err error) {
	if e, ok := errors.AsType[*endedError](cause); ok {
		return e.all, true, nil // the attach has looked at its bytes
	}
	dir := h.agentDir(ref)
	if e, damaged := errors.AsType[*CorruptError](cause); damaged && filepath.Dir(e.Path) == dir {
		return all, false, cause
	}
	base, err := h.Base(ref)
	all.state, all.unfounded = base, err != nil
	for e, err := range h.Entries(context.Background(), ref) {
		if err != nil {
			if _, damaged := errors.AsType[*CorruptError](err); !damaged || h.Held(ref) {
				err = nil // what stood in the way says more, or a repair is under way
			}
			return all, false, err
		}
		all.add(e)
	}
	if !all.state.Ended() {
		return all, false, nil
	}
	rep, err := journal.Check(dir, anchors(dir)...)
	if err = errors.Join(err, rep.Err()); err != nil {
		return all, false, err
	}
	return all, true, nil
}

// Ended is how a task has ended, and false if it has not. What it continues is not
// needed for that, and nothing is driven. The error says how its journal is damaged.
func (h *Home) Ended(ref Ref) (Outcome, bool, error) {
	all, ended, err := h.endOf(ref, nil)
	return Outcome{Ref: ref, State: all.state}, ended, err
}

// settled is the outcome of a task that has ended. Its terminal record is in
// the journal; the copies beside it are made good if they are missing.
func (h *Home) settled(ref Ref, all history) Outcome {
	if !all.unfounded {
		h.mend(ref, all)
	}
	return Outcome{Ref: ref, State: all.state}
}

// mend writes the copies that a kill has kept from being written, or that
// somebody has removed, and takes away what it left half done. They are copies:
// that they can't be written is no failure.
func (h *Home) mend(ref Ref, all history) {
	dir := h.agentDir(ref)
	meta, terminal := missing(dir, projections.MetaFile), missing(dir, projections.TerminalFile)
	left := leftovers(dir)
	if !meta && !terminal && len(left) == 0 {
		return
	}
	l, err := lockFile(filepath.Join(dir, journal.LockFile))
	if err != nil {
		return
	}
	defer l.release()
	for _, path := range left {
		_ = os.Remove(path)
	}
	if meta {
		_ = projections.WriteMeta(dir, ref.String(), all.about, all.state)
	}
	if rep, err := journal.Check(dir); terminal && err == nil && rep.Err() == nil && rep.Head.Seq == all.seq {
		t := projections.TerminalOf(all.state, h.blobs(ref).Get)
		t.Seq, t.Head = rep.Head.Seq, rep.Head.Link
		_ = projections.WriteTerminal(dir, t)
	}
}

func missing(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err != nil
}

// leftovers are the files of an agent's directory that a run takes away at its
// end, and that are still there because it was killed. Whoever removes them
// holds the agent's lock.
func leftovers(dir string) []string {
	left, _ := filepath.Glob(filepath.Join(dir, projections.TemporaryPrefix+"*"))
	if !missing(dir, liveName) {
		left = append(left, filepath.Join(dir, liveName))
	}
	return left
}
