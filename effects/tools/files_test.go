//go:build unix

package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/effects/tools/patch"
)

// TOOL-18: lines with numbers, a selection of them, and how to go on.
func TestRead(t *testing.T) {
	b := newBench(t, Options{},
		"src/a.go", "package a\n\nfunc b() {}\n", "crlf", "\uFEFFa\r\nb", "empty", "", "big", strings.Repeat("x\n", 2500),
		"latin1", "ok\ncaf\xe9\n", "binary", "\x00\x01", "dir/", "", "in", "-> src")
	tests := []struct{ input, want string }{
		{in("path", "src/a.go"), "read src/a.go\nL1: package a\nL2:\nL3: func b() {}"},
		{in("path", "in/../src/a.go", "offset", 2, "limit", 1), "read src/a.go\nL2:"},
		{in("path", b.dir+"/in/a.go", "offset", 3), "read src/a.go\nL3: func b() {}"},
		{in("path", "src/a.go", "offset", 9), "read src/a.go\n(no lines)"},
		{in("path", "src/a.go", "limit", 0), "read src/a.go\n(no lines)"},
		{in("path", "empty"), "read empty\n(no lines)"},
		{in("path", "crlf"), "read crlf\nL1: a\nL2: b"},
		{in("path", "latin1", "limit", 1), "read latin1\nL1: ok"},
		{in("path", "big", "offset", 2400), "read big\n" + numbered(2400, 2500)},
		{in("path", "big"), "read big\n" + numbered(1, 2000) + "\n[truncated: showing 2000 of 2500 lines; go on with offset=2001]"},
		{in("path", "big", "limit", 9999), "read big\n" + numbered(1, 2000) + "\n[truncated: showing 2000 of 2500 lines; go on with offset=2001]"},
	}
	for _, tt := range tests {
		want(t, "read("+tt.input+")", b.call(t, "read", tt.input), tt.want)
	}
	wantError(t, "read latin1", b.call(t, "read", in("path", "latin1")), CodeNotText, "latin1", "line 2")
	wantError(t, "read binary", b.call(t, "read", in("path", "binary")), CodeNotText, "binary")
	wantError(t, "read dir", b.call(t, "read", in("path", "dir")), string(fence.CodeDirectory), "dir: is a directory")
	wantError(t, "read none", b.call(t, "read", in("path", "none")), string(fence.CodeNotFound), "none: does not exist")
}

// numbered are the lines that read shows of a file of lines "x".
func numbered(from, to int) string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf("L%d: x", i))
	}
	return strings.Join(lines, "\n")
}

// TOOL-11: what does not fit is named, and reading on from there finds it all.
func TestReadGoesOn(t *testing.T) {
	line := strings.Repeat("é", 450)
	b := newBench(t, Options{}, "f", strings.Repeat(line+"\n", 100))
	seen, offset := 0, 1
	for range 10 {
		got := b.call(t, "read", in("path", "f", "offset", offset)).Output
		if len(got) > 50<<10 || !utf8.ValidString(got) {
			t.Fatalf("read from %d gives %d bytes, want at most 50 KiB of text", offset, len(got))
		}
		seen += strings.Count(got, line)
		_, rest, more := strings.Cut(got, "go on with offset=")
		if !more {
			break
		}
		if _, err := fmt.Sscanf(rest, "%d]", &offset); err != nil {
			t.Fatalf("read ends with %q, want an offset", rest)
		}
	}
	if seen != 100 {
		t.Errorf("reading on showed %d lines, want 100", seen)
	}
}

// FR-038: one giant line gave an empty or a flooding result.
func TestFR038GiantLine(t *testing.T) {
	half := strings.Repeat("ab", 5<<18)
	b := newBench(t, Options{}, "min.js", half+"NEEDLE"+half, "three", "1\n2\n3")
	size := 2*len(half) + len("NEEDLE")
	got := b.call(t, "read", in("path", "min.js"))
	if got.IsError || len(got.Output) > 50<<10 || !strings.Contains(got.Output, fmt.Sprintf("of %d bytes shown", size)) {
		t.Errorf("read of one line = %d bytes that end %q, want a cut that names %d", len(got.Output), tail(got.Output), size)
	}
	got = b.call(t, "grep", in("pattern", "NEEDLE"))
	if len(got.Output) > 2<<10 || !strings.Contains(got.Output, "min.js:1: …") || !strings.Contains(got.Output, "bNEEDLEa") || !strings.Contains(got.Output, "1 long lines were cut") {
		t.Errorf("grep in one line = %q, want the match with what is around it", got.Output)
	}
	want(t, "read three", b.call(t, "read", in("path", "three")), "read three\nL1: 1\nL2: 2\nL3: 3")
	want(t, "edit three", b.call(t, "edit", in("path", "three", "old", "1", "new", "one")), "Replaced 1 block(s) in three")
	if got := b.get(t, "three"); got != "one\n2\n3" {
		t.Errorf("after an edit of line 1 the file is %q, want no line break at its end", got)
	}
}

