package basis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/hooks"
	"github.com/basisagent/basis/effects/proc"
	"github.com/basisagent/basis/effects/tools"
	"github.com/basisagent/basis/effects/tools/declared"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// found is what an opening finds: a task and its subagents work with the same.
type found struct {
	config    workspace.Config
	model     provider.Model
	source    reducer.Provenance
	window    int64
	effort    string            // of a file, for a task that asked for none
	settings  []reducer.Setting // what took effect, and what said so
	context   workspace.Context
	skills    workspace.Skills
	templates workspace.Templates
	memories  []workspace.Memory
	hooks     []workspace.Hook
	tools     []workspace.Tool
	files     []reducer.ContextFile // the settings and manifests that were read
	warned    []string
}

// find looks for everything that a task needs of its directory and its settings.
func (h *Home) find(ctx context.Context, s reducer.State) (found, error) {
	var f found
	if root, err := canonical(s.Workspace); err != nil || root != s.Workspace {
		return f, fmt.Errorf("the workspace %s is not there any more", s.Workspace)
	}
	if h.o.NoDiscovery {
		return f, h.choose(ctx, s, &f)
	}
	var err error
	if f.config, err = workspace.FindConfig(h.configDir(), s.Workspace, h.lookup); err != nil {
		return f, err
	}
	if err := h.choose(ctx, s, &f); err != nil {
		return f, err
	}
	f.context = workspace.FindContext(h.configDir(), s.Workspace)
	hide := effects.NewRedactor(h.secrets())
	for i := range f.context.Documents {
		f.context.Documents[i].Text = hide.Replace(f.context.Documents[i].Text)
	}
	f.warned = f.context.Warnings
	if err := h.texts(s.Workspace, &f, hide); err != nil {
		return f, err
	}
	return f, h.declarations(s.Workspace, &f)
}

// texts looks for skills, templates and memories. What is recorded of them holds
// no secret.
func (h *Home) texts(root string, f *found, hide *effects.Redactor) (err error) {
	dirs, _ := h.skillDirs(root)
	if f.skills, err = workspace.FindSkills(root, dirs...); err != nil {
		return err
	}
	f.warned = append(f.warned, f.skills.Warnings...)
	if f.templates, err = workspace.FindTemplates(root, h.templateDirs(root)...); err != nil {
		return err
	}
	for i := range f.skills.Skills {
		f.skills.Skills[i].Description = hide.Replace(f.skills.Skills[i].Description)
	}
	for i := range f.templates.Templates {
		info := &f.templates.Templates[i].Info
		info.Description, info.ArgumentHint = hide.Replace(info.Description), hide.Replace(info.ArgumentHint)
	}
	f.memories, err = workspace.FindMemories(h.memoryDirs(root)...)
	return err
}

// userHome is the user's home directory; "" is nowhere.
func (h *Home) userHome() string {
	if home := h.o.Getenv("HOME"); filepath.IsAbs(home) {
		return home
	}
	return ""
}

// record is everything that was found beside documents, as the journal has it.
func (f found) record() reducer.Found {
	all := reducer.Found{
		Settings: f.settings, Files: f.files, SkillRoots: f.skills.Roots, Skills: f.skills.Skills,
		TemplateRoots: f.templates.Roots, Memories: workspace.MemoryInfos(f.memories),
	}
	for _, t := range f.templates.Templates {
		all.Templates = append(all.Templates, t.Info)
	}
	return all
}

// declarations reads the hooks and tools that files declare.
func (h *Home) declarations(root string, f *found) error {
	hooks, err := workspace.FindHooks(h.configDir(), root)
	if err != nil {
		return err
	}
	declared, err := workspace.FindTools(h.configDir(), root, h.lookup, builtIn)
	if err != nil {
		return err
	}
	f.use(hooks, declared)
	return nil
}

// use takes what files declare, and warns of what could not mean what it says.
func (f *found) use(hooks workspace.Hooks, declared workspace.Tools) {
	f.hooks, f.tools = hooks.Hooks, declared.Tools
	f.files = slices.Concat(f.config.Files, hooks.Files, declared.Files)
	names := slices.DeleteFunc(tools.Names(), func(name string) bool { return name == "compact" }) // reserved, and not there yet
	for _, t := range declared.Tools {
		names = append(names, t.Name)
	}
	for _, k := range hooks.Hooks {
		f.warned = append(f.warned, idle(k.Info, names)...)
	}
}

