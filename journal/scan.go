package journal

import (
	"bytes"
	"errors"
	"io"
)

// Rule names what a damaged journal breaks.
type Rule string

// The rules, from the shape of one line to what only an outsider knows.
const (
	RuleNone       Rule = ""
	RuleShape      Rule = "shape"      // the line is not what the writer writes
	RuleLength     Rule = "length"     // the line is longer than MaxRecord
	RuleChecksum   Rule = "checksum"   // the line's CRC-32C is wrong
	RuleFirst      Rule = "first"      // the journal does not begin with journal.created
	RuleSequence   Rule = "sequence"   // the number is not the next one
	RuleLink       Rule = "link"       // prev is not the hash of the line before
	RuleGeneration Rule = "generation" // the generation fell, or rose by more than one
	RulePosition   Rule = "position"   // pos neither starts nor continues a commit
	RuleTime       Rule = "time"       // the time is before the previous record's
	RuleProof      Rule = "proof"      // a later record proves that this one had been durable
	RuleTrailing   Rule = "trailing"   // a good record is followed by something else than its newline
	RuleEmpty      Rule = "empty"      // there is no record at all
	RuleAnchor     Rule = "anchor"     // a head known from elsewhere is not in the journal
	RulePayload    Rule = "payload"    // the payload is not a compact JSON object
	RuleBlob       Rule = "blob"       // a payload in blobs/ is missing or wrong
)

// words says what a rule means to somebody who has the file before him.
func (r Rule) words() string {
	switch r {
	case RuleNone:
	case RuleShape:
		return "the line is not a record of a journal"
	case RuleLength:
		return "the line is longer than 32 MiB"
	case RuleChecksum:
		return "the checksum does not fit the bytes"
	case RuleFirst:
		return "the first record is not journal.created"
	case RuleSequence:
		return "the record has another number: two writers, or lines moved"
	case RuleLink:
		return "the record does not follow the line before it"
	case RuleGeneration:
		return "the attach generation jumps: two writers"
	case RulePosition:
		return "the record does not belong to this commit"
	case RuleTime:
		return "the time runs backwards"
	case RuleProof:
		return "later records prove that intact data stood here"
	case RuleTrailing:
		return "a good record is followed by foreign bytes"
	case RuleEmpty:
		return "there is no record"
	case RuleAnchor:
		return "a head that was recorded elsewhere is not in the journal"
	case RulePayload:
		return "the payload is not a compact JSON object"
	case RuleBlob:
		return "the stored payload does not match its digest"
	}
	return string(r)
}

// errTooLong ends a walk over lines at one that exceeds MaxRecord.
var errTooLong = errors.New("line too long")

// blockSize is how much a reader asks for at once.
const blockSize = 256 << 10

// lines walks the lines of a file up to an offset. A line is borrowed until
// the next step. The buffer grows to the longest line and no further than
// MaxRecord.
type lines struct {
	r   io.ReaderAt
	at  int64 // offset of the next line
	end int64 // where to stop reading
	nul bool  // a NUL ends a line as well as a newline does
	buf []byte
	lo  int // the next line starts here in buf
	hi  int // what has been read ends here
}

// next returns a line without what ended it, and the ending itself: a newline
// or NUL as one byte, or nothing at the end of the file. io.EOF says that no
// byte is left.
func (l *lines) next() (line []byte, ending []byte, err error) {
	seen := 0
	for {
		window := l.buf[l.lo:l.hi]
		if i := l.find(window[seen:]); i >= 0 {
			n := seen + i
			l.lo += n + 1
			l.at += int64(n) + 1
			return window[:n], window[n : n+1], nil
		}
		seen = len(window)
		if seen >= MaxRecord {
			return window, nil, errTooLong
		}
		n, err := l.fill()
		if err != nil {
			return nil, nil, err
		}
		if n > 0 {
			continue
		}
		if seen == 0 {
			return nil, nil, io.EOF
		}
		line := l.buf[l.lo:l.hi]
		l.lo = l.hi
		l.at += int64(len(line))
		return line, nil, nil
	}
}

func (l *lines) find(b []byte) int {
	if !l.nul {
		return bytes.IndexByte(b, '\n')
	}
	for i, c := range b {
		if c == '\n' || c == 0 {
			return i
		}
	}
	return -1
}

// skip leaves a line that next found too long, and returns its ending.
func (l *lines) skip() (ending []byte, err error) {
	for {
		l.at += int64(l.hi - l.lo)
		l.lo = l.hi
		n, err := l.fill()
		if err != nil || n == 0 {
			return nil, err
		}
		if i := l.find(l.buf[l.lo:l.hi]); i >= 0 {
			l.lo += i + 1
			l.at += int64(i) + 1
			return l.buf[l.lo-1 : l.lo], nil
		}
	}
}

// skipNUL leaves the NULs that are at hand.
func (l *lines) skipNUL() {
	n := l.hi - l.lo - len(bytes.TrimLeft(l.buf[l.lo:l.hi], "\x00"))
	l.lo += n
	l.at += int64(n)
}

// fill makes room and reads on. It returns 0 at the end.
func (l *lines) fill() (int, error) {
	if l.lo > 0 {
		copy(l.buf, l.buf[l.lo:l.hi])
		l.lo, l.hi = 0, l.hi-l.lo
	}
	if l.hi == len(l.buf) {
		size := min(max(2*len(l.buf), blockSize), MaxRecord)
		if left := l.end - l.at; left < int64(size) {
			size = max(int(left), l.hi)
		}
		grown := make([]byte, size)
		copy(grown, l.buf[:l.hi])
		l.buf = grown
	}
	pos := l.at + int64(l.hi)
	room := min(int64(len(l.buf)-l.hi), l.end-pos)
	if room <= 0 {
		return 0, nil
	}
	n, err := l.r.ReadAt(l.buf[l.hi:l.hi+int(room)], pos)
	l.hi += n
	if n > 0 || errors.Is(err, io.EOF) {
		return n, nil
	}
	return 0, err
}

// chain is the state that a next record has to fit.
type chain struct {
	seq, gen uint64
	pos      int
	link     [linkSize]byte
	stamp    [timeLen]byte
	length   int64 // bytes of the last line, newline included
	hash     bool  // compute and compare links
}

// check says which rule e breaks as the next record.
func (c *chain) check(e entry) Rule {
	switch {
	case c.seq == 0 && (e.seq != 1 || string(e.kind) != TypeCreated):
		return RuleFirst
	case e.seq != c.seq+1:
		return RuleSequence
	case c.hash && e.prev != c.link:
		return RuleLink
	case e.gen != c.gen && e.gen != c.gen+1:
		return RuleGeneration
	case e.pos != 0 && (c.seq == 0 || e.pos != c.pos+1):
		return RulePosition
	case c.seq > 0 && string(e.stamp) < string(c.stamp[:]):
		return RuleTime
	}
	return RuleNone
}

// advance makes e, whose stored bytes are line, the last record.
func (c *chain) advance(e entry, line []byte) {
	c.seq, c.gen, c.pos = e.seq, e.gen, e.pos
	copy(c.stamp[:], e.stamp)
	c.length = int64(len(line)) + 1
	if c.hash {
		c.link = linkOf(line)
	}
}

// step parses a line and takes it as the next record if it is one.
func (c *chain) step(line []byte) (entry, Rule) {
	e, rule := parseLine(line)
	if rule == RuleNone {
		rule = c.check(e)
	}
	if rule == RuleNone {
		c.advance(e, line)
	}
	return e, rule
}
