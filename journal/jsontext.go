package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Compact returns src, one JSON object, in the form that Draft.Data wants:
// without space between tokens. Member order, numbers and escapes stay as
// they are. It is for JSON from outside, such as a pretty-printed body.
func Compact(src []byte) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, src); err != nil {
		return nil, fmt.Errorf("compact payload: %w", err)
	}
	if reason := checkObject(b.Bytes()); reason != "" {
		return nil, fmt.Errorf("compact payload: %s", reason)
	}
	return b.Bytes(), nil
}

// checkObject says what keeps data from being a payload: one JSON object,
// compact, in valid UTF-8, nested at most MaxDepth deep, without raw control
// bytes. An empty answer means nothing does.
func checkObject(data []byte) string {
	if len(data) == 0 || data[0] != '{' {
		return "the payload is not a JSON object"
	}
	c := jsonCheck{data: data}
	if reason := c.run(); reason != "" {
		return fmt.Sprintf("the payload is not compact JSON: %s at byte %d", reason, c.at)
	}
	if !utf8.Valid(data) {
		return "the payload is not valid UTF-8"
	}
	return ""
}

// jsonCheck walks a compact JSON text without recursion: one bit per open
// level says whether it is an object, which is why MaxDepth is 64.
type jsonCheck struct {
	data  []byte
	at    int
	depth int
	kinds uint64 // bit n is 1 if level n is an object
}

// run reads the object that data starts with and expects nothing after it.
func (c *jsonCheck) run() string {
	for {
		opened, reason := c.value()
		if reason != "" {
			return reason
		}
		if opened {
			continue
		}
		if reason := c.closeAll(); reason != "" {
			return reason
		}
		if c.depth == 0 {
			break
		}
	}
	if c.at != len(c.data) {
		return "something follows the object"
	}
	return ""
}

// value reads a scalar or an empty container, or opens a container and stops
// where its first value stands.
func (c *jsonCheck) value() (opened bool, reason string) {
	switch b := c.peek(); {
	case b == '{' || b == '[':
		return c.open(b)
	case b == '"':
		return false, c.str()
	case b == '-' || b-'0' <= 9:
		return false, c.number()
	default:
		return false, c.word()
	}
}

func (c *jsonCheck) open(b byte) (opened bool, reason string) {
	if c.depth == MaxDepth {
		return false, "deeper nesting than 64"
	}
	c.at++
	object := b == '{'
	end := byte(']')
	c.kinds &^= 1 << c.depth
	if object {
		end = '}'
		c.kinds |= 1 << c.depth
	}
	c.depth++
	if c.peek() == end {
		c.at++
		c.depth--
		return false, ""
	}
	if object {
		return true, c.key()
	}
	return true, ""
}

// closeAll closes what ends after a value, and steps over a comma to where
// the next value stands.
func (c *jsonCheck) closeAll() string {
	for c.depth > 0 {
		object := c.kinds>>(c.depth-1)&1 == 1
		b := c.peek()
		switch {
		case b == ',' && object:
			c.at++
			return c.key()
		case b == ',':
			c.at++
			return ""
		case b == '}' && object, b == ']' && !object:
			c.at++
			c.depth--
		default:
			return "a missing comma or bracket, or white space"
		}
	}
	return ""
}

// key reads a member's name and its colon.
func (c *jsonCheck) key() string {
	if c.peek() != '"' {
		return "no member name"
	}
	if reason := c.str(); reason != "" {
		return reason
	}
	if c.peek() != ':' {
		return "no colon"
	}
	c.at++
	return ""
}

func (c *jsonCheck) str() string {
	c.at++
	for c.at < len(c.data) {
		switch b := c.data[c.at]; {
		case b == '"':
			c.at++
			return ""
		case b == '\\':
			if !c.escape() {
				return "a bad escape"
			}
		case b < 0x20:
			return "a raw control byte"
		default:
			c.at++
		}
	}
	return "an open string"
}

func (c *jsonCheck) escape() bool {
	c.at++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return true
	case 'u':
		c.at++
		for range 4 {
			b := c.peek()
			if b-'0' > 9 && (b|0x20)-'a' > 5 {
				return false
			}
			c.at++
		}
		return true
	}
	return false
}

func (c *jsonCheck) number() string {
	if c.peek() == '-' {
		c.at++
	}
	if c.peek() == '0' {
		c.at++
	} else if !c.digits() {
		return "a bad number"
	}
	if c.peek() == '.' {
		c.at++
		if !c.digits() {
			return "a bad number"
		}
	}
	if c.peek()|0x20 == 'e' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		if !c.digits() {
			return "a bad number"
		}
	}
	return ""
}

func (c *jsonCheck) digits() bool {
	start := c.at
	for c.peek()-'0' <= 9 {
		c.at++
	}
	return c.at > start
}

func (c *jsonCheck) word() string {
	for _, w := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(c.data[c.at:], []byte(w)) {
			c.at += len(w)
			return ""
		}
	}
	return "no value"
}

// peek returns the byte at hand, or a NUL past the end, which fits nowhere.
func (c *jsonCheck) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}
