package basis

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// ContinueError says why a conversation cannot be gone on with now.
type ContinueError struct {
	Ref    Ref // the task to wait for; zero if there is nothing to continue
	Reason string
	Within bool // whoever asks is at work on the conversation, and would wait for itself
}

func (e *ContinueError) Error() string {
	if e.Ref.IsZero() {
		return e.Reason
	}
	return fmt.Sprintf("task %s %s", e.Ref, e.Reason)
}

// Base is what a task's history begins with: nothing, or the conversation that
// it continues as that stood then.
func (h *Home) Base(ref Ref) (reducer.State, error) {
	if err := h.exists(ref); err != nil {
		return reducer.State{}, err
	}
	s, err := baseOf(h.agentDir(ref), projections.ReadableEntry)
	if err != nil {
		return reducer.State{}, &TaskError{Ref: ref, Err: &UnfoundedError{err}}
	}
	return s, nil
}

// strictBase is Base for whoever goes on with the task: what this program does
// not know is an error.
func strictBase(dir string) (reducer.State, error) {
	s, err := baseOf(dir, projections.Entry)
	if err == nil {
		return s, nil
	}
	if err = newerKind("another version of basis", err); isNewer(err) {
		return reducer.State{}, err
	}
	return reducer.State{}, &UnfoundedError{err}
}

func isNewer(err error) bool {
	_, newer := errors.AsType[*NewerError](err)
	return newer
}

func baseOf(dir string, decode func(journal.Record) (reducer.Entry, error)) (reducer.State, error) {
	var s reducer.State
	line, err := lineage(dir)
	if err != nil {
		return s, err
	}
	for _, a := range slices.Backward(line) {
		if s, err = foldTo(s, sibling(dir, a.Agent), a, decode); err != nil {
			return s, err
		}
		s = reducer.Continue(s)
	}
	return s, nil
}

// lineage is what the agent of a directory continues, what that one does, and
// so on: the newest first. All are in one workspace.
func lineage(dir string) ([]reducer.Anchor, error) {
	seen := map[string]bool{filepath.Base(dir): true}
	var line []reducer.Anchor
	for {
		c, err := createdIn(dir)
		if err != nil || c.Continues.Agent == "" {
			return line, err
		}
		a := c.Continues
		if !isHex(a.Agent, 32) || seen[a.Agent] {
			return line, fmt.Errorf("%s continues %q, which cannot be", dir, a.Agent)
		}
		seen[a.Agent] = true
		line = append(line, a)
		dir = sibling(dir, a.Agent)
	}
}

func sibling(dir, agent string) string { return filepath.Join(filepath.Dir(dir), agent) }

// foldTo folds the journal of a directory up to the record that a names, and
// checks that it is that one.
func foldTo(s reducer.State, dir string, a reducer.Anchor, decode func(journal.Record) (reducer.Entry, error)) (reducer.State, error) {
	for rec, err := range journal.Read(dir, 0) {
		if err != nil {
			return s, err
		}
		e, err := decode(rec)
		if err != nil {
			return s, err
		}
		s = reducer.Apply(s, e.Event)
		if rec.Seq == a.Seq {
			if link := rec.Link(); link != a.Head {
				return s, fmt.Errorf("%s: record %d is not the one that was continued: its link is %s and not %s", dir, a.Seq, link, a.Head)
			}
			return s, nil
		}
	}
	return s, fmt.Errorf("%s: the journal ends before record %d, which was continued", dir, a.Seq)
}

// createdIn is what the agent of a directory was made for: the first thing its
// journal says.
func createdIn(dir string) (reducer.AgentCreated, error) {
	for e, err := range projections.Readable(journal.Read(dir, 0)) {
		if err != nil {
			return reducer.AgentCreated{}, err
		}
		if c, ok := e.Event.(reducer.AgentCreated); ok {
			return c, nil
		}
	}
	return reducer.AgentCreated{}, fmt.Errorf("%s: the journal does not say what it is for", dir)
}

// end is where a conversation is gone on from.
type end struct {
	conversation string
	lock         *fileLock
	from         reducer.Anchor
	state        reducer.State // what the next task begins with
}

// lastEnd finds the conversation last worked in and takes its lock (CLI-55), for
// the task that asks, if one does.
func (h *Home) lastEnd(workspace string, caller Ref) (end, error) {
	rows, err := h.List(workspace)
	if err != nil {
		return end{}, err
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Continuable })
	if i < 0 {
		return end{}, &ContinueError{Reason: "no task in this workspace has a conversation to continue"}
	}
	created, err := h.created(rows[i].Ref)
	if err != nil {
		return end{}, err
	}
	lock, err := lockFile(h.conversationLock(rows[i].Ref.Key, created.Conversation))
	if errors.Is(err, ErrAttached) {
		return end{}, h.running(created.Conversation, rows, caller)
	}
	if err != nil {
		return end{}, err
	}
	e := end{conversation: created.Conversation, lock: lock}
	if err := h.settleOn(&e, workspace); err != nil {
		lock.release()
		return end{}, err
	}
	return e, nil
}

// running says which task holds a conversation.
func (h *Home) running(conversation string, rows []Row, caller Ref) error {
	tip, err := h.tip(conversation, rows)
	if err != nil {
		return err
	}
	if tip == caller.Task() {
		return &ContinueError{Reason: fmt.Sprintf("this command is part of task %s, so the conversation cannot go on with another task yet", tip), Within: true}
	}
	return &ContinueError{Ref: tip, Reason: "is running"}
}

// settleOn finds the newest task of the conversation, which must have ended.
// The caller holds the conversation's lock, so nobody else continues it now; the
// tasks are listed only here, because somebody may have done so before.
func (h *Home) settleOn(e *end, workspace string) error {
	rows, err := h.List(workspace)
	if err != nil {
		return err
	}
	tip, err := h.tip(e.conversation, rows)
	if err != nil {
		return err
	}
	dir := h.agentDir(tip)
	s, err := strictBase(dir)
	if err != nil {
		return &TaskError{Ref: tip, Err: err}
	}
	checked, err := h.Check(tip)
	if err == nil {
		err = checked.Err()
	}
	if err != nil {
		return err
	}
	e.from = reducer.Anchor{Agent: tip.ID, Seq: checked.Head.Seq, Head: checked.Head.Link}
	if s, err = foldTo(s, dir, e.from, projections.Entry); err != nil {
		return newerKind(s.Program, err)
	}
	switch {
	case s.Rules > reducer.RulesVersion:
		return &NewerError{Program: s.Program, Detail: fmt.Sprintf("rules version %d", s.Rules)}
	case !s.Ended():
		return &ContinueError{Ref: tip, Reason: "has not ended, and the conversation goes on with it"}
	}
	e.state = reducer.Continue(s)
	return nil
}

// tip is the task of a conversation that no other one continues. A task whose
// journal does not even say what it is for belongs to none (CLI-95).
func (h *Home) tip(conversation string, rows []Row) (Ref, error) {
	continued := map[string]bool{}
	var members []Ref
	for _, r := range rows {
		c, err := h.created(r.Ref)
		if _, damaged := errors.AsType[*CorruptError](err); damaged || errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return Ref{}, err
		}
		if c.Conversation == conversation {
			members = append(members, r.Ref)
			continued[c.Continues.Agent] = true
		}
	}
	i := slices.IndexFunc(members, func(r Ref) bool { return !continued[r.ID] })
	if i < 0 {
		return Ref{}, fmt.Errorf("the conversation %s has no end", conversation)
	}
	return members[i], nil
}
