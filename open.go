package basis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// inherit takes over what the caller has found, once it has, but for what the
// subagent gets of its own.
func (m *member) inherit(ctx context.Context, s reducer.State) (found, error) {
	select {
	case <-m.caller.opened:
	case <-ctx.Done():
		return found{}, context.Cause(ctx)
	}
	f := m.caller.found
	f.warned = nil // they were said
	if s.Options.Model == m.caller.options.Model && s.Options.Provider == m.caller.options.Provider && s.Setup.Source.Model == "" {
		s.Setup.Source.Model, s.Setup.Window = f.source.Model, f.window
	}
	// A client of its own: a client keeps what its agent has sent.
	return f, m.home.choose(ctx, s, &f)
}

// show lets the subagents have what was found first.
func (m *member) show(f found) {
	select {
	case <-m.opened:
	default:
		m.found = f
		close(m.opened)
	}
}

// openWorkspace finds what a run of s needs, the model, the system text and the
// tools, and puts it together.
func (m *member) openWorkspace(ctx context.Context, s reducer.State) (effects.Workspace, error) {
	var f found
	var err error
	from := ""
	if m.caller == nil {
		f, err = m.home.find(ctx, s)
	} else {
		from = "parent"
		f, err = m.inherit(ctx, s)
	}
	if err != nil {
		return effects.Workspace{}, err
	}
	hooks := m.chain(f.hooks)
	sealed := seals(hooks)
	set, err := tools.New(m.reach(s, f, sealed))
	if err != nil {
		return effects.Workspace{}, err
	}
	set, secrets, err := m.addTools(set, f.tools)
	if err != nil {
		return effects.Workspace{}, err
	}
	set = slices.DeleteFunc(set, func(t effects.Tool) bool { return !s.Options.Tools.Has(t.Spec().Name) })
	hide := effects.NewRedactor(m.home.secrets())
	system := systemText(blocks(f.context.Render(), hide.Replace(workspace.RenderMemories(f.memories))), s.Options)
	if s.Options.Tools.Has("load_skill") {
		system = blocks(system, hide.Replace(f.skills.Render()))
	}
	infos, digest := toolInfos(set, m.tools)
	everything := f.record()
	m.show(f)
	return effects.Workspace{
		Model:   f.model,
		Tools:   set,
		Hooks:   hooks,
		Sealed:  sealed,
		Secrets: append(secrets, m.passed(f.config.PassEnv, s.Options.PassEnv)...),
		Opened: reducer.WorkspaceOpened{
			Provider: f.source.Provider, Model: f.source.Model, Wire: f.source.Wire, Window: f.window,
			Context: f.context.Files(), System: reducer.T(system), SystemDigest: workspace.Digest(system),
			Tools: infos, ToolsDigest: digest, From: from, Warnings: f.warned,
			Effort: f.effort, Found: everything, FoundDigest: digestOf(everything),
		},
	}, nil
}

// reach is what the built-in tools of a task may reach. Sealed: the whole outputs of
// calls are closed.
func (m *member) reach(s reducer.State, f found, sealed bool) tools.Options {
	var memories, outputs []string
	if !m.home.o.NoDiscovery {
		memories = m.home.openMemories(s.Workspace)
	}
	if !sealed {
		outputs = m.home.blobs(m.ref).roots()
	}
	return tools.Options{
		Root:       s.Workspace,
		ReadRoots:  slices.Concat(outputs, m.home.openSkills(s.Workspace, f.skills), memories),
		WriteRoots: memories,
		Closed:     []string{m.home.dir}, Kept: m.home.kept(s.Workspace, f.hooks), Judge: m.home.textsOf(s.Workspace).Judge,
		Skills:  f.skills.Skills,
		NoShell: s.Options.NoShell, Excludes: m.home.gitExcludes(),
		Env:            m.commandEnv(f.config.PassEnv, s.Options.PassEnv),
		CommandTimeout: duration(s.Options.CommandMS),
		Delegate:       m.mayDelegate,
	}
}

