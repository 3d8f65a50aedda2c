package basis

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`(?m)^- \*\*([A-Z]+-[0-9]+[a-z]?)\*\* `)
	citation    = regexp.MustCompile(`\b([A-Z]+)-([0-9]+)(?:…([0-9]+))?`)
)

// Every requirement that docs/spec says is built is cited by a test.
func TestSpecIsProved(t *testing.T) {
	cited := citations(t)
	built := map[string]string{}
	files, err := filepath.Glob("docs/spec/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/spec: %v, %d files", err, len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requirement.FindAllStringSubmatch(string(data), -1) {
			if other, twice := built[m[1]]; twice {
				t.Errorf("%s stands in %s and in %s", m[1], other, file)
			}
			built[m[1]] = file
			if !cited[m[1]] {
				t.Errorf("%s: no test cites %s", file, m[1])
			}
		}
	}
	if len(built) < 100 {
		t.Errorf("docs/spec holds %d requirements, want at least 100", len(built))
	}
}

// citations are the ids that tests name, in Go or in scripts. A range such as
// JRN-34…37 cites all of it.
func citations(t *testing.T) map[string]bool {
	t.Helper()
	cited := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		script := strings.Contains(path, filepath.Join("testdata", "script")) && slices.Contains([]string{".txt", ".txtar"}, filepath.Ext(path))
		if !strings.HasSuffix(path, "_test.go") && !script || path == "spec_test.go" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range citation.FindAllStringSubmatch(string(data), -1) {
			cite(cited, m[1], m[2], m[3])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cited
}

func cite(cited map[string]bool, area, from, to string) {
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	for n := first; n <= max(first, last); n++ {
		cited[area+"-"+strconv.Itoa(n)] = true
	}
}
