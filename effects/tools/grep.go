package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
)

// maxGrepLine is how many characters of a line grep shows, the sign of a cut
// included.
const maxGrepLine = 500

// newGrep makes the tool grep. The path of the user's excludes file may be empty.
func newGrep(f *fence.Fence, excludes string) effects.Tool {
	return newTool(tool{
		spec: reading("grep", "Search file contents with a regular expression (RE2)."),
		members: []member{
			{name: "pattern", kind: kindString, required: true},
			whereMember(),
			{name: "glob", kind: kindString, doc: "only files that match"},
			{name: "ignore_case", kind: kindBoolean, aliases: []string{"ignoreCase"}},
			{name: "literal", kind: kindBoolean, doc: "pattern is plain text"},
			{name: "context", kind: kindInteger, doc: "lines around a match"},
			{name: "multiline", kind: kindBoolean, doc: "matches may span lines"},
			noIgnoreMember(),
			limitMember(),
		},
		line: func(a args) string { return "/" + a.text("pattern", "") + "/ in " + a.text("path", ".") },
		run: func(ctx context.Context, c call) effects.Result {
			g, err := newGrepping(c.args)
			if err != nil {
				return failed(err)
			}
			g.fence, g.excludes = f, excludes
			return g.run(ctx, c.args)
		},
	})
}

// grepping is one call of grep on its way. Files are looked into by several
// goroutines, which change nothing of it but the desks.
type grepping struct {
	listing
	sift
	pattern   *regexp.Regexp
	needles   needles
	multiline bool
	around    int
	desks     sync.Pool // of *desk
	binary    int       // files left out
	large     int
	unread    int
	cut       int // lines that were cut
}

// desk is where a file is read into.
type desk struct{ text, scratch []byte }

// found is what one file holds for a call, or why it was not looked into.
type found struct {
	lines  []foundLine
	binary bool
	large  bool
	err    error
}

// foundLine is a line to show.
type foundLine struct {
	number int // from 1
	hit    bool
	cut    bool
	text   string
}

// newGrepping compiles what a call asks for.
func newGrepping(a args) (*grepping, error) {
	g := &grepping{
		listing:   listing{limit: a.number("limit", defaultLimit), empty: "(no matches)"},
		sift:      sift{all: a.flags["no_ignore"]},
		multiline: a.flags["multiline"],
		around:    int(min(max(a.number("context", 0), 0), 1000)),
	}
	pattern := a.text("pattern", "")
	if a.flags["literal"] {
		pattern = regexp.QuoteMeta(pattern)
	}
	if a.flags["ignore_case"] {
		pattern = "(?i)" + pattern
	}
	if g.multiline {
		pattern = "(?ms)" + pattern
	}
	var err error
	if g.pattern, err = regexp.Compile(pattern); err != nil {
		return nil, &problem{CodePattern, fmt.Sprintf("pattern does not compile: %v; the syntax is RE2, and literal searches for plain text", err)}
	}
	g.needles = newNeedles(pattern)
	if glob := a.text("glob", ""); glob != "" {
		g.glob, err = newGlobPattern(glob)
	}
	return g, err
}

// run searches and completes the output.
func (g *grepping) run(ctx context.Context, a args) effects.Result {
	var err error
	if g.start, err = g.fence.Resolve(a.text("path", "."), fence.Read); err != nil {
		return failed(err)
	}
	look := func(e fence.Entry) any {
		if f := g.file(ctx, e); f != nil {
			return f
		}
		return nil
	}
	remarks, err := g.search(ctx, look, func(e fence.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return g.show(e)
	})
	if err != nil {
		return failed(err)
	}
	g.remarks = append(g.remarks, remarks...)
	g.remarkIf(g.cut, "%d long lines were cut to %d characters around the match", maxGrepLine)
	g.remarkIf(g.binary, "%d binary files were not searched")
	g.remarkIf(g.large, "%d files larger than %d MiB were not searched", maxSearch>>20)
	g.remarkIf(g.unread, "%d files could not be read")
	g.leftOut(&g.listing)
	return g.result("search " + g.start.Shown + " /" + oneLine(a.text("pattern", "")) + "/")
}

// remarkIf adds a remark on how many there are of something, if there are any.
func (g *grepping) remarkIf(n int, format string, more ...any) {
	if n > 0 {
		g.remark(format, append([]any{n}, more...)...)
	}
}

// show adds what was found in a file. A file that cannot be read is counted, and
// fails the call only if it was named itself.
func (g *grepping) show(e fence.Entry) error {
	if g.limit <= 0 {
		return fs.SkipAll
	}
	f, ok := e.Found.(*found)
	switch {
	case !ok:
		return nil
	case f.err != nil:
		if p := e.Place(); p.Abs == g.start.Abs {
			return f.err
		}
		g.unread++
	case f.binary:
		g.binary++
	case f.large:
		g.large++
	}
	if len(f.lines) == 0 {
		return nil
	}
	name := e.Place().Shown
	for _, l := range f.lines {
		mark := "-"
		if l.hit {
			mark = ":"
		}
		if err := g.add(fmt.Sprintf("%s:%d%s %s", name, l.number, mark, l.text)); err != nil {
			return err
		}
		if l.cut {
			g.cut++
		}
	}
	return nil
}

