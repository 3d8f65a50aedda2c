package provider

import (
	"bytes"
	"errors"
	"io"
)

// DefaultFrameLimit is how long one event of a stream may be, in bytes, where
// [SSEOptions] doesn't say. Whole files and encrypted results travel in one
// line, so it is a defence and no expectation.
const DefaultFrameLimit = 64 << 20

// ErrFrameTooLong is returned for an event longer than the limit.
var ErrFrameTooLong = errors.New("an event of the stream is longer than the limit")

// Frame is one event of a text/event-stream that has data.
type Frame struct {
	Event string // of the event line; "" if there was none
	Data  []byte // the data lines joined by LF; valid until the next call of Next
	Tail  bool   // the stream ended without the blank line that closes the event
}

// SSEOptions change how a stream is read. The zero value is the default.
type SSEOptions struct {
	Limit   int    // bytes of one event or line; 0 is DefaultFrameLimit
	Comment func() // called for each comment line, a sign of life without an event
}

// SSE reads a text/event-stream (WHATWG HTML, section 9.2.5): lines end with
// LF, CRLF or CR, a leading byte order mark is dropped, unknown fields are
// ignored. Unlike a browser it also offers an event that the end of the stream
// left without its blank line. Memory is bounded by the limit.
type SSE struct {
	r       io.Reader
	opts    SSEOptions
	buf     []byte // bytes read; buf[:start] are consumed
	start   int
	scanned int // buf[start:scanned] holds no line end
	err     error
	skipLF  bool // the last line ended with CR: an LF belongs to it
	begun   bool // the byte order mark has been looked for
	event   string
	data    []byte
	hasData bool
}

// NewSSE reads events from r.
func NewSSE(r io.Reader, opts SSEOptions) *SSE {
	if opts.Limit <= 0 {
		opts.Limit = DefaultFrameLimit
	}
	if opts.Comment == nil {
		opts.Comment = func() {}
	}
	return &SSE{r: r, opts: opts}
}

// Next returns the next event as soon as the line that closes it is there. At
// the end of the stream it returns io.EOF; other errors are the reader's, or
// [ErrFrameTooLong].
func (s *SSE) Next() (Frame, error) {
	s.data, s.hasData, s.event = s.data[:0], false, ""
	for {
		line, err := s.line()
		if err != nil {
			return s.last(line, err)
		}
		if len(line) > 0 {
			if err := s.field(line); err != nil {
				return Frame{}, err
			}
			continue
		}
		if s.hasData {
			return Frame{Event: s.event, Data: s.data}, nil
		}
		s.event = ""
	}
}

// last offers what the end of the stream left open.
func (s *SSE) last(rest []byte, err error) (Frame, error) {
	if err != io.EOF { //nolint:errorlint // readers return it bare
		return Frame{}, err
	}
	if len(rest) > 0 {
		if err := s.field(rest); err != nil {
			return Frame{}, err
		}
	}
	if !s.hasData {
		return Frame{}, io.EOF
	}
	return Frame{Event: s.event, Data: s.data, Tail: true}, nil
}

// field takes one line that is not empty.
func (s *SSE) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(name) == 0:
		s.opts.Comment()
	case string(name) == "data":
		if len(s.data)+len(value) > s.opts.Limit {
			return ErrFrameTooLong
		}
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.data, s.hasData = append(s.data, value...), true
	case string(name) == "event":
		s.event = string(value)
	}
	return nil
}

// line returns the next line without its end, valid until the next call. With
// an error comes what stood before it.
func (s *SSE) line() ([]byte, error) {
	for {
		if line, ok := s.cut(); ok {
			return line, nil
		}
		if s.err != nil {
			rest := s.buf[s.start:]
			s.start = len(s.buf)
			s.scanned = s.start
			return rest, s.err
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// cut takes a line off the buffer, if a whole one is there.
func (s *SSE) cut() ([]byte, bool) {
	if !s.ready() {
		return nil, false
	}
	rest := s.buf[s.scanned:]
	end := bytes.IndexByte(rest, '\n')
	if end >= 0 {
		rest = rest[:end]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		end = cr
	}
	if end < 0 {
		s.scanned = len(s.buf)
		return nil, false
	}
	at := s.scanned + end
	line := s.buf[s.start:at]
	s.skipLF = s.buf[at] == '\r'
	s.start = at + 1
	s.scanned = s.start
	return line, true
}

// ready passes what doesn't belong to a line: the byte order mark and the LF
// of a CRLF. It reports whether anything is left to look at.
func (s *SSE) ready() bool {
	if !s.begun {
		const mark = "\xEF\xBB\xBF"
		if len(s.buf) < len(mark) && s.err == nil {
			if string(s.buf) == mark[:len(s.buf)] {
				return false
			}
		}
		s.begun = true
		if bytes.HasPrefix(s.buf, []byte(mark)) {
			s.start = len(mark)
			s.scanned = s.start
		}
	}
	if s.skipLF && s.start < len(s.buf) {
		if s.buf[s.start] == '\n' {
			s.start++
			s.scanned = s.start
		}
		s.skipLF = false
	}
	return s.start < len(s.buf)
}

// fill reads more, moving what is left to the front first.
func (s *SSE) fill() error {
	if len(s.buf)-s.start > s.opts.Limit {
		return ErrFrameTooLong
	}
	if s.start == len(s.buf) {
		s.buf = s.buf[:0]
		s.start, s.scanned = 0, 0
	}
	if cap(s.buf)-len(s.buf) < 4096 {
		left := s.buf[s.start:]
		grown := s.buf[:0]
		if len(left) > cap(s.buf)/2 || cap(s.buf) < 16<<10 {
			grown = make([]byte, 0, max(16<<10, 2*cap(s.buf)))
		}
		s.buf = append(grown, left...)
		s.scanned -= s.start
		s.start = 0
	}
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	s.err = err
	return nil
}
