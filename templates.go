package basis

import (
	"fmt"

	"github.com/basisagent/basis/effects/workspace"
)

// TemplateError says that a prompt calls a template that there is none of.
type TemplateError struct {
	Name  string
	Names []string // those that there are
}

// Error names the template.
func (e *TemplateError) Error() string { return "no template named `" + e.Name + "`" }

// Expand is a prompt as a task should get it: one whose first word is a slash and a
// name stands for the template of that name in dir or of the user, with the rest
// as its arguments (CLI-36, CLI-37); any other stays as it is. The error is a
// *[TemplateError] for an unknown name.
func (h *Home) Expand(dir, prompt string) (string, error) {
	name, args, ok := workspace.Invocation(prompt)
	if !ok || h.o.NoDiscovery {
		return prompt, nil
	}
	root, err := canonical(dir)
	if err != nil {
		return "", err
	}
	all, err := workspace.FindTemplates(root, h.templateDirs(root)...)
	if err != nil {
		return "", fmt.Errorf("load templates: %w", err)
	}
	unknown := &TemplateError{Name: name}
	for _, t := range all.Templates {
		if t.Info.Name == name {
			return t.Render(args), nil
		}
		unknown.Names = append(unknown.Names, t.Info.Name)
	}
	return "", unknown
}
