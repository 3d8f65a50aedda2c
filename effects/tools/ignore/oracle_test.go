package ignore

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oracle runs git where nothing but the repository and the user's file given
// rules what it says.
type oracle struct {
	dir, user string
}

func newOracle(t *testing.T) oracle {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is the oracle, and is not installed")
	}
	home := t.TempDir()
	o := oracle{dir: t.TempDir(), user: filepath.Join(home, "git", "ignore")}
	o.git(t, "", "init", "-q")
	return o
}

func (o oracle) git(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = o.dir
	home := filepath.Dir(filepath.Dir(o.user))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Stdin = strings.NewReader(stdin)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1 is check-ignore's word for none
		t.Fatalf("git %q: %v\n%s", args, err, diag.String())
	}
	return out.String()
}

// ignored is what git leaves out of paths; directories end in a slash.
func (o oracle) ignored(t *testing.T, paths []string) []string {
	t.Helper()
	out := o.git(t, strings.Join(paths, "\x00"), "check-ignore", "--no-index", "-z", "--stdin")
	return slices.Sorted(strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00"))
}

// ours is what the rules leave out below the oracle's directory, an ignored
// directory with all that is in it.
func (o oracle) ours(t *testing.T) (paths, ignored []string) {
	t.Helper()
	rules := map[string]*Rules{".": Find(o.dir, o.dir, o.user, read).With(fileOf(o.dir, read))}
	err := filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(o.dir, path)
		rel = filepath.ToSlash(rel)
		if err != nil || rel == "." {
			return err
		}
		if rel == RepoName {
			return filepath.SkipDir
		}
		paths = append(paths, rel)
		above := rules[filepath.ToSlash(filepath.Dir(rel))]
		out := above == nil || above.Ignored(d.Name(), d.IsDir())
		if out {
			ignored = append(ignored, rel)
		}
		if d.IsDir() && !out {
			rules[rel] = above.In(d.Name()).With(fileOf(path, read))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ignored)
	return paths, ignored
}

// dice makes trees and patterns. The alphabet is small, so that they meet.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// name is a name of a file or directory.
func (d dice) name() string {
	var b strings.Builder
	for range 1 + d.IntN(3) {
		b.WriteString(pick(d, "a", "b", "c", ".", "A", "1", " ", "é", "-", "]", "[", "!", "#", "*", `\`, "a", "b", "c"))
	}
	if s := b.String(); strings.Trim(s, ".") != "" {
		return s + pick(d, "", "", "", ".o", ".go")
	}
	return "a"
}

// piece is a piece of a pattern.
func (d dice) piece() string {
	return pick(d, "a", "b", "c", "a", "b", "c", "*", "*", "**", "?", "/", "/", "**/", "/**", ".o", ".go", "A", "1", " ", `\`, `\ `, `\\`, `\*`, `\/`,
		"[ab]", "[!a]", "[^b-c]", "[a-c]", "[", "]", "[]a]", "[a-]", `[\]]`, "[[:alpha:]]", "[[:digit:]x]", "[![:punct:]]", "[[:a]", "[[:nope:]]", "é", "!", "#", "-", "***", "\t", `[a-\c]`, "[[:space:]-c]", "[--a]")
}

// line is one line of a file of patterns.
func (d dice) line() string {
	var b strings.Builder
	b.WriteString(pick(d, "", "", "", "", "!", "/", "**/", "#", `\`, " "))
	if d.IntN(3) == 0 {
		b.WriteString(d.name() + pick(d, "", "/"+d.name()))
	} else {
		for range 1 + d.IntN(5) {
			b.WriteString(d.piece())
		}
	}
	return b.String() + pick(d, "", "", "", "", "/", "/*", "/**", " ", "  ", `\ `, "\r")
}

// text is a file of patterns.
func (d dice) text() string {
	text := pick(d, "", "", "", "\uFEFF")
	for range d.IntN(8) {
		text += d.line() + pick(d, "\n", "\n", "\n", "\r\n", "\n\n")
	}
	return text + pick(d, "", "", d.line())
}

// grow fills a directory.
func (d dice) grow(t *testing.T, dir string, depth int) {
	t.Helper()
	if d.IntN(3) == 0 {
		plant(t, filepath.Join(dir, FileName), false, d.text())
	}
	for range 1 + d.IntN(6) {
		name := filepath.Join(dir, d.name())
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if depth > 0 && d.IntN(2) == 0 {
			plant(t, name, true, "")
			d.grow(t, name, depth-1)
		} else {
			plant(t, name, false, "")
		}
	}
}

// TOOL-65: what is ignored is what git ignores.
func TestAsGitHasIt(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 10
	}
	o := newOracle(t)
	tested, out := 0, 0
	for seed := range runs {
		d := dice{rand.New(rand.NewPCG(uint64(seed), 65))}
		empty(t, o.dir)
		plant(t, o.user, false, pick(d, "", d.text()))
		plant(t, filepath.Join(o.dir, RepoName, "info", "exclude"), false, pick(d, "", d.text()))
		plant(t, filepath.Join(o.dir, FileName), false, d.text())
		d.grow(t, o.dir, 4)
		paths, got := o.ours(t)
		want := o.ignored(t, paths)
		tested, out = tested+len(paths), out+len(got)
		if diff := difference(got, want); diff != "" {
			t.Fatalf("seed %d: %s\n%s", seed, diff, files(t, o))
		}
	}
	if out < tested/20 || out > tested*9/10 {
		t.Errorf("%d of %d paths are ignored, want more of a mixture", out, tested)
	}
}

// empty removes all of a repository but git's own directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	for _, d := range names {
		if err == nil && d.Name() != RepoName {
			err = os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// difference says where two sorted lists differ, or nothing.
func difference(got, want []string) string {
	var b strings.Builder
	for _, p := range got {
		if _, ok := slices.BinarySearch(want, p); !ok {
			fmt.Fprintf(&b, "%q is ignored, and not by git; ", p)
		}
	}
	for _, p := range want {
		if _, ok := slices.BinarySearch(got, p); !ok && p != "" {
			fmt.Fprintf(&b, "%q is not ignored, but by git; ", p)
		}
	}
	return b.String()
}

// files shows all files of patterns.
func files(t *testing.T, o oracle) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "user: %q\nexclude: %q\n", read(o.user), read(filepath.Join(o.dir, RepoName, "info", "exclude")))
	err := filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == FileName {
			fmt.Fprintf(&b, "%s: %q\n", strings.TrimPrefix(path, o.dir), read(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
