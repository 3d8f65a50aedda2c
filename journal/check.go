package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Report is what an audit found.
type Report struct {
	Result
	// Journal, Agent and Program are what the first record says.
	Journal, Agent, Program string
	// Records and Gens count; Bytes is the size of the good prefix.
	Records, Gens uint64
	Bytes         int64
	// Repairs counts journal.repaired records, Torn names the copies in torn/.
	Repairs int
	Torn    []string
	// Findings are all that is wrong, in the order of the file; a torn tail
	// is none, a repair will take it away.
	Findings []CorruptError
}

// Err returns the first finding as a *CorruptError, or nil.
func (r Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return &r.Findings[0]
}

// CheckOptions say against what an audit compares.
type CheckOptions struct {
	// Anchors are heads known from elsewhere.
	Anchors []Anchor
	// Blobs are the digests that the records name; what a payload means, and
	// so which they are, only the caller knows.
	Blobs []string
}

// Check audits the journal in dir: every byte of every line, checksums, links,
// generations, payloads, and the anchors. The error is about reading; what is
// wrong with the journal is in the report.
func Check(dir string, anchors ...Anchor) (Report, error) {
	return Dir{Path: dir}.Check(CheckOptions{Anchors: anchors})
}

// Check is the function Check on the disk of d, with payloads in blobs/ too.
func (d Dir) Check(o CheckOptions) (rep Report, err error) {
	f, err := d.disk().OpenFile(d.path(), os.O_RDONLY, 0)
	if err != nil {
		return rep, wrap("check", d.path(), notFound(err))
	}
	defer func() { err = errors.Join(err, wrap("close", d.path(), f.Close())) }()
	st, err := f.Stat()
	if err != nil {
		return rep, wrap("check", d.path(), err)
	}
	a := audit{path: d.path(), marks: newMarks(o.Anchors)}
	a.survey.named = map[string]bool{}
	res := recoverWith(f, st.Size(), a.look)
	if res.Err != nil {
		return rep, wrap("check", d.path(), res.Err)
	}
	rep = a.report(res)
	rep.Findings = append(rep.Findings, d.checkBlobs(o.Blobs)...)
	rep.Torn, err = d.torn()
	return rep, err
}

// audit gathers findings while the journal is walked once.
type audit struct {
	path     string
	survey   survey
	marks    *marks
	repairs  int
	at       int64
	findings []CorruptError
}

func (a *audit) look(e entry, line []byte) {
	a.survey.look(e)
	a.marks.look(e, line)
	if string(e.kind) == TypeRepaired {
		a.repairs++
	}
	if reason := checkObject(e.data); reason != "" {
		a.find(e.seq, a.at, int64(len(line)), RulePayload, reason)
	}
	if e.seq == 1 && a.survey.err != nil {
		a.find(1, 0, int64(len(line)), RuleFirst, a.survey.err.Error())
	}
	a.at += int64(len(line)) + 1
}

func (a *audit) find(seq uint64, at, length int64, rule Rule, reason string) {
	a.findings = append(a.findings, CorruptError{
		Path: a.path, Seq: seq, Offset: at, Length: length, Rule: rule, Reason: reason,
	})
}

func (a *audit) report(res Result) Report {
	switch {
	case res.Verdict == Damaged:
		a.find(res.Head.Seq+1, res.Good, res.Size-res.Good, res.Rule, res.Reason)
	case res.Head.Seq == 0:
		a.find(1, 0, res.Size, RuleEmpty, RuleEmpty.words())
	}
	for _, m := range a.marks.open {
		a.find(m.Seq, res.Good, 0, RuleAnchor, fmt.Sprintf("%s: record %d, link %.32s", RuleAnchor.words(), m.Seq, m.Link))
	}
	c := a.survey.created
	return Report{
		Result: res, Journal: c.Journal, Agent: c.Agent, Program: c.Program,
		Records: res.Head.Seq, Gens: res.Gen, Bytes: res.Good,
		Repairs: a.repairs, Findings: a.findings,
	}
}

// checkBlobs reads every payload that should be there.
func (d Dir) checkBlobs(digests []string) []CorruptError {
	var found []CorruptError
	b := OpenBlobs(d.Path, d.disk())
	for _, digest := range digests {
		_, err := b.Get(digest)
		if err == nil {
			continue
		}
		if bad, ok := errors.AsType[*CorruptError](err); ok {
			found = append(found, *bad)
			continue
		}
		found = append(found, CorruptError{Path: filepath.Join(d.Path, BlobDir), Rule: RuleBlob, Reason: err.Error()})
	}
	return found
}

// torn lists the copies of cut bytes.
func (d Dir) torn() ([]string, error) {
	entries, err := d.disk().ReadDir(filepath.Join(d.Path, TornDir))
	if err != nil {
		if errors.Is(notFound(err), ErrNotFound) {
			return nil, nil
		}
		return nil, wrap("list", filepath.Join(d.Path, TornDir), err)
	}
	var names []string
	for _, e := range entries {
		if tornName.MatchString(e.Name()) {
			names = append(names, TornDir+"/"+e.Name())
		}
	}
	return names, nil
}