// seals reports whether the whole outputs of calls must stay closed to the model:
// where a hook judges what some tool came to, but not what read and grep do, these
// would show what it keeps back.
func seals(hooks []effects.Hook) bool {
	reads := func(name string) bool { return slices.Contains([]string{"read", "ls", "grep", "glob"}, name) }
	return slices.ContainsFunc(hooks, func(h effects.Hook) bool {
		info := h.Info()
		if info.Event != "post" || info.Matches("post", "read") && info.Matches("post", "grep") {
			return false
		}
		return slices.ContainsFunc(info.Tools, func(name string) bool { return !reads(name) }) // what these show can be read anyway
	})
}

// systemText is the context with what the task's options say of it (CORE-17).
func systemText(context string, o reducer.Options) string {
	if o.System != nil {
		return *o.System
	}
	return blocks(context, o.Append)
}

// blocks are texts with a blank line between them; an empty one is none.
func blocks(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// toolInfos is what to record of the tools, and its digest.
func toolInfos(set, hosts []effects.Tool) ([]reducer.ToolInfo, string) {
	var infos []reducer.ToolInfo
	var all strings.Builder
	for _, t := range set {
		spec := t.Spec()
		info := reducer.ToolInfo{Name: spec.Name, Description: spec.Description, Schema: compact(spec.Schema), From: spec.From}
		if holds(hosts, spec.Name) {
			info.From = reducer.FromHost
		}
		infos = append(infos, info)
		fmt.Fprintf(&all, "%s\n%s\n%s\n", info.Name, info.Description, info.Schema)
	}
	return infos, workspace.Digest(all.String())
}

func compact(schema json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, schema) != nil {
		return schema
	}
	return b.Bytes()
}

// taskEnv is what every command and declared tool of a task is told of it
// (CORE-96).
func (h *Home) taskEnv(s reducer.State) []string {
	env := []string{"BASIS_DATA_DIR=" + h.dir}
	if s.Kind == reducer.KindTask {
		env = append(env, "BASIS_TASK_ID="+Ref{Key: WorkspaceKey(s.Workspace), ID: s.ID}.String())
	}
	if s.Parent.ID != "" {
		env = append(env, "BASIS_PARENT_TASK_ID="+s.Parent.ID)
	}
	return env
}

// gitExcludes is where git looks for the user's own ignore rules; "" is nowhere.
func (h *Home) gitExcludes() string {
	if x := h.o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "git", "ignore")
	}
	if home := h.o.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "git", "ignore")
	}
	return ""
}

// configDir is where the user's own settings are (CORE-21); "" is nowhere.
func (h *Home) configDir() string {
	if d := strings.TrimSpace(h.o.Getenv("BASIS_CONFIG_DIR")); d != "" {
		return d
	}
	if x := h.o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "basis")
	}
	if home := h.o.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "basis")
	}
	return ""
}

// secrets are the values that nothing may repeat.
func (h *Home) secrets() []effects.Secret {
	names := []string{"BASIS_API_KEY"}
	for _, p := range provider.Presets() {
		names = append(names, p.KeyVar)
	}
	var all []effects.Secret
	for _, name := range names {
		if v := strings.TrimSpace(h.o.Getenv(name)); name != "" && v != "" {
			all = append(all, effects.Secret{Name: name, Value: v})
		}
	}
	for _, g := range h.o.Gateways {
		if v := g.Key.Reveal(); v != "" {
			all = append(all, effects.Secret{Name: "gateway key", Value: v})
		}
	}
	return all
}

// endpoint is the client of whatever answers: the gateways, or what options and
// environment name.
func (h *Home) endpoint(o reducer.Options) (provider.Choice, resolve.Model, error) {
	clients := resolve.Options{
		IdleTimeout: duration(o.IdleMS), HeaderTimeout: duration(o.IdleMS), UserAgent: "basis/" + Version, Now: h.o.Now,
	}
	if h.ring != nil {
		return h.throughRing(o, clients)
	}
	choice, err := provider.Resolve(provider.Selection{Provider: o.Provider, BaseURL: o.BaseURL, Getenv: h.o.Getenv})
	if err != nil {
		return choice, nil, err
	}
	m, err := h.dial(choice, clients)
	return choice, m, err
}

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
