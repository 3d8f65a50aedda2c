package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Writer appends to a journal. It holds attach.lock and belongs to one
// goroutine. Create and Open make one; Close ends it.
type Writer struct {
	o    Options
	dir  string
	lock Lock
	file File // opened for appending

	chain  chain
	size   int64
	rise   bool // the next draft starts a new generation
	id     string
	buf    []byte
	stats  Stats
	first  []Record
	failed error
	closed bool
}

// Stats are counts of one Writer since it was made.
type Stats struct {
	Commits int           // calls of Append that wrote, the first batch included
	Records int           // records in them
	Written int64         // bytes in them
	Size    int64         // bytes of the whole journal; see WarnBytes
	Last    time.Duration // the last commit, from stamping it to the end of its sync
	Total   time.Duration // all commits
	Max     time.Duration // the slowest commit
}

// Dir returns where the journal is now.
func (w *Writer) Dir() string { return w.dir }

// ID returns the journal's random id, 32 hex digits.
func (w *Writer) ID() string { return w.id }

// Gen returns the attach generation of the last record.
func (w *Writer) Gen() uint64 { return w.chain.gen }

// First is what [Create] or [Open] wrote: the drafts they were given, and before
// them the journal's own records.
func (w *Writer) First() []Record { return w.first }

// Head returns the last durable record's number and link.
func (w *Writer) Head() Head { return Result{state: w.chain}.finish().Head }

// Stats returns the counts so far.
func (w *Writer) Stats() Stats { return w.stats }

// Append commits the drafts in their order with one write and one sync and
// returns them as records; without drafts it does nothing. When it returns an
// error, no record counts as written: a *DraftError or ErrFull leave the writer
// usable and the file untouched, any other poisons the writer.
func (w *Writer) Append(drafts ...Draft) ([]Record, error) {
	if err := w.usable(); err != nil {
		return nil, err
	}
	if err := checkDrafts(drafts); err != nil {
		return nil, fmt.Errorf("append to %s: %w", w.path(), err)
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	return w.commit(nil, drafts)
}

// Close lets go of the lock. It is safe to call again.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	return wrap("close", w.dir, errors.Join(err, w.lock.Unlock()))
}

func (w *Writer) path() string { return filepath.Join(w.dir, JournalFile) }

func (w *Writer) usable() error {
	switch {
	case w.failed != nil:
		return w.failed
	case w.closed:
		return fmt.Errorf("append to %s: %w", w.path(), ErrClosed)
	}
	return nil
}

// poison is final: it keeps the first failure and returns it.
func (w *Writer) poison(op string, err error) error {
	w.failed = &failure{op: op, path: w.path(), cause: classify(err)}
	return w.failed
}

// checkDrafts accepts what callers may have recorded.
func checkDrafts(drafts []Draft) error {
	for i, d := range drafts {
		if reason := d.problem(); reason != "" {
			return &DraftError{Index: i, Type: d.Type, Reason: reason}
		}
	}
	return nil
}

func (d Draft) problem() string {
	const own = "journal."
	switch {
	case !validType(d.Type):
		return "the type is not two to four dotted segments of [a-z][a-z0-9_]* within 64 bytes"
	case len(d.Type) > len(own) && d.Type[:len(own)] == own:
		return "journal.* is reserved for the journal itself"
	case len(d.Data) > MaxRecord-maxFrame-MaxType:
		return fmt.Sprintf("a payload of %d bytes exceeds the record limit of %d", len(d.Data), MaxRecord)
	}
	return checkObject(d.Data)
}

// keepBuffer is how large an encoding buffer may stay between commits.
const keepBuffer = 1 << 20

