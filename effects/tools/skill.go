package tools

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// CodeNoSkill says that there is no skill of a name that a model may load.
const CodeNoSkill = "not_found"

// newLoadSkill makes the tool that reads a skill.
func newLoadSkill(skills []reducer.SkillInfo) effects.Tool {
	return newTool(tool{
		spec:    reading("load_skill", "Read a skill that the system text lists, by its name."),
		members: []member{{name: "name", kind: kindString, required: true}},
		line:    func(a args) string { return a.text("name", "") },
		run: func(_ context.Context, c call) effects.Result {
			return loadSkill(skills, strings.TrimSpace(c.text("name", "")))
		},
	})
}

// loadSkill is the text of a skill, and where the files are that it may speak of.
func loadSkill(skills []reducer.SkillInfo, name string) effects.Result {
	i := slices.IndexFunc(skills, func(k reducer.SkillInfo) bool { return k.Name == name && !k.Hidden })
	if i < 0 {
		var names []string
		for _, k := range skills {
			if !k.Hidden {
				names = append(names, k.Name)
			}
		}
		return failed(&problem{CodeNoSkill, fmt.Sprintf("load_skill: there is no skill %q to load; there are: %s", cutText(name, 80), strings.Join(names, ", "))})
	}
	text, err := workspace.LoadSkill(skills[i])
	if err != nil {
		return failed(&problem{CodeNoSkill, "load_skill: " + err.Error()})
	}
	return effects.Result{Output: text + "\nFiles that it mentions are in " + filepath.Dir(skills[i].Path) + "."}
}

// offersSkills reports whether there is a skill that a model may load.
func offersSkills(skills []reducer.SkillInfo) bool {
	return slices.ContainsFunc(skills, func(k reducer.SkillInfo) bool { return !k.Hidden })
}
