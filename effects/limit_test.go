package effects

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TOOL-11: whole lines while both bounds hold, then where the rest is.
// FR-029: a cut never leaves half a character.
func TestFitOnePiece(t *testing.T) {
	tests := []struct {
		name         string
		text         string
		bytes, lines int
		path         string
		want         string
		cut          bool
	}{
		{"empty", "", 10, 10, "", "", false},
		{"fits exactly", "ab\ncd\n", 6, 2, "", "ab\ncd\n", false},
		{"no bounds", "ab\ncd", 0, 0, "", "ab\ncd", false},
		{"too many lines", "a\nb\nc", 100, 2, "/x/out.txt", "a\nb\n[truncated: showing 2 of 3 lines; full output at /x/out.txt]", true},
		{"too many bytes", "aaa\nbbb\nc\n", 6, 100, "/x/out.txt", "aaa\n[truncated: showing 1 of 3 lines; full output at /x/out.txt]", true},
		{"not kept", "a\nb\n", 100, 1, "", "a\n[truncated: showing 1 of 2 lines; the full output was not kept]", true},
		{"giant line", "aää\nb", 4, 100, "p", "aä… [line cut: 3 of 5 bytes shown]\n[truncated: showing 1 of 2 lines; full output at p]", true},
		{"invalid bytes", "a\xff", 100, 100, "", "a\uFFFD", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := Limits{tt.bytes, tt.lines}.Fit([]Piece{{Text: tt.text}}, tt.path)
			if got != tt.want || cut != tt.cut {
				t.Errorf("Fit(%q, %d, %d) = %q, %v, want %q, %v", tt.text, tt.bytes, tt.lines, got, cut, tt.want, tt.cut)
			}
		})
	}
}

// TOOL-11, TOOL-32: of several pieces each keeps its beginning and its end, and a
// short one leaves its share to the others.
func TestFitPieces(t *testing.T) {
	rows := func(c string, n int) string { return strings.Repeat(c+"\n", n) }
	tests := []struct {
		name         string
		pieces       []Piece
		bytes, lines int
		want         string
	}{
		{"fits", []Piece{{Text: "ab"}, {Text: "cd\n"}}, 5, 2, "abcd\n"},
		{
			"lines of one",
			[]Piece{{Text: "1\n2\n3\n4\n5\n6\n"}, {Text: "end"}},
			0, 5,
			"1\n2\n[truncated: 4 of 12 bytes left out here]\n5\n6\nend\n[truncated: showing 5 of 7 lines; full output at /p]",
		},
		{
			"bytes of both",
			[]Piece{{Text: rows("a", 9)}, {Text: rows("b", 9)}},
			16, 0,
			"a\na\n[truncated: 10 of 18 bytes left out here]\na\na\nb\nb\n[truncated: 10 of 18 bytes left out here]\nb\nb\n[truncated: showing 8 of 18 lines; full output at /p]",
		},
		{
			"a short one gives",
			[]Piece{{Text: "x\n"}, {Text: rows("b", 9)}},
			14, 0,
			"x\nb\nb\nb\n[truncated: 6 of 18 bytes left out here]\nb\nb\nb\n[truncated: showing 7 of 10 lines; full output at /p]",
		},
		{
			"a giant line",
			[]Piece{{Text: "ääääää"}, {}},
			6, 0,
			"ä\n[truncated: 8 of 12 bytes left out here]\nä\n[truncated: showing 1 of 1 lines; full output at /p]",
		},
		{
			"something was left out before",
			[]Piece{{Text: "1\n[…]\n3\n", Size: 100}, {Text: "e"}},
			5, 0,
			"1\n[truncated: 96 of 100 bytes left out here]\n3\ne\n[truncated: showing 3 of 4 lines; the beginning and the end of the full output at /p]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := Limits{tt.bytes, tt.lines}.Fit(tt.pieces, "/p")
			if got != tt.want || cut != (tt.name != "fits") {
				t.Errorf("Fit = %q, %v, want %q", got, cut, tt.want)
			}
		})
	}
}

// FR-029, TOOL-11: what is shown is valid and bounded, whatever the tool wrote.
func FuzzLimit(f *testing.F) {
	f.Add("aaaaaaa😀😀😀\n", "", uint8(8), uint8(2))
	f.Add("a\xf0\x9f\n\nb", "ä\n\xf0", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, text, more string, maxBytes, maxLines uint8) {
		limits := Limits{int(maxBytes), int(maxLines)}
		for _, pieces := range [][]Piece{{{Text: text}}, {{Text: text}, {Text: more}, {Text: "end"}}} {
			got, cut := limits.Fit(pieces, "/p")
			if !utf8.ValidString(got) {
				t.Errorf("Fit(%+v) = %q, want valid UTF-8", pieces, got)
			}
			if !cut && got != strings.ToValidUTF8(join(pieces), "\uFFFD") {
				t.Errorf("Fit(%+v) = %q, want all of it or a cut", pieces, got)
			}
			words := len(pieces)*len("\n[truncated: 1000000 of 1000000 bytes left out here]\n") + len("… [line cut: 255 of 1000000 bytes shown]\n[truncated: showing 255 of 1000000 lines; full output at /p]")
			if maxBytes > 0 && len(got) > max(int(maxBytes), len(pieces))+words {
				t.Errorf("Fit(%+v, %d) has %d bytes", pieces, maxBytes, len(got))
			}
		}
	})
}
