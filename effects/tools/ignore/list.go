package ignore

import (
	"bytes"
	"strings"
)

// List is the patterns of one file, in their order.
type List struct {
	patterns []pattern
	paths    bool // a pattern looks at more than the last name
}

// verdict is what a list says of a path.
type verdict byte

const (
	silent  verdict = iota // no pattern matches
	ignored                // the last one that matches leaves it out
	kept                   // the last one that matches is a negation
)

// pattern is one line of a file.
type pattern struct {
	negative bool
	dirOnly  bool // only directories match
	nameOnly bool // the last name is matched, at any depth, and not the path
	suffix   bool // literal ends the name, and that is all
	literal  string
	glob     glob // matches what follows literal; nil if literal is everything
}

// Parse reads the text of a file such as .gitignore. No text is wrong: a
// pattern that is broken matches nothing. Nil stands for a text without patterns.
func Parse(text []byte) *List {
	l := &List{}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if p, ok := parseLine(string(line)); ok {
			l.patterns = append(l.patterns, p)
			l.paths = l.paths || !p.nameOnly
		}
	}
	if len(l.patterns) == 0 {
		return nil
	}
	return l
}

// maxLine is the longest pattern, in bytes, that can match: no path is longer.
const maxLine = 4096

// parseLine reads one line without its line feed. It is not ok for one that
// matches nothing.
func parseLine(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
	line = trimSpaces(line)
	line, p.negative = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.nameOnly = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" || len(line) > maxLine {
		return pattern{}, false
	}
	special := strings.IndexAny(line, `*?[\`)
	switch {
	case special < 0:
		p.literal = line
		return p, true
	case p.nameOnly && line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`):
		p.suffix, p.literal = true, line[1:]
		return p, true
	}
	// What stands before the first special character is compared as it is, and
	// the rest is a pattern of its own: to git, and so here, the two stars of
	// a**/b cross slashes.
	p.literal = line[:special]
	p.glob, ok = compile(line[special:])
	return p, ok
}

// trimSpaces drops the spaces at the end of a line, but not escaped ones.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++ // whatever follows belongs to it
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// match says what the list makes of a path, given from the directory of the
// list and by its last name.
func (l *List) match(path, name string, dir bool) verdict {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		p := &l.patterns[i]
		if p.dirOnly && !dir || !p.matches(path, name) {
			continue
		}
		if p.negative {
			return kept
		}
		return ignored
	}
	return silent
}

// matches reports whether a path fits the pattern.
func (p *pattern) matches(path, name string) bool {
	if p.nameOnly {
		path = name
	}
	if p.suffix {
		return strings.HasSuffix(path, p.literal)
	}
	if p.glob == nil {
		return path == p.literal
	}
	rest, ok := strings.CutPrefix(path, p.literal)
	return ok && p.glob.match(rest)
}
