//go:build unix

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/basisagent/basis/effects/tools/fence"
)

// TOOL-19: names in order, to a depth and a limit.
func TestList(t *testing.T) {
	b := newBench(t, Options{}, "b/c/d", "", "a.txt", "", ".hid", "", "b/e", "", "b/up", "-> ..", "none/", "")
	tests := []struct{ input, want string }{
		{`{}`, "list .\n[file] .hid\n[file] a.txt\n[dir] b\n[dir] none"},
		{in("depth", 2), "list .\n[file] .hid\n[file] a.txt\n[dir] b\n[dir] b/c\n[file] b/e\n[dir] b/up\n[dir] none"},
		{in("path", "b", "depth", 9), "list b\n[dir] c\n[file] c/d\n[file] e\n[dir] up"},
		{in("depth", 0), "list .\n(no entries)"},
		{in("path", "none"), "list none\n(no entries)"},
		{in("path", "b/e"), "list b/e\n[file] e"},
		{in("limit", 2), "list .\n[file] .hid\n[file] a.txt\n[limit of 2 lines reached; there is more]"},
	}
	for _, tt := range tests {
		got := b.call(t, "ls", tt.input)
		if tt.input == in("path", "b", "depth", 9) { // up leads out of the tree that is listed, to the workspace itself
			got.Output, _, _ = strings.Cut(got.Output, "\n[file] up/")
		}
		want(t, "ls("+tt.input+")", got, tt.want)
	}
	wantError(t, "ls nope", b.call(t, "ls", in("path", "nope")), string(fence.CodeNotFound))
}

// TOOL-21: which paths a pattern means.
func TestGlob(t *testing.T) {
	b := newBench(t, Options{}, "a.go", "", "x/b.go", "", "x/y/c.go", "", "x/c.txt", "", ".git/d.go", "", "x/dir.go/", "")
	tests := []struct{ pattern, path, want string }{
		{"*.go", ".", "a.go\nx/b.go\nx/y/c.go"},
		{"./*.go", ".", "a.go\nx/b.go\nx/y/c.go"},
		{"x/*.go", ".", "x/b.go"},
		{"x/**/*.go", ".", "x/b.go\nx/y/c.go"},
		{"**", ".", "a.go\nx/b.go\nx/c.txt\nx/y/c.go"},
		{"*.{go,txt}", "x", "b.go\nc.txt\ny/c.go"},
		{"[ab].go", ".", "a.go\nx/b.go"},
		{"*.rs", ".", "(no matches)"},
		{"*.go", "x/b.go", "b.go"},
	}
	for _, tt := range tests {
		want(t, "glob "+tt.pattern, b.call(t, "glob", in("pattern", tt.pattern, "path", tt.path)), "glob "+tt.path+" /"+tt.pattern+"/\n"+tt.want)
	}
	want(t, "glob limit 0", b.call(t, "glob", in("pattern", "*", "limit", 0)), "glob . /*/\n(no matches)")
	wantError(t, "glob [", b.call(t, "glob", in("pattern", "[")), CodePattern)
}

