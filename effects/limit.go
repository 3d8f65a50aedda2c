package effects

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of what a model is shown of one result, unless a host sets others.
const (
	DefaultResultBytes = 50 << 10
	DefaultResultLines = 2000
)

// Limits bound what a model is shown of a tool's output (TOOL-11). A bound of 0
// is none. They are for what is shown of the output; the lines that say what is
// missing come on top.
type Limits struct {
	Bytes, Lines int
}

// Fit cuts an output down to the limits, if it is over them. One piece is shown
// from its beginning, in whole lines while both limits hold. Of several each
// gets its share and is cut in its middle, so that neither the beginning nor the
// end of one is lost to another. A line that is too long by itself is cut between
// characters. Last stands one line that says how much there is and where all of
// it is, or that it is kept nowhere if pathOfFull is "". What is shown is always
// valid UTF-8; cut reports whether anything is missing.
func (l Limits) Fit(pieces []Piece, pathOfFull string) (shown string, cut bool) {
	text := strings.ToValidUTF8(join(pieces), "\uFFFD")
	total := countLines(text)
	if !over(len(text), l.Bytes) && !over(total, l.Lines) {
		return text, false
	}
	show := l.begin
	if len(pieces) > 1 {
		show = func(string) (string, int) { return l.ends(pieces) }
	}
	shown, lines := show(text)
	where := "the full output was not kept"
	if pathOfFull != "" {
		where = "full output at " + pathOfFull
		if slices.ContainsFunc(pieces, func(p Piece) bool { return p.left() > 0 }) {
			where = "the beginning and the end of the full output at " + pathOfFull
		}
	}
	return fmt.Sprintf("%s[truncated: showing %d of %d lines; %s]", withBreak(shown), min(lines, total), total, where), true
}

// left is how many bytes of a piece the tool left out itself.
func (p Piece) left() int64 { return max(p.Size-int64(len(p.Text)), 0) }

// size is how many bytes a piece had.
func (p Piece) size() int64 { return max(p.Size, int64(len(p.Text))) }

// over reports whether n is beyond a bound.
func over(n, bound int) bool { return bound > 0 && n > bound }

// begin is the beginning of a text that is over the limits.
func (l Limits) begin(text string) (shown string, lines int) {
	shown, lines = l.head(text)
	if lines > 0 {
		return shown, lines
	}
	line, _, _ := strings.Cut(text, "\n")
	end := before(line, l.Bytes)
	return fmt.Sprintf("%s… [line cut: %d of %d bytes shown]\n", line[:end], end, len(line)), 1
}

// head is as many whole lines from the beginning as the limits allow.
func (l Limits) head(text string) (shown string, lines int) {
	size := 0
	for line := range strings.Lines(text) {
		if over(size+len(line), l.Bytes) || over(lines+1, l.Lines) {
			break
		}
		size += len(line)
		lines++
	}
	return text[:size], lines
}

// tail is as many whole lines from the end as the limits allow.
func (l Limits) tail(text string) (shown string, lines int) {
	from := len(text)
	for from > 0 {
		start := 1 + strings.LastIndexByte(text[:from-1], '\n')
		if over(len(text)-start, l.Bytes) || over(lines+1, l.Lines) {
			break
		}
		from = start
		lines++
	}
	return text[from:], lines
}

// ends is what is shown of pieces that are over the limits together.
func (l Limits) ends(pieces []Piece) (shown string, lines int) {
	pieces = slices.Clone(pieces)
	var sizes, counts []int
	for i := range pieces {
		pieces[i].Text = strings.ToValidUTF8(pieces[i].Text, "\uFFFD")
		sizes = append(sizes, len(pieces[i].Text))
		counts = append(counts, countLines(pieces[i].Text))
	}
	sizes, counts = shares(sizes, l.Bytes), shares(counts, l.Lines)
	var all strings.Builder
	for i, p := range pieces {
		s, n := Limits{Bytes: sizes[i], Lines: counts[i]}.middle(p)
		all.WriteString(s)
		lines += n
	}
	return all.String(), lines
}

// shares divides a bound: what is smaller than its share leaves the rest of it
// to the others.
func shares(wanted []int, bound int) []int {
	if bound <= 0 {
		return make([]int, len(wanted)) // 0 is no bound
	}
	given, order := make([]int, len(wanted)), make([]int, len(wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return wanted[a] - wanted[b] })
	for k, i := range order {
		given[i] = min(wanted[i], max(bound/(len(order)-k), 1))
		bound -= given[i]
	}
	return given
}

// middle is a piece without its middle if it is over the limits.
func (l Limits) middle(p Piece) (shown string, lines int) {
	if n := countLines(p.Text); !over(len(p.Text), l.Bytes) && !over(n, l.Lines) {
		return p.Text, n
	}
	half := Limits{Bytes: half(l.Bytes), Lines: half(l.Lines)}
	head, above := half.head(p.Text)
	if above == 0 {
		head, above = p.Text[:before(p.Text, half.Bytes)], 1
	}
	rest := p.Text[len(head):]
	tail, below := half.tail(rest)
	if below == 0 {
		tail, below = rest[len(rest)-after(rest, half.Bytes):], 1
	}
	left := p.size() - int64(len(head)+len(tail))
	return fmt.Sprintf("%s[truncated: %d of %d bytes left out here]\n%s", withBreak(head), left, p.size(), tail), above + below
}

// half is half of a bound, which stays one.
func half(bound int) int {
	if bound <= 0 {
		return 0
	}
	return max(bound/2, 1)
}

// before is the last place for a cut between characters among the first n bytes.
func before(text string, n int) int {
	end := min(n, len(text))
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// after is how many of the last n bytes follow the first place for such a cut.
func after(text string, n int) int {
	from := max(len(text)-n, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return len(text) - from
}

// countLines counts lines as people do: a last one without a line break counts.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// withBreak ends text with a line break, unless it is empty.
func withBreak(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
