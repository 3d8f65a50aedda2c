package basis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// Row is one task of a workspace as a listing shows it.
type Row struct {
	Ref         Ref
	State       string // resumable, running, succeeded, failed, cancelled, or unknown if the journal can't be read
	StartedMS   int64
	ActivityMS  int64 // of the last record
	Prompt      string
	Continuable bool // it has a conversation
	Usage       *projections.Usage
}

// List shows the tasks of a workspace, last worked in first. It takes no lock
// and creates nothing; a workspace that was never used has no tasks.
func (h *Home) List(workspace string) ([]Row, error) {
	path, err := canonical(workspace)
	if err != nil {
		return nil, &OptionError{"workspace", workspace + " cannot be used: " + inner(err).Error()}
	}
	key := WorkspaceKey(path)
	if err := h.checkMarker(key, path, false); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(h.agentsDir(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &HomeError{Dir: h.dir, Err: err}
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isHex(e.Name(), 32) })
	rows := make([]Row, len(entries))
	var (
		next    atomic.Int64
		readers sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
				rows[i] = h.row(Ref{Key: key, ID: entries[i].Name()})
			}
		})
	}
	readers.Wait()
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.ActivityMS, a.ActivityMS), cmp.Compare(a.Ref.String(), b.Ref.String()))
	})
	return rows, nil
}

// row is one line of the listing. What an ended task came to stands at the two
// ends of its journal, and the rest of that is not read; Check reads it all.
func (h *Home) row(ref Ref) Row {
	if r, ok := h.endedRow(ref); ok {
		return r
	}
	r := Row{Ref: ref}
	var s reducer.State
	for e, err := range h.Entries(context.Background(), ref) {
		if err != nil {
			r.State, r.Usage = "unknown", nil
			return r
		}
		s = reducer.Apply(s, e.Event)
		r.note(e)
	}
	switch r.Usage = projections.UsageOf(s.Usage()); {
	case s.Ended():
	case h.Held(ref):
		r.State = "running"
	default:
		r.State = "resumable"
	}
	return r
}

// endedRow is the row of a task whose journal begins and ends as one of an
// ended task does; ok is false where that does not tell all of the row.
func (h *Home) endedRow(ref Ref) (r Row, ok bool) {
	const opening = 8 // records; the first turn begins with the fifth, or after what came in before
	first, last, err := journal.Ends(h.agentDir(ref), opening)
	if err != nil || last.Seq == 0 {
		return r, false
	}
	r.Ref = ref
	for _, rec := range append(first, last) {
		e := reducer.Entry{Seq: rec.Seq, Time: rec.Time}
		switch rec.Type {
		case reducer.KindOf(reducer.TurnStarted{}):
			e.Event = reducer.TurnStarted{}
		case reducer.KindOf(reducer.AgentCreated{}), reducer.KindOf(reducer.TaskEnded{}):
			if e, err = projections.Entry(rec); err != nil {
				return r, false
			}
		}
		r.note(e)
	}
	return r, r.StartedMS != 0 && r.Continuable && r.State != ""
}

// note takes from a record what a row shows of it.
func (r *Row) note(e reducer.Entry) {
	r.ActivityMS = e.Time.UnixMilli()
	switch c := e.Event.(type) {
	case reducer.AgentCreated:
		r.StartedMS, r.Prompt = r.ActivityMS, projections.PartsText(c.Prompt)
	case reducer.TurnStarted:
		r.Continuable = true
	case reducer.TaskEnded:
		r.State, r.Usage = string(c.State), projections.UsageOf(c.Usage)
	default:
	}
}

// Follow yields what a task's journal holds after a record number, and then
// what is appended, until the task ends or ctx does.
func (h *Home) Follow(ctx context.Context, ref Ref, after uint64) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		if err := h.exists(ref); err != nil {
			yield(reducer.Entry{}, err)
			return
		}
		for e, err := range followDir(ctx, h.agentDir(ref), after) {
			if !yield(e, err) || err != nil {
				return
			}
			if _, ended := e.Event.(reducer.TaskEnded); ended {
				return
			}
		}
	}
}

// Load returns what reads the long texts of a task's journal.
func (h *Home) Load(ref Ref) func(reducer.Ref) ([]byte, error) { return h.blobs(ref).Get }

// Check looks at the bytes of a task's journal: lines, checksums, chain,
// generations and blobs, at those of the tasks that it continues, as far as it
// does, and at those of its subagents, which must hold what it says of their ends. What they mean is for replay.Verify.
//
// An error is about reading; what is wrong with the journals is in the report.
func (h *Home) Check(ref Ref) (Report, error) {
	if err := h.exists(ref); err != nil {
		return Report{}, err
	}
	dir := h.agentDir(ref)
	rep, err := checkDir(dir, anchors(dir))
	if err != nil {
		return rep, err
	}
	line, _ := lineage(dir) // what can't be read has been found, or Base tells
	for _, a := range line {
		older, err := checkDir(sibling(dir, a.Agent), []journal.Anchor{{Seq: a.Seq, Link: a.Head}})
		if err == nil {
			rep.Findings = append(rep.Findings, older.Findings...)
		}
	}
	below, err := h.checkBelow(ref)
	rep.Findings = append(rep.Findings, below...)
	return rep, err
}

// checkBelow looks at the journals of an agent's subagents, theirs included. What
// its own journal knows of their ends must stand in them.
func (h *Home) checkBelow(ref Ref) ([]journal.CorruptError, error) {
	anchors := map[Ref][]journal.Anchor{}
	var found []journal.CorruptError
	for e, err := range h.Entries(context.Background(), ref) {
		if err != nil {
			break // the report on ref says it better
		}
		if c, ok := e.Event.(reducer.ChildSettled); ok && c.N != 0 && c.Seq != 0 {
			child := ref.child(c.N)
			anchors[child] = []journal.Anchor{{Seq: c.Seq, Link: c.Head}}
			if file := filepath.Join(h.agentDir(child), journal.JournalFile); absent(file) {
				found = append(found, journal.CorruptError{
					Path: file, Seq: c.Seq, Rule: journal.RuleAnchor, Reason: "the journal of a subagent that has ended is not there",
				})
				delete(anchors, child)
			}
		}
	}
	for _, child := range h.children(ref) {
		rep, err := checkDir(h.agentDir(child), anchors[child])
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return found, err
		}
		below, err := h.checkBelow(child)
		if found = append(append(found, rep.Findings...), below...); err != nil {
			return found, err
		}
	}
	return found, nil
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func checkDir(dir string, heads []journal.Anchor) (Report, error) {
	o := journal.CheckOptions{Anchors: heads}
	for e, err := range projections.Readable(journal.Read(dir, 0)) {
		if err != nil {
			break // the report says it better
		}
		for _, r := range reducer.Refs(e.Event) {
			o.Blobs = append(o.Blobs, r.Digest)
		}
	}
	return journal.Dir{Path: dir}.Check(o)
}

// anchors are the heads that a journal must contain, as far as files beside it
// know: a clean cut of whole records leaves no trace in the journal itself.
func anchors(dir string) []journal.Anchor {
	data, err := os.ReadFile(filepath.Join(dir, projections.TerminalFile))
	if err != nil {
		return nil
	}
	var t projections.Terminal
	if json.Unmarshal(data, &t) != nil || t.Seq == 0 || t.Head == "" {
		return nil
	}
	return []journal.Anchor{{Seq: t.Seq, Link: t.Head}}
}
