package ignore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// says is what the only list of a text makes of a path; one that ends in a slash
// is a directory.
func says(text, path string) string {
	l := Parse([]byte(text))
	if l == nil {
		return "silent"
	}
	path, dir := strings.CutSuffix(path, "/")
	return map[verdict]string{silent: "silent", ignored: "ignored", kept: "kept"}[l.match(path, path[strings.LastIndexByte(path, '/')+1:], dir)]
}

// TOOL-65: what each kind of line means.
func TestPatterns(t *testing.T) {
	tests := []struct {
		text              string
		ignored, kept, no []string
	}{
		// names and paths
		{text: "a", ignored: []string{"a", "a/", "x/a", "x/y/a"}, no: []string{"ab", "a/b", "A"}},
		{text: "/a", ignored: []string{"a", "a/"}, no: []string{"x/a"}},
		{text: "x/a", ignored: []string{"x/a"}, no: []string{"y/x/a", "a"}},
		{text: "a/", ignored: []string{"a/", "x/a/"}, no: []string{"a", "x/a"}},
		{text: "x/a/", ignored: []string{"x/a/"}, no: []string{"x/a", "y/x/a/"}},
		{text: "a//", no: []string{"a", "a/"}},
		{text: "/", no: []string{"a", "a/"}},
		{text: "//a", no: []string{"a"}},
		// stars
		{text: "*", ignored: []string{"a", "x/a", ".a"}},
		{text: "*.o", ignored: []string{"a.o", ".o", "x/a.o"}, no: []string{"a.os", "o"}},
		{text: "a*c", ignored: []string{"ac", "abbc", "x/abc"}, no: []string{"a/c", "acd"}},
		{text: "*a*b*", ignored: []string{"ab", "xaxbx"}, no: []string{"ba"}},
		{text: "x/*", ignored: []string{"x/a"}, no: []string{"x/y/a", "x"}},
		{text: "/*.c", ignored: []string{"a.c"}, no: []string{"x/a.c"}},
		{text: "x/*a/b", ignored: []string{"x/aa/b", "x/a/b"}, no: []string{"x/ab/b", "x/y/a/b"}},
		{text: "?", ignored: []string{"a", "x/a"}, no: []string{"ab", "é"}},
		{text: "x?a", no: []string{"x/a"}},
		{text: "/x?a", no: []string{"x/a"}},
		// two stars
		{text: "**", ignored: []string{"a", "x/a"}},
		{text: "**/a", ignored: []string{"a", "x/a", "x/y/a"}, no: []string{"xa"}},
		{text: "x/**", ignored: []string{"x/a", "x/y/a"}, no: []string{"x", "xx/a"}},
		{text: "x/**/a", ignored: []string{"x/a", "x/y/a", "x/y/z/a"}, no: []string{"xa", "x/ya", "a"}},
		{text: "**/x/**", ignored: []string{"x/a", "y/x/a"}, no: []string{"x"}},
		{text: "**/x/**/a*/**/b", ignored: []string{"x/a/b", "y/x/z/aa/z/b"}, no: []string{"x/b", "x/a"}},
		{text: "/x**a", ignored: []string{"x1a"}, no: []string{"y/x1a"}},
		{text: "x/a**", ignored: []string{"x/ab", "x/ab/c"}, no: []string{"x/b"}}, // as git has it
		{text: "***/a", ignored: []string{"a", "x/y/a"}},
		// classes
		{text: "[ab]", ignored: []string{"a", "b"}, no: []string{"c", "ab"}},
		{text: "[a-c]x", ignored: []string{"ax", "cx"}, no: []string{"dx", "-x"}},
		{text: "[!a-c]", ignored: []string{"d"}, no: []string{"a"}},
		{text: "[^a-c]", ignored: []string{"d"}, no: []string{"a"}},
		{text: "[]a]", ignored: []string{"]", "a"}},
		{text: "[a-]", ignored: []string{"a", "-"}, no: []string{"b"}},
		{text: "[-a]", ignored: []string{"a", "-"}},
		{text: `[\]a]`, ignored: []string{"]", "a"}, no: []string{`\`}},
		{text: `[a-\c]`, ignored: []string{"b"}, no: []string{`\`}},
		{text: "[[:digit:]x]", ignored: []string{"7", "x"}, no: []string{"a", ":"}},
		{text: "[![:alpha:]]", ignored: []string{"7", "_"}, no: []string{"a"}},
		{text: "[[:upper:]-z]", ignored: []string{"A", "-", "z"}, no: []string{"a"}},
		{text: "[[:nope:]]", no: []string{"n", ":"}},
		{text: "[[:x]", ignored: []string{"[", ":", "x"}},
		{text: "[ab", no: []string{"a", "[ab"}},
		{text: "/x[/]a", no: []string{"x/a"}},
		{text: "/x[^b]a", no: []string{"x/a"}},
		// escapes
		{text: `\#a`, ignored: []string{"#a"}},
		{text: `\!a`, ignored: []string{"!a"}},
		{text: `\*`, ignored: []string{"*"}, no: []string{"a"}},
		{text: `a\`, no: []string{"a", `a\`}},
		{text: `a\\`, ignored: []string{`a\`}},
		{text: `x\/a`, ignored: []string{"x/a"}},
		{text: `a\/`, no: []string{"a/", "a"}},
		// lines
		{text: "#a", no: []string{"a", "#a"}},
		{text: "a #b", ignored: []string{"a #b"}, no: []string{"a"}},
		{text: "a  ", ignored: []string{"a"}, no: []string{"a  "}},
		{text: `a\  `, ignored: []string{"a "}, no: []string{"a"}},
		{text: `a\\ `, ignored: []string{`a\`}},
		{text: "  a", ignored: []string{"  a"}, no: []string{"a"}},
		{text: "a\t", ignored: []string{"a\t"}, no: []string{"a"}},
		{text: "a\r\nb\r\n", ignored: []string{"a", "b"}},
		{text: "a\nb", ignored: []string{"a", "b"}},
		{text: "\uFEFFa\nb", ignored: []string{"a", "b"}},
		{text: "a\x00b", ignored: []string{"a"}},
		{text: "\r\n\n!\n!/\n   \n", no: []string{"a", ""}},
		// the last one decides
		{text: "*.o\n!a.o", ignored: []string{"b.o"}, kept: []string{"a.o", "x/a.o"}},
		{text: "!a.o\n*.o", ignored: []string{"a.o"}},
		{text: "a\n!a/", ignored: []string{"a"}, kept: []string{"a/"}},
		{text: "!!a", kept: []string{"!a"}},
	}
	for _, tt := range tests {
		for want, paths := range map[string][]string{"ignored": tt.ignored, "kept": tt.kept, "silent": tt.no} {
			for _, path := range paths {
				if got := says(tt.text, path); got != want {
					t.Errorf("%q says %s of %q, want %s", tt.text, got, path, want)
				}
			}
		}
	}
}

// read is a Read that follows links.
func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return data
}

// tree makes files below a new directory, given as path and content; a path that
// ends in a slash is a directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		plant(t, filepath.Join(dir, files[i]), strings.HasSuffix(files[i], "/"), files[i+1])
	}
	return dir
}

func plant(t *testing.T, path string, dir bool, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil && dir {
		err = os.MkdirAll(path, 0o755)
	} else if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TOOL-65: which files hold in a directory, and which outranks which.
func TestFind(t *testing.T) {
	dir := tree(t,
		".gitignore", "above", "user", "user\nboth", "repo/.git/info/exclude", "exclude\n!both\ndeep", "repo/.gitignore", "/a/top\n/b/\nc/*\n!c/d\n",
		"repo/a/.gitignore", "a\n!deep", "repo/b/x/.gitignore", "x", "repo/c/d/", "", "repo/c/e/", "",
		"loose/.gitignore", "one", "loose/a/", "",
		"link/.git", "gitdir: ../main/.git/worktrees/link\n", "main/.git/worktrees/link/commondir", "../..\n", "main/.git/info/exclude", "common",
		"sub/.git", "gitdir: ../main/.git/modules/sub", "main/.git/modules/sub/info/exclude", "sub")
	if err := os.Symlink("../user", filepath.Join(dir, "repo/c/.gitignore")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ at, ignored, no string }{
		{"repo", "user exclude deep", "above top b/ x"}, // its own file is for With
		{"repo/a", "user exclude top", "a above"},
		{"repo/b", "", "user exclude x"},       // it is ignored itself
		{"repo/b/x", "", "user exclude"},       // it lies in an ignored one
		{"repo/c", "exclude e user", "d"},      // its own file is a link
		{"repo/c/d", "exclude user", "e"},      // a negation
		{"loose/a", "user one above", "x"},     // from top down, which here is dir
		{"link", "common user", "sub exclude"}, // a linked working tree
		{"sub", "sub user", "common"},          // a submodule
	}
	for _, tt := range tests {
		r := Find(filepath.Join(dir, tt.at), dir, filepath.Join(dir, "user"), read)
		for name := range strings.FieldsSeq(tt.ignored) {
			check(t, tt.at, r, name, true)
		}
		for name := range strings.FieldsSeq(tt.no) {
			check(t, tt.at, r, name, false)
		}
	}
	r := Find(filepath.Join(dir, "repo"), dir, filepath.Join(dir, "user"), read)
	check(t, "repo, info/exclude before the user's file", r, "both", false)
	r = r.With(read(filepath.Join(dir, "repo/.gitignore"))).In("a").With(read(filepath.Join(dir, "repo/a/.gitignore")))
	check(t, "repo/a with its file", r, "top", true)
	check(t, "repo/a with its file", r, "a", true)
	check(t, "repo/a, the deeper file first", r, "deep", false)
	r = r.Repository(filepath.Join(dir, "sub"), read)
	check(t, "a repository in a repository", r, "a", false)
	check(t, "a repository in a repository", r, "sub", true)
	check(t, "a repository in a repository", r, "user", true)
}

func check(t *testing.T, where string, r *Rules, name string, want bool) {
	t.Helper()
	name, isDir := strings.CutSuffix(name, "/")
	if got := r.Ignored(name, isDir); got != want {
		t.Errorf("in %s: Ignored(%s, %v) = %v, want %v", where, name, isDir, got, want)
	}
}

// No pattern takes more time than the product of the lengths, squared.
func TestNoPatternHangs(t *testing.T) {
	long := strings.Repeat("a", 4000)
	deep := strings.Repeat("a/", 2000)
	for _, pattern := range []string{strings.Repeat("a*", 60) + "b", "/" + strings.Repeat("**/a*/", 60) + "b", strings.Repeat("**/", 60) + "*a*a*a*a*b", "x/" + strings.Repeat("*a", 60)} {
		begun := time.Now()
		says(pattern, long)
		says(pattern, deep+"a")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%.20q… takes %v, want it to end soon", pattern, took)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"*.o", "/a/**/b", "[[:alpha:]-z]*", "a\\ ", "!x/", "**a**/**", "[!]a-", "\uFEFF#\r\n\\"} {
		f.Add(s, "x/a/y/b.o")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		if len(text) > 1<<10 || len(path) > 1<<10 {
			return
		}
		got := says(text, path)
		if again := says(text+"\n", path); again != got {
			t.Errorf("%q says %s of %q, and %s with one more line feed", text, got, path, again)
		}
		if turned := says("*\n!*", path); path != "" && !strings.HasSuffix(path, "/") && turned != "kept" {
			t.Errorf("*, !* says %s of %q, want kept", turned, path)
		}
	})
}
