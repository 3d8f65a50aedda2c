package patch

import (
	"bytes"
	"slices"
	"sort"
)

// Edit replaces one passage.
type Edit struct {
	Old string
	New string
}

// Result is what edits came to.
type Result struct {
	Text      []byte // the new content, never sharing memory with the old
	Count     int    // how many passages were replaced
	FirstLine int    // the first line that differs, from 1
}

// Apply makes all edits in text and returns the new content. With all set each
// edit replaces every place where its old text stands exactly. A failure is an
// *Error.
func Apply(text []byte, edits []Edit, all bool) (Result, error) {
	v := newView(text)
	var changes []change
	for i, e := range edits {
		found, err := v.find(i+1, e, all)
		if err != nil {
			return Result{}, err
		}
		changes = append(changes, found...)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.span.start - b.span.start })
	for i := 1; i < len(changes); i++ {
		if a, b := changes[i-1], changes[i]; b.span.start < a.span.end {
			return Result{}, &Error{Code: CodeOverlapping, Edit: min(a.edit, b.edit), Other: max(a.edit, b.edit)}
		}
	}
	return v.rebuild(changes)
}

// span is a range of a view's bytes.
type span struct{ start, end int }

// change is one passage to replace: the edits inside span, which don't overlap.
type change struct {
	edit  int
	span  span // what was matched
	parts []part
}

// part is one stretch of a matched passage that really differs.
type part struct {
	span
	text string // what stands there afterwards, with LF for line breaks
}

// view is a file's text as matching sees it: without a byte-order mark and with
// LF for CRLF.
type view struct {
	file []byte
	text []byte
	mark int   // the length of the byte-order mark, 0 or 3
	crs  []int // the positions in text of those LF that are CRLF in the file
}

// newView prepares the content of a file; it does not change or keep text
// beyond the life of the view.
func newView(file []byte) *view {
	v := &view{file: file}
	if bytes.HasPrefix(file, []byte("\uFEFF")) {
		v.mark = len("\uFEFF")
	}
	body := file[v.mark:]
	if !bytes.Contains(body, []byte("\r\n")) {
		v.text = body
		return v
	}
	v.text = make([]byte, 0, len(body))
	for {
		i := bytes.Index(body, []byte("\r\n"))
		if i < 0 {
			v.text = append(v.text, body...)
			return v
		}
		v.text = append(v.text, body[:i]...)
		v.crs = append(v.crs, len(v.text))
		v.text = append(v.text, '\n')
		body = body[i+2:]
	}
}

// offset turns a position in the view into one in the file.
func (v *view) offset(at int) int { return v.mark + at + sort.SearchInts(v.crs, at) }

// isCRLF reports whether the LF at a position of the view is CRLF in the file.
func (v *view) isCRLF(at int) bool {
	_, found := slices.BinarySearch(v.crs, at)
	return found
}

// line returns the number of the line that a position of the view is in.
func (v *view) line(at int) int { return 1 + bytes.Count(v.text[:at], []byte("\n")) }

// find returns the changes that one edit asks for.
func (v *view) find(n int, e Edit, all bool) ([]change, error) {
	old, repl := normal(e.Old), normal(e.New)
	if old == "" {
		return nil, &Error{Code: CodeEmpty, Edit: n}
	}
	if old == repl {
		return nil, &Error{Code: CodeNoChange, Edit: n}
	}
	at, count := v.exact([]byte(old), all)
	if count == 0 {
		return v.findLoose(n, old, repl)
	}
	if count > 1 && !all {
		return nil, v.ambiguous(n, at, count, false)
	}
	changes := make([]change, len(at))
	for i, start := range at {
		changes[i] = change{edit: n, span: span{start, start + len(old)}, parts: []part{trim(start, old, repl)}}
	}
	return changes, nil
}

// normal is a model's text as matching sees it.
func normal(s string) string {
	b := bytes.TrimPrefix([]byte(s), []byte("\uFEFF"))
	return string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}

