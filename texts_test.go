package basis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// CORE-12, CORE-17, CORE-20, CORE-47, CORE-49: the system text is documents, memories, what the task adds,
// and skills last; a text of the task's own takes the place of all but the skills, which are
// offered wherever load_skill is. No secret of the environment stands in any of it.
func TestTextsInOrder(t *testing.T) {
	const secret = "sk-canary-0123456789"
	ws, config := newWorkspace(t), t.TempDir()
	write(t, filepath.Join(ws, "AGENTS.md"), "DOCUMENT")
	put(t, ws, ".basis/skills/release/SKILL.md", "---\ndescription: SKILL "+secret+"\n---\nBODY\n")
	put(t, ws, ".basis/templates/fix.md", "---\ndescription: TEMPLATE "+secret+"\n---\nFix it\n")
	note, err := ComposeMemory("flags", "MEMORY: "+secret, "project", "BODY\n")
	if err != nil {
		t.Fatal(err)
	}
	put(t, config, "memory/flags.md", string(note))
	own, none := "OWN", ""
	for _, tt := range []struct {
		o    reducer.Options
		want string
	}{
		{reducer.Options{Append: "ADDED"}, "DOCUMENT MEMORY ADDED SKILL"},
		{reducer.Options{System: &own}, "OWN SKILL"},
		{reducer.Options{System: &none}, "SKILL"},
		{reducer.Options{Tools: &reducer.Roster{Hidden: []string{"load_skill"}}}, "DOCUMENT MEMORY"},
	} {
		s := providertest.Script(t, providertest.Text("done"))
		h := newHome(t, map[string]string{"BASIS_CONFIG_DIR": config, "OPENAI_API_KEY": secret})
		spec := asking(s, ws, "hi")
		tt.o.BaseURL, tt.o.Model = spec.Options.BaseURL, spec.Options.Model
		spec.Options = tt.o
		l := tell(t, h, spec)
		system := s.Requests()[0].Messages()[0].Text
		if got := strings.Join(regexp.MustCompile(`DOCUMENT|MEMORY|ADDED|OWN|SKILL\b|BODY`).FindAllString(strings.ReplaceAll(system, "SKILL.md", ""), -1), " "); got != tt.want {
			t.Errorf("system text %q, want the order %s", system, tt.want)
		}
		offered := strings.Contains(string(s.Requests()[0].Body), `"name":"load_skill"`)
		if want := tt.o.Tools == nil; offered != want {
			t.Errorf("load_skill offered: %v, want %v", offered, want)
		}
		journal, err := os.ReadFile(filepath.Join(h.AgentDir(l.out.Ref), "events.jsonl"))
		if err != nil || strings.Contains(string(journal), secret) || strings.Contains(string(s.Requests()[0].Body), secret) {
			t.Errorf("the secret stands in the journal or in the request: %v", err)
		}
		for _, want := range []string{`"name":"release","description":"SKILL [redacted:OPENAI_API_KEY]"`, `"name":"fix","description":"TEMPLATE [redacted:`, `"name":"flags","path":`} {
			if !strings.Contains(string(journal), want) {
				t.Errorf("the journal holds no %s", want)
			}
		}
	}
}

// CORE-44: where a host puts memories is where an opening looks for them.
func TestMemoryDir(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	dir, err := h.MemoryDir(ws)
	if err != nil || !slices.Contains(h.memoryDirs(ws), dir) || !strings.HasPrefix(dir, h.Dir()) {
		t.Errorf("MemoryDir = %q, %v", dir, err)
	}
	if _, err := h.MemoryDir(filepath.Join(ws, "none")); err == nil {
		t.Error("MemoryDir of no directory = nil, want an error")
	}
}

// CORE-32, CORE-38, CORE-44: a host says where each place is, or that there is none; one that is
// empty is the usual one and never the workspace itself.
func TestPlaces(t *testing.T) {
	env := map[string]string{"BASIS_CONFIG_DIR": "/cfg", "HOME": "/home"}
	abs := filepath.IsAbs("/cfg")
	for _, tt := range []struct {
		places                    Places
		env                       map[string]string
		skills, templates, memory string
	}{
		{
			Places{},
			env, "/ws/.basis/skills /ws/.agents/skills /cfg/skills /home/.agents/skills",
			"/ws/.basis/templates /cfg/templates", "KEY/memory /cfg/memory",
		},
		{Places{}, nil, "/ws/.basis/skills /ws/.agents/skills", "/ws/.basis/templates", "KEY/memory"},
		{
			Places{NoSharedSkills: true, UserSkills: Nowhere, Templates: Nowhere, Memories: Nowhere},
			env,
			"/ws/.basis/skills /home/.agents/skills", "/cfg/templates", "/cfg/memory",
		},
		{
			Places{Skills: Nowhere, NoUserSharedSkills: true, UserTemplates: " - ", UserMemories: Nowhere},
			env,
			"/ws/.agents/skills /cfg/skills", "/ws/.basis/templates", "KEY/memory",
		},
		{
			Places{Skills: "s", UserSkills: "/u/", Templates: "/t", UserTemplates: "x/y", Memories: "notes", UserMemories: "/m", NoSharedSkills: true, NoUserSharedSkills: true},
			env,
			"/ws/s /u", "/t /cfg/x/y", "/ws/notes /m",
		},
		{
			Places{Skills: "  ", UserTemplates: "t"}, nil, "/ws/.basis/skills /ws/.agents/skills", "/ws/.basis/templates", "KEY/memory",
		},
	} {
		h := newHome(t, tt.env)
		h.o.Places = tt.places
		line := func(dirs []string) string {
			return filepath.ToSlash(strings.ReplaceAll(strings.Join(dirs, " "), h.workspaceDir(WorkspaceKey("/ws")), "KEY"))
		}
		skills, _ := h.skillDirs("/ws")
		got := [3]string{line(skills), line(h.templateDirs("/ws")), line(h.memoryDirs("/ws"))}
		if want := [3]string{tt.skills, tt.templates, tt.memory}; got != want && abs {
			t.Errorf("%+v: %q, want %q", tt.places, got, want)
		}
	}
}

