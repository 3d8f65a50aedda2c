package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CORE-45: a header begins at byte 0 and ends with the next line of three dashes.
func TestHeader(t *testing.T) {
	for _, tt := range []struct {
		text, front, body string
		found, broken     bool
	}{
		{"", "", "", false, false},
		{"body", "", "body", false, false},
		{"---\na: b\n---\nbody\n", "a: b\n", "body\n", true, false},
		{"\uFEFF---\r\na: b\r\n---\r\nbody", "a: b\r\n", "body", true, false},
		{"---\n---\n", "", "", true, false},
		{"---\na: b\n---", "a: b\n", "", true, false},
		{"---\na: ---\n ---\n---\nx", "a: ---\n ---\n", "x", true, false},
		{" ---\na: b\n---\n", "", " ---\na: b\n---\n", false, false},
		{"----\n", "", "----\n", false, false},
		{"---\na: b\n", "", "", true, true},
		{"---", "", "", true, true},
	} {
		front, body, found, err := header([]byte(tt.text))
		if string(front) != tt.front || string(body) != tt.body || found != tt.found || (err != nil) != tt.broken {
			t.Errorf("header(%q) = %q, %q, %v, %v", tt.text, front, body, found, err)
		}
	}
}

// skillTree makes skills in a root: way → text.
func skillTree(t *testing.T, root string, skills map[string]string) {
	t.Helper()
	for way, text := range skills {
		write(t, filepath.Join(root, way, "SKILL.md"), text)
	}
}

// findSkills looks where skills usually are; "" is no such place.
func findSkills(global, root, home string) (Skills, error) {
	dirs := []string{filepath.Join(root, ".basis", "skills"), filepath.Join(root, ".agents", "skills")}
	if global != "" {
		dirs = append(dirs, filepath.Join(global, "skills"))
	}
	if home != "" {
		dirs = append(dirs, filepath.Join(home, ".agents", "skills"))
	}
	return FindSkills(root, dirs...)
}

// findTemplates likewise.
func findTemplates(global, root string) (Templates, error) {
	dirs := []string{filepath.Join(root, ".basis", "templates")}
	if global != "" {
		dirs = append(dirs, filepath.Join(global, "templates"))
	}
	return FindTemplates(root, dirs...)
}

func listed(s Skills) string {
	var all []string
	for _, k := range s.Skills {
		word := k.Name + "=" + k.Description
		if k.Hidden {
			word += " (hidden)"
		}
		all = append(all, word)
	}
	return strings.Join(all, "; ")
}

// CORE-32, CORE-33, CORE-34, CORE-35: four roots, the stronger keeps a name, and nothing else of the
// weaker is lost.
func TestFindSkills(t *testing.T) {
	dir := tempDir(t)
	root, global, home := filepath.Join(dir, "w"), filepath.Join(dir, "g"), filepath.Join(dir, "h")
	skillTree(t, filepath.Join(root, ".basis", "skills"), map[string]string{
		"b": "---\ndescription: >\n  folded\n  text\n---\n", "a/deep/er": "no header", "c": "---\nname: named\ndisable_model_invocation: true\n---\n",
	})
	skillTree(t, filepath.Join(root, ".agents", "skills"), map[string]string{"b": "weaker", "d": "---\ndescription: d\nextra: [1]\n---\n"})
	skillTree(t, filepath.Join(global, "skills"), map[string]string{"d": "weaker", "e": "---\n---\n"})
	skillTree(t, filepath.Join(home, ".agents", "skills"), map[string]string{"f": "---\ndisable-model-invocation: true\ndescription: f\n---\n"})
	write(t, filepath.Join(root, ".basis", "skills", "x", "skill.md"), "another name")
	s, err := findSkills(global, root, home)
	if want := "er=; b=folded text; named= (hidden); d=d; e=; f=f (hidden)"; err != nil || listed(s) != want {
		t.Errorf("FindSkills = %q, %v, want %q", listed(s), err, want)
	}
	if len(s.Roots) != 4 || len(s.Warnings) != 0 {
		t.Errorf("roots %q, warnings %q", s.Roots, s.Warnings)
	}
	if text := s.Render(); strings.Contains(text, "named") || !strings.Contains(text, "\n- b: folded text\n- d: d\n- e") {
		t.Errorf("Render = %q", text)
	}
	// The home is the workspace: its root counts once, at its stronger place.
	s, err = findSkills("", home, home)
	if err != nil || len(s.Roots) != 1 || (Skills{}).Render() != "" || s.Render() != "" {
		t.Errorf("FindSkills of a home = %+v, %v", s, err)
	}
	skillTree(t, filepath.Join(global, "skills"), map[string]string{"twice": "---\nname: e\n---\n"})
	if _, err := findSkills(global, root, home); err == nil || !strings.Contains(err.Error(), filepath.Join("twice", "SKILL.md")+": name: the skill e is also in ") {
		t.Errorf("one name twice in a root: %v", err)
	}
}

