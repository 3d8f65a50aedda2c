package ignore

import "strings"

// op is what one step of a glob takes from the text.
type op byte

const (
	opByte  op = iota // the byte itself
	opClass           // one byte of a set
	opStar            // any run of bytes without a slash
	opDeep            // any run of bytes
	opDirs            // nothing, or any run of bytes that ends in a slash
)

// set is a set of bytes.
type set [4]uint64

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) drop(c byte)     { s[c>>6] &^= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

// step is one step of a glob.
type step struct {
	op  op
	b   byte
	set *set
}

// takes reports whether a step that takes one byte takes this one.
func (s *step) takes(c byte) bool {
	if s.op == opByte {
		return s.b == c
	}
	return s.set.has(c)
}

// glob is a compiled pattern. The zero value matches the empty text.
type glob []step

// compile reads a pattern as git's wildmatch does with paths. It is not ok for
// a pattern that matches nothing because it is broken.
func compile(p string) (g glob, ok bool) {
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			var s step
			s.op, i = stars(p, i)
			g = append(g, s)
		case '?':
			g = append(g, step{op: opClass, set: anyByte()})
			i++
		case '[':
			s, next, ok := class(p, i+1)
			if !ok {
				return nil, false
			}
			g = append(g, step{op: opClass, set: s})
			i = next
		case '\\':
			if i++; i == len(p) {
				return nil, false
			}
			fallthrough
		default:
			g = append(g, step{op: opByte, b: p[i]})
			i++
		}
	}
	return g, true
}

// anyByte is every byte but the slash.
func anyByte() *set {
	s := new(set)
	s.invert()
	s.drop('/')
	return s
}

// stars reads the stars that begin at i. Two or more that have a path segment to
// themselves cross slashes.
func stars(p string, i int) (o op, next int) {
	end := i
	for end < len(p) && p[end] == '*' {
		end++
	}
	alone := end-i > 1 && (i == 0 || p[i-1] == '/')
	switch rest := p[end:]; {
	case alone && strings.HasPrefix(rest, "/"):
		return opDirs, end + 1
	case alone && (rest == "" || strings.HasPrefix(rest, `\/`)):
		return opDeep, end
	default:
		return opStar, end
	}
}

// class reads a bracket expression from behind its bracket on. It is not ok if
// the expression has no end or names a class that there is none of.
func class(p string, i int) (s *set, next int, ok bool) {
	s = new(set)
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var before byte
	for first := i; i < len(p); {
		if p[i] == ']' && i > first {
			if negated {
				s.invert()
			}
			s.drop('/')
			return s, i + 1, true
		}
		if i, before, ok = item(s, p, i, before); !ok {
			break
		}
	}
	return nil, 0, false
}

// item reads one item of a bracket expression: a character, a named class, or
// the rest of a range that begins with the character before. It returns what a
// range may begin with next, or 0.
func item(s *set, p string, i int, before byte) (next int, last byte, ok bool) {
	switch {
	case strings.HasPrefix(p[i:], "[:"):
		if end := named(s, p[i+2:]); end != 0 {
			return i + 2 + end, 0, end > 0
		}
	case p[i] == '-' && before != 0 && i+1 < len(p) && p[i+1] != ']':
		c, next, ok := char(p, i+1)
		for k := int(before); k <= int(c); k++ {
			s.add(byte(k))
		}
		return next, 0, ok
	}
	c, next, ok := char(p, i)
	s.add(c)
	return next, c, ok
}

// char reads one character, which may be escaped.
func char(p string, i int) (c byte, next int, ok bool) {
	if p[i] == '\\' {
		i++
	}
	if i == len(p) {
		return 0, i, false
	}
	return p[i], i + 1, true
}

// named adds the class whose name p begins with, as in alpha:], and returns the
// length of that. It is 0 if p begins with no name, and negative if no class has
// it.
func named(s *set, p string) int {
	end := strings.IndexByte(p, ']')
	if end < 0 {
		return -1
	}
	if end == 0 || p[end-1] != ':' {
		return 0
	}
	name := p[:end-1]
	known := false
	for c := range byte(128) {
		is, ok := inClass(name, c)
		if known = ok; is {
			s.add(c)
		}
	}
	if !known {
		return -1
	}
	return end + 1
}

// inClass reports whether an ASCII character is in a named class, as git counts
// them, and whether there is such a class.
func inClass(name string, c byte) (is, ok bool) {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	space := strings.IndexByte(" \t\n\r", c) >= 0
	printed := c >= ' ' && c < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return printed && !space, true
	case "lower":
		return lower, true
	case "print":
		return printed, true
	case "punct":
		return printed && !space && !lower && !upper && !digit, true
	case "space":
		return space, true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F', true
	}
	return false, false
}

// match reports whether the glob takes the whole text. When it gets stuck it
// goes back to the last star of the segment, and then to the last one that
// crosses slashes; earlier ones need no second try, because what follows them
// was found at the earliest place. So the time is bounded by a product of the
// lengths.
func (g glob) match(text string) bool {
	m := matching{glob: g, text: text, star: -1, deep: -1}
	for {
		for m.on() {
		}
		if m.step == len(g) && m.at == len(text) {
			return true
		}
		if !m.back() {
			return false
		}
	}
}

// matching is one match on its way.
type matching struct {
	glob         glob
	text         string
	step, at     int // what comes next
	star, starAt int // the last star, and where what follows it was tried; or -1
	deep, deepAt int // the same of the last step that crosses slashes
}

// on takes one step, if the text allows it.
func (m *matching) on() bool {
	if m.step == len(m.glob) {
		return false
	}
	switch s := &m.glob[m.step]; s.op {
	case opStar:
		m.star, m.starAt = m.step, m.at
	case opDeep, opDirs:
		m.deep, m.deepAt, m.star = m.step, m.at, -1
	case opByte, opClass:
		if m.at == len(m.text) || !s.takes(m.text[m.at]) {
			return false
		}
		m.at++
	}
	m.step++
	return true
}

// back goes back to a place from where the text may be taken in another way.
func (m *matching) back() bool {
	if m.star >= 0 && m.starAt < len(m.text) && m.text[m.starAt] != '/' {
		m.starAt++
		m.step, m.at = m.star+1, m.starAt
		return true
	}
	if m.deep < 0 || m.deepAt == len(m.text) {
		return false
	}
	length := 1
	if m.glob[m.deep].op == opDirs {
		length += strings.IndexByte(m.text[m.deepAt:], '/')
	}
	m.deepAt += length
	m.step, m.at, m.star = m.deep+1, m.deepAt, -1
	return length > 0
}
