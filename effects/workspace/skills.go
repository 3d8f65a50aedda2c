package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/basisagent/basis/reducer"
)

// Skills are the skills of a workspace, those of stronger roots first, and the
// roots that exist.
type Skills struct {
	Skills   []reducer.SkillInfo
	Roots    []string
	Warnings []string
}

// FindSkills looks for SKILL.md files below directories, the strongest first; those
// that don't exist are empty. What lies in the workspace at root may not link to any
// file outside. A root keeps a name from the weaker ones. A skill
// whose header can't be read is passed over with a warning; two of one name in one
// root are an error.
func FindSkills(root string, dirs ...string) (Skills, error) {
	var s Skills
	var used []os.FileInfo
	taken := map[string]bool{}
	for _, dir := range dirs {
		if sameDir(dir, &used) {
			continue
		}
		if err := s.look(dir, linkFence(root, dir), taken); err != nil {
			return Skills{}, err
		}
		s.Roots = append(s.Roots, dir)
	}
	return s, nil
}

// look takes the skills of one root. A file that was taken already, by another
// way or in a stronger root, is the same skill.
func (s *Skills) look(dir, within string, taken map[string]bool) error {
	stronger := map[string]bool{}
	for _, k := range s.Skills {
		stronger[k.Name] = true
	}
	here := map[string]string{}
	hits, faults := files(dir, within, maxNames, isSkill)
	for _, h := range hits {
		if taken[h.real] {
			continue
		}
		taken[h.real] = true
		k, err := readSkill(h.path)
		if err != nil {
			s.Warnings = append(s.Warnings, "skill "+err.Error()+"; it is left out")
			continue
		}
		if other := here[k.Name]; other != "" {
			return twice("skill", h.path, k.Name, other)
		}
		here[k.Name] = h.path
		if !stronger[k.Name] {
			s.Skills = append(s.Skills, k)
		}
	}
	for _, err := range faults {
		s.Warnings = append(s.Warnings, "skills in "+err.Error())
	}
	return nil
}

// isSkill reports whether a file below a root of skills is one.
func isSkill(name string) bool { return name == "SKILL.md" }

// readSkill reads the head of one skill.
func readSkill(path string) (reducer.SkillInfo, error) {
	data, err := readText(path)
	if err != nil {
		return reducer.SkillInfo{}, err
	}
	return parseSkill(path, data)
}

// parseSkill is the skill at path.
func parseSkill(path string, data []byte) (reducer.SkillInfo, error) {
	var h struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Hidden      bool   `yaml:"disable-model-invocation"`
		Hidden2     bool   `yaml:"disable_model_invocation"`
	}
	front, _, headed, err := header(data)
	if err == nil && headed {
		err = decodeHeader(front, &h)
	}
	if err != nil {
		return reducer.SkillInfo{}, &FileError{Path: path, Err: err}
	}
	name := strings.TrimSpace(h.Name)
	if name == "" {
		name = filepath.Base(filepath.Dir(path))
	}
	if err := named(name); err != nil {
		return reducer.SkillInfo{}, &FileError{Path: path, Key: "name", Err: err}
	}
	return reducer.SkillInfo{
		Name: name, Description: cut(oneLine(h.Description), maxDescription), Path: path, Digest: Digest(string(data)), Hidden: h.Hidden || h.Hidden2,
	}, nil
}

// maxDescription is how much of a description is used, in characters: it stands in
// every request.
const maxDescription = 1024

// oneLine is a text with each run of white space as one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut is a text, or its beginning with an ellipsis where it has more than most
// characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Render is the block of system text that names the skills a model may load
// (CORE-20); "" if there are none.
func (s Skills) Render() string {
	lines := []string{"Skills: texts that say how to do certain work. Call load_skill with a name when one bears on what you are doing, and not before."}
	for _, k := range s.Skills {
		if !k.Hidden {
			lines = append(lines, strings.TrimSuffix("- "+k.Name+": "+k.Description, ": "))
		}
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}

// LoadSkill is the text of a skill, without its header, as a model reads it
// (CORE-37), and where the files are that it may speak of, if there are any. The
// file is read anew: what is in force is what it says now.
func LoadSkill(k reducer.SkillInfo) (string, error) {
	data, err := readText(k.Path)
	if err != nil {
		return "", err
	}
	_, body, _, err := header(data)
	if err != nil {
		return "", &FileError{Path: k.Path, Err: err}
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(string(body), "\r\n", "\n"), "\uFFFD")
	text = "<skill name=\"" + k.Name + "\">\n" + strings.TrimRight(text, "\n") + "\n</skill>"
	dir := filepath.Dir(k.Path)
	if others, err := os.ReadDir(dir); err == nil && len(others) > 1 {
		text += "\nFiles that it mentions are in " + dir + "."
	}
	return text, nil
}