// FR-065: a skill whose header did not parse, typically for a colon in its
// description, vanished without a word.
func TestFR065BrokenSkills(t *testing.T) {
	root := tempDir(t)
	skillTree(t, filepath.Join(root, ".basis", "skills"), map[string]string{
		"good": "---\ndescription: fine\n---\n", "colon": "---\nname: colon\ndescription: Use it: now\n---\n", "open": "---\nname: open\n",
		"yaml": "---\ndescription: \"[\n---\n", "list": "---\n- a\n---\n", "type": "---\nname: [s3cret]\n---\n", "escape": "---\nname: \"a\\e[2J\"\n---\n",
	})
	s, err := findSkills("", root, "")
	if want := "colon=Use it: now; good=fine"; err != nil || listed(s) != want {
		t.Errorf("FindSkills = %q, %v, want %q", listed(s), err, want)
	}
	said := strings.Join(s.Warnings, "\n")
	for _, want := range []string{"open/SKILL.md: line 1: ", "yaml/SKILL.md: line ", "list/SKILL.md: line 2: ", "type/SKILL.md: line 2: a value of the wrong type", "escape/SKILL.md: name: "} {
		if !strings.Contains(said, want) {
			t.Errorf("warnings %q, want one with %q", said, want)
		}
	}
	if len(s.Warnings) != 5 || strings.Contains(said, "s3cret") {
		t.Errorf("%d warnings: %q", len(s.Warnings), said)
	}
}

// FR-065, CORE-34, CORE-40: what stands bare on a line is meant as it is written; brackets in
// a hint for arguments are for people.
func TestFR065BareValues(t *testing.T) {
	for _, tt := range []struct{ head, want string }{
		{"description: Use it: now", "Use it: now/"},
		{"description: [WIP] don't \"stop\": go # on\nargument-hint: WHAT", "[WIP] don't \"stop\": go # on/WHAT"},
		{"description: @someone does it", "@someone does it/"},
		{"description: *.go files", "*.go files/"},
		{"description: `go vet`: always\r", "`go vet`: always/"},
		{"description: d\nargument-hint: [message]", "d/[message]"},
		{"description: d\r\nargument_hint: [file] [line]\r", "d/[file] [line]"},
		{"description: d\nargument-hint: {a|b} \nextra: [1]", "d/{a|b}"},
		{"description: d\nargument-hint: '[a]'", "d/[a]"},
		{"description: \"d\"\nname: a: b", "d/"},
	} {
		root := tempDir(t)
		write(t, filepath.Join(root, ".basis", "templates", "t.md"), "---\n"+tt.head+"\n---\n\n\n  the text\n\n")
		all, err := findTemplates("", root)
		if err != nil {
			t.Errorf("%q: %v", tt.head, err)
			continue
		}
		if i := all.Templates[0].Info; i.Description+"/"+i.ArgumentHint != tt.want {
			t.Errorf("%q = %q, %q, want %q", tt.head, i.Description, i.ArgumentHint, tt.want)
		}
		if got := all.Templates[0].Render(""); got != "  the text" {
			t.Errorf("Render = %q, want the text without the blank lines around it", got)
		}
	}
}

// CORE-20: a description is one line of at most 1,024 characters.
func TestLongDescription(t *testing.T) {
	root := tempDir(t)
	skillTree(t, filepath.Join(root, ".basis", "skills"), map[string]string{"s": "---\ndescription: " + strings.Repeat("é", 2000) + "\n---\n"})
	s, err := findSkills("", root, "")
	if want := strings.Repeat("é", 1023) + "…"; err != nil || s.Skills[0].Description != want || !strings.Contains(s.Render(), "\n- s: "+want) {
		t.Errorf("FindSkills = %+v, %v, want 1,024 characters", s, err)
	}
}

