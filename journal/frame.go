package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"time"
)

// A line is written by appendLine and read by parseLine, by hand and to the
// byte: {"seq":S,"type":"T","v":1,"ts":"Z","gen":G,"pos":P,"prev":"H","data":D,"crc":"C"}.

// Fixed pieces of a line.
const (
	pieceSeq  = `{"seq":`
	pieceType = `,"type":"`
	pieceTime = `","v":1,"ts":"`
	pieceGen  = `","gen":`
	piecePos  = `,"pos":`
	piecePrev = `,"prev":"`
	pieceData = `","data":`
	pieceCRC  = `,"crc":"`
	pieceEnd  = `"}`

	timeLen = len("2006-01-02T15:04:05.000Z")
	crcLen  = 8
	// tailLen is what follows the payload: checksum and closing brace.
	tailLen = len(pieceCRC) + crcLen + len(pieceEnd)
	// maxFrame bounds what a line adds to its type and payload.
	maxFrame = 256
)

// castagnoli returns the CRC-32C table. The standard library makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// entry is a parsed line. Its slices point into the line.
type entry struct {
	seq, gen uint64
	pos      int
	kind     []byte
	stamp    []byte // the time as written
	prev     [linkSize]byte
	data     []byte
}

// appendLine appends the line of e, newline included.
func appendLine(b []byte, e entry) []byte {
	start := len(b)
	b = append(b, pieceSeq...)
	b = strconv.AppendUint(b, e.seq, 10)
	b = append(b, pieceType...)
	b = append(b, e.kind...)
	b = append(b, pieceTime...)
	b = append(b, e.stamp...)
	b = append(b, pieceGen...)
	b = strconv.AppendUint(b, e.gen, 10)
	b = append(b, piecePos...)
	b = strconv.AppendInt(b, int64(e.pos), 10)
	b = append(b, piecePrev...)
	b = hex.AppendEncode(b, e.prev[:])
	b = append(b, pieceData...)
	b = append(b, e.data...)
	sum := crc(b[start:])
	b = append(b, pieceCRC...)
	b = appendCRC(b, sum)
	return append(b, pieceEnd+"\n"...)
}

func crc(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

func appendCRC(b []byte, sum uint32) []byte {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], sum)
	return hex.AppendEncode(b, raw[:])
}

// parseLine reads a line without its newline. It accepts exactly what
// appendLine writes, and answers RuleNone or the rule that the line breaks.
func parseLine(line []byte) (entry, Rule) {
	e, rest, ok := parseHead(line)
	if !ok || len(rest) < tailLen+len("{}") {
		return entry{}, RuleShape
	}
	e.data = rest[:len(rest)-tailLen]
	tail := rest[len(rest)-tailLen:]
	if e.data[0] != '{' || e.data[len(e.data)-1] != '}' ||
		string(tail[:len(pieceCRC)]) != pieceCRC || string(tail[tailLen-len(pieceEnd):]) != pieceEnd {
		return entry{}, RuleShape
	}
	sum := crc(line[:len(line)-tailLen])
	if !hexEquals(tail[len(pieceCRC):len(pieceCRC)+crcLen], sum) {
		return entry{}, RuleChecksum
	}
	if hasControl(e.data) { // all else has been compared byte by byte
		return entry{}, RuleShape
	}
	return e, RuleNone
}

// parseHead reads everything before the payload and returns the rest.
func parseHead(line []byte) (e entry, rest []byte, ok bool) {
	c := cursor{rest: line, ok: true}
	c.literal(pieceSeq)
	e.seq = c.number()
	c.literal(pieceType)
	e.kind = c.typeName()
	c.literal(pieceTime)
	e.stamp = c.take(timeLen)
	c.literal(pieceGen)
	e.gen = c.number()
	c.literal(piecePos)
	e.pos = int(c.number())
	c.literal(piecePrev)
	c.hash(&e.prev)
	c.literal(pieceData)
	if !c.ok || e.seq == 0 || e.gen == 0 || e.pos < 0 {
		return entry{}, nil, false
	}
	if !validStamp(e.stamp) {
		return entry{}, nil, false
	}
	return e, c.rest, true
}

// cursor walks a line; after the first mismatch it stays failed.
type cursor struct {
	rest []byte
	ok   bool
}