// tail is the end of a long text.
func tail(s string) string { return s[max(0, len(s)-200):] }

// TOOL-22, TOOL-17: a file is made or overwritten whole.
func TestWrite(t *testing.T) {
	b := newBench(t, Options{}, "a", "old", "dir/", "")
	want(t, "write a", b.call(t, "write", in("path", "a", "content", "ä\r\n")), "Wrote 4 byte(s) to a")
	want(t, "write new", b.call(t, "write", in("file_path", "n/e/w", "content", "")), "Wrote 0 byte(s) to n/e/w")
	if got := b.get(t, "a") + b.get(t, "n/e/w"); got != "ä\r\n" {
		t.Errorf("the files hold %q", got)
	}
	wantError(t, "write dir", b.call(t, "write", in("path", "dir", "content", "x")), string(fence.CodeDirectory))
	wantError(t, "write .", b.call(t, "write", in("path", ".", "content", "x")), string(fence.CodeDirectory))
	wantError(t, "write below a file", b.call(t, "write", in("path", "a/b", "content", "x")), string(fence.CodeNotDir))
}

// TOOL-15: git's own files are refused to both writing tools, and can be read.
func TestGitFilesAreDenied(t *testing.T) {
	b := newBench(t, Options{}, ".git/config", "[core]\n", ".git/hooks/", "", "g", "-> .git/hooks")
	for _, path := range []string{".git/config", ".git/hooks/pre-commit", "g/pre-commit"} {
		wantError(t, "write "+path, b.call(t, "write", in("path", path, "content", "x")), string(fence.CodeDenied))
		wantError(t, "edit "+path, b.call(t, "edit", in("path", path, "old", "core", "new", "x")), string(fence.CodeDenied))
	}
	want(t, "read", b.call(t, "read", in("path", ".git/config")), "read .git/config\nL1: [core]")
}

// CORE-46, TOOL-15: a content that a file must not hold is refused to both tools, and
// the file stays as it was.
func TestUnfitContentIsNotWritten(t *testing.T) {
	judge := func(path string, content []byte) error {
		if strings.HasSuffix(path, "m.md") && strings.Contains(string(content), "broken") {
			return errors.New("m.md: it is broken")
		}
		return nil
	}
	b := newBench(t, Options{Judge: judge}, "m.md", "fine")
	for path, hit := range map[string]bool{"m.md": true, "new/m.md": true, "other": false} {
		r := b.call(t, "write", in("path", path, "content", "broken"))
		if hit {
			wantError(t, "write "+path, r, CodeUnfit, "nothing was written, because no task could begin here any more: m.md: it is broken")
		} else {
			want(t, "write "+path, r, "Wrote 6 byte(s) to other")
		}
	}
	wantError(t, "edit", b.call(t, "edit", in("path", "m.md", "old", "fine", "new", "broken")), CodeUnfit)
	want(t, "edit", b.call(t, "edit", in("path", "m.md", "old", "fine", "new", "finer")), "Replaced 1 block(s) in m.md")
	if got := b.get(t, "m.md"); got != "finer" {
		t.Errorf("m.md holds %q", got)
	}
}

// TOOL-23, TOOL-24: the whole tool; its matching is tested in package patch.
func TestEdit(t *testing.T) {
	b := newBench(t, Options{}, "f", "one\ntwo\ntwo\n", "dir/", "")
	two := []any{map[string]any{"old_string": "one", "new_string": "1"}, map[string]any{"old": "two\ntwo", "newText": "2"}}
	want(t, "edit", b.call(t, "edit", in("path", "f", "edits", two)), "Replaced 2 block(s) in f")
	if got := b.get(t, "f"); got != "1\n2\n" {
		t.Errorf("after two edits the file is %q", got)
	}
	b.put(t, "f", "x y\nx\n")
	wantError(t, "edit x", b.call(t, "edit", in("path", "f", "old", "x", "new", "z")), string(patch.CodeNotUnique), "f: edit 1", "2 places", "lines 1, 2", "replace_all")
	wantError(t, "edit none", b.call(t, "edit", in("path", "f", "old", "none", "new", "z")), string(patch.CodeNotFound))
	wantError(t, "edit same", b.call(t, "edit", in("path", "f", "old", "y", "new", "y")), string(patch.CodeNoChange))
	wantError(t, "edit empty", b.call(t, "edit", in("path", "f", "old", "", "new", "y")), string(patch.CodeEmpty))
	wantError(t, "edit overlap", b.call(t, "edit", in("path", "f", "edits", []any{
		map[string]any{"old_string": "x y", "new_string": "a"}, map[string]any{"old_string": "y\nx", "new_string": "b"},
	})), string(patch.CodeOverlapping), "edits 1 and 2")
	wantError(t, "edit dir", b.call(t, "edit", in("path", "dir", "old", "x", "new", "y")), string(fence.CodeDirectory))
	wantError(t, "edit missing", b.call(t, "edit", in("path", "nope", "old", "x", "new", "y")), string(fence.CodeNotFound))
	if got := b.get(t, "f"); got != "x y\nx\n" {
		t.Errorf("after refused edits the file is %q, want it untouched", got)
	}
	want(t, "edit all", b.call(t, "edit", in("path", "f", "old", "x", "new", "z", "replaceAll", true)), "Replaced 2 block(s) in f")
	if got := b.get(t, "f"); got != "z y\nz\n" {
		t.Errorf("after replace_all the file is %q", got)
	}
}