// FR-066: a byte-order mark or CRLF hid the header.
func TestFR066MarksAndLineEnds(t *testing.T) {
	root := tempDir(t)
	skillTree(t, filepath.Join(root, ".basis", "skills"), map[string]string{"s": "\uFEFF---\r\nname: s\r\ndescription: d\r\n---\r\none\r\ntwo\r\n"})
	write(t, filepath.Join(root, ".basis", "templates", "t.md"), "\uFEFF---\r\ndescription: d\r\n---\r\nFix $1\r\nnow\r\n")
	s, err := findSkills("", root, "")
	if err != nil || listed(s) != "s=d" {
		t.Fatalf("FindSkills = %+v, %v", s, err)
	}
	if text, err := LoadSkill(s.Skills[0]); err != nil || text != "<skill name=\"s\">\none\ntwo\n</skill>" {
		t.Errorf("LoadSkill = %q, %v", text, err)
	}
	all, err := findTemplates("", root)
	if err != nil || len(all.Templates) != 1 || all.Templates[0].Render("x") != "Fix x\nnow" {
		t.Errorf("FindTemplates = %+v, %v", all, err)
	}
}

// FR-067: links among skill directories made discovery endless, or listed a skill
// hundreds of times.
func TestFR067Links(t *testing.T) {
	dir := tempDir(t)
	root := filepath.Join(dir, "w")
	skills := filepath.Join(root, ".basis", "skills")
	skillTree(t, skills, map[string]string{"a": "a", "b": "b"})
	skillTree(t, filepath.Join(dir, "outside"), map[string]string{"ext": "ext"})
	for _, l := range [][2]string{
		{skills, filepath.Join(skills, "loop")},
		{filepath.Join(skills, "a"), filepath.Join(skills, "a", "a")},
		{filepath.Join(skills, "a"), filepath.Join(skills, "again")},
		{filepath.Join(dir, "outside", "ext"), filepath.Join(skills, "ext")},
		{filepath.Join(dir, "nowhere"), filepath.Join(skills, "dangling")},
		{"self", filepath.Join(skills, "self")},
		{filepath.Join(skills, "b"), filepath.Join(skills, "0-before-b")},
		{string(filepath.Separator), filepath.Join(skills, "everything")},
		{root, filepath.Join(skills, "up")},
		{filepath.Join(skills, "a", "SKILL.md"), filepath.Join(skills, "b", "sub", "SKILL.md")},
		{filepath.Join(skills, "b"), filepath.Join(root, ".agents", "skills", "other-name")},
	} {
		link(t, l[0], l[1])
	}
	skillTree(t, skills, map[string]string{"c/node_modules/x": "x", "c/.git/x": "x"})
	s, err := findSkills("", root, "")
	if want := "a=; b=; ext="; err != nil || listed(s) != want || len(s.Warnings) != 0 {
		t.Errorf("FindSkills = %q, %v, want %q", listed(s), err, want)
	}
}

// CORE-33, CORE-38, CORE-15: a repository can't pass off any file of the user's as a
// skill, a template or a document of its own; the user can, in roots of his own.
func TestLinksToFilesOfTheUser(t *testing.T) {
	dir := tempDir(t)
	root, secret := filepath.Join(dir, "w"), filepath.Join(dir, "home", "id_rsa")
	write(t, secret, "PRIVATE")
	write(t, filepath.Join(dir, "shared", "SKILL.md"), "shared")
	write(t, filepath.Join(root, "docs", "skill.txt"), "inner")
	link(t, secret, filepath.Join(root, ".basis", "skills", "bad", "SKILL.md"))
	link(t, filepath.Join(dir, "shared", "SKILL.md"), filepath.Join(root, ".basis", "skills", "shared", "SKILL.md"))
	link(t, filepath.Join(root, "docs", "skill.txt"), filepath.Join(root, ".basis", "skills", "inner", "SKILL.md"))
	link(t, secret, filepath.Join(dir, "home", ".agents", "skills", "own", "SKILL.md"))
	s, err := findSkills("", root, filepath.Join(dir, "home"))
	if want := "inner=; shared=; own="; err != nil || listed(s) != want || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "bad") {
		t.Errorf("FindSkills = %q, %q, %v, want %q and one warning", listed(s), s.Warnings, err, want)
	}
	link(t, secret, filepath.Join(root, ".basis", "templates", "t.md"))
	if all, err := findTemplates("", root); err == nil || !strings.Contains(err.Error(), "t.md: it is a link out of the workspace") {
		t.Errorf("FindTemplates = %+v, %v, want an error", all, err)
	}
	link(t, secret, filepath.Join(root, "AGENTS.md"))
	if c := FindContext("", root); len(below(c, dir)) != 0 || len(c.Warnings) != 1 || strings.Contains(c.Render(), "PRIVATE") {
		t.Errorf("FindContext = %+v, want a warning and no document", c)
	}
	link(t, filepath.Join(dir, "shared", "SKILL.md"), filepath.Join(root, "sub", "AGENTS.md"))
	if c := FindContext("", filepath.Join(root, "sub")); len(below(c, dir)) != 1 {
		t.Errorf("FindContext = %+v, want a document elsewhere", c)
	}
}