// CORE-32, CORE-48, TOOL-13: what a user or a host has chosen may be read wherever it is, what a repository
// has only within the workspace.
func TestOpenSkills(t *testing.T) {
	ws, config, host := newWorkspace(t), t.TempDir(), t.TempDir()
	own, user := filepath.Join(ws, ".basis", "skills"), filepath.Join(config, "skills")
	all := workspace.Skills{Roots: []string{own, user, host}}
	h := newHome(t, map[string]string{"BASIS_CONFIG_DIR": config})
	if got := h.openSkills(ws, all); !slices.Equal(got, []string{user}) {
		t.Errorf("openSkills = %q, want that of the user", got)
	}
	h.o.Places.Skills = host
	if got := h.openSkills(ws, all); !slices.Equal(got, []string{user, host}) {
		t.Errorf("openSkills = %q, want that of the user and that of the host", got)
	}
	user = filepath.Join(config, "memory")
	for chosen, want := range map[string][]string{"": {h.memoryDir(ws), user}, host: {host, user}, "notes": {user}, Nowhere: {user}} {
		h.o.Places.Memories = chosen
		if got := h.openMemories(ws); !slices.Equal(got, want) {
			t.Errorf("openMemories with %q = %q, want %q", chosen, got, want)
		}
	}
}

// FR-066: a byte-order mark or CRLF hid a header, or what followed it; both are taken in every text
// file, and neither reaches the model.
func TestFR066MarksAndLineEnds(t *testing.T) {
	ws, config := newWorkspace(t), t.TempDir()
	as := func(lines ...string) string { return "\uFEFF" + strings.Join(lines, "\r\n") + "\r\n" }
	for name, text := range map[string]string{
		"AGENTS.md":                as("Document one", "two"),
		".basis/skills/s/SKILL.md": as("---", "name: s", "description: Skill one", "---", "Body one", "two"),
		".basis/templates/t.md":    as("---", "description: d", "---", "Template $1", "two"),
		".basis/config.json":       as("{", `"schema":1,"effort":"low"}`),
		".basis/hooks.json":        as("{", `"schema":1,"hooks":[{"name":"h","command":["true"],"tools":["none"]}]}`),
		".basis/tools.json":        as("{", `"schema":1,"tools":{"declared":{"description":"Tool one","input_schema":{},"command":["true"]}}}`),
	} {
		put(t, ws, name, text)
	}
	put(t, config, "memory/m.md", as("---", "name: m", "description: Memory one", "type: user", "---", "x"))
	s := providertest.Script(t, providertest.CallTool("load_skill", `{"name":"s"}`), providertest.Text("done"))
	h := newHome(t, map[string]string{"BASIS_CONFIG_DIR": config})
	spec := asking(s, ws, "")
	var err error
	if spec.Prompt, err = h.Expand(ws, "/t one"); err != nil || spec.Prompt != "Template one\ntwo" {
		t.Errorf("Expand = %q, %v", spec.Prompt, err)
	}
	l := tell(t, h, spec)
	body := string(s.Requests()[1].Body)
	for _, want := range []string{`Document one\ntwo`, "- s: Skill one", `Body one\ntwo\n</skill>`, `Template one\ntwo`, `"reasoning_effort":"low"`, "Tool one", "- m — Memory one"} {
		if !strings.Contains(body, want) {
			t.Errorf("the request holds no %s", want)
		}
	}
	if strings.Contains(body, "\uFEFF") || strings.Contains(body, `\ufeff`) || strings.Contains(body, `\r`) {
		t.Errorf("the request holds a mark or a carriage return: %s", body)
	}
	if hooks := l.out.State.Setup.Hooks; len(hooks) != 1 || hooks[0].Name != "h" {
		t.Errorf("hooks %+v, want the one of the file", hooks)
	}
}
