package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CORE-46: a file is refused exactly if the next opening would fail by it.
func TestJudgeSaysWhatAnOpeningSays(t *testing.T) {
	dir := tempDir(t)
	root, global := filepath.Join(dir, "ws"), filepath.Join(dir, "config")
	all := Texts{
		Root:      root,
		Skills:    []string{filepath.Join(root, ".basis", "skills"), filepath.Join(root, ".agents", "skills")},
		Templates: []string{filepath.Join(root, ".basis", "templates"), filepath.Join(global, "templates")},
		Memories:  []string{filepath.Join(root, "notes"), filepath.Join(global, "memory")},
	}
	memory := func(name string) string { return "---\nname: " + name + "\ndescription: d\ntype: user\n---\n" }
	write(t, filepath.Join(root, "notes", "a.md"), memory("a"))
	write(t, filepath.Join(root, ".basis", "skills", "s", "SKILL.md"), "---\nname: s\n---\n")
	write(t, filepath.Join(root, ".basis", "templates", "git", "commit.md"), "commit")
	write(t, filepath.Join(dir, "elsewhere", "SKILL.md"), "---\nname: far\n---\n")
	link(t, filepath.Join(dir, "elsewhere"), filepath.Join(root, ".agents", "skills", "linked"))
	write(t, filepath.Join(root, ".agents", "skills", "here", "SKILL.md"), "---\nname: here\n---\n")
	opening := func() error {
		if _, err := FindSkills(root, all.Skills...); err != nil {
			return err
		}
		if _, err := FindTemplates(root, all.Templates...); err != nil {
			return err
		}
		_, err := FindMemories(all.Memories...)
		return err
	}
	if err := opening(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, content string
		fault         string // "" is none
	}{
		{"ws/notes/a.md", memory("a2"), ""},
		{"ws/notes/a.md", "no header", "no header"},
		{"ws/notes/b.MD", memory("b"), ""},
		{"ws/notes/b.md", memory("a"), "the memory a is also in "},
		{"ws/notes/b.md", strings.Replace(memory("b"), "user", "s3cret", 1), "type: it is none of"},
		{"ws/notes/b.txt", "no header", ""},
		{"ws/notes/sub/b.md", "no header", ""},
		{"ws/other/b.md", "---\nbroken", ""},
		{"config/memory/x.md", memory("a"), ""}, // of a weaker directory
		{"config/memory/x.md", "---\nname: x\n---\n", "description: "},
		{"ws/.basis/templates/git/commit.md", "again", ""},
		{"ws/.basis/templates/x.md", "---\nnever closed", "never closed"},
		{"ws/.basis/templates/x.md", "\xff", "not UTF-8"},
		{"ws/.basis/templates/git:commit.md", "twice", "the template git:commit is also in "},
		{"ws/.basis/templates/node_modules/x.md", "---\nnever closed", ""},
		{"ws/.basis/templates/x.txt", "---\nnever closed", ""},
		{"config/templates/git:commit.md", "weaker", ""},
		{"ws/.basis/skills/s/SKILL.md", "---\nname: t\n---\n", ""},
		{"ws/.basis/skills/x/SKILL.md", "---\nname: s\n---\n", "the skill s is also in "},
		{"ws/.basis/skills/a/s/SKILL.md", "no header, so its directory's name counts", "the skill s is also in "},
		{"ws/.basis/skills/x/SKILL.md", "---\nleft out", ""},
		{"ws/.basis/skills/x/other.md", "---\nname: s\n---\n", ""},
		{"ws/.agents/skills/s/SKILL.md", "---\nname: s\n---\n", ""}, // of a weaker root
		{"elsewhere/SKILL.md", "---\nname: here\n---\n", "the skill here is also in "},
	} {
		path := filepath.Join(dir, filepath.FromSlash(tt.path))
		judged := all.Judge(path, []byte(tt.content))
		before, err := os.ReadFile(path)
		write(t, path, tt.content)
		opened := opening()
		if (judged == nil) != (tt.fault == "") || (judged == nil) != (opened == nil) {
			t.Errorf("%s with %q: judged %v, opened %v, want the fault %q of both", tt.path, tt.content, judged, opened, tt.fault)
		}
		if judged != nil && (!strings.Contains(judged.Error(), tt.fault) || !strings.HasPrefix(judged.Error(), path+": ") || strings.Contains(judged.Error(), "s3cret")) {
			t.Errorf("%s: judged %v, want it to name the file and %q", tt.path, judged, tt.fault)
		}
		if err == nil {
			write(t, path, string(before))
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// CORE-46: what other files lack is no fault of the one that is written, so that
// work can go on beside them.
func TestJudgeLooksAtOneFile(t *testing.T) {
	dir := tempDir(t)
	write(t, filepath.Join(dir, "m", "broken.md"), "x")
	write(t, filepath.Join(dir, "t", "broken.md"), "---\n")
	all := Texts{Root: dir, Templates: []string{filepath.Join(dir, "t")}, Memories: []string{filepath.Join(dir, "m")}}
	for path, content := range map[string]string{"t/a.md": "fine", "m/a.md": "---\nname: a\ndescription: d\ntype: user\n---\n"} {
		if err := all.Judge(filepath.Join(dir, path), []byte(content)); err != nil {
			t.Errorf("Judge(%s) = %v, want nil", path, err)
		}
	}
}