// commit writes own records of the journal, and then the caller's, as one
// batch. If a new generation is due, it starts with the caller's first.
func (w *Writer) commit(own, drafts []Draft) ([]Record, error) {
	began := w.o.Now()
	next := w.chain
	rise := w.rise
	records := make([]Record, 0, len(own)+len(drafts))
	buf := w.buf[:0]
	for _, d := range own {
		buf = appendRecord(buf, &records, &next, d, began)
	}
	for _, d := range drafts {
		d.NextGen = d.NextGen || rise
		rise = false
		buf = appendRecord(buf, &records, &next, d, began)
	}
	if next.seq > MaxRecords || w.size+int64(len(buf)) > MaxBytes {
		return nil, fmt.Errorf("append to %s: %w: continue in a new journal", w.path(), ErrFull)
	}
	if err := w.write(buf); err != nil {
		return nil, err
	}
	w.chain, w.rise = next, rise
	w.size += int64(len(buf))
	w.count(len(records), len(buf), w.o.Now().Sub(began))
	if w.buf = buf; cap(buf) > keepBuffer {
		w.buf = nil
	}
	return records, nil
}

// appendRecord encodes one draft as the record after next and advances next.
func appendRecord(buf []byte, records *[]Record, next *chain, d Draft, now time.Time) []byte {
	stamp := stampAfter(next, now)
	e := entry{
		seq: next.seq + 1, gen: next.gen, pos: len(*records),
		kind: []byte(d.Type), stamp: stamp[:], prev: next.link, data: d.Data,
	}
	if d.NextGen {
		e.gen++
	}
	start := len(buf)
	buf = appendLine(buf, e)
	next.advance(e, buf[start:len(buf)-1])
	at, _ := parseStamp(e.stamp) // made two lines above
	*records = append(*records, Record{
		Seq: e.seq, Type: d.Type, Time: at, Gen: e.gen, Pos: e.pos,
		Data: d.Data, prev: e.prev, link: next.link,
	})
	return buf
}

// stampAfter returns now, or the last record's time if the clock went back or
// has no four-digit year.
func stampAfter(last *chain, now time.Time) (stamp [timeLen]byte) {
	now = now.UTC()
	if y := now.Year(); y >= 1 && y <= 9999 {
		var room [2 * timeLen]byte // AppendFormat wants more than it leaves
		copy(stamp[:], appendStamp(room[:0], now))
	} else {
		copy(stamp[:], "0001-01-01T00:00:00.000Z")
	}
	if last.seq > 0 && string(last.stamp[:]) > string(stamp[:]) {
		return last.stamp
	}
	return stamp
}

// write makes buf durable at the end of the file, or poisons.
func (w *Writer) write(buf []byte) error {
	if err := w.fence(); err != nil {
		return w.poison("append to", err)
	}
	n, err := w.file.Write(buf)
	if err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return w.poison("append to", err)
	}
	if err := w.file.Sync(); err != nil {
		// Not to be tried again: the system may have dropped the pages and
		// would report success for data that the disk never got.
		return w.poison("sync", err)
	}
	return nil
}

// fence makes sure that nobody else wrote, cut or replaced the file.
func (w *Writer) fence() error {
	open, err := w.file.Stat()
	if err != nil {
		return err
	}
	if open.Size() != w.size {
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrFenced, open.Size(), w.size)
	}
	named, err := w.o.Disk.Stat(w.path())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if !w.o.Disk.SameFile(open, named) {
		return fmt.Errorf("%w: the path names another file", ErrFenced)
	}
	return nil
}

func (w *Writer) count(records, bytes int, took time.Duration) {
	s := &w.stats
	s.Commits++
	s.Records += records
	s.Written += int64(bytes)
	s.Size = w.size
	s.Last = took
	s.Total += took
	s.Max = max(s.Max, took)
}

// openAppend opens the journal's file for appending. An existing file keeps
// its content.
func (w *Writer) openAppend(flag int) error {
	f, err := w.o.Disk.OpenFile(w.path(), os.O_WRONLY|os.O_APPEND|flag, fileMode)
	if err != nil {
		return err
	}
	w.file = f
	return nil
}