// CORE-33, CORE-38: a search ends, and says so.
func TestSearchEnds(t *testing.T) {
	dir := tempDir(t)
	for i := range 10 {
		write(t, filepath.Join(dir, "d", fmt.Sprint(i), "f"), "")
	}
	link(t, "d", filepath.Join(dir, "l"))
	for most, want := range map[int]int{23: 10, 22: 10, 15: 7, 1: 0} { // d with ten directories and files, x and the link
		hits, faults := files(dir, "", most, func(name string) bool { return name == "f" })
		if len(hits) != want || (len(faults) > 0) != (most < 23) {
			t.Errorf("of %d names: %d files, %v, want %d", most, len(hits), faults, want)
		}
	}
}

// CORE-98: a directory that can't be read is not passed over in silence.
func TestUnreadableDirectory(t *testing.T) {
	dir := tempDir(t)
	for _, kind := range []string{"skills", "templates"} {
		closed := filepath.Join(dir, ".basis", kind, "closed")
		if err := os.MkdirAll(closed, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
		if _, err := os.ReadDir(closed); err == nil {
			t.Skip("this user may read everything")
		}
	}
	if s, err := findSkills("", dir, ""); err != nil || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "closed: it cannot be read") {
		t.Errorf("FindSkills = %q, %v, want one warning", s.Warnings, err)
	}
	if _, err := findTemplates("", dir); err == nil || !strings.Contains(err.Error(), "closed: it cannot be read") {
		t.Errorf("FindTemplates: %v", err)
	}
}

// CORE-37: what can't be read any more says so.
func TestLoadSkillGone(t *testing.T) {
	root := tempDir(t)
	skillTree(t, filepath.Join(root, ".basis", "skills"), map[string]string{"s": "x"})
	s, err := findSkills("", root, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, ".basis")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSkill(s.Skills[0]); err == nil || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("LoadSkill: %v", err)
	}
}

// CORE-38, CORE-39, CORE-40: names come from the way, the workspace's count first, and a missing
// description is made of the text.
func TestFindTemplates(t *testing.T) {
	dir := tempDir(t)
	global, root := filepath.Join(dir, "g"), filepath.Join(dir, "w")
	here := filepath.Join(root, ".basis", "templates")
	write(t, filepath.Join(here, "git", "commit.md"), "---\ndescription: commits\nargument_hint: WHAT\nx: 1\n---\nCommit $1\n")
	write(t, filepath.Join(here, "plain.md"), "\n\n  A first line "+strings.Repeat("long ", 30)+"\nsecond")
	write(t, filepath.Join(here, "notes.txt"), "no")
	write(t, filepath.Join(global, "templates", "plain.md"), "weaker")
	write(t, filepath.Join(global, "templates", "git", "other.md"), "---\ndescription: o\nargument-hint: '[a]'\n---\n")
	all, err := findTemplates(global, root)
	var got []string
	for _, k := range all.Templates {
		got = append(got, k.Info.Name+"="+k.Info.Description+"/"+k.Info.ArgumentHint)
	}
	want := "git:commit=commits/WHAT; git:other=o/[a]; plain=A first line " + strings.Repeat("long ", 13) + "l…/"
	if err != nil || strings.Join(got, "; ") != want {
		t.Errorf("FindTemplates = %q, %v, want %q", strings.Join(got, "; "), err, want)
	}
	for text, want := range map[string]string{
		"---\ndescription: \"[\n---\n": "the header is not YAML", "---\nx": "never closed", "---\ntext\n---\n": "no list of names", "\xff": "not UTF-8",
		"---\ndescription: [s3cret]\n---\n": "line 2: a value of the wrong type",
	} {
		write(t, filepath.Join(here, "broken.md"), text)
		if _, err := findTemplates(global, root); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(here, "broken.md")+": ") ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	write(t, filepath.Join(here, "broken.md"), "fine")
	link(t, "broken.md", filepath.Join(here, "git:commit.md"))
	if _, err := findTemplates("", root); err == nil || !strings.Contains(err.Error(), "the template git:commit is also in ") {
		t.Errorf("one name twice: %v", err)
	}
}