// TOOL-20: matches, context, flags and limits.
func TestGrep(t *testing.T) {
	b := newBench(t, Options{}, "a.go", "one\nTwo\nthree\r\nfour\nfive (x)\n", "b.txt", "two\none", "c.bin", "one\x00", "a", "")
	tests := []struct{ input, want string }{
		{in("pattern", "two"), "/two/\nb.txt:1: two"},
		{in("pattern", "two", "ignoreCase", true), "/two/\na.go:2: Two\nb.txt:1: two"},
		{in("pattern", "^three$"), "/^three$/\na.go:3: three"},
		{in("pattern", "(x)", "literal", true), "/(x)/\na.go:5: five (x)"},
		{in("pattern", "one", "glob", "*.go"), "/one/\na.go:1: one"},
		{in("pattern", "three", "context", 1), "/three/\na.go:2- Two\na.go:3: three\na.go:4- four"},
		{in("pattern", "e$", "context", 1, "glob", "*.go"), "/e$/\na.go:1: one\na.go:2- Two\na.go:3: three\na.go:4- four"},
		{in("pattern", "one.two", "multiline", true, "ignore_case", true), "/one.two/\na.go:1: one\na.go:2: Two"},
		{in("pattern", "^two$.^one$", "multiline", true), "/^two$.^one$/\nb.txt:1: two\nb.txt:2: one"},
		{in("pattern", "three$.four$", "multiline", true), "/three$.four$/\na.go:3: three\na.go:4: four"},
		{in("pattern", "nothing", "glob", "*.go"), "/nothing/\n(no matches)"},
		{in("pattern", ".", "limit", 2, "glob", "*.go"), "/./\na.go:1: one\na.go:2: Two\n[limit of 2 lines reached; there is more]"},
	}
	for _, tt := range tests {
		got := b.call(t, "grep", tt.input)
		got.Output = strings.TrimSuffix(got.Output, "\n[1 binary files were not searched]")
		want(t, "grep("+tt.input+")", got, "search . "+tt.want)
	}
	wantError(t, "grep (", b.call(t, "grep", in("pattern", "(")), CodePattern, "RE2")
	wantError(t, "grep none", b.call(t, "grep", in("pattern", "x", "path", "none")), string(fence.CodeNotFound))
}

// TOOL-20, FR-029: a long line is cut to 500 whole characters.
func TestGrepCutsLines(t *testing.T) {
	b := newBench(t, Options{}, "f", "hit"+strings.Repeat("é", 600)+"\n"+strings.Repeat("é", 600)+"hit\xff\n")
	for i, line := range strings.Split(b.call(t, "grep", in("pattern", "hit")).Output, "\n")[1:3] {
		text := strings.TrimPrefix(line, fmt.Sprintf("f:%d: ", i+1))
		if n := utf8.RuneCountInString(text); n > 500 || !strings.HasSuffix(text, "…") || !strings.Contains(text, "hit") || !utf8.ValidString(text) {
			t.Errorf("line %d is shown as %q (%d characters), want at most 500 with the match", i+1, text, n)
		}
	}
}

// FR-039: a failed walk looked like no matches, and binaries and huge files ate
// the time.
func TestFR039SearchSaysWhatItLeftOut(t *testing.T) {
	b := newBench(t, Options{}, "bin", "hit\x00", "text", "hit\n", "sparse", "")
	if err := os.Truncate(filepath.Join(b.dir, "sparse"), 3<<30); err != nil {
		t.Fatal(err)
	}
	want(t, "grep", b.call(t, "grep", in("pattern", "hit")), "search . /hit/\ntext:1: hit\n[1 binary files were not searched]\n[1 files larger than 16 MiB were not searched]")
	wantError(t, "glob", b.call(t, "glob", in("pattern", "*", "path", "none")), string(fence.CodeNotFound), "none")
}

// TOOL-11: a search result is bounded whatever limit is asked for.
func TestSearchResultIsBounded(t *testing.T) {
	b := newBench(t, Options{}, "f", strings.Repeat(strings.Repeat("x", 400)+"\n", 1000))
	got := b.call(t, "grep", in("pattern", "x", "limit", 100_000)).Output
	if len(got) > 50<<10 || !strings.Contains(got, "as much as one result holds") {
		t.Errorf("grep gives %d bytes that end %q, want a bounded result that says so", len(got), tail(got))
	}
}

// TOOL-11: no limit makes a result longer than what a model is shown of one.
func TestListsAreBoundedWhateverTheLimit(t *testing.T) {
	b := newBench(t, Options{}, "f", strings.Repeat("x\n", 2500))
	got := b.call(t, "grep", in("pattern", "x", "limit", 100000))
	if n := strings.Count(got.Output, "\n"); n != 2001 || !got.Paged || !strings.HasSuffix(got.Output, "[stopped after 2000 lines, which is as much as one result holds; use a narrower path or pattern]") {
		t.Errorf("grep gives %d lines that end %q, want 2000 and why", n, tail(got.Output))
	}
}
