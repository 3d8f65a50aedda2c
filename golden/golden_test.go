package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m, nil) }

// A comparison says what differs; a rewrite changes that alone.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	same, other, fresh := filepath.Join(dir, "same"), filepath.Join(dir, "other"), filepath.Join(dir, "new", "file")
	for _, p := range []string{same, other} {
		if err := os.WriteFile(p, []byte("one\ntwo\n"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if got := compare(same, []byte("one\ntwo\n"), false); got != "" {
		t.Errorf("compare with an equal file = %q, want nothing", got)
	}
	if got := compare(other, []byte("one\nthree\n"), false); !strings.Contains(got, "three") || !strings.Contains(got, "two") {
		t.Errorf("compare with another file = %q, want both sides", got)
	}
	if got := compare(fresh, []byte("x"), false); !strings.Contains(got, "no such file") {
		t.Errorf("compare with no file = %q, want that it is missing", got)
	}
	before, err := os.Stat(same)
	if err != nil {
		t.Fatal(err)
	}
	if got := compare(same, []byte("one\ntwo\n"), true); got != "" {
		t.Errorf("rewrite of an equal file = %q, want nothing", got)
	}
	if after, err := os.Stat(same); err != nil || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
		t.Errorf("a rewrite touched an equal file: %v, %v", after, err)
	}
	if got := compare(fresh, []byte("x"), true); got != "" {
		t.Errorf("rewrite of a missing file = %q, want nothing", got)
	}
	if data, err := os.ReadFile(fresh); err != nil || string(data) != "x" {
		t.Errorf("after a rewrite the file holds %q, %v, want x", data, err)
	}
}

// What differs from run to run is gone, and what is the same thing twice still is.
func TestScrub(t *testing.T) {
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	in := "/w/x 148a99b954e2c46f/" + a + " then " + b + " and " + a + ` at 2026-01-02T03:04:05.678Z {"started_ms":1796063212897} sha256:` + strings.Repeat("c", 64)
	want := `PATH1/x KEY/ID1 then ID2 and ID1 at TIME {"started_ms":0} DIGEST`
	if got := string(Scrub([]byte(in), "/w")); got != want {
		t.Errorf("Scrub = %s, want %s", got, want)
	}
}

// The commands of this package, used as scripts use them.
func TestScripts(t *testing.T) { Script(t, "testdata", Options{}) }