// idle says which patterns of a hook fit no tool: what it was to guard may have
// another name by now (FR-023).
func idle(h reducer.HookInfo, names []string) (warnings []string) {
	for _, pattern := range h.Tools {
		one := reducer.HookInfo{Event: h.Event, Tools: []string{pattern}}
		if !slices.ContainsFunc(names, func(name string) bool { return one.Matches(h.Event, name) }) {
			warnings = append(warnings, fmt.Sprintf("hook '%s' (%s): no tool is called %s; the names are: %s", h.Name, h.From, pattern, strings.Join(names, ", ")))
		}
	}
	return warnings
}

// lookup is a variable of the environment, and whether it is set.
func (h *Home) lookup(name string) (string, bool) {
	if v := h.o.Getenv(name); v != "" {
		return v, true
	}
	return "", slices.ContainsFunc(h.o.Environ(), func(entry string) bool {
		n, _, ok := strings.Cut(entry, "=")
		return ok && n == name
	})
}

// chain is the hooks in the order in which they are asked (TOOL-47): the host's
// own, then those of files.
func (m *member) chain(files []workspace.Hook) []effects.Hook {
	var all []effects.Hook
	for _, h := range m.home.o.Interceptors {
		all = append(all, interceptor{h})
	}
	env := proc.Environ(m.home.o.Environ())
	for _, h := range files {
		all = append(all, hooks.New(h, m.workspace, env))
	}
	return all
}

// interceptor is a host's own hook.
type interceptor struct{ effects.Hook }

// Info says whose it is.
func (i interceptor) Info() reducer.HookInfo {
	info := i.Hook.Info()
	info.From = reducer.FromHost
	return info
}

// addTools adds the tools of the host and those that files declare, and gives the
// secrets in the environments of these. Of one name there can be one (TOOL-42).
func (m *member) addTools(set []effects.Tool, files []workspace.Tool) ([]effects.Tool, []effects.Secret, error) {
	for _, t := range m.tools {
		name := t.Spec().Name
		switch {
		case builtIn(name) != "" || strings.HasPrefix(name, "mcp__"):
			return nil, nil, fmt.Errorf("the host's tool %s has a name of basis itself; give it another one", name)
		case holds(set, name):
			return nil, nil, fmt.Errorf("the host has two tools of the name %s; leave one out", name)
		}
		set = append(set, t)
	}
	var secrets []effects.Secret
	for _, t := range files {
		if holds(m.tools, t.Name) {
			return nil, nil, &workspace.FileError{Path: t.File, Key: "tools." + t.Name, Err: errors.New("the name is taken by a tool of the program that runs basis; give the tool another one")}
		}
		set = append(set, declared.New(t, m.workspace, m.commandEnv()))
		for _, v := range t.Hidden() {
			secrets = append(secrets, effects.Secret{Name: v.Name, Value: v.Value})
		}
	}
	return set, secrets, nil
}

// holds reports whether a tool of that name is among tools.
func holds(set []effects.Tool, name string) bool {
	return slices.ContainsFunc(set, func(t effects.Tool) bool { return t.Spec().Name == name })
}

// commandEnv is the whole environment of what a task runs: the baseline, the
// variables that it was told to pass on, and the task's own names.
func (m *member) commandEnv(pass ...[]string) []string {
	return append(proc.Environ(m.home.o.Environ(), slices.Concat(pass...)...), m.env...)
}

// passed are the credentials among the variables that commands may see: a command may
// know them, the record must not (CORE-96).
func (m *member) passed(pass ...[]string) []effects.Secret {
	var all []effects.Secret
	for _, entry := range proc.Environ(m.home.o.Environ(), slices.Concat(pass...)...) {
		if name, value, _ := strings.Cut(entry, "="); workspace.SecretName(name) {
			all = append(all, effects.Secret{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	return all
}

// digestOf names what an opening found by its content.
func digestOf(f reducer.Found) string {
	data, err := json.Marshal(f)
	if err != nil || string(data) == "{}" {
		return ""
	}
	return workspace.Digest(string(data))
}
