package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// SnapshotFile is the saved fold of a journal, a cache that may be deleted at
// any moment.
const SnapshotFile = "snapshot.json"

// maxSnapshot bounds what is read back, in bytes.
const maxSnapshot = 1 << 30

// ErrNoSnapshot says that there is no snapshot to start from: none was
// written, it is not whole, or it is of another journal or another fold. Read
// from the start instead.
var ErrNoSnapshot = errors.New("no usable snapshot")

// Snapshot is a state of the caller's together with the record up to which it
// was folded, and where that record's line is. It is also an anchor: a journal
// that does not have that line in that place is damaged.
type Snapshot struct {
	Format     int             `json:"format"`
	Digest     string          `json:"reducer_digest"` // of the fold that made State
	JournalID  string          `json:"journal_id"`
	Seq        uint64          `json:"seq"`
	Offset     int64           `json:"offset"`      // where the record's line ends, in bytes
	LineOffset int64           `json:"line_offset"` // where it starts
	Head       string          `json:"head"`        // its link
	State      json.RawMessage `json:"state"`
}

// Snapshot returns a snapshot at the writer's head, which is durable. digest
// names the fold, state is one JSON value.
func (w *Writer) Snapshot(digest string, state json.RawMessage) Snapshot {
	h := w.Head()
	return Snapshot{
		Format: formatVersion, Digest: digest, JournalID: w.id, Seq: h.Seq, Head: h.Link,
		Offset: w.size, LineOffset: w.size - w.chain.length, State: state,
	}
}

// WriteSnapshot replaces the snapshot of d. It is not synced; a crash costs
// the snapshot and nothing else, so a caller may ignore the error.
func (d Dir) WriteSnapshot(s Snapshot) error {
	name := filepath.Join(d.Path, SnapshotFile)
	b, err := json.Marshal(s)
	if err != nil {
		return wrap("write snapshot", name, err)
	}
	body := b[:len(b)-1]
	line := append(appendCRC(append(bytes.Clone(body), pieceCRC...), crc(body)), pieceEnd+"\n"...)
	temp := name + ".tmp"
	if err := d.disk().Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("write snapshot", name, err)
	}
	if err := writeNew(d.disk(), temp, bytes.NewReader(line), false); err != nil {
		return wrap("write snapshot", name, err)
	}
	return wrap("write snapshot", name, d.disk().Rename(temp, name))
}

// ReadSnapshot returns the snapshot of d if it is whole and was made of the
// journal with that id by the fold with that digest, else ErrNoSnapshot. A
// snapshot that the journal contradicts is a *CorruptError.
func (d Dir) ReadSnapshot(journalID, digest string) (Snapshot, error) {
	name := filepath.Join(d.Path, SnapshotFile)
	b, err := readAll(d.disk(), name, maxSnapshot)
	if err != nil {
		return Snapshot{}, fmt.Errorf("%w: %w", ErrNoSnapshot, wrap("read", name, err))
	}
	s, ok := parseSnapshot(b)
	if !ok || s.Format != formatVersion || s.JournalID != journalID || s.Digest != digest {
		return Snapshot{}, ErrNoSnapshot
	}
	_, err = d.confirm(s)
	return s, err
}

func parseSnapshot(b []byte) (Snapshot, bool) {
	var s Snapshot
	n := len(b) - tailLen - 1
	if n < 0 || string(b[n:n+len(pieceCRC)]) != pieceCRC || !hexEquals(b[n+len(pieceCRC):][:crcLen], crc(b[:n])) {
		return s, false
	}
	return s, json.Unmarshal(b, &s) == nil
}

// confirm checks that the journal has the snapshot's record in its place, and
// returns the state of the chain there.
func (d Dir) confirm(s Snapshot) (c chain, err error) {
	bad := &CorruptError{
		Path: d.path(), Seq: s.Seq, Offset: s.LineOffset, Length: s.Offset - s.LineOffset,
		Rule: RuleAnchor, Reason: "the journal does not have the record that " + SnapshotFile + " names",
	}
	if s.LineOffset < 0 || s.Offset <= s.LineOffset || s.Offset-s.LineOffset > MaxRecord {
		return c, bad
	}
	f, err := d.disk().OpenFile(d.path(), os.O_RDONLY, 0)
	if err != nil {
		return c, wrap("read", d.path(), notFound(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line := make([]byte, s.Offset-s.LineOffset)
	if n, _ := f.ReadAt(line, s.LineOffset); n < len(line) || line[n-1] != '\n' {
		return c, bad
	}
	line = line[:len(line)-1]
	e, rule := parseLine(line)
	if rule != RuleNone || e.seq != s.Seq || !(Head{Link: s.Head}).names(line) {
		return c, bad
	}
	c.hash = true
	c.advance(e, line)
	return c, nil
}

// ReadSince is Read for the records after a snapshot, without a look at those
// before it.
func (d Dir) ReadSince(s Snapshot) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		c, err := d.confirm(s)
		if err != nil {
			yield(Record{}, err)
			return
		}
		d.walk(walkOptions{after: s.Seq, end: -1, verify: true, start: s.Offset, chain: c}, yield)
	}
}
