package effects

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TOOL-11: whole lines while both bounds hold, then where the rest is.
// FR-029: a cut never leaves half a character.
func TestLimit(t *testing.T) {
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
			got, cut := Limit(tt.text, tt.bytes, tt.lines, tt.path)
			if got != tt.want || cut != tt.cut {
				t.Errorf("Limit(%q, %d, %d) = %q, %v, want %q, %v", tt.text, tt.bytes, tt.lines, got, cut, tt.want, tt.cut)
			}
		})
	}
}

// FR-029, TOOL-11: what is shown is valid and bounded, whatever the tool wrote.
func FuzzLimit(f *testing.F) {
	f.Add("aaaaaaa😀😀😀\n", uint8(8), uint8(2))
	f.Add("a\xf0\x9f\n\nb", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, text string, maxBytes, maxLines uint8) {
		got, cut := Limit(text, int(maxBytes), int(maxLines), "/p")
		if !utf8.ValidString(got) {
			t.Errorf("Limit(%q) = %q, want valid UTF-8", text, got)
		}
		if !cut && got != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("Limit(%q) = %q, want all of it or a cut", text, got)
		}
		if maxBytes > 0 && len(got) > int(maxBytes)+len("… [line cut: 255 of 1000000 bytes shown]\n[truncated: showing 255 of 1000000 lines; full output at /p]") {
			t.Errorf("Limit(%q, %d) has %d bytes", text, maxBytes, len(got))
		}
	})
}
