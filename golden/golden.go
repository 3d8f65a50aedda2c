package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files and scripts to what is seen")

// Equal fails the test if got differs from the file testdata/name, and shows
// how. With -update it writes the file instead.
func Equal(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if diff := compare(path, got, *update); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// compare is what differs, "" for nothing. A rewrite leaves an equal file
// alone.
func compare(path string, got []byte, rewrite bool) string {
	want, err := os.ReadFile(path)
	if err == nil && bytes.Equal(want, got) {
		return ""
	}
	if !rewrite {
		if err != nil {
			return err.Error() + "\n" + string(got)
		}
		return cmp.Diff(string(want), string(got))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		return err.Error()
	}
	return ""
}

// What differs from run to run, and what stands for it.
var (
	idForm     = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	keyForm    = regexp.MustCompile(`\b[0-9a-f]{16}/`)
	timeForm   = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\b`)
	millisForm = regexp.MustCompile(`("[a-z_]*_ms":)\d{13}\b`)
	digestForm = regexp.MustCompile(`\bsha256:[0-9a-f]{64}\b`)
)

// Scrub replaces what differs from run to run: ids by ID1, ID2, … in the order
// in which they appear, the keys of workspaces by KEY/, times by TIME, digests
// by DIGEST, and each of the paths by PATH1, PATH2, ….
func Scrub(text []byte, paths ...string) []byte {
	for i, p := range paths {
		text = bytes.ReplaceAll(text, []byte(p), []byte("PATH"+strconv.Itoa(i+1)))
	}
	text = digestForm.ReplaceAll(text, []byte("DIGEST"))
	text = timeForm.ReplaceAll(text, []byte("TIME"))
	text = millisForm.ReplaceAll(text, []byte("${1}0"))
	text = keyForm.ReplaceAll(text, []byte("KEY/"))
	seen := map[string]string{}
	return idForm.ReplaceAllFunc(text, func(id []byte) []byte {
		if seen[string(id)] == "" {
			seen[string(id)] = "ID" + strconv.Itoa(len(seen)+1)
		}
		return []byte(seen[string(id)])
	})
}
