package journal

import (
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// Dir is a journal's directory on some disk, for those who only read. The
// functions Read, Tail, Check and Held are its methods on the real disk.
type Dir struct {
	// Path is the directory.
	Path string
	// Disk is where it is; nil means the real one.
	Disk Disk
}

func (d Dir) disk() Disk {
	if d.Disk == nil {
		return OSDisk()
	}
	return d.Disk
}

func (d Dir) path() string { return filepath.Join(d.Path, JournalFile) }

// Read yields the records of the journal in dir with numbers above after. It
// takes no lock, and verifies every line from the first on. Payloads are
// borrowed until the next step.
//
// A tail that is still being written, or was torn by a crash, ends the
// sequence quietly before it. Damage ends it with a *CorruptError after the
// last good record, a missing journal with ErrNotFound.
func Read(dir string, after uint64) iter.Seq2[Record, error] { return Dir{Path: dir}.Read(after) }

// Read is the function Read on the disk of d.
func (d Dir) Read(after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		d.walk(walkOptions{after: after, end: -1, verify: true}, yield)
	}
}

// Sync makes durable what is in the journal now. A process other than the
// writer calls it before it acts outside on what it has read; showing it needs
// none. Where a handle for reading cannot sync, it fails, and the caller waits
// for a record of a later commit instead.
func (d Dir) Sync() error {
	f, err := d.disk().OpenFile(d.path(), os.O_RDONLY, 0)
	if err != nil {
		return wrap("sync", d.path(), notFound(err))
	}
	return wrap("sync", d.path(), errors.Join(f.Sync(), f.Close()))
}

// walkOptions say which records to yield and how far to trust them.
type walkOptions struct {
	after   uint64
	end     int64 // where to stop, or -1 for the end of the file
	verify  bool  // check links, and judge what follows the good records
	unended bool  // a last record may lack its newline
	start   int64 // where to begin
	chain   chain // of the record that ends there
}

// walk opens the file and yields its records.
func (d Dir) walk(o walkOptions, yield func(Record, error) bool) {
	f, err := d.disk().OpenFile(d.path(), os.O_RDONLY, 0)
	if err != nil {
		yield(Record{}, wrap("read", d.path(), notFound(err)))
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	end := o.end
	if end < 0 {
		st, err := f.Stat()
		if err != nil {
			yield(Record{}, wrap("read", d.path(), err))
			return
		}
		end = st.Size()
	}
	rd := reader{lines: lines{r: f, at: o.start, end: end}, chain: o.chain, good: o.start}
	rd.chain.hash = o.verify
	for {
		r, err := rd.next(o.unended)
		if errors.Is(err, io.EOF) {
			err = rd.ended(d.path(), f, o)
			if err != nil {
				yield(Record{}, err)
			}
			return
		}
		if err != nil {
			yield(Record{}, wrap("read", d.path(), err))
			return
		}
		if r.Seq > o.after && !yield(r, nil) {
			return
		}
	}
}

// reader turns lines into records.
type reader struct {
	lines lines
	chain chain
	good  int64 // where the last good record ends
	from  int64 // where the last good record starts
	rule  Rule  // what ended the good records
	kinds map[string]string
	clock clock
}

// next returns the next good record, borrowed. io.EOF says that there is none;
// rule then tells why.
func (rd *reader) next(unended bool) (Record, error) {
	line, ending, err := rd.lines.next()
	if errors.Is(err, errTooLong) {
		rd.rule = RuleLength
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, err
	}
	if len(ending) == 0 && !unended {
		rd.rule = RuleShape
		return Record{}, io.EOF
	}
	var e entry
	if e, rd.rule = rd.chain.step(line); rd.rule != RuleNone {
		return Record{}, io.EOF
	}
	rd.from, rd.good = rd.good, rd.lines.at
	return rd.record(e, line), nil
}

// maxKinds bounds the memory for the names of types.
const maxKinds = 256

func (rd *reader) record(e entry, line []byte) Record {
	kind, ok := rd.kinds[string(e.kind)]
	if !ok {
		kind = string(e.kind)
		if rd.kinds == nil {
			rd.kinds = map[string]string{}
		}
		if len(rd.kinds) < maxKinds {
			rd.kinds[kind] = kind
		}
	}
	r := Record{Seq: e.seq, Type: kind, Time: rd.clock.read(e.stamp), Gen: e.gen, Pos: e.pos, Data: e.data, prev: e.prev}
	if rd.chain.hash {
		r.link = rd.chain.link
	} else {
		r.line = line
	}
	return r
}

// ended judges what follows the last good record; nil for a journal that is
// whole or merely unfinished.
func (rd *reader) ended(path string, r io.ReaderAt, o walkOptions) error {
	if !o.verify {
		return nil
	}
	res := Result{Verdict: Clean, Good: rd.good, Size: rd.lines.end, state: rd.chain}
	if rd.rule != RuleNone {
		b := bad{r: r, from: rd.good, to: rd.lines.end, state: rd.chain}
		var err error
		if res.Verdict, res.Rule, err = b.judge(rd.rule); err != nil {
			return wrap("read", path, err)
		}
	}
	if res.Verdict != Damaged && rd.chain.seq == 0 {
		res.Verdict, res.Rule = Damaged, RuleEmpty
	}
	res.Reason = res.Rule.words()
	return res.finish().corrupt(path)
}