func (c *cursor) take(n int) []byte {
	if !c.ok || len(c.rest) < n {
		c.ok = false
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) literal(s string) {
	if string(c.take(len(s))) != s {
		c.ok = false
	}
}

// number reads a decimal without leading zero, at most 2^63-1.
func (c *cursor) number() uint64 {
	n, i := uint64(0), 0
	for i < len(c.rest) && i < 18 && c.rest[i]-'0' <= 9 {
		n = n*10 + uint64(c.rest[i]-'0')
		i++
	}
	if i == 0 || (i > 1 && c.rest[0] == '0') {
		c.ok = false
		return 0
	}
	c.take(i)
	return n
}

func (c *cursor) typeName() []byte {
	i := bytes.IndexByte(c.rest[:min(len(c.rest), MaxType+1)], '"')
	if i < 0 || !validType(c.rest[:i]) {
		c.ok = false
		return nil
	}
	return c.take(i)
}

func (c *cursor) hash(dst *[linkSize]byte) {
	src := c.take(2 * linkSize)
	if !c.ok {
		return
	}
	bad := byte(0)
	for i := range dst {
		hi, lo := nibbles[src[2*i]], nibbles[src[2*i+1]]
		dst[i] = hi<<4 | lo
		bad |= hi | lo
	}
	c.ok = bad <= 0xf
}

// nibbles maps a lower-case hex digit to its value and all else to 0xff. A
// table, since the digits of a hash are as good as random and a processor
// guesses every branch on them wrong.
const nibbles = "" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\x0a\x0b\x0c\x0d\x0e\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"

// validType says whether s is two to four segments of [a-z][a-z0-9_]* joined
// by dots, in at most MaxType bytes.
func validType[S string | []byte](s S) bool {
	if len(s) > MaxType {
		return false
	}
	segments, first := 1, true
	for i := range len(s) {
		b := s[i]
		switch {
		case b-'a' < 26:
			first = false
		case !first && (b-'0' < 10 || b == '_'):
		case !first && b == '.':
			segments, first = segments+1, true
		default:
			return false
		}
	}
	return !first && segments >= 2 && segments <= 4
}

// appendStamp appends a time in the one form that lines have.
func appendStamp(b []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}

// parseStamp reads what appendStamp wrote.
func parseStamp(b []byte) (time.Time, bool) {
	if !validStamp(b) {
		return time.Time{}, false
	}
	return new(clock).read(b), true
}

// clock reads the times of lines. Most are of the same minute as the one
// before, and a calendar costs more than all else in a line's head.
type clock struct {
	minute [len("2006-01-02T15:04:")]byte
	began  time.Time
}

// read is the time of a stamp that is valid.
func (c *clock) read(stamp []byte) time.Time {
	n := len(c.minute)
	if string(stamp[:n]) != string(c.minute[:]) {
		copy(c.minute[:], stamp)
		c.began = time.Date(year(stamp), time.Month(twoDigits(stamp, 5)), twoDigits(stamp, 8), twoDigits(stamp, 11), twoDigits(stamp, 14), 0, 0, time.UTC)
	}
	ms := twoDigits(stamp, n)*1000 + int(stamp[20]-'0')*100 + twoDigits(stamp, 21)
	return c.began.Add(time.Duration(ms) * time.Millisecond)
}

// validStamp says whether b has the one form of times and is one.
func validStamp(b []byte) bool {
	if len(b) != timeLen || b[4] != '-' || b[7] != '-' || b[10] != 'T' ||
		b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return false
	}
	month, day := twoDigits(b, 5), twoDigits(b, 8)
	return year(b) <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year(b), month) &&
		twoDigits(b, 11) <= 23 && twoDigits(b, 14) <= 59 && twoDigits(b, 17) <= 59 &&
		b[20]-'0' <= 9 && twoDigits(b, 21) <= 99
}

func year(b []byte) int { return twoDigits(b, 0)*100 + twoDigits(b, 2) }

// twoDigits reads two decimal digits; anything else is far too large.
func twoDigits(b []byte, at int) int {
	hi, lo := b[at]-'0', b[at+1]-'0'
	if hi > 9 || lo > 9 {
		return 1 << 20
	}
	return int(hi)*10 + int(lo)
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// hexEquals compares eight lower-case hex digits with a checksum.
func hexEquals(digits []byte, sum uint32) bool {
	const hexDigits = "0123456789abcdef"
	for i := range crcLen {
		if digits[i] != hexDigits[sum>>(28-4*i)&15] {
			return false
		}
	}
	return true
}

// hasControl says whether b holds a byte below 0x20. It looks at eight bytes
// at a time: a byte's high bit is set by the subtraction, and not set in the
// byte itself, if and only if some byte up to it is too small.
func hasControl(b []byte) bool {
	const floor, highs = 0x2020202020202020, 0x8080808080808080
	for len(b) >= 32 {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		z, u := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		if ((x-floor)&^x|(y-floor)&^y|(z-floor)&^z|(u-floor)&^u)&highs != 0 {
			return true
		}
		b = b[32:]
	}
	for _, c := range b {
		if c < 0x20 {
			return true
		}
	}
	return false
}
