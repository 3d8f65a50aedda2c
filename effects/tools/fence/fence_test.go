//go:build unix

package fence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// tree makes files and links below dir: "name/" is a directory, "name -> to" a
// link, "name" a file with its name as content.
func tree(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		var err error
		link, to, isLink := strings.Cut(name, " -> ")
		switch path := filepath.Join(dir, link); {
		case isLink:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// place makes a fence around a fresh workspace beside a directory OUT that is
// outside.
func setUp(t *testing.T, o Options) (f *Fence, ws, out string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out = filepath.Join(dir, "ws"), filepath.Join(dir, "OUT")
	tree(t, dir, "ws/", "OUT/", "OUT/v")
	o.Base = ws
	if f, err = New(o); err != nil {
		t.Fatal(err)
	}
	return f, ws, out
}

// codeOf is the code of an *Error, or what else err is.
func codeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Code(fmt.Sprint(err))
}

// TOOL-13, TOOL-14, TOOL-16: where paths lead, and how they are shown.
// FR-035: a link inside the workspace led file tools out of it.
func TestResolve(t *testing.T) {
	f, ws, out := setUp(t, Options{})
	tree(t, ws, "a", "sub/", "sub/b", "in -> sub", "out -> "+out, "f -> "+out+"/v", "abs -> "+ws+"/a",
		"deep -> sub/missing/x", "loop -> loop", "up -> ../ws/sub", "sub/back -> ..")
	tests := []struct {
		path  string
		shown string // "" means refused with code
		code  Code
	}{
		{"a", "a", ""},
		{"./sub/../a", "a", ""},
		{ws + "/sub/b", "sub/b", ""},
		{".", ".", ""},
		{ws, ".", ""},
		{"in/b", "sub/b", ""},
		{"abs", "a", ""},
		{"up/b", "sub/b", ""},
		{"sub/back/a", "a", ""},
		{"new/dir/x", "new/dir/x", ""},
		{"deep", "sub/missing/x", ""},
		{"a/below", "a/below", ""},
		{"out/v", "", CodeOutside},
		{"f", "", CodeOutside},
		{"out/new", "", CodeOutside},
		{"sub/../../OUT/v", "", CodeOutside},
		{"../ws2", "", CodeOutside},
		{"/etc/passwd", "", CodeOutside},
		{out, "", CodeOutside},
		{strings.Repeat("../", 99) + "etc", "", CodeInvalid},
		{"/../etc", "", CodeInvalid},
		{"", "", CodeInvalid},
		{"a\x00b", "", CodeInvalid},
		{"loop", "", CodeIO},
	}
	for _, tt := range tests {
		p, err := f.Resolve(tt.path, Read)
		if tt.code == "" && (err != nil || p.Shown != tt.shown || p.Root != ws) {
			t.Errorf("Resolve(%q) = %+v, %v, want %q below %s", tt.path, p, err, tt.shown, ws)
		}
		if tt.code != "" && codeOf(err) != tt.code {
			t.Errorf("Resolve(%q) = %+v, %v, want %s", tt.path, p, err, tt.code)
		}
	}
	if _, err := f.Resolve("f", Read); err == nil || !strings.Contains(err.Error(), out+"/v") || !strings.Contains(err.Error(), "read roots") {
		t.Errorf("Resolve(f) = %v, want it to name %s/v and the read roots", err, out)
	}
}

// FR-035: a workspace that is itself reached by a link works.
func TestBaseReachedByALink(t *testing.T) {
	_, ws, _ := setUp(t, Options{})
	tree(t, filepath.Dir(ws), "link -> ws")
	tree(t, ws, "a")
	f, err := New(Options{Base: filepath.Join(filepath.Dir(ws), "link")})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", f.Base() + "/a", filepath.Dir(ws) + "/link/a"} {
		if p, err := f.Resolve(path, Write); err != nil || p.Shown != "a" {
			t.Errorf("Resolve(%q) = %q, %v, want a", path, p.Shown, err)
		}
	}
}

