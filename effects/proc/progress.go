package proc

import (
	"bytes"
	"fmt"
)

// The bounds of progress. They are counted in bytes, not in time, so the same
// output always makes the same progress.
const (
	maxProgressLine = 2 << 10 // a longer line is shown up to here
	freeProgress    = 1 << 20 // a stream that is no longer than this is shown whole
	progressStep    = 1 << 20 // beyond that one line is shown for each so many bytes
)

// teller cuts a stream into lines and shows them.
type teller struct {
	stream Stream
	show   func(Stream, string)
	line   []byte // what came of the current line, at most maxProgressLine bytes
	size   int    // the current line's size so far
	seen   int64  // bytes of the stream so far
	due    int64  // where the next line is shown, beyond freeProgress
	lost   bool   // whether the current line's beginning was not looked at
}

// take shows the lines that p completes.
func (t *teller) take(p []byte) {
	if t.show == nil || t.skip(&p) {
		return
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			t.keep(p)
			return
		}
		t.keep(p[:i])
		t.seen++
		t.flush()
		p = p[i+1:]
	}
}

// skip counts what is not going to be shown without looking for lines in it, and
// reports whether nothing of p is left. A line that was skipped in part is not
// shown either.
func (t *teller) skip(p *[]byte) bool {
	n := len(*p)
	if t.seen > freeProgress && t.seen+int64(n) < t.due {
		t.line, t.size, t.seen = t.line[:0], 0, t.seen+int64(n)
		t.lost = (*p)[n-1] != '\n'
		return true
	}
	if !t.lost {
		return false
	}
	i := bytes.IndexByte(*p, '\n')
	if i < 0 {
		t.seen += int64(n)
		return true
	}
	t.seen += int64(i + 1)
	t.lost = false
	*p = (*p)[i+1:]
	return len(*p) == 0
}

// keep adds to the current line.
func (t *teller) keep(p []byte) {
	t.seen += int64(len(p))
	t.size += len(p)
	if room := maxProgressLine - len(t.line); room > 0 {
		t.line = append(t.line, p[:min(room, len(p))]...)
	}
}

// flush shows the current line, if its turn has come.
func (t *teller) flush() {
	line, size := t.line, t.size
	t.line, t.size = t.line[:0], 0
	if t.seen > freeProgress {
		if t.seen < t.due {
			return
		}
		t.due = t.seen + progressStep
	}
	if size > len(line) {
		line = line[:len(line)-partial(line)]
		t.show(t.stream, fmt.Sprintf("%s… [line of %d bytes]", valid(line), size))
		return
	}
	t.show(t.stream, valid(bytes.TrimSuffix(line, []byte("\r"))))
}

// end shows what came after the last line break.
func (t *teller) end() {
	if t.show != nil && t.size > 0 {
		t.flush()
	}
}