// file looks into one file. Nil is nothing to tell.
func (g *grepping) file(ctx context.Context, e fence.Entry) *found {
	if ctx.Err() != nil {
		return &found{err: context.Cause(ctx)}
	}
	if g.limit <= 0 {
		return nil
	}
	m, ok := g.desks.Get().(*desk)
	if !ok {
		m = new(desk)
	}
	defer g.desks.Put(m)
	data, f := m.load(e)
	if f != nil {
		return f
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	h := g.needles.hunt(data, &m.scratch)
	if len(h.texts) > 0 && h.from(0) < 0 {
		return nil
	}
	if g.multiline { // so that $ stands before each line break, whatever its form
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	lines := newLines(data)
	var hits []int
	if g.multiline {
		hits = g.spanned(lines)
	} else {
		var err error
		if hits, err = g.matching(ctx, lines, h); err != nil {
			return &found{err: err}
		}
	}
	if len(hits) == 0 {
		return nil
	}
	return &found{lines: g.near(lines, hits)}
}

// load reads a file that can be searched, or says why it can't.
func (m *desk) load(e fence.Entry) ([]byte, *found) {
	file, size, err := e.Open()
	if err != nil {
		return nil, &found{err: err}
	}
	defer file.Close()
	if size > maxSearch {
		return nil, &found{large: true}
	}
	m.text = slices.Grow(m.text[:0], int(size))
	data, isText, err := content(file, m.text[:size])
	switch {
	case err != nil:
		return nil, &found{err: err}
	case !isText:
		return nil, &found{binary: true}
	}
	return data, nil
}

// content reads a file into memory of its size, if it doesn't begin like a
// binary.
func content(file io.Reader, memory []byte) (data []byte, isText bool, err error) {
	probe, err := fill(file, memory[:min(len(memory), binaryProbe)])
	if err != nil || bytes.IndexByte(memory[:probe], 0) >= 0 {
		return nil, false, err
	}
	rest, err := fill(file, memory[probe:])
	return memory[:probe+rest], true, err
}

// fill reads until there is no more to read or no more room, both of which are
// as they should be.
func fill(from io.Reader, into []byte) (int, error) {
	n, err := io.ReadFull(from, into)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// matching returns the numbers, from 0, of the lines that match.
func (g *grepping) matching(ctx context.Context, l textLines, h *hunt) ([]int, error) {
	var hits []int
	for i, tried := 0, 0; i < len(l.ends) && int64(len(hits)) <= g.limit; i, tried = i+1, tried+1 {
		if tried%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(h.texts) > 0 {
			at := h.from(l.start(i))
			if at < 0 {
				break
			}
			i = l.at(at)
		}
		if g.pattern.Match(l.line(i)) {
			hits = append(hits, i)
		}
	}
	return hits, nil
}

// spanned returns the numbers of the lines that matches over several lines touch.
func (g *grepping) spanned(l textLines) []int {
	var hits []int
	for _, m := range g.pattern.FindAllIndex(l.text, int(min(g.limit+1, 1<<20))) {
		last := max(m[1]-1, m[0])
		for i := l.at(m[0]); i <= l.at(last); i++ {
			if len(hits) == 0 || hits[len(hits)-1] < i {
				hits = append(hits, i)
			}
		}
	}
	return hits
}

// near returns the lines that match and those around them, and no more than can
// be shown.
func (g *grepping) near(l textLines, hits []int) []foundLine {
	var all []foundLine
	size := 0
	next := 0 // the first line not yet taken
	for k, hit := range hits {
		until := min(hit+g.around, len(l.ends)-1)
		for i := max(hit-g.around, next); i <= until; i++ {
			if k+1 < len(hits) && i == hits[k+1] {
				break // the next hit takes it
			}
			text, cut := g.fit(l.line(i))
			all = append(all, foundLine{number: i + 1, hit: i == hit, cut: cut, text: text})
			if size += len(text); int64(len(all)) > min(g.limit, maxLines) || size > maxOutput {
				return all
			}
			next = i + 1
		}
	}
	return all
}

// fit is a line as it is shown, or the part of a long one around its first match.
func (g *grepping) fit(line []byte) (text string, cut bool) {
	if utf8.RuneCount(line) <= maxGrepLine {
		return strings.ToValidUTF8(string(line), "\uFFFD"), false
	}
	front := ""
	if m := g.pattern.FindIndex(line); m != nil && utf8.RuneCount(line[:m[1]]) > maxGrepLine-2 {
		front = "…"
		line = line[max(m[0]-maxGrepLine/5, 0):]
		for len(line) > 0 && !utf8.RuneStart(line[0]) {
			line = line[1:]
		}
	}
	runes := []rune(strings.ToValidUTF8(string(line[:min(len(line), maxGrepLine*utf8.UTFMax)]), "\uFFFD"))
	return front + string(runes[:min(len(runes), maxGrepLine-1-len([]rune(front)))]) + "…", true
}

// textLines is a text with the ends of its lines.
type textLines struct {
	text []byte
	ends []int // where each line ends, without its line break
}

// newLines finds the lines of a text.
func newLines(text []byte) textLines {
	l := textLines{text: text}
	for at := 0; at < len(text); {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			i = len(text) - at
		}
		l.ends = append(l.ends, at+i)
		at += i + 1
	}
	return l
}

// line is a line without its line break, whatever form that has.
func (l textLines) line(i int) []byte {
	return bytes.TrimSuffix(l.text[l.start(i):l.ends[i]], []byte("\r"))
}

// start is where a line begins.
func (l textLines) start(i int) int {
	if i == 0 {
		return 0
	}
	return l.ends[i-1] + 1
}

// at is the number of the line that a position is in.
func (l textLines) at(pos int) int { return min(sort.SearchInts(l.ends, pos), max(len(l.ends)-1, 0)) }