// CORE-42, CLI-36: what calls a template, and what only looks like it.
func TestInvocation(t *testing.T) {
	for prompt, want := range map[string]string{
		"/fix": "fix|", "/git:commit the  parser ": "git:commit|the  parser", "/a\nb": "a|b", "/a.b-c_1": "a.b-c_1|",
		"/usr/bin/x crashes": "", "//x": "", "/ is root": "", "look at /etc/hosts": "", " /fix": "", "/": "", "": "", "/fix,now": "", "/é": "",
	} {
		name, args, ok := Invocation(prompt)
		if got := name + "|" + args; ok != (want != "") || ok && got != want {
			t.Errorf("Invocation(%q) = %q, %v, want %q", prompt, got, ok, want)
		}
	}
}

// CORE-41, FR-069: placeholders were expanded twice, inside values, or in text that
// only looks like one; one pass, and a dollar is itself.
func TestFR069Render(t *testing.T) {
	for _, tt := range []struct{ body, args, want string }{
		{"Fix $1.", "auth login", "Fix auth."},
		{"Fix $1 in $2.", " auth\tlogin.rs ", "Fix auth in login.rs."},
		{"costs $$5", "x", "costs $5\n\nx"},
		{"$10", "a b c d e f g h i j", "j"},
		{"$ARGUMENTSand", "x", "xand"},
		{"[$3]", "a b", "[]"},
		{"[$3]", "", "[]"},
		{"Cost $0.50 <$1> <$2> <$ARGUMENTS> $$1", "$100 $ARGUMENTS $& $$", "Cost $0.50 <$100> <$ARGUMENTS> <$100 $ARGUMENTS $& $$> $1"},
		{"$99999999999999999999", "x", "$99999999999999999999\n\nx"},
		{"$", "", "$"},
		{"$HOME ${1} $-", "", "$HOME ${1} $-"},
		{"", "only args", "only args"},
		{" \n", "only args", "only args"},
		{"no args", "", "no args"},
		{"Commit: $ARGUMENTS", "", "Commit: "},
	} {
		if got := (Template{Body: tt.body}).Render(tt.args); got != tt.want {
			t.Errorf("Render(%q, %q) = %q, want %q", tt.body, tt.args, got, tt.want)
		}
	}
}

