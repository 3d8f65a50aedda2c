package effects

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The bounds of what a model is shown of one result, unless a host sets others.
const (
	DefaultResultBytes = 50 << 10
	DefaultResultLines = 2000
)

// Limit cuts a tool's output down to what a model is shown of it (TOOL-11):
// whole lines while both bounds hold, then one line that says how much there is
// and where all of it is, or that it is kept nowhere if pathOfFull is "". A
// first line that is too long by itself is cut after a whole character, with its
// size. A bound of 0 is none. The bounds are for the lines shown; what says that
// something is missing comes on top. The result is always valid UTF-8; cut
// reports whether anything is missing.
func Limit(text string, maxBytes, maxLines int, pathOfFull string) (shown string, cut bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	size, lines := 0, 0
	for line := range strings.Lines(text) {
		if over(size+len(line), maxBytes) || over(lines+1, maxLines) {
			cut = true
			break
		}
		size += len(line)
		lines++
	}
	if !cut {
		return text, false
	}
	shown = text[:size]
	if lines == 0 && maxBytes > 0 {
		shown = giant(text, maxBytes)
		lines = 1
	}
	where := "the full output was not kept"
	if pathOfFull != "" {
		where = "full output at " + pathOfFull
	}
	return fmt.Sprintf("%s[truncated: showing %d of %d lines; %s]", shown, lines, countLines(text), where), true
}

// over reports whether n is beyond a bound.
func over(n, bound int) bool { return bound > 0 && n > bound }

// giant shows the beginning of a first line that is too long by itself.
func giant(text string, maxBytes int) string {
	line, _, _ := strings.Cut(text, "\n")
	end := min(maxBytes, len(line))
	for end > 0 && end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	return fmt.Sprintf("%s… [line cut: %d of %d bytes shown]\n", line[:end], end, len(line))
}

// countLines counts lines as people do: a last one without a line break counts.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
