package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/basisagent/basis/reducer"
)

// DefaultToolTimeout is how long a declared tool may run unless its file says
// otherwise.
const DefaultToolTimeout = 2 * time.Minute

// Variable is a name of an environment and its value, which nothing prints.
type Variable struct {
	Name   string
	Value  string `json:"-"`
	Secret bool   // its name, or that of the variable it is made from, says so
}

// String is the name alone.
func (v Variable) String() string { return v.Name }

// GoString is the name alone.
func (v Variable) GoString() string { return v.Name }

// Tool is one entry of a tools.json (TOOL-38), with its placeholders expanded.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // compact, of type object
	Command     []string
	Dir         string // absolute
	Env         []Variable
	Secrets     []Variable // what placeholders of credentials stood for, wherever they stand
	Timeout     time.Duration
	External    bool // it reaches beyond this machine
	Level       Level
	File        string // where it is declared
	Digest      string // of the declaration, and of the repository if it is in one
}

// Tools are the tools that the files of a workspace declare, and the files.
type Tools struct {
	Tools []Tool
	Files []reducer.ContextFile
}

// toolEntry is an entry as the file has it.
type toolEntry struct {
	Description string            `json:"description"`
	InputSchema json.RawMessage   `json:"input_schema"`
	Command     []string          `json:"command"`
	Cwd         string            `json:"cwd"`
	Env         map[string]string `json:"env"`
	TimeoutMS   *int64            `json:"timeout_ms"`
	SideEffect  *string           `json:"side_effect"`
}

// FindTools reads tools.json of the workspace at root and of the global
// directory: a name that both declare is the workspace's. Taken says who has a
// name already, "" if nobody. Lookup gives the variables of placeholders. An
// error names file, tool and key, and never a value.
func FindTools(global, root string, lookup func(string) (string, bool), taken func(string) string) (Tools, error) {
	var all Tools
	for _, p := range places(global, root, "tools.json") {
		data, found, err := ReadFile(p.path)
		if err != nil {
			return Tools{}, err
		}
		if !found {
			continue
		}
		if err := all.read(p, data, root, lookup, taken); err != nil {
			return Tools{}, err
		}
		all.Files = append(all.Files, p.record(data))
	}
	return all, nil
}

// read adds what one file declares.
func (all *Tools) read(p place, data []byte, root string, lookup func(string) (string, bool), taken func(string) string) error {
	var file struct {
		Schema *int                 `json:"schema"`
		Tools  map[string]toolEntry `json:"tools"`
	}
	if err := DecodeJSON(p.path, data, &file, false); err != nil {
		return err
	}
	if err := versioned(p.path, file.Schema); err != nil {
		return err
	}
	if file.Tools == nil {
		return &FileError{Path: p.path, Key: "tools", Err: errors.New("it is missing; an empty object declares none")}
	}
	for _, name := range slices.Sorted(maps.Keys(file.Tools)) {
		t, key, err := file.Tools[name].tool(root, name, lookup)
		if holder := taken(name); err == nil && holder != "" {
			key, err = "", errors.New("the name is taken by "+holder+"; give the tool another one")
		}
		if err != nil {
			return &FileError{Path: p.path, Key: strings.TrimSuffix("tools."+name+"."+key, "."), Err: err}
		}
		t.Level, t.File = p.level, p.path
		where := ""
		if p.level == Local {
			where = root // its programs are other ones elsewhere
		}
		t.Digest = digestOf([]any{p.level, where, name, file.Tools[name]})
		if !slices.ContainsFunc(all.Tools, func(o Tool) bool { return o.Name == name }) {
			all.Tools = append(all.Tools, t)
		}
	}
	return nil
}

// tool judges an entry; an error is about the member key.
func (e toolEntry) tool(root, name string, lookup func(string) (string, bool)) (t Tool, key string, err error) {
	t = Tool{Name: name, Description: strings.TrimSpace(e.Description), Dir: root}
	if err := toolName(name); err != nil {
		return t, "", err
	}
	if t.Description == "" {
		return t, "description", errors.New("it is missing or blank; say what the tool does, for the model")
	}
	if t.Schema, err = objectSchema(e.InputSchema); err != nil {
		return t, "input_schema", err
	}
	if key, err := e.expand(&t, root, lookup); err != nil {
		return t, key, err
	}
	if e.SideEffect != nil {
		if *e.SideEffect != "process" && *e.SideEffect != "external" {
			return t, "side_effect", errors.New("it is neither process nor external")
		}
		t.External = *e.SideEffect == "external"
	}
	t.Timeout, err = limit(e.TimeoutMS, DefaultToolTimeout)
	return t, "timeout_ms", err
}

// expand puts variables in the place of their names.
func (e toolEntry) expand(t *Tool, root string, find func(string) (string, bool)) (key string, err error) {
	lookup := func(name string) (string, bool) {
		value, set := find(name)
		if SecretName(name) {
			t.Secrets = append(t.Secrets, Variable{name, value, true})
		}
		return value, set
	}
	for i, word := range e.Command {
		expanded, err := Expand(word, lookup)
		if err != nil {
			return fmt.Sprintf("command[%d]", i), err
		}
		t.Command = append(t.Command, expanded)
	}
	if err := argv(t.Command); err != nil {
		return "command", err
	}
	if t.Dir, err = Expand(e.Cwd, lookup); err != nil {
		return "cwd", err
	}
	if !filepath.IsAbs(t.Dir) {
		t.Dir = filepath.Join(root, t.Dir)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		said := len(t.Secrets)
		value, err := Expand(e.Env[name], lookup)
		if err == nil && (name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0)) {
			err = errors.New("it is no variable of an environment")
		}
		if err != nil {
			return "env." + name, err
		}
		t.Env = append(t.Env, Variable{name, value, SecretName(name) || len(t.Secrets) > said})
	}
	return "", nil
}

// Hidden are the values that must not show up anywhere.
func (t Tool) Hidden() []Variable {
	named := slices.DeleteFunc(slices.Clone(t.Env), func(v Variable) bool { return !v.Secret })
	return append(named, t.Secrets...)
}

// maxToolName is how long the name of a tool may be, as vendors have it.
const maxToolName = 64

func toolName(name string) error {
	switch {
	case name == "":
		return errors.New("a tool has no name")
	case len(name) > maxToolName:
		return fmt.Errorf("the name is longer than %d letters", maxToolName)
	case !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(name):
		return errors.New("the name has a letter other than A-Z, a-z, 0-9, _ and -")
	case strings.HasPrefix(name, "mcp__"):
		return errors.New("names that begin with mcp__ belong to MCP servers")
	}
	return nil
}

// objectSchema is the schema of an object, compact and with its type said.
func objectSchema(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, errors.New("it is missing; {\"type\": \"object\"} takes anything")
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, errors.New("it is not a JSON object")
	}
	var kind string
	switch said, ok := m["type"]; {
	case !ok:
		m["type"] = json.RawMessage(`"object"`) // vendors refuse a tool without it
	case json.Unmarshal(said, &kind) != nil || kind != "object":
		return nil, errors.New("its type is not object; the input of a tool is one")
	}
	return json.Marshal(m)
}
