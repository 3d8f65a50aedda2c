package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/basisagent/basis/reducer"
)

// DefaultHookTimeout is how long a hook may take unless its file says otherwise.
const DefaultHookTimeout = 5 * time.Second

// Hook is one entry of a hooks.json (TOOL-46).
type Hook struct {
	Info    reducer.HookInfo
	Command []string
	Timeout time.Duration
	Lenient bool // a call goes on if the hook can't judge it
}

// Hooks are the hooks of a workspace in the order in which they are asked: the
// user's, then the repository's. Files are those that were read.
type Hooks struct {
	Hooks []Hook
	Files []reducer.ContextFile
}

// hookEntry is an entry as the file has it.
type hookEntry struct {
	Name      string    `json:"name"`
	Command   []string  `json:"command"`
	Tools     *[]string `json:"tools,omitempty"`
	Event     *string   `json:"event,omitempty"`
	TimeoutMS *int64    `json:"timeout_ms,omitempty"`
	OnFailure *string   `json:"on_failure,omitempty"`
}

// FindHooks reads hooks.json of the global directory and of the workspace at
// root. An error names file and key.
func FindHooks(global, root string) (Hooks, error) {
	var all Hooks
	files := places(global, root, "hooks.json")
	slices.Reverse(files)
	for _, p := range files {
		data, found, err := ReadFile(p.path)
		if err != nil {
			return Hooks{}, err
		}
		if !found {
			continue
		}
		var file struct {
			Schema *int        `json:"schema"`
			Hooks  []hookEntry `json:"hooks"`
		}
		if err := DecodeJSON(p.path, data, &file, true); err != nil {
			return Hooks{}, err
		}
		if err := versioned(p.path, file.Schema); err != nil {
			return Hooks{}, err
		}
		for i, entry := range file.Hooks {
			h, key, err := entry.hook(p.level)
			if err != nil {
				return Hooks{}, &FileError{Path: p.path, Key: fmt.Sprintf("hooks[%d].%s", i, key), Err: err}
			}
			all.Hooks = append(all.Hooks, h)
		}
		all.Files = append(all.Files, p.record(data))
	}
	return all, nil
}

// hook judges an entry; an error is about the member key.
func (e hookEntry) hook(level Level) (h Hook, key string, err error) {
	h.Command = e.Command
	h.Info = reducer.HookInfo{Name: strings.TrimSpace(e.Name), Event: "pre", From: string(level), Digest: digestOf(e)}
	if err := named(e.Name); err != nil {
		return h, "name", err
	}
	if err := argv(e.Command); err != nil {
		return h, "command", err
	}
	if e.Tools != nil {
		h.Info.Tools = *e.Tools
		if len(*e.Tools) == 0 || slices.ContainsFunc(*e.Tools, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return h, "tools", errors.New("it is empty or holds a blank name; leave it out for all tools")
		}
	}
	if e.Event != nil {
		event, known := map[string]string{"pre_tool_use": "pre", "post_tool_use": "post"}[*e.Event]
		if !known {
			return h, "event", errors.New("it is neither pre_tool_use nor post_tool_use")
		}
		h.Info.Event = event
	}
	if e.OnFailure != nil {
		if *e.OnFailure != "deny" && *e.OnFailure != "allow" {
			return h, "on_failure", errors.New("it is neither deny nor allow")
		}
		h.Lenient = *e.OnFailure == "allow"
	}
	h.Timeout, err = limit(e.TimeoutMS, DefaultHookTimeout)
	return h, "timeout_ms", err
}
