package tools

import (
	"context"
	"fmt"
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
		members: []member{{name: "name", kind: kindString, required: true, aliases: []string{"skill", "skill_name"}}},
		line:    func(a args) string { return a.text("name", "") },
		run: func(_ context.Context, c call) effects.Result {
			return loadSkill(skills, strings.TrimSpace(c.text("name", "")))
		},
	})
}

// loadSkill is the text of a skill that a model may load.
func loadSkill(skills []reducer.SkillInfo, name string) effects.Result {
	i := slices.IndexFunc(skills, func(k reducer.SkillInfo) bool { return k.Name == name })
	switch {
	case i < 0:
		return failed(&problem{CodeNoSkill, fmt.Sprintf("load_skill: there is no skill %q; there are: %s", cutText(name, 80), offered(skills))})
	case skills[i].Hidden:
		return failed(&problem{CodeDenied, fmt.Sprintf("load_skill: the skill %q is for people to start, not for models; there are: %s", name, offered(skills))})
	}
	text, err := workspace.LoadSkill(skills[i])
	if err != nil {
		return failed(&problem{CodeNoSkill, "load_skill: " + err.Error()})
	}
	return effects.Result{Output: text}
}

// maxOffered is how many names an error lists.
const maxOffered = 50

// offered are the names of the skills that a model may load, in one line.
func offered(skills []reducer.SkillInfo) string {
	var names []string
	for _, k := range skills {
		if !k.Hidden {
			names = append(names, k.Name)
		}
	}
	if more := len(names) - maxOffered; more > 0 {
		names = append(names[:maxOffered], fmt.Sprintf("and %d more, which the system text lists", more))
	}
	return strings.Join(names, ", ")
}

// offersSkills reports whether there is a skill that a model may load.
func offersSkills(skills []reducer.SkillInfo) bool {
	return slices.ContainsFunc(skills, func(k reducer.SkillInfo) bool { return !k.Hidden })
}
