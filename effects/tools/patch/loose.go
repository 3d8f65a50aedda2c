package patch

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// findLoose looks for whole lines that are like the old text's.
func (v *view) findLoose(n int, old, repl string) ([]change, error) {
	want := split(old)
	keys := make([]string, len(want))
	blank := true
	for i, line := range want {
		keys[i] = key([]byte(line.text))
		blank = blank && keys[i] == ""
	}
	if blank { // would be found at every empty line
		return nil, &Error{Code: CodeNotFound, Edit: n}
	}
	lines := split(string(v.text))
	have := make([]string, len(lines))
	for i, line := range lines {
		have[i] = key([]byte(line.text))
	}
	var at []int
	for i := range len(lines) - len(keys) + 1 {
		if slices.Equal(have[i:i+len(keys)], keys) && (lines[i+len(keys)-1].full || !want[len(want)-1].full) {
			at = append(at, i)
		}
	}
	switch {
	case len(at) == 0:
		return nil, &Error{Code: CodeNotFound, Edit: n}
	case len(at) > 1:
		starts := make([]int, len(at))
		for i, line := range at {
			starts[i] = lines[line].start
		}
		return nil, v.ambiguous(n, starts, len(at), true)
	}
	return []change{looseChange(n, lines[at[0]:at[0]+len(want)], want, split(repl))}, nil
}

// textLine is one line of a text.
type textLine struct {
	start int    // where it begins
	text  string // without its line break
	full  bool   // whether it has one
}

// end is where the line ends, its line break included.
func (l textLine) end() int {
	if l.full {
		return l.start + len(l.text) + 1
	}
	return l.start + len(l.text)
}

// split cuts a text into its lines.
func split(text string) []textLine {
	var lines []textLine
	at := 0
	for line := range strings.Lines(text) {
		body, full := strings.CutSuffix(line, "\n")
		lines = append(lines, textLine{at, body, full})
		at += len(line)
	}
	return lines
}

// looseChange replaces found lines. Where old and new text agree at the
// beginning or the end, or line by line where both have as many lines, the
// file's own lines stay.
func looseChange(n int, found, old, repl []textLine) change {
	last := found[len(found)-1]
	c := change{edit: n, span: span{found[0].start, last.end()}}
	if last.full && !old[len(old)-1].full {
		c.span.end--
	}
	if len(old) == len(repl) && old[len(old)-1].full == repl[len(repl)-1].full {
		for i := range old {
			if old[i].text != repl[i].text {
				start := found[i].start
				c.parts = append(c.parts, part{span{start, start + len(found[i].text)}, repl[i].text})
			}
		}
		return c
	}
	head := 0
	for head < len(old) && head < len(repl) && sameLine(old[head], repl[head]) {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(repl)-head && sameLine(old[len(old)-1-tail], repl[len(repl)-1-tail]) {
		tail++
	}
	p := part{span: c.span}
	if head < len(found) {
		p.start = found[head].start
	} else {
		p.start = c.span.end
	}
	if tail > 0 {
		p.end = found[len(found)-tail].start
	}
	for _, line := range repl[head : len(repl)-tail] {
		p.text += line.text
		if line.full {
			p.text += "\n"
		}
	}
	c.parts = []part{p}
	return c
}

// sameLine reports whether two lines are the same text, line break included.
func sameLine(a, b textLine) bool { return a.text == b.text && a.full == b.full }

// key is what lenient matching compares of a line.
func key(line []byte) string {
	if plain(line) {
		return string(bytes.TrimRight(line, " \t\r\v\f"))
	}
	s := strings.Map(fold, norm.NFKC.String(string(line)))
	return strings.TrimRightFunc(s, unicode.IsSpace)
}

// plain reports whether a line is ASCII only, which is nearly always.
func plain(line []byte) bool {
	for _, c := range line {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold maps the shapes of quotation marks and dashes to the plain ones.
func fold(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′':
		return '\''
	case '“', '”', '„', '‟', '″':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	}
	return r
}