// maxLines is how many places an Error names.
const maxLines = 10

// exact returns where old stands, none overlapping: with all set every place,
// else the first few and how many there are. A single place that overlaps with
// another one counts as two.
func (v *view) exact(old []byte, all bool) (at []int, count int) {
	for from := 0; ; {
		i := bytes.Index(v.text[from:], old)
		if i < 0 {
			break
		}
		if count++; all || count <= maxLines {
			at = append(at, from+i)
		}
		from += i + len(old)
	}
	if count == 1 && !all {
		if i := bytes.Index(v.text[at[0]+1:], old); i >= 0 {
			return append(at, at[0]+1+i), 2
		}
	}
	return at, count
}

// ambiguous is the error for several places.
func (v *view) ambiguous(n int, at []int, count int, loose bool) error {
	e := &Error{Code: CodeNotUnique, Edit: n, Count: count, Loose: loose}
	for _, p := range at {
		if len(e.Lines) == maxLines {
			break
		}
		if line := v.line(p); !slices.Contains(e.Lines, line) {
			e.Lines = append(e.Lines, line)
		}
	}
	return e
}

// trim leaves out what the old and the new text have in common at both ends, so
// that those bytes stay the file's own.
func trim(start int, old, repl string) part {
	head := 0
	for head < len(old) && head < len(repl) && old[head] == repl[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(repl)-head && old[len(old)-1-tail] == repl[len(repl)-1-tail] {
		tail++
	}
	return part{span{start + head, start + len(old) - tail}, repl[head : len(repl)-tail]}
}

// rebuild writes the file with all changes made.
func (v *view) rebuild(changes []change) (Result, error) {
	var r Result
	var out bytes.Buffer
	done := 0 // in the file
	for _, c := range changes {
		for _, p := range c.parts {
			from, to := v.offset(p.start), v.offset(p.end)
			out.Write(v.file[done:from])
			out.Write(v.breaks(c.span, p))
			done = to
		}
	}
	out.Write(v.file[done:])
	if bytes.Equal(out.Bytes(), v.file) {
		return Result{}, &Error{Code: CodeNoChange}
	}
	r.Text, r.Count = out.Bytes(), len(changes)
	r.FirstLine = 1 + bytes.Count(v.file[:common(v.file, r.Text)], []byte("\n"))
	return r, nil
}

// common is how many bytes two texts begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// breaks gives the line breaks of a part's new text the form that they have in
// the file: the n-th that of the n-th it replaces where there are as many, else
// all that of the first one replaced, or matched, or of the nearest one.
func (v *view) breaks(matched span, p part) []byte {
	repl := []byte(p.text)
	old := v.text[p.start:p.end]
	count := bytes.Count(repl, []byte("\n"))
	if count == 0 {
		return repl
	}
	if count != bytes.Count(old, []byte("\n")) {
		if v.nearestCRLF(matched, p.span) {
			return bytes.ReplaceAll(repl, []byte("\n"), []byte("\r\n"))
		}
		return repl
	}
	var out []byte
	at := p.start
	for line := range bytes.Lines(repl) {
		body, found := bytes.CutSuffix(line, []byte("\n"))
		out = append(out, body...)
		if !found {
			break
		}
		at += bytes.IndexByte(v.text[at:], '\n')
		if v.isCRLF(at) {
			out = append(out, '\r')
		}
		out = append(out, '\n')
		at++
	}
	return out
}

// nearestCRLF reports whether the line break that new ones are modelled on is
// CRLF: the first one in either span, else the next one, else the last one.
func (v *view) nearestCRLF(matched, p span) bool {
	for _, s := range []span{p, matched, {p.end, len(v.text)}} {
		if i := bytes.IndexByte(v.text[s.start:s.end], '\n'); i >= 0 {
			return v.isCRLF(s.start + i)
		}
	}
	i := bytes.LastIndexByte(v.text[:p.start], '\n')
	return i >= 0 && v.isCRLF(i)
}
