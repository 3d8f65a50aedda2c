package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// salvaged is the payload of journal.salvaged.
type salvaged struct {
	From   string `json:"from"`   // id of the damaged journal
	Head   Head   `json:"head"`   // its last good record
	Offset int64  `json:"offset"` // where the damage starts
	Length int64  `json:"length"` // bytes from there to the end
	Rule   Rule   `json:"rule"`
	File   string `json:"file,omitempty"` // records found behind the damage
	Kept   int    `json:"kept"`           // how many they are
}

// SalvageFile holds, in a salvaged journal's directory, the lines behind the
// damage that are records in themselves. Nothing folds them.
const SalvageFile = "salvaged.jsonl"

// Salvage makes a new journal in tmpDir, as Create does, from the good records
// of the damaged one in dir, which is not changed. The new journal has an id
// and a chain of its own; records keep number, type, time, generation, place in
// their commit and payload. The last record is journal.salvaged, which names
// the old head and the gap. Payloads in blobs/ are not copied.
func Salvage(dir, tmpDir string, o Options) (w *Writer, err error) {
	o = o.withDefaults()
	s, err := surveyFile(o.Disk, filepath.Join(dir, JournalFile), nil)
	if _, damaged := errors.AsType[*CorruptError](err); err != nil && !damaged {
		return nil, fmt.Errorf("salvage journal: %w", err)
	}
	if s.Verdict != Damaged || s.Head.Seq == 0 {
		return nil, fmt.Errorf("salvage journal %s: nothing to do, it is %s with %d records", dir, s.Verdict, s.Head.Seq)
	}
	if err := o.Disk.Mkdir(tmpDir, dirMode); err != nil {
		return nil, wrap("salvage journal into", tmpDir, err)
	}
	lock, err := acquire(o, tmpDir)
	if err != nil {
		return nil, fmt.Errorf("salvage journal: %w", err)
	}
	w = &Writer{o: o, dir: tmpDir, lock: lock, id: o.NewID(), chain: chain{hash: true}}
	if err := w.salvage(Dir{Path: dir, Disk: o.Disk}, s); err != nil {
		return nil, errors.Join(wrap("salvage journal", dir, err), w.Close())
	}
	return w, nil
}

// salvage copies the good records, re-linked, and appends what is lost.
func (w *Writer) salvage(old Dir, s survey) error {
	if err := w.openAppend(os.O_CREATE | os.O_EXCL); err != nil {
		return err
	}
	report := salvaged{
		From: s.created.Journal, Head: s.Head, Offset: s.Good, Length: s.Size - s.Good, Rule: s.Rule,
	}
	id := s.created
	id.Journal, id.Program, id.Host, id.Boot = w.id, w.o.Program, w.o.Host, w.o.Boot
	var err error
	old.walk(walkOptions{end: s.Good, unended: true}, func(r Record, walkErr error) bool {
		if err = walkErr; err == nil {
			err = w.relink(r, id)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := w.behind(old, s, &report); err != nil {
		return err
	}
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if _, err := w.commit([]Draft{{Type: TypeSalvaged, Data: data}}, nil); err != nil {
		return err
	}
	w.rise = true
	return w.o.Disk.SyncDir(w.dir)
}

// relink writes one old record into the new chain, not yet synced: the commit
// of journal.salvaged makes all of them durable, before the directory is
// published.
func (w *Writer) relink(r Record, id created) error {
	data := []byte(r.Data)
	if r.Seq == 1 {
		var err error
		if data, err = json.Marshal(id); err != nil {
			return err
		}
	}
	stamp := stampAfter(&w.chain, r.Time)
	e := entry{
		seq: r.Seq, gen: r.Gen, pos: r.Pos, kind: []byte(r.Type), stamp: stamp[:], prev: w.chain.link, data: data,
	}
	line := appendLine(w.buf[:0], e)
	w.buf = line
	n, err := w.file.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	w.chain.advance(e, line[:len(line)-1])
	w.size += int64(len(line))
	return nil
}

// behind collects the self-valid records after the damage in a file.
func (w *Writer) behind(old Dir, s survey, report *salvaged) (err error) {
	in, err := w.o.Disk.OpenFile(old.path(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := w.o.Disk.OpenFile(filepath.Join(w.dir, SalvageFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	l := lines{r: in, at: s.Good, end: s.Size, nul: true}
	for {
		line, _, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errTooLong) {
			if _, err = l.skip(); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if _, rule := parseLine(line); rule != RuleNone {
			continue
		}
		if _, err := out.Write(append(slices.Clip(line), '\n')); err != nil {
			return err
		}
		report.Kept++
	}
	report.File = SalvageFile
	return out.Sync()
}

// AcceptTailLoss attaches as Open does, without drafts, to a journal whose last
// commit is damaged, and cuts it off as if it had been torn: a copy goes to
// torn/ and the new generation begins with a journal.repaired. show is called
// first with what will be lost; its error aborts with nothing changed. A
// journal of which later records prove that something is missing is refused:
// that is what Salvage is for.
func AcceptTailLoss(dir string, o Options, show func(Recovery) error) (*Writer, error) {
	o = o.withDefaults()
	if err := o.present(dir); err != nil {
		return nil, wrap("repair journal", dir, err)
	}
	lock, err := acquire(o, dir)
	if err != nil {
		return nil, fmt.Errorf("repair journal: %w", err)
	}
	w := &Writer{o: o, dir: dir, lock: lock, rise: true}
	if err := w.acceptLoss(show); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Writer) acceptLoss(show func(Recovery) error) error {
	s, err := surveyFile(w.o.Disk, w.path(), w.o.Anchors)
	if _, damaged := errors.AsType[*CorruptError](err); !damaged {
		if err == nil {
			err = fmt.Errorf("nothing to accept, it is %s", s.Verdict)
		}
		return fmt.Errorf("repair journal %s: %w", w.dir, err)
	}
	switch s.Rule {
	case RuleProof, RuleSequence, RuleTrailing, RuleAnchor, RuleEmpty, RuleFirst:
		return fmt.Errorf("repair journal: more than the last commit is damaged, salvage it instead: %w", err)
	default: // no record behind the damage is whole
	}
	if err := show(Recovery{Result: s.Result, ID: s.created.Journal, dir: Dir{Path: w.dir, Disk: w.o.Disk}}); err != nil {
		return err
	}
	s.Verdict = Torn
	m := mender{disk: w.o.Disk, dir: w.dir, now: w.o.Now, survey: s}
	own, err := m.mend()
	if err != nil {
		return wrap("repair journal", w.dir, err)
	}
	w.id, w.chain, w.size = s.created.Journal, s.state, m.size
	if err := w.openAppend(0); err != nil {
		return wrap("repair journal", w.dir, err)
	}
	_, err = w.commit(own, nil)
	return err
}
