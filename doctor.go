package basis

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/schema"
	"github.com/basisagent/basis/effects/tools"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// Diagnosis is what a task in a directory would work with: every file that would be
// read, which setting counts and who says so, and what is wrong. It holds no secret.
type Diagnosis struct {
	Workspace string `json:"workspace"`
	DataDir   string `json:"data_dir"`             // of the workspace, in the data root
	ConfigDir string `json:"config_dir,omitempty"` // the global directory

	Provider string         `json:"provider,omitempty"`
	Wire     string         `json:"wire,omitempty"`
	Endpoint string         `json:"endpoint,omitempty"`
	KeyFrom  string         `json:"key_from,omitempty"` // the variable with the key
	Model    string         `json:"model,omitempty"`    // none: the newest that the endpoint lists
	Settings []KnownSetting `json:"settings,omitempty"`

	Context   []reducer.ContextFile  `json:"context,omitempty"`
	Files     []reducer.ContextFile  `json:"files,omitempty"`
	Skills    []reducer.SkillInfo    `json:"skills,omitempty"`
	Templates []reducer.TemplateInfo `json:"templates,omitempty"`
	Memories  []reducer.MemoryInfo   `json:"memories,omitempty"`
	Hooks     []reducer.HookInfo     `json:"hooks,omitempty"`
	Tools     []KnownTool            `json:"tools"`
	Rules     int                    `json:"rules"` // answers that are remembered for here

	Warnings []string `json:"warnings,omitempty"`
	Problems []string `json:"problems,omitempty"` // a task would fail for any of them
}

// KnownSetting is a setting that counts, and what says so.
type KnownSetting struct {
	reducer.Setting
	File string `json:"file,omitempty"` // where it stands, if in a file
}

// KnownTool is a tool that a model would be offered.
type KnownTool struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"` // who declares it; none is built in
}

// Diagnose looks at a directory as the opening of a task with these options would,
// but goes on where that would fail, asks no server and runs nothing.
func (h *Home) Diagnose(dir string, o reducer.Options) (Diagnosis, error) {
	root, err := directory(dir)
	if err != nil {
		return Diagnosis{}, err
	}
	d := Diagnosis{Workspace: root, DataDir: h.workspaceDir(WorkspaceKey(root)), ConfigDir: h.configDir()}
	var f found
	for _, t := range h.o.Tools {
		d.Tools = append(d.Tools, KnownTool{Name: t.Spec().Name, From: reducer.FromHost})
	}
	if h.o.NoDiscovery {
		d.endpoint(h, o, f.config)
		return d.hidden(h.secrets())
	}
	if f.config, err = workspace.FindConfig(d.ConfigDir, root, h.lookup); err != nil {
		d.problem(err)
	} else {
		d.endpoint(h, o, f.config)
	}
	f.context = workspace.FindContext(d.ConfigDir, root)
	f.warned = f.context.Warnings
	dirs, _ := h.skillDirs(root)
	if f.skills, err = workspace.FindSkills(root, dirs...); err != nil {
		d.problem(err)
	}
	f.warned = append(f.warned, f.skills.Warnings...)
	if f.templates, err = workspace.FindTemplates(root, h.templateDirs(root)...); err != nil {
		d.problem(err)
	}
	if f.memories, err = workspace.FindMemories(h.memoryDirs(root)...); err != nil {
		d.problem(err)
	}
	d.declared(h, root, &f)
	rules, err := h.granted(WorkspaceKey(root))
	if err != nil {
		d.problem(fmt.Errorf("the remembered rules cannot be read: %w", err))
	}
	all := f.record()
	d.Context, d.Rules, d.Warnings = f.context.Files(), len(rules), f.warned
	d.Skills, d.Templates, d.Memories = all.Skills, all.Templates, all.Memories
	return d.hidden(h.secrets())
}

func (d *Diagnosis) problem(err error) { d.Problems = append(d.Problems, err.Error()) }

// endpoint says what would be asked, as far as no server has to be asked for it.
func (d *Diagnosis) endpoint(h *Home, o reducer.Options, c workspace.Config) {
	l := h.ladder(o, c)
	choice, _, err := h.endpointOf(o, l)
	if err != nil {
		d.problem(err)
		return
	}
	d.Provider, d.Wire, d.KeyFrom, d.Model = choice.Provider, choice.Wire, choice.SourceVar, l.model.value
	files := map[string]string{"provider": c.Provider.File, "model": c.Model.File, "base_url": c.BaseURL.File, "effort": c.Effort.File, "pass_env": c.PassFrom}
	for _, s := range h.settings(l, choice, l.model, c, o) {
		if s.Name == "base_url" {
			d.Endpoint = s.Value
		}
		known := KnownSetting{Setting: s}
		if s.From == string(workspace.Local) || s.From == string(workspace.Global) {
			known.File = files[s.Name]
		}
		if s.Value != "" {
			d.Settings = append(d.Settings, known)
		}
	}
}

// declared says which hooks and tools there would be.
func (d *Diagnosis) declared(h *Home, root string, f *found) {
	hooks, err := workspace.FindHooks(d.ConfigDir, root)
	if err != nil {
		d.problem(err)
	}
	declared, err := workspace.FindTools(d.ConfigDir, root, h.lookup, builtIn)
	if err != nil {
		d.problem(err)
	}
	f.use(hooks, declared)
	set, err := tools.New(tools.Options{Root: root, Skills: f.skills.Skills})
	if err != nil {
		d.problem(err)
	}
	for _, t := range set {
		d.Tools = append(d.Tools, KnownTool{Name: t.Spec().Name})
	}
	for _, t := range f.tools {
		d.Tools = append(d.Tools, KnownTool{Name: t.Name, From: string(t.Level)})
		if why := unjudged(t); why != "" {
			f.warned = append(f.warned, why)
		}
		if program := workspace.Program(root, t.Command[0]); !runnable(program) {
			f.warned = append(f.warned, fmt.Sprintf("tool %s (%s): its program cannot be run; see command there", t.Name, t.File))
		}
	}
	for _, i := range h.o.Interceptors {
		d.Hooks = append(d.Hooks, interceptor{i}.Info())
	}
	for _, k := range f.hooks {
		d.Hooks = append(d.Hooks, k.Info)
		if program := workspace.Program(root, k.Command[0]); !runnable(program) {
			f.warned = append(f.warned, fmt.Sprintf("hook '%s' (%s): its program %s cannot be run, so it cannot answer", k.Info.Name, k.Info.From, filepath.Base(program)))
		}
	}
	d.Files = f.files
}

// hidden is the diagnosis without the values of secrets, wherever they stand.
func (d Diagnosis) hidden(secrets []effects.Secret) (Diagnosis, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return Diagnosis{}, fmt.Errorf("write down the diagnosis: %w", err)
	}
	var clean Diagnosis
	if err := json.Unmarshal([]byte(effects.NewRedactor(secrets).Replace(string(data))), &clean); err != nil {
		return Diagnosis{}, fmt.Errorf("write down the diagnosis: %w", err)
	}
	return clean, nil
}

// unjudged says why calls of a tool are not held against its schema, "" if they are.
func unjudged(t workspace.Tool) string {
	if _, err := schema.Compile(t.Schema); err != nil {
		return "tool " + t.Name + ": its input_schema is shown to the model, but calls are not held against it: " + err.Error()
	}
	return ""
}

// runnable reports whether there is a program to start.
func runnable(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// builtIn says who has the name of a tool already.
func builtIn(name string) string {
	if slices.Contains(tools.Names(), name) {
		return "basis itself"
	}
	return ""
}
