package basis

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/basisagent/basis/effects/workspace"
)

// Places says where openings look for skills, templates and memories. A place that
// is "" is the one that docs/conventions.md says, and [Nowhere] is none. A relative
// one starts at the workspace or, where its name begins with User, at the user's
// directory for settings; without such a directory it is none.
type Places struct {
	Skills, UserSkills       string // .basis/skills, skills
	Templates, UserTemplates string // .basis/templates, templates
	Memories, UserMemories   string // in the workspace's place below the data root, memory

	// The places that other programs share are where they are: here, or not
	// looked at.
	NoSharedSkills     bool // not .agents/skills of the workspace
	NoUserSharedSkills bool // not .agents/skills at home
}

// Nowhere is a place in [Places] that is not looked at.
const Nowhere = "-"

// place is a directory that was chosen, or the usual one, below base; "" is none.
func place(chosen, base, usual string) string {
	switch chosen = strings.TrimSpace(chosen); {
	case chosen == Nowhere:
		return ""
	case filepath.IsAbs(chosen):
		return filepath.Clean(chosen)
	case base == "":
		return ""
	case chosen != "":
		usual = chosen
	}
	return filepath.Join(base, usual)
}

// some are the directories that are any.
func some(dirs ...string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// skillDirs are the roots of skills, the most specific first (CORE-32). Open are
// those that a user or a host has chosen and no repository: they may be read
// wherever they lead. What a repository has is read within the workspace, or a link
// in it would open any directory.
func (h *Home) skillDirs(root string) (dirs, open []string) {
	p := h.o.Places
	own, user := place(p.Skills, root, filepath.Join(".basis", "skills")), place(p.UserSkills, h.configDir(), "skills")
	shared, home := filepath.Join(root, ".agents", "skills"), ""
	if base := h.userHome(); base != "" {
		home = filepath.Join(base, ".agents", "skills")
	}
	if p.NoSharedSkills {
		shared = ""
	}
	if p.NoUserSharedSkills {
		home = ""
	}
	open = some(user, home)
	if filepath.IsAbs(strings.TrimSpace(p.Skills)) {
		open = append(open, own)
	}
	return some(own, shared, user, home), open
}

// openSkills are the roots that were found and may be read wherever they lead.
func (h *Home) openSkills(root string, found workspace.Skills) []string {
	_, open := h.skillDirs(root)
	return slices.DeleteFunc(slices.Clone(found.Roots), func(dir string) bool { return !slices.Contains(open, dir) })
}

// templateDirs are the roots of templates, the most specific first (CORE-38).
func (h *Home) templateDirs(root string) []string {
	p := h.o.Places
	return some(place(p.Templates, root, filepath.Join(".basis", "templates")), place(p.UserTemplates, h.configDir(), "templates"))
}

// memoryDirs are where memories are kept, the workspace's first (CORE-44). They need
// not exist.
func (h *Home) memoryDirs(root string) []string {
	return some(h.memoryDir(root), place(h.o.Places.UserMemories, h.configDir(), memoryDir))
}

// openMemories are those that may be read and written wherever they lead (CORE-48):
// not one that a host has put into the workspace, where a repository could have a
// link in its place.
func (h *Home) openMemories(root string) []string {
	dirs := h.memoryDirs(root)
	if chosen := strings.TrimSpace(h.o.Places.Memories); chosen == "" || chosen == Nowhere || filepath.IsAbs(chosen) {
		return dirs
	}
	return dirs[1:]
}

func (h *Home) memoryDir(root string) string {
	chosen := strings.TrimSpace(h.o.Places.Memories)
	if chosen == "" {
		return filepath.Join(h.workspaceDir(WorkspaceKey(root)), memoryDir)
	}
	return place(chosen, root, memoryDir)
}

// MemoryDir is where the memories of a workspace are kept, a file each; "" is
// nowhere. It need not exist before its workspace has had a task.
func (h *Home) MemoryDir(dir string) (string, error) {
	path, err := directory(dir)
	if err != nil {
		return "", err
	}
	return h.memoryDir(path), nil
}

// textsOf is where an opening looks for texts.
func (h *Home) textsOf(root string) workspace.Texts {
	skills, _ := h.skillDirs(root)
	return workspace.Texts{Root: root, Skills: skills, Templates: h.templateDirs(root), Memories: h.memoryDirs(root)}
}

// kept is what decides over the agents of a workspace, so that they don't write it
// themselves (TOOL-15): settings, hooks and declared tools of the repository and the
// user, and each file that the command of a hook names, be it there or not.
func (h *Home) kept(root string, hooks []workspace.Hook) []string {
	var all []string
	keep := func(path string) {
		fi, err := os.Stat(path)
		if err == nil && !fi.IsDir() || errors.Is(err, fs.ErrNotExist) { // else it is no way to a file, or holds more than the hook
			all = append(all, path)
		}
	}
	for _, dir := range some(filepath.Join(root, ".basis"), h.configDir()) {
		for _, name := range []string{"config.json", "hooks.json", "tools.json"} {
			keep(filepath.Join(dir, name))
		}
	}
	for _, hook := range hooks {
		for _, word := range hook.Command {
			if !filepath.IsAbs(word) {
				word = filepath.Join(root, word)
			}
			keep(word)
		}
	}
	return all
}
