//go:build unix

package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/effects"
)

// The generated repository: 5,000 directories with 20 files of about 1.5 KB.
const (
	benchDirs  = 5000
	benchFiles = 100_000
)

// bigRepo makes a repository of benchFiles tracked files, with one that holds
// "needle" in each thousand, and a directory that is ignored.
func bigRepo(b *testing.B) string {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	put := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	body := strings.Repeat("func handle(w writer, r *request) error {\n\treturn w.write(r.body, 200) // as it came\n}\n\n", 16)
	for i := range benchFiles {
		d := i % benchDirs
		text := fmt.Sprintf("package p%d\n\n%s", i, body)
		if i%1000 == 7 {
			text += "// the needle\n"
		}
		put(fmt.Sprintf("m%d/d%d/e%d/file%d.%s", d/100, d/10%10, d%10, i, []string{"go", "ts", "md"}[i%3]), text)
	}
	for i := range 2000 {
		put(fmt.Sprintf("m3/node_modules/p%d/index.js", i), "the needle\n")
	}
	put(".gitignore", "# made\nnode_modules/\n*.o\n*.log\n/build\n/dist/\n.env\n!keep.log\n*.py[cod]\ntarget/\ndocs/**/out\n")
	git(b, dir, "init", "-q")
	git(b, dir, "add", "-A")
	git(b, dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all")
	return dir
}

// git runs git and returns what it prints and how long it took.
func git(b *testing.B, dir string, args ...string) (string, time.Duration) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("git %q: %v\n%s", args, err, diag.String())
	}
	return out.String(), time.Since(begun)
}

// middle is the median of five runs.
func middle(once func() time.Duration) time.Duration {
	var all []time.Duration
	for range 5 {
		all = append(all, once())
	}
	slices.Sort(all)
	return all[2]
}

// BenchmarkSearch measures grep and glob on a repository of 100,000 files, with
// git on the same in the same run. git ls-files reads its index and no
// directory; what git needs to look at the directories, too, is git-walk.
func BenchmarkSearch(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("git is what is compared with, and is not installed")
	}
	searches(b, bigRepo(b))
}

// searches measures grep and glob in a repository that bigRepo made.
func searches(b *testing.B, dir string) {
	all, err := New(Options{Root: dir})
	if err != nil {
		b.Fatal(err)
	}
	tests := []struct {
		name, tool, input string
		lines             int
		git               []string
	}{
		{"grep-literal", "grep", `{"pattern":"needle"}`, 100, []string{"grep", "-c", "needle"}},
		{"grep-prefix", "grep", `{"pattern":"the n[a-e]+dle"}`, 100, []string{"grep", "-cE", "the n[a-e]+dle"}},
		{"grep-class", "grep", `{"pattern":"[n]ee[d]le"}`, 100, []string{"grep", "-cE", "[n]ee[d]le"}},
		{"grep-ignore-case", "grep", `{"pattern":"NEEDLE","ignore_case":true}`, 100, []string{"grep", "-ci", "NEEDLE"}},
		{"grep-glob", "grep", `{"pattern":"needle","glob":"*.go"}`, 33, []string{"grep", "-c", "needle", "--", "*.go"}},
		{"glob-name", "glob", `{"pattern":"file*77.go"}`, 333, []string{"ls-files", "*/file*77.go"}},
		{"glob-in-directory", "glob", `{"pattern":"m1/**/*.md"}`, 660, []string{"ls-files", "m1/**/*.md"}},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			tool := all[slices.IndexFunc(all, func(t effects.Tool) bool { return t.Spec().Name == tt.tool })]
			input := json.RawMessage(strings.Replace(tt.input, "}", `,"limit":2000}`, 1))
			for b.Loop() {
				ours := middle(func() time.Duration {
					begun := time.Now()
					r, err := tool.Call(b.Context(), effects.Invocation{Input: input})
					took := time.Since(begun)
					if n := strings.Count(r.Output, "\n"); err != nil || n < tt.lines {
						b.Fatalf("%s = %.300q, %v, want %d lines", tt.tool, r.Output, err, tt.lines)
					}
					return took
				})
				gits := middle(func() time.Duration { _, took := git(b, dir, tt.git...); return took })
				b.ReportMetric(float64(ours.Microseconds())/1000, "ms")
				b.ReportMetric(float64(gits.Microseconds())/1000, "ms-git")
				b.ReportMetric(float64(ours)/float64(gits), "x-git")
				if tt.tool == "glob" {
					walk := middle(func() time.Duration {
						_, took := git(b, dir, "ls-files", "-co", "--exclude-standard")
						return took
					})
					b.ReportMetric(float64(walk.Microseconds())/1000, "ms-git-walk")
					b.ReportMetric(float64(ours)/float64(walk), "x-git-walk")
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
