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

// TOOL-65: what git ignores is left out of grep and glob, unless it is named or
// asked for.
func TestSearchHeedsIgnoreRules(t *testing.T) {
	b := newBench(t, Options{Excludes: "EXCLUDES"},
		".git/config", "hit", ".git/info/exclude", "mine\n", ".gitignore", "*.log\n!keep.log\n/build/\nvendor\n",
		"a.go", "hit", "a.log", "hit", "keep.log", "hit", "mine", "hit", "ours", "hit", "build/out.go", "hit", "build/.gitignore", "!out.go\nb\n", "build/b", "hit",
		"x/build/in.go", "hit", "x/.gitignore", "!*.log\nin.go\n", "x/a.log", "hit", "x/vendor", "-> ../z", "z/a", "hit",
		"sub/.git/HEAD", "hit", "sub/a.log", "hit", "sub/.gitignore", "only", "sub/only", "hit")
	tests := []struct{ name, path, all, want string }{
		{"the whole workspace", ".", "", ".gitignore a.go keep.log ours sub/.gitignore sub/a.log x/.gitignore x/a.log z/a"},
		{"with no_ignore", ".", "true", ".gitignore a.go a.log build/.gitignore build/b build/out.go keep.log mine ours sub/.gitignore sub/a.log sub/only x/.gitignore x/a.log x/build/in.go z/a"},
		{"below a directory", "x", "", "x/.gitignore x/a.log"},
		{"an ignored directory by name", "build", "", "build/.gitignore build/out.go"},
		{"an ignored file by name", "a.log", "", "a.log"},
		{"git's own by name", ".git", "", ".git/config .git/info/exclude"},
	}
	for _, tt := range tests {
		got := b.call(t, "grep", in("pattern", "hit|.", "path", tt.path, "no_ignore", tt.all != ""))
		var names []string
		for _, line := range strings.Split(got.Output, "\n")[1:] {
			name, _, _ := strings.Cut(line, ":")
			if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("grep in %s finds %s, want %s", tt.name, got, tt.want)
		}
		got = b.call(t, "glob", in("pattern", "*", "path", tt.path, "no_ignore", tt.all != ""))
		_, list, _ := strings.Cut(got.Output, "\n")
		if strings.ReplaceAll(list, "\n", " ") != relative(tt.want, tt.path) {
			t.Errorf("glob in %s finds %s, want %s", tt.name, list, relative(tt.want, tt.path))
		}
	}
	want(t, "ls", b.call(t, "ls", in("path", "build")), "list build\n[file] .gitignore\n[file] b\n[file] out.go")
}

// relative takes a directory off the front of names.
func relative(names, dir string) string {
	return strings.ReplaceAll(" "+names, " "+dir+"/", " ")[1:]
}

// TOOL-65: rules above the workspace, the user's own, and those without a
// repository.
func TestSearchFindsRulesAround(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, Options{Excludes: filepath.Join(dir, "ignore")}, "a", "hit", "b", "hit", "c", "hit", "d", "hit", "sub/c", "hit", "sub/d", "hit")
	b.put(t, ".gitignore", "a")
	b.put(t, "../.gitignore", "/ws/b")
	want(t, "glob without a repository", b.call(t, "glob", in("pattern", "*")), "glob . /*/\n.gitignore\nb\nc\nd\nsub/c\nsub/d")
	want(t, "glob below, without a repository", b.call(t, "glob", in("pattern", "*", "path", "sub")), "glob sub /*/\nc\nd")
	b.put(t, "../.git/", "")
	want(t, "glob below the top of a repository", b.call(t, "glob", in("pattern", "*")), "glob . /*/\n.gitignore\nc\nd\nsub/c\nsub/d")
	bench{dir: dir}.put(t, "ignore", "ws/sub/c\nd\n")
	want(t, "glob with the user's rules", b.call(t, "glob", in("pattern", "*")), "glob . /*/\n.gitignore\nc")
	want(t, "glob below, with the user's rules", b.call(t, "glob", in("pattern", "c", "path", "sub", "noIgnore", true)), "glob sub /c/\nc")
}

// TOOL-65: where only ignored names are left, the result says so.
func TestSearchSaysThatAllIsIgnored(t *testing.T) {
	b := newBench(t, Options{}, ".gitignore", "*.o\n/out/\n", "a.o", "hit", "out/a.c", "hit", "b.c", "miss")
	const two, one = "\n[2 ignored names were left out; no_ignore searches them too]", "\n[1 ignored names were left out; no_ignore searches them too]"
	want(t, "grep", b.call(t, "grep", in("pattern", "hit")), "search . /hit/\n(no matches)"+two)
	want(t, "grep in *.c", b.call(t, "grep", in("pattern", "hit", "glob", "*.c")), "search . /hit/\n(no matches)"+one)
	want(t, "grep with a match", b.call(t, "grep", in("pattern", "miss")), "search . /miss/\nb.c:1: miss")
	want(t, "grep with no_ignore", b.call(t, "grep", in("pattern", "hat", "no_ignore", true)), "search . /hat/\n(no matches)")
	want(t, "glob", b.call(t, "glob", in("pattern", "a.*")), "glob . /a.*/\n(no matches)"+two)
	want(t, "glob elsewhere", b.call(t, "glob", in("pattern", "src/*.c")), "glob . /src/*.c/\n(no matches)")
}

// TOOL-21: a glob with directories in front is looked for only there, and finds
// the same.
func TestGlobLooksWhereItLeads(t *testing.T) {
	b := newBench(t, Options{}, "a/b/c.go", "", "a/b/d/e.go", "", "a/x.go", "", "b/c.go", "", "ab/c.go", "", "l", "-> a/b", "a/[x]/y.go", "")
	tests := []struct{ pattern, want string }{
		{"a/b/*.go", "a/b/c.go"},
		{"a/b/**/*.go", "a/b/c.go a/b/d/e.go"},
		{"a/b/c.go", "a/b/c.go"},
		{"a/*.go", "a/x.go"},
		{"*/*.go", "a/x.go ab/c.go b/c.go"},
		{"a/{b,b/d}/*.go", "a/b/c.go a/b/d/e.go"},
		{"a/b*/?.go", "a/b/c.go"},
		{`a/\[x\]/*.go`, "a/[x]/y.go"},
		{"a/[[]x]/*.go", "a/[x]/y.go"},
		{"l/*.go", "(no matches)"}, // its target is met as a/b
		{"a/b", "(no matches)"},
	}
	for _, tt := range tests {
		_, got, _ := strings.Cut(b.call(t, "glob", in("pattern", tt.pattern)).Output, "\n")
		if got = strings.ReplaceAll(got, "\n", " "); got != tt.want {
			t.Errorf("glob %s finds %s, want %s", tt.pattern, got, tt.want)
		}
	}
}