// TOOL-14: the two sets of roots.
func TestRoots(t *testing.T) {
	extra := t.TempDir()
	more, err := filepath.EvalSymlinks(extra)
	if err != nil {
		t.Fatal(err)
	}
	f, _, _ := setUp(t, Options{ReadRoots: []string{extra + "/r"}, WriteRoots: []string{extra + "/w"}})
	for _, tt := range []struct {
		path string
		set  Set
		code Code
	}{
		{more + "/r/x", Read, ""}, {more + "/r/x", Write, CodeOutside}, {more + "/w/x", Write, ""}, {more + "/w/x", Read, CodeOutside}, {more + "/rx", Read, CodeOutside},
	} {
		p, err := f.Resolve(tt.path, tt.set)
		if (tt.code == "" && (err != nil || p.Shown != tt.path)) || (tt.code != "" && codeOf(err) != tt.code) {
			t.Errorf("Resolve(%q, %s) = %+v, %v, want code %q", tt.path, tt.set, p, err, tt.code)
		}
	}
	p, err := f.Resolve(more+"/w/new/file", Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(p, []byte("x"), nil); err != nil {
		t.Errorf("Replace below a root that does not exist yet = %v, want it made", err)
	}
}

// TOOL-15: git's hooks and configuration are read, never written.
func TestGitIsProtected(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, ".git/", ".git/hooks/", ".git/hooks/x", ".git/config", ".git/HEAD", "g -> .git/hooks", "c -> .git/config",
		"sub/", "sub/.git/", "other/", "tree/", "tree/.git")
	for _, path := range []string{
		".git/hooks/x", ".git/hooks/new", ".git/hooks/../hooks/x", "g/x", "c", ".git/config", ".GIT/Hooks/x", ".git/hooks", "sub/.git/config", "tree/.git/hooks/x",
	} {
		if _, err := f.Resolve(path, Write); codeOf(err) != CodeDenied {
			t.Errorf("Resolve(%q, write) = %v, want %s", path, err, CodeDenied)
		}
		if _, err := f.Resolve(path, Read); err != nil {
			t.Errorf("Resolve(%q, read) = %v, want it allowed", path, err)
		}
	}
	for _, path := range []string{".git/HEAD", ".gitignore", "hooks/x", "other/config"} {
		if _, err := f.Resolve(path, Write); err != nil {
			t.Errorf("Resolve(%q, write) = %v, want it allowed", path, err)
		}
	}
	// The literal path counts too, wherever a link takes it.
	if err := os.RemoveAll(filepath.Join(ws, ".git/hooks")); err != nil {
		t.Fatal(err)
	}
	tree(t, ws, ".git/hooks -> ../other")
	if _, err := f.Resolve(".git/hooks/x", Write); codeOf(err) != CodeDenied {
		t.Errorf("Resolve through a linked hooks directory = %v, want %s", err, CodeDenied)
	}
}

