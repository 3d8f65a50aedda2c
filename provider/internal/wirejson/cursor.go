package wirejson

import (
	"fmt"
	"strconv"
)

// maxDepth is how deep values may nest; deeper input is an error.
const maxDepth = 1000

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	Offset int    // bytes before the fault
	Reason string // what was expected or found
	Short  bool   // the document only lacks its end
}

// Error gives the reason and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Kind says what a value is, by the byte it begins with.
type Kind byte

// The kinds of values. None is the end of the input or a fault.
const (
	None   Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// Cursor stands in front of a value of a document. The first fault sticks:
// after it every method returns a zero value, and Err says what it was.
type Cursor struct {
	data  []byte
	pos   int
	depth int
	err   *SyntaxError
	buf   []byte // text of the last string that had escapes
}

// NewCursor stands in front of the document in data, which it does not change.
func NewCursor(data []byte) Cursor { return Cursor{data: data} }

// Err is the first fault, or nil.
func (c *Cursor) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// End checks that nothing but space follows and returns the first fault.
func (c *Cursor) End() error {
	c.space()
	if c.err == nil && c.pos < len(c.data) {
		c.fail("text after the end of the document")
	}
	return c.Err()
}

// Kind looks at the value in front without passing it.
func (c *Cursor) Kind() Kind {
	c.space()
	if c.err != nil || c.pos >= len(c.data) {
		return None
	}
	switch b := c.data[c.pos]; b {
	case '{', '[', '"', 't', 'f', 'n':
		return Kind(b)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	}
	return None
}

// Object calls member for each member of the object in front, with the cursor
// before its value; a value that member leaves alone is passed over. The key
// is valid only until the next call. A value that is no object is passed over
// and reported as false.
func (c *Cursor) Object(member func(key []byte)) bool {
	if c.Kind() != Object {
		c.Skip()
		return false
	}
	c.open()
	for first := true; c.err == nil && !c.closes('}', first); first = false {
		key := c.text()
		if c.space(); !c.take(':') {
			c.fail("expected a colon")
			break
		}
		c.space()
		at := c.pos
		if member(key); c.pos == at {
			c.Skip()
		}
	}
	return c.err == nil
}

// Array calls element for each element of the array in front, with the cursor
// before it; an element that is left alone is passed over. A value that is no
// array is passed over and reported as false.
func (c *Cursor) Array(element func()) bool {
	if c.Kind() != Array {
		c.Skip()
		return false
	}
	c.open()
	for first := true; c.err == nil && !c.closes(']', first); first = false {
		at := c.pos
		if element(); c.pos == at {
			c.Skip()
		}
	}
	return c.err == nil
}

// Text passes the string in front and returns its text, valid until the next
// call; ok is false if the value is something else, which is passed over.
func (c *Cursor) Text() (text []byte, ok bool) {
	if c.Kind() != String {
		c.Skip()
		return nil, false
	}
	text = c.text()
	return text, c.err == nil
}

// String is Text as a string of its own; anything but a string reads as "".
func (c *Cursor) String() string {
	text, _ := c.Text()
	return string(text)
}

// Int passes the value in front and returns it if it is a number that fits,
// with any fraction cut off.
func (c *Cursor) Int() (n int64, ok bool) {
	isNumber := c.Kind() == Number
	raw := c.Raw()
	if !isNumber || c.err != nil {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < -1<<62 || f > 1<<62 {
		return 0, false
	}
	return int64(f), true
}

// Raw passes the value in front and returns its bytes, a slice of the input.
func (c *Cursor) Raw() []byte {
	c.space()
	at := c.pos
	if c.Skip(); c.err != nil {
		return nil
	}
	return c.data[at:c.pos]
}

// Skip passes the value in front.
func (c *Cursor) Skip() {
	switch c.Kind() {
	case Object:
		c.Object(func([]byte) {})
	case Array:
		c.Array(func() {})
	case String:
		c.scanString()
	case Number:
		c.number()
	case True:
		c.word("true")
	case False:
		c.word("false")
	case Null:
		c.word("null")
	case None:
		c.fail("expected a value")
	}
}

// open passes the bracket in front and counts the depth.
func (c *Cursor) open() {
	c.pos++
	if c.depth++; c.depth > maxDepth {
		c.fail("nested too deeply")
	}
}

// closes passes the separator between elements, and reports whether the
// closing bracket came instead.
func (c *Cursor) closes(bracket byte, first bool) bool {
	c.space()
	if c.take(bracket) {
		c.depth--
		return true
	}
	if first {
		return false
	}
	if !c.take(',') {
		c.fail("expected a comma or " + strconv.QuoteRune(rune(bracket)))
		return true
	}
	c.space()
	return false
}

func (c *Cursor) take(b byte) bool {
	if c.err != nil || c.pos >= len(c.data) || c.data[c.pos] != b {
		return false
	}
	c.pos++
	return true
}

func (c *Cursor) space() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

func (c *Cursor) word(w string) {
	if len(c.data)-c.pos >= len(w) && string(c.data[c.pos:c.pos+len(w)]) == w {
		c.pos += len(w)
		return
	}
	rest := c.data[c.pos:]
	if len(rest) < len(w) && string(rest) == w[:len(rest)] {
		c.pos = len(c.data)
	}
	c.fail("expected " + w)
}

func (c *Cursor) number() {
	c.take('-')
	if !c.take('0') && !c.digits() {
		c.fail("expected a digit")
	}
	if c.take('.') && !c.digits() {
		c.fail("expected a digit after the point")
	}
	if c.take('e') || c.take('E') {
		if !c.take('+') {
			c.take('-')
		}
		if !c.digits() {
			c.fail("expected a digit in the exponent")
		}
	}
}

func (c *Cursor) digits() bool {
	at := c.pos
	for c.pos < len(c.data) && c.data[c.pos] >= '0' && c.data[c.pos] <= '9' {
		c.pos++
	}
	return c.pos > at
}

func (c *Cursor) fail(reason string) {
	if c.err == nil {
		c.err = &SyntaxError{Offset: c.pos, Reason: reason, Short: c.pos >= len(c.data)}
	}
}

// Valid reports whether data is one JSON document.
func Valid(data []byte) bool {
	c := NewCursor(data)
	c.Skip()
	return c.End() == nil
}

// IsObject reports whether data is one JSON document that is an object.
func IsObject(data []byte) bool {
	c := NewCursor(data)
	return c.Kind() == Object && Valid(data)
}
