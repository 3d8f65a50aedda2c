package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// Create makes a new journal in tmpDir, whose parent must exist; the directory
// itself may exist if it holds nothing but blobs that the drafts will name. It
// makes the first commit durable: journal.created
// and then the drafts, all of generation 1 until a draft says NextGen. The
// caller moves it to its place with Publish.
//
// attach.lock is held from before the first record. On an error tmpDir may be
// left behind and is the caller's to remove.
func Create(tmpDir string, o Options, drafts ...Draft) (*Writer, error) {
	o = o.withDefaults()
	if err := checkDrafts(drafts); err != nil {
		return nil, fmt.Errorf("create journal %s: %w", tmpDir, err)
	}
	if err := admitDisk(o, filepath.Dir(tmpDir)); err != nil {
		return nil, fmt.Errorf("create journal %s: %w", tmpDir, err)
	}
	if err := o.Disk.Mkdir(tmpDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, wrap("create journal", tmpDir, err)
	}
	lock, err := acquire(o, tmpDir)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	w := &Writer{o: o, dir: tmpDir, lock: lock, id: o.NewID(), chain: chain{hash: true}}
	if err := w.begin(drafts); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// begin writes the first commit of a new journal.
func (w *Writer) begin(drafts []Draft) error {
	data, err := json.Marshal(created{
		Journal: w.id, Format: formatVersion, Chain: chainName,
		Agent: w.o.Agent, Program: w.o.Program, Host: w.o.Host, Boot: w.o.Boot,
	})
	if err != nil {
		return fmt.Errorf("create journal %s: %w", w.dir, err)
	}
	if err := w.openAppend(os.O_CREATE | os.O_EXCL); err != nil {
		return wrap("create journal", w.dir, err)
	}
	if w.first, err = w.commit([]Draft{{Type: TypeCreated, Data: data, NextGen: true}}, drafts); err != nil {
		return err
	}
	return wrap("create journal", w.dir, w.o.Disk.SyncDir(w.dir))
}

// Publish moves the journal's directory to finalDir, which must not exist, and
// makes the move durable. The writer follows it. After a failure the writer is
// poisoned unless the move did not happen.
func (w *Writer) Publish(finalDir string) error {
	if err := w.usable(); err != nil {
		return err
	}
	d := w.o.Disk
	if there, err := exists(d, finalDir); err != nil || there {
		if err == nil {
			err = fs.ErrExist
		}
		return wrap("publish journal as", finalDir, err)
	}
	from, to := filepath.Dir(w.dir), filepath.Dir(finalDir)
	if err := w.move(finalDir); err != nil {
		return wrap("publish journal as", finalDir, err)
	}
	err := d.SyncDir(to)
	if err == nil && from != to {
		err = d.SyncDir(from)
	}
	if err != nil {
		return w.poison("publish journal as", err)
	}
	return nil
}

// move renames the directory. Where open files keep a directory in its place,
// lock and file are let go and taken again; nobody knows the new name yet.
func (w *Writer) move(to string) error {
	d := w.o.Disk
	if !openFilesPinDirs {
		err := d.Rename(w.dir, to)
		if err == nil {
			w.dir = to
		}
		return err
	}
	if err := errors.Join(w.file.Close(), w.lock.Unlock()); err != nil {
		return w.poison("publish", err)
	}
	err := d.Rename(w.dir, to)
	if err == nil {
		w.dir = to
	}
	lock, lockErr := acquire(w.o, w.dir)
	if lockErr == nil {
		w.lock = lock
		lockErr = w.openAppend(0)
	}
	if lockErr != nil {
		return w.poison("publish", lockErr)
	}
	return err
}

// Recovery is what Open found and did, as the caller's callback and Open's
// caller see it.
type Recovery struct {
	// Result is the verdict and the end of the good records.
	Result
	// ID is the journal's random id.
	ID string
	// Torn names the files below the journal's directory that hold what was
	// cut off, now or by an attach that died before it could say so. It is
	// filled once Open has returned.
	Torn []string

	dir Dir
}

// Records yields the good records from the first on. Their payloads are
// borrowed until the next step. It is for the callback of Open; afterwards use
// Read, which sees what was appended since.
func (r Recovery) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r.dir.walk(walkOptions{end: r.Good, unended: true}, yield)
	}
}