// TOOL-15: what decides over agents is read, never written, by whatever name.
func TestWhatDecidesIsKept(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "ws/", "ws/.basis/", "ws/.basis/hooks.json", "ws/.basis/templates/", "ws/sub/", "ws/sub/.basis/", "ws/scripts/", "ws/scripts/guard",
		"ws/linked -> scripts/guard", "ws/b -> .basis", "more/", "more/own.json")
	f, err := New(Options{
		Base: filepath.Join(dir, "ws"), ReadRoots: []string{filepath.Join(dir, "more")}, WriteRoots: []string{filepath.Join(dir, "more")},
		Kept: []string{"scripts/guard", filepath.Join(dir, "more", "own.json"), filepath.Join(dir, "ws", "-c"), dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, kept := range map[string]bool{
		".basis/hooks.json": true, ".basis/tools.json": true, ".basis/config.json": true, ".BASIS/Hooks.json": true, "b/tools.json": true,
		"sub/.basis/config.json": true, "scripts/guard": true, "scripts/GUARD": true, "linked": true, "./scripts/x/../guard": true,
		filepath.Join(dir, "more", "own.json"): true,
		".basis/templates/x.md":                false, "hooks.json": false, "scripts/guard2": false, "scripts/other": false, filepath.Join(dir, "more", "x"): false,
	} {
		want := Code("<nil>")
		if kept {
			want = CodeDenied
		}
		if _, err := f.Resolve(path, Write); codeOf(err) != want {
			t.Errorf("Resolve(%q, write) = %v, want %s", path, err, want)
		}
		if p, err := f.Resolve(path, Read); err != nil || f.Writable(p) == kept {
			t.Errorf("Resolve(%q, read) = %v, writable %v, want it readable", path, err, f.Writable(p))
		}
	}
}

// TOOL-14: a place can be closed, also to a walk; a root below it is open.
func TestClosedPlaces(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "a", "data/", "data/x", "data/memory/", "data/memory/m", "data/blobs/", "data/blobs/b", "l -> data", "f -> data/x")
	f, err := New(Options{
		Base: dir, Closed: []string{filepath.Join(dir, "data")},
		ReadRoots: []string{filepath.Join(dir, "data", "memory"), filepath.Join(dir, "data", "blobs")}, WriteRoots: []string{filepath.Join(dir, "data", "memory")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]bool{
		"a": {true, true}, "data": {}, "data/x": {}, "data/new": {}, "l/x": {}, "f": {}, "DATA/x": {},
		"data/memory/m": {true, true}, "data/blobs/b": {true, false}, "l/memory/m": {true, true},
	} {
		for i, set := range []Set{Read, Write} {
			if _, err := f.Resolve(path, set); (err == nil) != want[i] || err != nil && codeOf(err) != CodeDenied {
				t.Errorf("Resolve(%q, %s) = %v, want allowed %v", path, set, err, want[i])
			}
		}
	}
	start, err := f.Resolve(".", Read)
	if err != nil {
		t.Fatal(err)
	}
	var met []string
	remarks, err := f.Walk(t.Context(), start, WalkOptions{}, func(e Entry) error { met = append(met, e.Path()); return nil })
	if want := []string{"a", "data"}; err != nil || !slices.Equal(met, want) || len(remarks) != 2 {
		t.Errorf("the walk meets %q, says %q, %v, want %q and two remarks on links", met, remarks, err, want)
	}
	// A workspace inside is open.
	if f, err = New(Options{Base: filepath.Join(dir, "data", "memory"), Closed: []string{filepath.Join(dir, "data")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Resolve("m", Write); err != nil {
		t.Errorf("Resolve in a workspace below a closed place = %v, want it allowed", err)
	}
}

// FR-035: a link that is swapped in between the check and the use.
func TestSwappedLinkCannotEscape(t *testing.T) {
	f, ws, out := setUp(t, Options{})
	tree(t, ws, "d/", "d/v")
	p, err := f.Resolve("d/v", Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(ws, "d")); err != nil {
		t.Fatal(err)
	}
	tree(t, ws, "d -> "+out)
	if _, _, err := f.ReadFile(p, 1000); codeOf(err) != CodeOutside {
		t.Errorf("ReadFile through a swapped link = %v, want %s", err, CodeOutside)
	}
	if err := f.Replace(p, []byte("stolen"), nil); codeOf(err) != CodeOutside {
		t.Errorf("Replace through a swapped link = %v, want %s", err, CodeOutside)
	}
	if _, err := f.Walk(t.Context(), p, WalkOptions{}, nil); codeOf(err) != CodeOutside {
		t.Errorf("Walk through a swapped link = %v, want %s", err, CodeOutside)
	}
	if got := content(t, out); !slices.Equal(got, []string{"v=OUT/v"}) {
		t.Errorf("outside there is now %q, want it unchanged", got)
	}
}

// content lists the files of a directory with what is in them.
func content(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			data = []byte(err.Error())
		}
		all = append(all, n.Name()+"="+string(data))
	}
	return all
}

// FR-036: a pipe, a device or a socket held whoever opened it.
func TestFR036OnlyRegularFilesAreOpened(t *testing.T) {
	f, ws, _ := setUp(t, Options{ReadRoots: []string{"/dev"}})
	if err := syscall.Mkfifo(filepath.Join(ws, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree(t, ws, "z -> /dev/zero", "dir/")
	for path, want := range map[string]Code{"p": CodeNotRegular, "z": CodeNotRegular, "dir": CodeDirectory, "none": CodeNotFound} {
		p, err := f.Resolve(path, Read)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Open(p); codeOf(err) != want {
			t.Errorf("Open(%s) = %v, want %s", path, err, want)
		}
	}
	p, err := f.Resolve("p", Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(p, []byte("x"), nil); codeOf(err) != CodeNotRegular {
		t.Errorf("Replace of a pipe = %v, want %s", err, CodeNotRegular)
	}
}

// TOOL-17. FR-034: the executable bit was lost, new files were private, and
// temporary ones stayed.
func TestFR034ReplaceKeepsModes(t *testing.T) {
	old := syscall.Umask(0o002) // of the process: no test of this package runs beside another
	defer syscall.Umask(old)
	f, ws, _ := setUp(t, Options{})
	for name, mode := range map[string]fs.FileMode{"script": 0o755, "file": 0o664, "private": 0o600} {
		tree(t, ws, name)
		if err := os.Chmod(filepath.Join(ws, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("n", 255)
	for name, mode := range map[string]fs.FileMode{"script": 0o755, "file": 0o664, "private": 0o600, "new": 0o664, "a/b/new": 0o664, long: 0o664} {
		p, err := f.Resolve(name, Write)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(p, []byte("text"), nil); err != nil {
			t.Errorf("Replace(%s) = %v", name, err)
			continue
		}
		fi, err := os.Stat(filepath.Join(ws, name))
		if err != nil || fi.Mode() != mode || fi.Size() != 4 {
			t.Errorf("after Replace(%s) the file is %v, %v, want mode %v and 4 bytes", name, fi, err, mode)
		}
	}
	want := []string{"a", "file", "new", long, "private", "script"}
	if got := names(t, ws); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// FR-034, TOOL-17: a failed replacement leaves the old content and nothing else.
func TestFailedReplaceLeavesNothing(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, "file", "dir/", "dir/x", "readonly")
	if err := os.Chmod(filepath.Join(ws, "readonly"), 0o444); err != nil {
		t.Fatal(err)
	}
	p, err := f.Resolve("file", Write)
	if err != nil {
		t.Fatal(err)
	}
	_, seen, err := f.ReadFile(p, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Abs, []byte("someone else's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(p, []byte("x"), seen); codeOf(err) != CodeChanged {
		t.Errorf("Replace of a file that was changed = %v, want %s", err, CodeChanged)
	}
	for path, want := range map[string]Code{"dir": CodeDirectory, ".": CodeDirectory, "readonly": CodeDenied, "file/below": CodeNotDir} {
		p, err := f.Resolve(path, Write)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(p, []byte("x"), nil); codeOf(err) != want {
			t.Errorf("Replace(%s) = %v, want %s", path, err, want)
		}
	}
	for dir, want := range map[string][]string{
		ws: {"dir", "file", "readonly"}, ws + "/dir": {"x"},
	} {
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", dir, got, want)
		}
	}
}

// FR-034: writing into a directory without permission is an error, and leaves
// nothing there.
func TestFR034DirectoryWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("permissions don't hold root back: not run")
		return
	}
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, "locked/", "locked/x")
	locked := filepath.Join(ws, "locked")
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(locked, 0o755)
	for _, path := range []string{"locked/x", "locked/new"} {
		p, err := f.Resolve(path, Write)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(p, []byte("y"), nil); codeOf(err) != CodeDenied {
			t.Errorf("Replace(%s) = %v, want %s", path, err, CodeDenied)
		}
	}
	if got := content(t, locked); !slices.Equal(got, []string{"x=locked/x"}) {
		t.Errorf("the directory holds %q, want only what it held", got)
	}
}

func TestReadFileIsBounded(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	if err := os.Truncate(mustCreate(t, filepath.Join(ws, "sparse")), 3<<30); err != nil {
		t.Fatal(err)
	}
	p, err := f.Resolve("sparse", Read)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.ReadFile(p, 1<<20); codeOf(err) != CodeTooLarge {
		t.Errorf("ReadFile of 3 GiB = %v, want %s", err, CodeTooLarge)
	}
}

// mustCreate makes an empty file and returns its path.
func mustCreate(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// walked is what a walk visited, with the remarks last.
func walked(t *testing.T, f *Fence, path string, o WalkOptions) []string {
	t.Helper()
	p, err := f.Resolve(path, Read)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	remarks, err := f.Walk(t.Context(), p, o, func(e Entry) error {
		all = append(all, string(e.Kind)+" "+e.Rel())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(all, remarks...)
}

// TOOL-13, TOOL-19. FR-035: what a walk meets, enters and leaves out.
func TestWalk(t *testing.T) {
	f, ws, out := setUp(t, Options{})
	tree(t, ws, "a/", "a/b/", "a/b/c", "a/loop -> ..", "d", "in -> a", "out -> "+out, "gone -> nowhere", "x\ny")
	if err := syscall.Mkfifo(filepath.Join(ws, "p"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := walked(t, f, ".", WalkOptions{})
	want := []string{
		"dir a", "dir a/b", "file a/b/c", "dir a/loop", "file d", "other gone", "dir in", "other p", `file "x\ny"`,
		"skipped out: a link that leads outside",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Walk = %q, want %q", got, want)
	}
	if got, want := walked(t, f, "in", WalkOptions{Depth: 1}), []string{"dir b", "dir loop"}; !slices.Equal(got, want) {
		t.Errorf("Walk of a link with depth 1 = %q, want %q", got, want)
	}
	got = walked(t, f, ".", WalkOptions{Entries: 2})
	if want := []string{"dir a", "dir a/b", "stopped after looking at 2 names; use a narrower path"}; !slices.Equal(got, want) {
		t.Errorf("Walk of 2 names = %q, want %q", got, want)
	}
}

// TOOL-19: directories reached by links in circles are entered once.
func TestWalkEntersOnce(t *testing.T) {
	extra, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, ws, _ := setUp(t, Options{ReadRoots: []string{extra}})
	tree(t, extra, "e/", "e/f", "e/again -> .", "home -> "+ws)
	tree(t, ws, "l1 -> "+extra, "l2 -> "+extra+"/e", "l3 -> "+extra)
	got := walked(t, f, ".", WalkOptions{})
	want := []string{"dir l1", "dir l1/e", "dir l1/e/again", "file l1/e/f", "dir l1/home", "dir l2", "dir l3"}
	if !slices.Equal(got, want) {
		t.Errorf("Walk = %q, want %q", got, want)
	}
}

// FR-039: a walk that could not read a part, or was stopped, must say so.
func TestWalkSaysWhatWentWrong(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, "file", "closed/", "closed/x", "last")
	for path, want := range map[string]Code{"none": CodeNotFound, "file": CodeNotDir} {
		p, err := f.Resolve(path, Read)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Walk(t.Context(), p, WalkOptions{}, nil); codeOf(err) != want {
			t.Errorf("Walk(%s) = %v, want %s", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err := f.Resolve(".", Read)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Walk(ctx, p, WalkOptions{}, func(Entry) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Walk cancelled = %v, want %v", err, context.Canceled)
	}
	if os.Geteuid() == 0 {
		t.Log("permissions don't hold root back: the unreadable directory did not run")
		return
	}
	if err := os.Chmod(filepath.Join(ws, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(ws, "closed"), 0o700)
	got := walked(t, f, ".", WalkOptions{})
	if want := []string{"dir closed", "file file", "file last", "could not look into closed: cannot list it: permission denied"}; !slices.Equal(got, want) {
		t.Errorf("Walk = %q, want %q", got, want)
	}
}

// FR-030: a workspace that was moved away is named.
func TestMissingWorkspaceIsNamed(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	if err := os.RemoveAll(ws); err != nil {
		t.Fatal(err)
	}
	p, err := f.Resolve("a", Read)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(p); codeOf(err) != CodeNotFound || !strings.Contains(err.Error(), ws) {
		t.Errorf("Stat in a deleted workspace = %v, want %s that names %s", err, CodeNotFound, ws)
	}
	if _, err := New(Options{Base: ws}); err == nil || !strings.Contains(err.Error(), ws) {
		t.Errorf("New(%s) = %v, want an error that names it", ws, err)
	}
}

// FR-035, TOOL-13: nothing that is swapped in while a walk goes on leads out of
// the directory that it holds open.
func TestSwappedLinkCannotEscapeAWalk(t *testing.T) {
	f, ws, out := setUp(t, Options{})
	tree(t, ws, "a/", "a/d/", "a/d/x", "a/v")
	p, err := f.Resolve("a", Read)
	if err != nil {
		t.Fatal(err)
	}
	h, err := openDir(p)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	for _, name := range []string{"a/d", "a/v"} {
		if err := os.RemoveAll(filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree(t, ws, "a/d -> "+out, "a/v -> "+out+"/v")
	if below, err := h.below("d"); err == nil {
		below.close()
		t.Error("a directory that became a link is opened, want an error")
	}
	if file, _, err := h.open("v"); err == nil {
		file.Close()
		t.Error("a file that became a link is opened, want an error")
	}
	if err := os.Rename(filepath.Join(ws, "a"), filepath.Join(ws, "b")); err != nil {
		t.Fatal(err)
	}
	tree(t, ws, "a -> "+out, "b/new")
	file, size, err := h.open("new")
	if err != nil || size == 0 {
		t.Fatalf("open in a directory that was moved = %d bytes, %v, want its file", size, err)
	}
	file.Close()
}

// FR-036: what became a pipe after it was listed is not waited for.
func TestEntryThatBecameAPipe(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, "a", "b")
	p, err := f.Resolve(".", Read)
	if err != nil {
		t.Fatal(err)
	}
	var got error
	_, err = f.Walk(t.Context(), p, WalkOptions{}, func(e Entry) error {
		if e.Name != "b" {
			return os.Remove(filepath.Join(ws, "b"))
		}
		if err := syscall.Mkfifo(filepath.Join(ws, "b"), 0o600); err != nil {
			return err
		}
		_, _, got = e.Open()
		return nil
	})
	if err != nil || codeOf(got) != CodeNotRegular {
		t.Errorf("Open of what became a pipe = %v (%v), want %s", got, err, CodeNotRegular)
	}
}

// oddOut is a Filter that leaves out names with "odd" in them, and what a
// directory's own file "odd" names.
type oddOut struct{ also string }

func (o oddOut) Enter(d *Directory) Filter {
	if d.Has("odd") {
		o.also = string(d.ReadFile("odd", 100))
	}
	return o
}

func (o oddOut) Skip(e Entry) bool {
	return strings.Contains(e.Name, "odd") || o.also != "" && e.Name == o.also
}

// A filter is asked for each directory and name, also below a link, and what it
// leaves out is not looked at.
func TestWalkFilter(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	tree(t, ws, "odd", "a/", "a/odd/", "a/odd/x", "a/b", "s/", "s/l -> ../a", "s/b", "s/oddlink -> nowhere")
	if err := os.WriteFile(filepath.Join(ws, "odd"), []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := walked(t, f, ".", WalkOptions{Filter: oddOut{}}), []string{"dir a", "file a/b", "dir s", "dir s/l"}; !slices.Equal(got, want) {
		t.Errorf("Walk = %q, want %q", got, want)
	}
	if got, want := walked(t, f, "s", WalkOptions{Filter: oddOut{}}), []string{"file b", "dir l", "file l/b"}; !slices.Equal(got, want) {
		t.Errorf("Walk of s = %q, want %q", got, want)
	}
	got := walked(t, f, ".", WalkOptions{Filter: oddOut{}, Entries: 3})
	if want := "stopped after looking at 3 names; use a narrower path"; got[len(got)-1] != want {
		t.Errorf("Walk of 3 names = %q, want what is left out to count", got)
	}
}

// Files are prepared before they are visited, each once, and visited in order
// whatever the number of helpers; a walk that ends early leaves nothing running
// and nothing open.
func TestWalkPrepares(t *testing.T) {
	f, ws, _ := setUp(t, Options{})
	var want []string
	for d := range 30 {
		name := fmt.Sprintf("d%02d", d)
		tree(t, ws, name+"/", name+"/sub/", name+"/sub/x")
		want = append(want, name)
		for i := range d * 5 % 80 {
			file := fmt.Sprintf("%s/f%02d", name, i)
			tree(t, ws, file)
			want = append(want, file+"="+file)
		}
		want = append(want, name+"/sub", name+"/sub/x="+name+"/sub/x")
	}
	tree(t, ws, "z -> d01/f00")
	want = append(want, "z=z")
	p, err := f.Resolve(".", Read)
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	for _, stop := range []int{1 << 20, 0, 1, 7, 100, len(want) - 1} {
		var prepared atomic.Int64
		var got []string
		o := WalkOptions{Prepare: func(e Entry) any {
			prepared.Add(1)
			file, _, err := e.Open()
			if err != nil {
				return err
			}
			file.Close()
			return e.Path()
		}}
		_, err := f.Walk(t.Context(), p, o, func(e Entry) error {
			if len(got) == stop {
				return fs.SkipAll
			}
			if e.Found != nil {
				got = append(got, e.Path()+"="+fmt.Sprint(e.Found))
			} else {
				got = append(got, e.Path())
			}
			return nil
		})
		if wanted := want[:min(stop, len(want))]; err != nil || !slices.Equal(got, wanted) {
			t.Errorf("Walk that stops after %d = %v, %q, want %q", stop, err, got, wanted)
		}
		if n := int(prepared.Load()); stop > len(want) && n != strings.Count(strings.Join(want, " "), "=") {
			t.Errorf("%d files were prepared, want each once", n)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open after the walks, %d were before", after, before)
	}
}

// descriptors is how many files this process has open, or 0 where that cannot
// be seen.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}
