package provider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoProvider is in the chain of the error for a setup that names no
// provider, no base URL and no key.
var ErrNoProvider = errors.New("no model provider is set up")

// ErrUnknownProvider is in the chain of the error for a name that no provider has.
var ErrUnknownProvider = errors.New("unknown provider")

// SelectionError is a setup that can't be carried out. It names what is wrong
// and what to do, never a credential.
type SelectionError struct {
	Provider string // as far as it is known
	Reason   string
	Err      error // ErrNoProvider, ErrUnknownProvider, a *URLError, or nil
}

// Error is the reason.
func (e *SelectionError) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *SelectionError) Unwrap() error { return e.Err }

// Selection is what a user has said of the provider: flags or the global
// config, and the environment.
type Selection struct {
	Provider string // a preset's name, in any case; "" is none
	BaseURL  string // "" is none
	Key      Secret // given explicitly; zero is none

	// Getenv looks up a variable; nil is an empty environment. A variable of
	// white space alone counts as unset.
	Getenv func(name string) string
}

func (s Selection) env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return strings.TrimSpace(s.Getenv(name))
}

// firstEnv is the first of the variables that is set, and its value.
func (s Selection) firstEnv(names ...string) (name, value string) {
	for _, name := range names {
		if value := s.env(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// Choice is the endpoint that a [Selection] comes to. Printed in any way it
// shows neither the key nor what is secret in the URL.
type Choice struct {
	Provider  string
	Wire      string // how it is spoken to
	BaseURL   string // normalised; "" only for demo
	Key       Secret
	SourceVar string // the variable that the key came from; "" if it was explicit or there is none
	KeyVar    string // the variable that a key would come from; "" if there is none
}

// KeyHint says, of a server that refuses the key, where that key came from and
// what to do; never the key. It is "" for other kinds of failure.
func (c Choice) KeyHint(k Kind) string {
	if k != KindAuth && k != KindPermission {
		return ""
	}
	next := "one that is valid"
	if k == KindPermission {
		next = "one that may do this, or name another model"
	}
	local, err := FindPreset(c.Provider)
	switch {
	case c.SourceVar != "":
		return "the key came from " + c.SourceVar + "; set it to " + next
	case !c.Key.IsZero():
		return "the key was given with the address; give " + next
	case c.KeyVar != "":
		return "no key was sent; set " + c.KeyVar + " to " + next
	case err == nil && local.KeyVar == "":
		return "no key was sent: provider " + c.Provider + " takes none; for a server that wants one use --base-url and BASIS_API_KEY"
	}
	return "no key was sent"
}

// String names the choice without its secrets.
func (c Choice) String() string {
	s := "provider " + c.Provider
	if c.BaseURL != "" {
		s += " at " + DisplayURL(c.BaseURL)
	}
	if c.SourceVar != "" {
		s += ", key from " + c.SourceVar
	} else if !c.Key.IsZero() {
		s += ", key " + c.Key.String()
	}
	return s
}

// Format is String for every verb and flag.
func (c Choice) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// GoString is String.
func (c Choice) GoString() string { return c.String() }

// MarshalJSON writes provider, api_key (redacted), source_var and base_url.
func (c Choice) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Provider  string `json:"provider"`
		Key       Secret `json:"api_key,omitzero"`
		SourceVar string `json:"source_var,omitempty"`
		BaseURL   string `json:"base_url,omitempty"`
	}{c.Provider, c.Key, c.SourceVar, DisplayURL(c.BaseURL)})
}

// Resolve decides which endpoint is meant: a base URL before everything, then
// a named provider, then the first key that the environment has. The error is
// always a [*SelectionError].
func Resolve(s Selection) (Choice, error) {
	preset, err := FindPreset(s.Provider)
	if err != nil {
		return Choice{}, err
	}
	if preset.Name == Demo {
		if s.BaseURL != "" || !s.Key.IsZero() {
			return Choice{}, refuse(Demo, nil, "provider demo asks no server: leave out the base URL and the key")
		}
		return Choice{Provider: Demo, Wire: Demo}, nil
	}
	_, fromEnv := s.firstEnv("BASIS_BASE_URL", "OPENAI_BASE_URL")
	if base := cmp.Or(strings.TrimSpace(s.BaseURL), fromEnv); base != "" {
		return s.compatible(preset, base)
	}
	switch {
	case preset.Name != "":
		return s.named(preset)
	case !s.Key.IsZero():
		return Choice{}, refuse("", nil, "a key was given, but neither a provider nor a base URL that it belongs to: add --provider or --base-url")
	}
	return s.detect()
}

// compatible is an endpoint of one's own; a provider's name is only its label,
// and no other provider's key is sent there.
func (s Selection) compatible(preset Preset, base string) (Choice, error) {
	url, err := NormalizeBaseURL(base)
	if err != nil {
		return Choice{}, refuse(preset.Name, err, err.Error())
	}
	c := Choice{Provider: cmp.Or(preset.Name, "openai"), Wire: WireChat, BaseURL: url, Key: s.Key, KeyVar: "BASIS_API_KEY"}
	if c.Key.IsZero() {
		name, value := s.firstEnv("BASIS_API_KEY", "OPENAI_API_KEY")
		c.Key, c.SourceVar = NewSecret(value), name
	}
	return c, nil
}

// named is a preset.
func (s Selection) named(p Preset) (Choice, error) {
	c := Choice{Provider: p.Name, Wire: p.Wire, BaseURL: p.BaseURL, Key: s.Key, KeyVar: p.KeyVar}
	if moved := s.env(p.BaseVar); p.BaseVar != "" && moved != "" {
		url, err := NormalizeBaseURL(moved)
		if err != nil {
			return Choice{}, refuse(p.Name, err, p.BaseVar+": "+err.Error())
		}
		c.BaseURL = url
	}
	if !c.Key.IsZero() || p.KeyVar == "" {
		return c, nil
	}
	name, value := s.firstEnv(p.KeyVar)
	if value == "" {
		return Choice{}, refuse(p.Name, nil, fmt.Sprintf("provider %s needs a key: set %s", p.Name, p.KeyVar))
	}
	c.Key, c.SourceVar = NewSecret(value), name
	return c, nil
}

// detect takes the first hosted preset that has a key. Local servers and demo
// are never chosen on their own.
func (s Selection) detect() (Choice, error) {
	var vars []string
	for _, p := range Presets() {
		if p.KeyVar == "" {
			continue
		}
		if s.env(p.KeyVar) != "" {
			return s.named(p)
		}
		vars = append(vars, p.KeyVar)
	}
	return Choice{}, refuse("", ErrNoProvider, fmt.Sprintf(
		"%v: set one of %s, or BASIS_BASE_URL for a server of your own; --provider demo shows basis at work without a model",
		ErrNoProvider, strings.Join(vars, ", ")))
}

func refuse(provider string, err error, reason string) error {
	return &SelectionError{Provider: provider, Reason: reason, Err: err}
}
