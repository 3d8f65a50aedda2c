package basis

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/basisagent/basis"

// room is what a package may import, and what it must not.
type room struct {
	ours    []string // of this module; a name with /... includes what is below it
	never   []string // exact import paths of the standard library
	modules []string // other modules; nil allows any
	strict  []string // if set, the only imports of the standard library
}

// rooms is the picture of docs/architecture.md as a table. The first entry
// that matches a package's path rules it.
var rooms = []struct {
	path string
	room room
}{
	{"reducer", room{
		modules: []string{},
		strict:  []string{"bytes", "cmp", "encoding/json", "errors", "fmt", "iter", "maps", "reflect", "slices", "strconv", "strings", "time"},
	}},
	{"journal", room{
		ours:    []string{"journal/..."},
		modules: []string{"github.com/gofrs/flock", "github.com/fsnotify/fsnotify", "github.com/klauspost/compress", "golang.org/x/sys"},
	}},
	{"journal/...", room{ours: []string{"journal"}, modules: []string{}}},
	{"provider", room{ // not what is below it
		ours: []string{"reducer", "provider/internal/..."}, never: []string{"os", "os/exec", "net/http"}, modules: []string{},
	}},
	{"provider/internal/wiretest", room{ // tests only
		ours: []string{"reducer", "provider", "provider/internal/wire"}, modules: []string{"github.com/google/go-cmp"},
	}},
	{"provider/...", room{ours: []string{"reducer", "provider", "provider/..."}, never: []string{"os/exec"}, modules: []string{}}},
	{"effects/...", room{ours: []string{"reducer", "provider", "effects", "effects/..."}, modules: []string{
		"github.com/mark3labs/mcp-go", "github.com/xeipuuv/gojsonschema", "github.com/bmatcuk/doublestar/v4",
		"golang.org/x/sys", "golang.org/x/text", "go.yaml.in/yaml/v3", "github.com/aymanbagabas/go-udiff",
	}}},
	{"projections", room{ours: []string{"reducer", "journal"}, never: []string{"net/http", "os/exec"}, modules: []string{}}},
	{"replay", room{ours: []string{"reducer"}, never: []string{"net/http", "os/exec"}, modules: []string{}}},
	{"golden", room{ours: []string{}}},
	{"cli", room{ours: []string{"", "acp", "projections", "replay", "reducer"}}},
	{"cmd/...", room{ours: []string{"", "cli"}}},
	{"", room{
		ours:  []string{"reducer", "journal", "provider", "provider/...", "effects", "effects/...", "projections"},
		never: []string{"net/http"}, modules: []string{"github.com/gofrs/flock", "golang.org/x/sys"},
	}},
}

// Every import points the way the picture says. Tests may import more.
func TestImportsFollowThePicture(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files++
			checkImports(t, path)
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Fatalf("%d files looked at, error %v", files, err)
	}
}

func checkImports(t *testing.T, file string) {
	t.Helper()
	pkg := filepath.ToSlash(filepath.Dir(file))
	if pkg == "." {
		pkg = ""
	}
	r, ok := roomOf(pkg)
	if !ok {
		t.Errorf("%s: package %q stands in no room of the picture", file, pkg)
		return
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if why := r.forbids(path); why != "" {
			t.Errorf("%s imports %s: %s", file, path, why)
		}
	}
}

func roomOf(pkg string) (room, bool) {
	for _, r := range rooms {
		if matches(r.path, pkg) {
			return r.room, true
		}
	}
	return room{}, false
}

// matches: "a/..." stands for a and all below it.
func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == pattern
}

func (r room) forbids(path string) string {
	if own, ok := strings.CutPrefix(path, module); ok {
		own = strings.TrimPrefix(own, "/")
		if !slices.ContainsFunc(r.ours, func(p string) bool { return matches(p, own) }) {
			return "the picture has no such arrow"
		}
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		if r.modules != nil && !slices.ContainsFunc(r.modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			return "this module does not belong here"
		}
		return ""
	}
	switch {
	case r.strict != nil && !slices.Contains(r.strict, path):
		return "this package is pure"
	case slices.Contains(r.never, path):
		return "this package must not"
	}
	return ""
}
