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
	"unicode/utf8"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
)

// maxGrepLine is how many characters of a line grep shows, the sign of a cut
// included.
const maxGrepLine = 500

// newGrep makes the tool grep.
func newGrep(f *fence.Fence) effects.Tool {
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
			limitMember(),
		},
		line: func(a args) string { return "/" + a.text("pattern", "") + "/ in " + a.text("path", ".") },
		run: func(ctx context.Context, c call) effects.Result {
			g, err := newGrepping(c.args)
			if err != nil {
				return failed(err)
			}
			return g.run(ctx, f, c.args)
		},
	})
}

// grepping is one call of grep on its way.
type grepping struct {
	listing
	start     fence.Place
	pattern   *regexp.Regexp
	prefix    []byte // every match begins with it
	multiline bool
	around    int
	wanted    func(rel string) bool
	memory    []byte // of the file that is looked into
	binary    int    // files left out
	large     int
	cut       int // lines that were cut
	unread    int
}

// newGrepping compiles what a call asks for.
func newGrepping(a args) (*grepping, error) {
	g := &grepping{
		listing:   listing{limit: a.number("limit", defaultLimit), empty: "(no matches)"},
		multiline: a.flags["multiline"],
		around:    int(min(max(a.number("context", 0), 0), 1000)),
		wanted:    func(string) bool { return true },
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
	first, _ := g.pattern.LiteralPrefix()
	g.prefix = []byte(first)
	if glob := a.text("glob", ""); glob != "" {
		g.wanted, err = matcher(glob)
	}
	return g, err
}

// run searches and completes the output.
func (g *grepping) run(ctx context.Context, f *fence.Fence, a args) effects.Result {
	var err error
	if g.start, err = f.Resolve(a.text("path", "."), fence.Read); err != nil {
		return failed(err)
	}
	remarks, err := search(ctx, f, g.start, 0, func(e fence.Entry) error {
		named := e.Place.Abs == g.start.Abs
		if !named && (e.Kind != fence.File || !g.wanted(e.Rel)) {
			return nil
		}
		return g.file(ctx, f, e.Place)
	})
	if err != nil {
		return failed(err)
	}
	g.remarks = append(g.remarks, remarks...)
	g.remarkIf(g.cut, "%d long lines were cut to %d characters around the match", maxGrepLine)
	g.remarkIf(g.binary, "%d binary files were not searched")
	g.remarkIf(g.large, "%d files larger than %d MiB were not searched", maxSearch>>20)
	g.remarkIf(g.unread, "%d files could not be read")
	return g.result("search " + g.start.Shown + " /" + oneLine(a.text("pattern", "")) + "/")
}

// remarkIf adds a remark on how many there are of something, if there are any.
func (g *grepping) remarkIf(n int, format string, more ...any) {
	if n > 0 {
		g.remark(format, append([]any{n}, more...)...)
	}
}

// file searches one file.
func (g *grepping) file(ctx context.Context, f *fence.Fence, p fence.Place) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if g.limit <= 0 {
		return fs.SkipAll
	}
	data, err := g.load(f, p)
	if err != nil || data == nil {
		return err
	}
	if g.multiline { // so that $ stands before each line break, whatever its form
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	lines := newLines(data)
	var hits []int
	if g.multiline {
		hits = g.spanned(lines)
	} else {
		hits, err = g.matching(ctx, lines)
	}
	if err != nil || len(hits) == 0 {
		return err
	}
	return g.show(p.Shown, lines, hits)
}

// load returns the content of a file that can be searched, or nil. A file that
// cannot be read is counted, and fails the call only if it was named itself.
func (g *grepping) load(f *fence.Fence, p fence.Place) ([]byte, error) {
	file, fi, err := f.Open(p)
	if err != nil && p.Abs == g.start.Abs {
		return nil, err
	}
	if err != nil {
		g.unread++
		return nil, nil
	}
	defer file.Close()
	if fi.Size() > maxSearch {
		g.large++
		return nil, nil
	}
	data, isText, err := g.content(file, int(fi.Size()))
	if err != nil {
		g.unread++
		return nil, nil
	}
	if !isText {
		g.binary++
		return nil, nil
	}
	if !bytes.Contains(data, g.prefix) {
		return nil, nil
	}
	return bytes.TrimPrefix(data, []byte("\uFEFF")), nil
}

// content reads a file of size bytes into the memory that all files share, if it
// doesn't begin like a binary.
func (g *grepping) content(file io.Reader, size int) (data []byte, isText bool, err error) {
	g.memory = slices.Grow(g.memory[:0], size)[:size]
	probe, err := fill(file, g.memory[:min(size, binaryProbe)])
	if err != nil || bytes.IndexByte(g.memory[:probe], 0) >= 0 {
		return nil, false, err
	}
	rest, err := fill(file, g.memory[probe:])
	return g.memory[:probe+rest], true, err
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
func (g *grepping) matching(ctx context.Context, l textLines) ([]int, error) {
	var hits []int
	for i := range l.ends {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if g.pattern.Match(l.line(i)) {
			hits = append(hits, i)
			if int64(len(hits)) > g.limit {
				break
			}
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

// show adds the lines of one file that matched, and those around them.
func (g *grepping) show(name string, l textLines, hits []int) error {
	next := 0 // the first line not yet shown
	for k, hit := range hits {
		until := min(hit+g.around, len(l.ends)-1)
		for i := max(hit-g.around, next); i <= until; i++ {
			if k+1 < len(hits) && i == hits[k+1] {
				break // the next hit shows it
			}
			mark := "-"
			if i == hit {
				mark = ":"
			}
			if err := g.add(fmt.Sprintf("%s:%d%s %s", name, i+1, mark, g.fit(l.line(i)))); err != nil {
				return err
			}
			next = i + 1
		}
	}
	return nil
}

// fit shows a line, or the part of a long one around its first match.
func (g *grepping) fit(line []byte) string {
	if utf8.RuneCount(line) <= maxGrepLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	g.cut++
	front := ""
	if m := g.pattern.FindIndex(line); m != nil && utf8.RuneCount(line[:m[1]]) > maxGrepLine-2 {
		front = "…"
		line = line[max(m[0]-maxGrepLine/5, 0):]
		for len(line) > 0 && !utf8.RuneStart(line[0]) {
			line = line[1:]
		}
	}
	runes := []rune(strings.ToValidUTF8(string(line[:min(len(line), maxGrepLine*utf8.UTFMax)]), "\uFFFD"))
	return front + string(runes[:min(len(runes), maxGrepLine-1-len([]rune(front)))]) + "…"
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
	start := 0
	if i > 0 {
		start = l.ends[i-1] + 1
	}
	return bytes.TrimSuffix(l.text[start:l.ends[i]], []byte("\r"))
}

// at is the number of the line that a position is in.
func (l textLines) at(pos int) int { return min(sort.SearchInts(l.ends, pos), max(len(l.ends)-1, 0)) }
