package basis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	below := func(dir, name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	below(ws, ".basis/skills/release/SKILL.md", "---\ndescription: SKILL "+secret+"\n---\nBODY\n")
	below(ws, ".basis/templates/fix.md", "---\ndescription: TEMPLATE "+secret+"\n---\nFix it\n")
	note, err := ComposeMemory("flags", "MEMORY: "+secret, "project", "BODY\n")
	if err != nil {
		t.Fatal(err)
	}
	below(config, "memory/flags.md", string(note))
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
