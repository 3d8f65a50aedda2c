package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// below keeps the documents under a directory: what stands above a test's own
// directories is not the test's business.
func below(c Context, dir string) []Document {
	var docs []Document
	for _, d := range c.Documents {
		if strings.HasPrefix(d.Path, dir) {
			docs = append(docs, d)
		}
	}
	return docs
}

// CORE-12, CORE-13, CORE-14, CORE-16: global first, then from the outside in;
// CLAUDE.md only where there is no AGENTS.md, not even an empty one.
func TestContextOrder(t *testing.T) {
	dir := tempDir(t)
	root := filepath.Join(dir, "a", "b")
	write(t, filepath.Join(dir, "conf", "AGENTS.md"), "global\n\n")
	write(t, filepath.Join(dir, "CLAUDE.md"), "outer")
	write(t, filepath.Join(dir, "a", "AGENTS.md"), "  \n")
	write(t, filepath.Join(dir, "a", "CLAUDE.md"), "hidden")
	write(t, filepath.Join(root, "AGENTS.md"), "inner")
	write(t, filepath.Join(root, "CLAUDE.md"), "hidden too")
	c := FindContext(filepath.Join(dir, "conf"), root)
	var got []string
	for _, d := range below(c, dir) {
		got = append(got, d.Scope+"="+d.Text)
	}
	want := "global=global ancestor:2=outer workspace=inner"
	if strings.Join(got, " ") != want {
		t.Errorf("FindContext = %q, want %q", got, want)
	}
	text := Context{Documents: below(c, dir)}.Render()
	if !strings.HasPrefix(text, preamble+"\n\n<context path=") || !strings.HasSuffix(text, "scope=\"workspace\">\ninner\n</context>") {
		t.Errorf("Render() = %q", text)
	}
	if s := (Context{}).Render(); s != "" {
		t.Errorf("Render() of nothing = %q, want nothing", s)
	}
}

// CORE-15, FR-068: the same file reached by a link was put before the model
// twice; each real file counts once, at its weakest place.
func TestFR068SameFileOnce(t *testing.T) {
	dir := tempDir(t)
	root := filepath.Join(dir, "w")
	write(t, filepath.Join(dir, "AGENTS.md"), "MARK")
	write(t, filepath.Join(root, "x"), "")
	if err := os.Symlink(filepath.Join(dir, "AGENTS.md"), filepath.Join(root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	c := FindContext("", root)
	docs := below(c, dir)
	if len(docs) != 1 || docs[0].Scope != "ancestor:1" {
		t.Errorf("FindContext = %+v, want one document of the parent", docs)
	}
}

// FR-070: a document of megabytes ate the window; one of random bytes, a
// directory, a pipe or an unreadable one blocked the start.
func TestFR070OddDocuments(t *testing.T) {
	odd := map[string]func(t *testing.T, path string){
		"huge":      func(t *testing.T, p string) { write(t, p, strings.Repeat("0123456789abcde\n", 5<<20/16)) },
		"bytes":     func(t *testing.T, p string) { write(t, p, "a\xff\xfeb") },
		"bom":       func(t *testing.T, p string) { write(t, p, "\uFEFFa\r\nb") },
		"directory": func(t *testing.T, p string) { write(t, filepath.Join(p, "x"), "") },
		"dangling":  func(t *testing.T, p string) { link(t, "nowhere", p) },
		"endless":   func(t *testing.T, p string) { link(t, "AGENTS.md", p) },
		"made up":   func(t *testing.T, p string) { link(t, "/proc/self/environ", p) },
		"fifo":      func(t *testing.T, p string) { write(t, filepath.Join(filepath.Dir(p), "x"), ""); makeFIFO(t, p) },
	}
	for name, create := range odd {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			create(t, filepath.Join(dir, "AGENTS.md"))
			c := FindContext("", dir)
			checkOdd(t, name, Context{Documents: below(c, dir), Warnings: c.Warnings})
		})
	}
}

// link makes a symbolic link, and its directory.
func link(t *testing.T, to, path string) {
	t.Helper()
	write(t, filepath.Join(filepath.Dir(path), "x"), "")
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func checkOdd(t *testing.T, name string, c Context) {
	t.Helper()
	text := c.Render()
	switch name {
	case "huge":
		if len(text) > MaxDocument+1000 || !strings.Contains(text, "only its beginning") || len(c.Warnings) != 1 {
			t.Errorf("%d bytes rendered, warnings %q; want it cut with a note and a warning", len(text), c.Warnings)
		}
	case "bytes":
		if !strings.Contains(text, "a\uFFFDb") {
			t.Errorf("Render() = %q, want a replacement character", text)
		}
	case "bom":
		if !strings.Contains(text, ">\na\nb\n<") {
			t.Errorf("Render() = %q, want no mark and plain line ends", text)
		}
	case "made up":
		if text != "" {
			t.Errorf("Render() = %q, want nothing of what no file holds", text)
		}
	case "directory", "fifo", "dangling", "endless":
		if text != "" || len(c.Warnings) != 1 {
			t.Errorf("Render() = %q, warnings %q; want it skipped with a warning", text, c.Warnings)
		}
	}
}
