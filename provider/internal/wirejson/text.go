package wirejson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// text passes the string in front and returns its text: a slice of the input
// where it has no escapes and is valid UTF-8, else the cursor's own buffer.
func (c *Cursor) text() []byte {
	plain := c.scanString()
	if c.err != nil {
		return nil
	}
	raw := c.data[plain.start:plain.end]
	if plain.ok && (plain.ascii || utf8.Valid(raw)) {
		return raw
	}
	c.buf = unescape(c.buf[:0], raw)
	return c.buf
}

// span is what lies between the quotes of a string.
type span struct {
	start, end int
	ok         bool // no escapes
	ascii      bool
}

// scanString passes the string in front and checks its syntax.
func (c *Cursor) scanString() span {
	s := span{ok: true, ascii: true}
	if !c.take('"') {
		c.fail("expected a string")
		return s
	}
	s.start = c.pos
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; {
		case b == '"':
			s.end = c.pos
			c.pos++
			return s
		case b == '\\':
			s.ok = false
			if !c.escape() {
				return s
			}
		case b < ' ':
			c.fail("control character in a string")
			return s
		default:
			s.ascii = s.ascii && b < utf8.RuneSelf
			c.pos++
		}
	}
	c.fail("string without its end")
	return s
}

// escape passes a backslash and what belongs to it.
func (c *Cursor) escape() bool {
	c.pos++
	if c.pos >= len(c.data) {
		c.fail("string without its end")
		return false
	}
	b := c.data[c.pos]
	c.pos++
	switch b {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if c.pos >= len(c.data) || hex(c.data[c.pos]) < 0 {
				c.fail("expected four hexadecimal digits")
				return false
			}
			c.pos++
		}
		return true
	}
	c.pos--
	c.fail("unknown escape in a string")
	return false
}

// unescape appends the text of raw, whose syntax has been checked.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			if raw[i] < utf8.RuneSelf {
				dst = append(dst, raw[i])
				i++
				continue
			}
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		if raw[i+1] == 'u' {
			r, n := unicodeEscape(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		dst = append(dst, plainEscape(raw[i+1]))
		i += 2
	}
	return dst
}

func plainEscape(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return b
}

// unicodeEscape reads one \u escape, or two that are a surrogate pair. Half a
// pair is U+FFFD.
func unicodeEscape(raw []byte) (r rune, n int) {
	r = hex4(raw[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(raw[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) rune {
	return hex(b[0])<<12 | hex(b[1])<<8 | hex(b[2])<<4 | hex(b[3])
}

func hex(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}

const digits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what JSON requires is escaped;
// invalid UTF-8 becomes U+FFFD. Equal strings give equal bytes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[done:i]...), "\uFFFD"...)
				done = i + 1
			}
			i += n
			continue
		}
		i++
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = appendEscape(append(dst, s[done:i-1]...), b)
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&15])
}
