package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"time"
)

// Verdict says what stands after the last good record of a journal.
type Verdict string

// The four verdicts.
const (
	// Clean: nothing.
	Clean Verdict = "clean"
	// NoNewline: one good record that lacks only its newline, with nothing or
	// nothing but NUL after it.
	NoNewline Verdict = "no_newline"
	// Torn: what a crash leaves of a commit that was never acknowledged.
	Torn Verdict = "torn"
	// Damaged: bytes that no crash explains. A person has to decide.
	Damaged Verdict = "damaged"
)

// Result is what Recover finds.
type Result struct {
	Verdict Verdict
	Head    Head      // the last good record; zero if there is none
	Gen     uint64    // its attach generation
	Time    time.Time // its time
	Good    int64     // bytes of the good records, the last newline included if it is there
	Size    int64     // bytes that were looked at
	Commit  int64     // where the commit of the last good record starts
	Rule    Rule      // for Damaged, the rule that fired
	Reason  string    // the same in words
	// Err is a failure to read; the other fields then mean nothing.
	Err error

	state chain
}

// Recover judges the first size bytes of r. It looks at nothing else, changes
// nothing, and takes time linear in size and memory bounded by MaxRecord.
//
// The good prefix ends before the first line that is not the next record. What
// follows is Clean, NoNewline or Torn only if a crash of the writer can have
// left it; above all never if a record in it proves, by its place in a later
// commit, that what is missing had been durable.
func Recover(r io.ReaderAt, size int64) Result {
	return recoverWith(r, size, nil)
}

// recoverWith is Recover with a look at each good record and its stored line.
func recoverWith(r io.ReaderAt, size int64, visit func(e entry, line []byte)) Result {
	res := Result{Size: size, state: chain{hash: true}}
	l := lines{r: r, end: size}
	var broken Rule
	for broken == RuleNone {
		line, ending, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			res.Verdict = Clean
			return res.finish()
		case errors.Is(err, errTooLong):
			broken = RuleLength
			continue
		case err != nil:
			return Result{Err: err}
		}
		if len(ending) == 0 {
			// The newline alone may be a NUL, if a repair that put it back
			// was cut off. The record in front of it can be acknowledged.
			line = bytes.TrimRight(line, "\x00")
		}
		var e entry
		if e, broken = res.state.step(line); broken != RuleNone {
			continue
		}
		if e.pos == 0 {
			res.Commit = res.Good
		}
		res.Good += int64(len(line) + len(ending))
		if visit != nil {
			visit(e, line)
		}
		if len(ending) == 0 {
			res.Verdict = NoNewline
			return res.finish()
		}
	}
	b := bad{r: r, from: res.Good, to: size, state: res.state}
	res.Verdict, res.Rule, res.Err = b.judge(broken)
	res.Reason = res.Rule.words()
	return res.finish()
}

// finish fills what is derived from the state of the chain.
func (r Result) finish() Result {
	if r.state.seq > 0 {
		r.Head = Head{Seq: r.state.seq, Link: hex.EncodeToString(r.state.link[:])}
		r.Gen = r.state.gen
		r.Time, _ = parseStamp(r.state.stamp[:]) // was parsed before
	}
	return r
}

// corrupt is the result as an error, or nil unless it is Damaged.
func (r Result) corrupt(path string) error {
	if r.Verdict != Damaged {
		return nil
	}
	return &CorruptError{
		Path: path, Seq: r.Head.Seq + 1, Offset: r.Good, Length: r.Size - r.Good,
		Rule: r.Rule, Reason: r.Reason,
	}
}

// bad is what follows the good prefix.
type bad struct {
	r        io.ReaderAt
	from, to int64
	state    chain // of the last good record
	newlines int
}

// judge tells a torn commit from damage. broken is the rule that ended the
// good prefix.
func (b *bad) judge(broken Rule) (Verdict, Rule, error) {
	rule, err := b.evidence()
	if err != nil {
		return "", RuleNone, err
	}
	if rule != RuleNone {
		return Damaged, rule, nil
	}
	if b.newlines == 0 && b.to-b.from <= MaxRecord {
		return Torn, RuleNone, nil
	}
	lost, err := lostSector(b.r, b.from, b.to)
	if err != nil {
		return "", RuleNone, err
	}
	if lost {
		return Torn, RuleNone, nil
	}
	return Damaged, broken, nil
}

// evidence looks for records that could not be there after a mere crash. It
// splits at NUL too, since records hold none and lost sectors consist of it.
func (b *bad) evidence() (Rule, error) {
	l := lines{r: b.r, at: b.from, end: b.to, nul: true}
	for {
		l.skipNUL()
		start := l.at
		piece, ending, err := l.next()
		if errors.Is(err, io.EOF) {
			return RuleNone, nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return RuleNone, err
		}
		if rule := b.examine(piece, start); rule != RuleNone {
			return rule, nil
		}
		if err != nil {
			if ending, err = l.skip(); err != nil {
				return RuleNone, err
			}
		}
		if len(ending) > 0 && ending[0] == '\n' {
			b.newlines++
		}
	}
}

// examine looks at one piece between newlines or NULs. A record can only
// start where the piece does: one further in is part of a payload.
func (b *bad) examine(piece []byte, start int64) Rule {
	e, n := recordAt(piece)
	if n == 0 {
		return RuleNone
	}
	last := b.state.seq
	switch {
	case e.seq <= last:
		return RuleSequence
	case e.seq-min(e.seq, uint64(e.pos)) > last+1:
		return RuleProof
	case start != b.from:
		return RuleNone
	}
	// It stands where the next record should: a whole record that does not
	// fit was written by somebody else, one that fits was cut off by nobody.
	if rule := b.state.check(e); rule != RuleNone {
		return rule
	}
	if n < len(piece) {
		return RuleTrailing
	}
	return RuleNone
}

// recordAt reads a record that starts b and may be followed by anything, and
// returns its length, 0 if there is none.
func recordAt(b []byte) (entry, int) {
	_, rest, ok := parseHead(b)
	if !ok {
		return entry{}, 0
	}
	sum, summed := uint32(0), 0
	for at := len(b) - len(rest); ; at += len(pieceCRC) {
		i := bytes.Index(b[at:], []byte(pieceCRC))
		if i < 0 || at+i+tailLen > len(b) {
			return entry{}, 0
		}
		at += i
		sum = crc32.Update(sum, castagnoli(), b[summed:at])
		summed = at
		if !hexEquals(b[at+len(pieceCRC):][:crcLen], sum) {
			continue
		}
		if e, rule := parseLine(b[:at+tailLen]); rule == RuleNone {
			return e, at + tailLen
		}
	}
}

// sectorSize is the unit in which disks lose data.
const sectorSize = 512

// lostSector says whether some sector has a part in [from, to) that is all
// NUL: a sector that was never written.
func lostSector(r io.ReaderAt, from, to int64) (bool, error) {
	buf := make([]byte, min(blockSize, to-from+sectorSize))
	for at := from; at < to; {
		// A read ends on a sector's border, so that no sector is judged in two.
		stop := min(to, (at/sectorSize)*sectorSize+int64(len(buf))/sectorSize*sectorSize)
		n, err := r.ReadAt(buf[:stop-at], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if n == 0 {
			return false, nil
		}
		for part := buf[:n]; len(part) > 0; {
			k := min(int64(len(part)), sectorSize-at%sectorSize)
			if len(bytes.TrimLeft(part[:k], "\x00")) == 0 {
				return true, nil
			}
			part = part[k:]
			at += k
		}
	}
	return false, nil
}
