package tools

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeedles is how many texts are looked for at once; with more of them the
// pattern itself is as fast.
const maxNeedles = 8

// needles are texts of which every match of a pattern has at least one. They are
// found faster than the pattern, so most lines need no more than them. The zero
// value knows none.
type needles struct {
	texts [][]byte
	fold  bool // the texts are in lower case, and ASCII letters of either case match
}

// newNeedles finds the needles of a pattern that compiles.
func newNeedles(pattern string) needles {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return needles{}
	}
	texts, fold := required(re.Simplify())
	var n needles
	for _, t := range texts {
		if fold {
			t = string(lower(nil, []byte(t)))
		}
		n.texts = append(n.texts, []byte(t))
	}
	n.fold = fold
	return n
}

// required returns texts of which every match has one, or none if it knows of
// none, and whether letter case is left open in any of them.
func required(re *syntax.Regexp) (texts []string, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		fold = re.Flags&syntax.FoldCase != 0
		if t := longest(re.Rune, fold); t != "" {
			return []string{t}, fold
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t, f := required(sub); shortest(t) > shortest(texts) {
				texts, fold = t, f
			}
		}
		return texts, fold
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			t, f := required(sub)
			if texts, fold = append(texts, t...), fold || f; len(t) == 0 || len(texts) > maxNeedles {
				return nil, false
			}
		}
		return texts, fold
	default:
	}
	return nil, false
}

// longest is the longest part of a literal that stands in a text as it is. A line
// feed may have got a carriage return, the replacement character stands for bytes
// that are no text, and where case is open only ASCII letters that have no other
// form are sure.
func longest(literal []rune, fold bool) string {
	best := ""
	for part := range strings.FieldsFuncSeq(string(literal), func(r rune) bool {
		return r == '\n' || r == utf8.RuneError || fold && (r > unicode.MaxASCII || strings.ContainsRune("kKsS", r))
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// shortest is the length of the shortest text, 0 if there is none.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// lower appends text to dst with its ASCII letters in lower case.
func lower(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[at:] {
		if 'A' <= c && c <= 'Z' {
			dst[at+i] = c + 'a' - 'A'
		}
	}
	return dst
}

// hunt looks for needles in one text.
type hunt struct {
	texts [][]byte
	in    []byte
	next  []int // where each text is next; len(in) if nowhere
}

// hunt begins to look. The text must not change, and scratch, which may be the
// memory of an earlier hunt, is used for a copy of it.
func (n needles) hunt(text []byte, scratch *[]byte) *hunt {
	if n.fold {
		*scratch = lower((*scratch)[:0], text)
		text = *scratch
	}
	return &hunt{texts: n.texts, in: text, next: slices.Repeat([]int{-1}, len(n.texts))}
}

// from is the first place at or after a place where a needle begins, or -1.
func (h *hunt) from(at int) int {
	first := len(h.in)
	for i, t := range h.texts {
		if h.next[i] < at {
			h.next[i] = len(h.in)
			if k := bytes.Index(h.in[min(at, len(h.in)):], t); k >= 0 {
				h.next[i] = at + k
			}
		}
		first = min(first, h.next[i])
	}
	if first == len(h.in) {
		return -1
	}
	return first
}