// Open attaches to the journal in dir: it takes the lock, judges the file,
// asks first for the caller's first drafts, repairs what a crash left, makes
// the last commit certain and writes the drafts as the first batch of the next
// generation. If there was something to repair, journal.repaired records stand
// before them in that batch, still of the old generation.
//
// The callback may be nil. An error from it aborts, with nothing changed on
// disk. Without drafts the new generation starts with the first Append.
//
// Open fails with ErrNotFound, ErrLocked, ErrNetworkFS, ErrDiskFull, ErrFormat
// or a *CorruptError; of these only ErrDiskFull can come after a repair began.
func Open(dir string, o Options, first func(Recovery) ([]Draft, error)) (*Writer, Recovery, error) {
	o = o.withDefaults()
	if err := o.present(dir); err != nil {
		return nil, Recovery{}, wrap("open journal", dir, err)
	}
	if err := admitDisk(o, dir); err != nil {
		return nil, Recovery{}, fmt.Errorf("open journal %s: %w", dir, err)
	}
	lock, err := acquire(o, dir)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("open journal: %w", err)
	}
	w := &Writer{o: o, dir: dir, lock: lock, rise: true}
	rec, err := w.attach(first)
	if err != nil {
		return nil, rec, errors.Join(err, w.Close())
	}
	return w, rec, nil
}

// present makes sure that there is a journal, before a lock file is made for it.
func (o Options) present(dir string) error {
	there, err := exists(o.Disk, filepath.Join(dir, JournalFile))
	if err == nil && !there {
		err = ErrNotFound
	}
	return err
}

// attach is Open under the lock.
func (w *Writer) attach(first func(Recovery) ([]Draft, error)) (Recovery, error) {
	s, err := surveyFile(w.o.Disk, w.path(), w.o.Anchors)
	rec := Recovery{Result: s.Result, ID: s.created.Journal, dir: Dir{Path: w.dir, Disk: w.o.Disk}}
	if err != nil {
		return rec, fmt.Errorf("open journal: %w", err)
	}
	var drafts []Draft
	if first != nil {
		if drafts, err = first(rec); err != nil {
			return rec, err
		}
	}
	if err := checkDrafts(drafts); err != nil {
		return rec, fmt.Errorf("open journal %s: %w", w.dir, err)
	}
	m := mender{disk: w.o.Disk, dir: w.dir, now: w.o.Now, survey: s}
	own, err := m.mend()
	if err != nil {
		return rec, wrap("repair journal", w.dir, err)
	}
	rec.Torn = m.files
	w.id, w.chain, w.size = rec.ID, s.state, m.size
	w.stats.Size = w.size
	if err := w.openAppend(0); err != nil {
		return rec, wrap("open journal", w.dir, err)
	}
	if len(own)+len(drafts) > 0 {
		w.first, err = w.commit(own, drafts)
	}
	return rec, err
}

// admitDisk refuses file systems whose locks cannot be trusted, and disks
// without room for a turn to record its own end.
func admitDisk(o Options, dir string) error {
	if !o.AllowNetworkFS {
		remote, err := o.Disk.Network(dir)
		if err == nil && remote {
			return fmt.Errorf("%w: its locks can be lost; allow it only if one machine at a time uses it", ErrNetworkFS)
		}
	}
	if o.MinFree < 0 {
		return nil
	}
	free, err := o.Disk.Free(dir)
	if err == nil && free < o.MinFree {
		return fmt.Errorf("%w: %d bytes are free and %d are needed; make room and try again", ErrDiskFull, free, o.MinFree)
	}
	return nil // what the system cannot tell must not keep anybody out
}

// survey is a look at a whole journal.
type survey struct {
	Result
	created created
	named   map[string]bool // files that journal.repaired records name
	err     error           // the first record's payload is not for us
}

// surveyFile judges the journal at path and returns an error if it must not be
// continued: a *CorruptError, also for an anchor that it does not contain.
func surveyFile(d Disk, path string, anchors []Anchor) (s survey, err error) {
	f, err := d.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return s, wrap("read", path, notFound(err))
	}
	defer func() { err = errors.Join(err, wrap("close", path, f.Close())) }()
	st, err := f.Stat()
	if err != nil {
		return s, wrap("read", path, err)
	}
	s.named = map[string]bool{}
	marks := newMarks(anchors)
	s.Result = recoverWith(f, st.Size(), func(e entry, line []byte) {
		s.look(e)
		marks.look(e, line)
	})
	switch {
	case s.Err != nil:
		return s, wrap("read", path, s.Err)
	case s.err != nil:
		return s, wrap("read", path, s.err)
	case s.Verdict != Damaged && s.Head.Seq == 0:
		s.Verdict, s.Rule, s.Reason = Damaged, RuleEmpty, RuleEmpty.words()
	case s.Verdict != Damaged:
		if bad, missing := marks.missing(); missing {
			s.Verdict, s.Rule = Damaged, RuleAnchor
			s.Reason = fmt.Sprintf("%s: record %d, link %.32s", RuleAnchor.words(), bad.Seq, bad.Link)
		}
	}
	return s, s.corrupt(path)
}

// look takes what this package knows from its own records.
func (s *survey) look(e entry) {
	switch string(e.kind) {
	case TypeCreated:
		s.created, s.err = parseCreated(e.data)
	case TypeRepaired:
		var r repaired
		if json.Unmarshal(e.data, &r) == nil && r.File != "" {
			s.named[r.File] = true
		}
	}
}
