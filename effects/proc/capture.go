package proc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Capture is what one stream of a command came to.
type Capture struct {
	Text  string // valid UTF-8; with a line that says so where something was left out
	Bytes int64  // how many bytes the command wrote
	Cut   bool   // whether Text lacks some of them
}

// keeper keeps the head and the tail of a stream. It has no method by which
// anything but Write could fill it.
type keeper struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring's oldest byte is
	half  int    // the size of either
	total int64
}

// newKeeper keeps at most limit bytes.
func newKeeper(limit int) *keeper { return &keeper{half: max(limit/2, 1)} }

// Write takes everything and keeps what there is room for.
func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	k.total += int64(n)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head = append(k.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > k.half {
		p = p[len(p)-k.half:]
	}
	if room := k.half - len(k.tail); room > 0 {
		take := min(room, len(p))
		k.tail = append(k.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		copied := copy(k.tail[k.next:], p)
		k.next = (k.next + copied) % k.half
		p = p[copied:]
	}
	return n, nil
}

// capture is what was kept, as text.
func (k *keeper) capture() Capture {
	tail := append(bytes.Clone(k.tail[k.next:]), k.tail[:k.next]...)
	c := Capture{Bytes: k.total}
	if k.total <= int64(len(k.head)+len(tail)) {
		c.Text = valid(append(bytes.Clone(k.head), tail...))
		return c
	}
	c.Cut = true
	head := wholeLines(k.head)
	tail = tail[startOf(tail):]
	left := k.total - int64(len(head)+len(tail))
	c.Text = fmt.Sprintf("%s\n[truncated: %d of %d bytes left out here]\n%s", strings.TrimSuffix(valid(head), "\n"), left, k.total, valid(tail))
	return c
}

// maxLost is how many bytes a cut may give up to fall on the end of a line.
const maxLost = 4 << 10

// wholeLines cuts text after its last line break if that is near its end, else
// after its last whole character.
func wholeLines(text []byte) []byte {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 && len(text)-i < maxLost {
		return text[:i+1]
	}
	return text[:len(text)-partial(text)]
}

// partial is how many bytes at the end of text begin a character that is not
// whole.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		c := text[len(text)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// startOf is where text may begin: after its first line break if that is near,
// else at its first whole character.
func startOf(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 && i < maxLost {
		return i + 1
	}
	for i := range min(utf8.UTFMax, len(text)) {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return 0
}

// valid is text with the replacement character for what is not UTF-8.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }
