package provider

import (
	"fmt"
	"strings"
)

// Demo is the name of the provider that asks no model.
const Demo = "demo"

// The wires that are spoken, by the names that a [reducer.Provenance] has.
const (
	WireChat      = "openai-chat"
	WireMessages  = "anthropic-messages"
	WireResponses = "openai-responses"
	WireGemini    = "gemini"
)

// Preset is a provider known by name.
type Preset struct {
	Name    string
	Wire    string
	BaseURL string // normalised; "" for demo
	BaseVar string // the variable that moves its endpoint and keeps its wire; "" is none
	KeyVar  string // the variable that holds its key; "" for local servers and demo
}

// Presets are all of them, hosted ones in the order in which their keys are
// looked for.
func Presets() []Preset {
	return []Preset{
		{
			Name: "anthropic", Wire: WireMessages, BaseURL: "https://api.anthropic.com/",
			BaseVar: "ANTHROPIC_BASE_URL", KeyVar: "ANTHROPIC_API_KEY",
		},
		{Name: "openai", Wire: WireResponses, BaseURL: "https://api.openai.com/", KeyVar: "OPENAI_API_KEY"},
		{
			Name: "gemini", Wire: WireGemini, BaseURL: "https://generativelanguage.googleapis.com/",
			BaseVar: "GOOGLE_GEMINI_BASE_URL", KeyVar: "GEMINI_API_KEY",
		},
		{Name: "openrouter", Wire: WireChat, BaseURL: "https://openrouter.ai/api/", KeyVar: "OPENROUTER_API_KEY"},
		{Name: "ollama", Wire: WireChat, BaseURL: "http://127.0.0.1:11434/"},
		{Name: "lmstudio", Wire: WireChat, BaseURL: "http://127.0.0.1:1234/"},
		{Name: Demo, Wire: Demo},
	}
}

// FindPreset is the preset of that name, in any case and with space around it;
// none for "".
func FindPreset(name string) (Preset, error) {
	word := strings.ToLower(strings.TrimSpace(name))
	if word == "" {
		return Preset{}, nil
	}
	if word == "lm-studio" {
		word = "lmstudio"
	}
	var names []string
	for _, p := range Presets() {
		if p.Name == word {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, refuse(name, ErrUnknownProvider, fmt.Sprintf("unknown provider %q: use one of %s, or --base-url for another server", name, strings.Join(names, ", ")))
}
