package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// Value is one setting of a config.json, and where it stands.
type Value struct {
	Text  string
	Level Level  // "" is nowhere
	File  string // the file's path
}

// Config is what the config.json files say (CORE-22): of each setting what the
// workspace's file says counts, else the global one's. A zero Value is not set.
type Config struct {
	Provider Value
	Model    Value
	Effort   Value
	BaseURL  Value    // of the global file alone
	PassEnv  []string // names of variables that commands may see; of the global file alone
	PassFrom string   // the path of that file
	Files    []reducer.ContextFile
}

// Efforts are the words for how much a model should think.
func Efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// configFile is a file as it stands there. The members that only the global file
// may have are looked at before anything in them is expanded.
type configFile struct {
	Schema   *int            `json:"schema"`
	Provider *string         `json:"provider"`
	Model    *string         `json:"model"`
	Effort   *string         `json:"effort"`
	BaseURL  json.RawMessage `json:"base_url"`
	PassEnv  json.RawMessage `json:"pass_env"`
}

// FindConfig reads config.json of the workspace at root and of the global
// directory. Lookup gives the variables of placeholders. An error names file and
// key, and never a value.
func FindConfig(global, root string, lookup func(string) (string, bool)) (Config, error) {
	var c Config
	for _, p := range places(global, root, "config.json") {
		data, found, err := ReadFile(p.path)
		if err == nil && found {
			err = c.read(p, data, lookup)
		}
		if err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// read takes from one file what no stronger one has said.
func (c *Config) read(p place, data []byte, lookup func(string) (string, bool)) error {
	var file configFile
	if err := DecodeJSON(p.path, data, &file, false); err != nil {
		return err
	}
	if err := versioned(p.path, file.Schema); err != nil {
		return err
	}
	if p.level != Global {
		if err := file.globalOnly(p.path); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		key   string
		raw   *string
		into  *Value
		judge func(string) (string, error)
	}{
		{"provider", file.Provider, &c.Provider, knownProvider},
		{"model", file.Model, &c.Model, notBlank},
		{"effort", file.Effort, &c.Effort, knownEffort},
		{"base_url", nil, &c.BaseURL, httpURL},
	} {
		raw := s.raw
		if s.key == "base_url" && len(file.BaseURL) > 0 && json.Unmarshal(file.BaseURL, &raw) != nil {
			return &FileError{Path: p.path, Key: s.key, Err: errors.New("it is not a text")}
		}
		if raw == nil {
			continue
		}
		text, err := expandSetting(*raw, lookup)
		if err == nil {
			text, err = s.judge(text)
		}
		if err != nil {
			return &FileError{Path: p.path, Key: s.key, Err: err}
		}
		if s.into.Level == "" {
			*s.into = Value{Text: text, Level: p.level, File: p.path}
		}
	}
	c.Files = append(c.Files, p.record(data))
	return c.pass(p, file.PassEnv)
}

// pass takes the names of variables.
func (c *Config) pass(p place, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var names []string
	bad := func(name string) bool { return strings.TrimSpace(name) == "" || strings.ContainsAny(name, "=\x00") }
	if json.Unmarshal(raw, &names) != nil || slices.ContainsFunc(names, bad) {
		return &FileError{Path: p.path, Key: "pass_env", Err: errors.New("it is not a list of names of variables")}
	}
	c.PassEnv, c.PassFrom = names, p.path
	return nil
}

// globalOnly refuses what a repository has no say in: where the key goes, and
// what of the user's environment its commands see.
func (f configFile) globalOnly(path string) error {
	why := errors.New("only the global config.json may have it, because a repository must not decide where your credentials go")
	switch {
	case len(f.BaseURL) > 0:
		return &FileError{Path: path, Key: "base_url", Err: why}
	case len(f.PassEnv) > 0:
		return &FileError{Path: path, Key: "pass_env", Err: why}
	}
	return nil
}

// expandSetting puts variables in the place of their names, but no credential:
// what a setting comes to is recorded, shown and sent.
func expandSetting(raw string, lookup func(string) (string, bool)) (string, error) {
	credential := ""
	text, err := Expand(raw, func(name string) (string, bool) {
		if SecretName(name) {
			credential = name
		}
		return lookup(name)
	})
	if credential != "" {
		return "", fmt.Errorf("the variable %s has the name of a credential, and a setting is recorded and shown; use another variable", credential)
	}
	return text, err
}

func notBlank(s string) (string, error) {
	if s = strings.TrimSpace(s); s == "" {
		return "", errors.New("it is blank")
	}
	return s, nil
}

func knownProvider(s string) (string, error) {
	p, err := provider.FindPreset(s)
	if err == nil && p.Name != "" {
		return p.Name, nil
	}
	var names []string
	for _, p := range provider.Presets() {
		names = append(names, p.Name)
	}
	return "", fmt.Errorf("there is no such provider; there are: %s", strings.Join(names, ", "))
}

func knownEffort(s string) (string, error) {
	if s = strings.TrimSpace(s); !slices.Contains(Efforts(), s) {
		return "", fmt.Errorf("it is none of %s", strings.Join(Efforts(), ", "))
	}
	return s, nil
}

func httpURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("it is not an address that begins with http:// or https://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("it must not hold a name, a password or a query; the key belongs into the environment")
	}
	return u.String(), nil
}
