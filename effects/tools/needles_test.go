package tools

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TOOL-20: what every match of a pattern must have, and what is left open.
func TestNeedles(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"needle", "[needle]"},
		{`\bneedle\b`, "[needle]"},
		{`^func \w+Error\(`, "[Error(]"},
		{`(ab|abc)def`, "[def]"},
		{"(?:foo)+", "[foo]"},
		{"(foo){2,}", "[foo]"},
		{"TODO|FIXME", "[TODO FIXME]"},
		{"bar|baz", "[ba]"},
		{"a|", "[]"},
		{"foo?", "[fo]"},
		{"(foo)*", "[]"},
		{`\w+`, "[]"},
		{"[n]ee[d]le", "[needle]"},
		{"(?i)NEEDLE", "[needle] fold"},
		{"(?i)classes", "[cla] fold"},
		{"(?i)ÄB", "[b] fold"},
		{"(?i:ab)|CD", "[ab cd] fold"},
		{`(?ms)one\ntwos`, "[twos]"},
		{"\uFFFDab", "[ab]"},
		{"a|b|c|d|e", "[]"}, // a class
		{"aa|bb|cc|dd|ee|ff|gg|hh|ii", "[]"},
	}
	for _, tt := range tests {
		n := newNeedles(tt.pattern)
		got := fmt.Sprintf("%s", n.texts)
		if n.fold {
			got += " fold"
		}
		if got != tt.want {
			t.Errorf("newNeedles(%q) = %s, want %s", tt.pattern, got, tt.want)
		}
	}
}

// Needles hide no match: grep finds the lines that the pattern alone finds.
func FuzzNeedles(f *testing.F) {
	for _, p := range []string{"a|b", "(?i)Ks+t", "fo+o", `\bx`, "^a.*z$", "(?i)ſt|K", "\uFFFD", "(ab){2}c?", "a\r"} {
		f.Add(p, "aKb\nfoo x\r\nKSt\xffababc\nſT\n\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 100 || len(text) > 1000 {
			return
		}
		g := &grepping{listing: listing{limit: 1 << 20}, pattern: re, needles: newNeedles(pattern)}
		lines := newLines([]byte(text))
		var want []int
		for i := range lines.ends {
			if re.Match(lines.line(i)) {
				want = append(want, i)
			}
		}
		var scratch []byte
		got, err := g.matching(t.Context(), lines, g.needles.hunt(lines.text, &scratch))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("lines of %q that match %q = %v, %v, want %v (needles %q)", strings.Split(text, "\n"), pattern, got, err, want, g.needles.texts)
		}
	})
}