// CORE-44, CORE-46, CORE-47: memories are listed by their headers, the stronger directory's first.
func TestFindMemories(t *testing.T) {
	dir := tempDir(t)
	near, far := filepath.Join(dir, "near"), filepath.Join(dir, "far")
	write(t, filepath.Join(near, "a.md"), "---\nname: flags\ndescription: Flags: of it\ntype: project\nx: 1\n---\n"+strings.Repeat("body ", 100_000))
	write(t, filepath.Join(near, "B.MD"), "---\nname: b\ndescription: d\ntype: user\n---\n")
	write(t, filepath.Join(near, "c.txt"), "no")
	write(t, filepath.Join(near, "sub", "d.md"), "no")
	link(t, "a.md", filepath.Join(near, "l.md"))
	write(t, filepath.Join(far, "a.md"), "---\nname: flags\ndescription: weaker\ntype: reference\n---\n")
	write(t, filepath.Join(far, "e.md"), "---\nname: e\ndescription: e\ntype: feedback\n---\n")
	all, err := FindMemories(near, "", far, filepath.Join(dir, "none"), near)
	got := RenderMemories(all)
	want := fmt.Sprintf("<memories>\n- b — d (%s)\n- flags — Flags: of it (%s)\n- e — e (%s)\n</memories>\n\n", filepath.Join(near, "B.MD"), filepath.Join(near, "a.md"), filepath.Join(far, "e.md"))
	if err != nil || !strings.HasPrefix(got, want) || RenderMemories(nil) != "" {
		t.Errorf("FindMemories = %q, %v, want %q", got, err, want)
	}
	for text, want := range map[string]string{
		"no header": "it has no header", "---\nname: x\n": "never closed", "---\n---\n": "name: it is missing or blank",
		"---\nname: x\ntype: user\n---\n": "description: ", "---\nname: x\ndescription: \"a\\nb\"\ntype: user\n---\n": "more than one line",
		"---\nname: x\ndescription: d\n---\n": "type: it is none of", "---\nname: x\ndescription: d\ntype: s3cret\n---\n": "type: it is none of",
		"---\nname: [s3cret]\n---\n": "wrong type", "---\nname: b\ndescription: d\ntype: user\n---\n": "the memory b is also in ",
	} {
		write(t, filepath.Join(near, "zz.md"), text)
		if _, err := FindMemories(near); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(near, "zz.md")+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// CORE-49: what is composed reads back as it was.
func TestComposeMemory(t *testing.T) {
	dir := tempDir(t)
	for i, description := range []string{"plain", "with: colon", "'quoted' # not a comment", "- dash", "é … \"x\""} {
		data, err := ComposeMemory("n", description, "user", "body\n---\nmore")
		if err != nil {
			t.Fatal(err)
		}
		sub := filepath.Join(dir, fmt.Sprint(i))
		write(t, filepath.Join(sub, "m.md"), string(data))
		all, err := FindMemories(sub)
		if err != nil || len(all) != 1 || all[0].Name != "n" || all[0].Description != description || all[0].Type != "user" || !strings.HasSuffix(string(data), "---\nbody\n---\nmore") {
			t.Errorf("%q reads back as %+v, %v", description, all, err)
		}
	}
	for _, bad := range [][3]string{{"", "d", "user"}, {"n", " ", "user"}, {"n", "a\nb", "user"}, {"n", "d", "nope"}, {"a\tb", "d", "user"}, {"n", strings.Repeat("d", maxHeader), "user"}} {
		if data, err := ComposeMemory(bad[0], bad[1], bad[2], "x"); err == nil {
			t.Errorf("ComposeMemory(%.20q) = %.60q, want an error", bad, data)
		}
	}
}

// Whatever a file holds is understood or refused.
func FuzzTexts(f *testing.F) {
	f.Add("---\nname: a\ndescription: b: c\n---\n$1 $$ $ARGUMENTS", "x y")
	f.Add("---\na: &a [*a]\n---\n", "")
	f.Fuzz(func(t *testing.T, text, args string) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".basis", "skills", "s", "SKILL.md"), text)
		write(t, filepath.Join(dir, ".basis", "templates", "t.md"), text)
		write(t, filepath.Join(dir, "m", "m.md"), text)
		if _, err := findSkills("", dir, ""); err != nil {
			t.Errorf("FindSkills: %v", err)
		}
		if all, err := findTemplates("", dir); err == nil {
			all.Templates[0].Render(args)
		}
		_, _ = FindMemories(filepath.Join(dir, "m"))
	})
}

// Opening a workspace with 1,000 skills, 200 templates and 500 memories; the other
// side only reads the same files.
func BenchmarkOpenLargeWorkspace(b *testing.B) {
	dir := b.TempDir()
	make1 := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	body := strings.Repeat("A line of what it says.\n", 80)
	var paths []string
	add := func(path, text string) {
		make1(path, text)
		paths = append(paths, path)
	}
	for i := range 1000 {
		add(filepath.Join(dir, ".basis", "skills", fmt.Sprint("skill", i), "SKILL.md"), fmt.Sprintf("---\nname: skill%d\ndescription: What it does\n---\n%s", i, body))
	}
	for i := range 200 {
		add(filepath.Join(dir, ".basis", "templates", fmt.Sprint("t", i, ".md")), "---\ndescription: d\n---\n"+body)
	}
	for i := range 500 {
		add(filepath.Join(dir, "memory", fmt.Sprint("m", i, ".md")), fmt.Sprintf("---\nname: m%d\ndescription: d\ntype: user\n---\n%s", i, body))
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err1 := findSkills("", dir, "")
			t, err2 := findTemplates("", dir)
			m, err3 := FindMemories(filepath.Join(dir, "memory"))
			if err1 != nil || err2 != nil || err3 != nil || len(s.Skills)+len(t.Templates)+len(m) != 1700 {
				b.Fatal(err1, err2, err3)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for _, p := range paths {
				if _, err := os.ReadFile(p); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