// FR-031, FR-037 through the whole tool: another encoding, and signs that some
// languages expand.
func TestFR031FR037EditKeepsBytes(t *testing.T) {
	b := newBench(t, Options{}, "f", "x = 1\n# caf\xe9\n")
	want(t, "edit", b.call(t, "edit", in("path", "f", "old", "x = 1", "new", "$1 ${n} $$ \\1 %s")), "Replaced 1 block(s) in f")
	if got := b.get(t, "f"); got != "$1 ${n} $$ \\1 %s\n# caf\xe9\n" {
		t.Errorf("after the edit the file is %q", got)
	}
}

// FR-034 through the tools: modes stay, and nothing temporary does.
func TestFR034EditAndWriteKeepModes(t *testing.T) {
	b := newBench(t, Options{}, "run.sh", "#!/bin/sh\nexit 1\n")
	path := filepath.Join(b.dir, "run.sh")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	b.call(t, "edit", in("path", "run.sh", "old", "exit 1", "new", "exit 0"))
	b.call(t, "write", in("path", "run.sh", "content", "#!/bin/sh\n"))
	if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o755 {
		t.Errorf("after edit and write the file is %v, %v, want mode 0755", fi, err)
	}
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v, want one file", entries, err)
	}
}

// TOOL-13, TOOL-14. FR-035: links led the file tools out of the workspace.
func TestFR035LinksStayInside(t *testing.T) {
	b := newBench(t, Options{}, "../OUT/v", "secret\n", "sub/x", "inside\n", "out", "-> ../OUT", "f", "-> ../OUT/v", "in", "-> sub")
	outside := string(fence.CodeOutside)
	for _, path := range []string{"out/v", "f", "sub/../../OUT/v", "out/n"} {
		wantError(t, "read "+path, b.call(t, "read", in("path", path)), outside, "read roots")
		wantError(t, "write "+path, b.call(t, "write", in("path", path, "content", "x")), outside, "write roots")
		wantError(t, "edit "+path, b.call(t, "edit", in("path", path, "old", "secret", "new", "x")), outside)
		wantError(t, "ls "+path, b.call(t, "ls", in("path", path)), outside)
		wantError(t, "grep "+path, b.call(t, "grep", in("path", path, "pattern", "s")), outside)
		wantError(t, "glob "+path, b.call(t, "glob", in("path", path, "pattern", "*")), outside)
	}
	for _, r := range []string{b.call(t, "grep", in("pattern", "secret")).Output, b.call(t, "glob", in("pattern", "v")).Output} {
		if !strings.Contains(r, "(no matches)") || !strings.Contains(r, "[skipped out: a link that leads outside]") {
			t.Errorf("a search met a link that leads outside and says %q, want it skipped with a remark", r)
		}
	}
	want(t, "read in", b.call(t, "read", in("path", "in/x")), "read sub/x\nL1: inside")
	want(t, "ls in", b.call(t, "ls", in("path", "in")), "list sub\n[file] x")
	want(t, "grep in", b.call(t, "grep", in("path", "in", "pattern", "side")), "search sub /side/\nsub/x:1: inside")
	want(t, "glob in", b.call(t, "glob", in("path", "in", "pattern", "*")), "glob sub /*/\nx")
	want(t, "write in", b.call(t, "write", in("path", "in/n", "content", "y")), "Wrote 1 byte(s) to sub/n")
	want(t, "edit in", b.call(t, "edit", in("path", "in/x", "old", "inside", "new", "z")), "Replaced 1 block(s) in sub/x")
	if got := b.get(t, "../OUT/v"); got != "secret\n" {
		t.Errorf("the file outside is now %q", got)
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, "../OUT")); err != nil || len(entries) != 1 {
		t.Errorf("outside there is now %v, %v, want one file", entries, err)
	}
}

// FR-036: a pipe, a device and a socket held read, edit and grep.
func TestFR036OddFiles(t *testing.T) {
	b := newBench(t, Options{ReadRoots: []string{"/dev"}, WriteRoots: []string{"/dev"}}, "z", "-> /dev/zero", "text", "x\n")
	if err := syscall.Mkfifo(filepath.Join(b.dir, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"p", "z"} {
		wantError(t, "read "+path, b.call(t, "read", in("path", path)), string(fence.CodeNotRegular))
		wantError(t, "edit "+path, b.call(t, "edit", in("path", path, "old", "x", "new", "y")), string(fence.CodeNotRegular))
		wantError(t, "grep "+path, b.call(t, "grep", in("path", path, "pattern", "x")), string(fence.CodeNotRegular))
	}
	want(t, "grep", b.call(t, "grep", in("pattern", "x")), "search . /x/\ntext:1: x")
}
