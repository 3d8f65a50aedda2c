package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
)

func env(pairs ...string) func(string) string { return headers(pairs...) }

// PROV-1 PROV-2 PROV-3 PROV-5 PROV-8
func TestResolve(t *testing.T) {
	key := provider.NewSecret("explicit")
	tests := []struct {
		name string
		in   provider.Selection
		want string // provider, base URL, key, variable
	}{
		{"base URL", provider.Selection{BaseURL: "http://h:3455/v1"}, "openai http://h:3455/ - -"},
		{"base URL and key", provider.Selection{BaseURL: "https://h/", Key: key, Getenv: env("BASIS_API_KEY", "env")}, "openai https://h/ explicit -"},
		{"base URL, key of basis first", provider.Selection{BaseURL: "https://h/", Getenv: env("BASIS_API_KEY", "b", "OPENAI_API_KEY", "o")}, "openai https://h/ b BASIS_API_KEY"},
		{"base URL, key of openai", provider.Selection{BaseURL: "https://h/", Getenv: env("OPENAI_API_KEY", "o")}, "openai https://h/ o OPENAI_API_KEY"},
		{"base URL with a label", provider.Selection{Provider: " OpenRouter ", BaseURL: "https://h/"}, "openrouter https://h/ - -"},
		{"base URL of the environment", provider.Selection{Getenv: env("BASIS_BASE_URL", "https://b/", "OPENAI_BASE_URL", "https://o/")}, "openai https://b/ - -"},
		{"base URL of openai's variable", provider.Selection{Getenv: env("OPENAI_BASE_URL", "https://o/v1")}, "openai https://o/ - -"},
		{"a blank variable is unset", provider.Selection{Getenv: env("BASIS_BASE_URL", "  ", "OPENAI_API_KEY", "o")}, "openai https://api.openai.com/ o OPENAI_API_KEY"},
		{"base URL before a foreign key", provider.Selection{Getenv: env("BASIS_BASE_URL", "https://b/", "ANTHROPIC_API_KEY", "a")}, "openai https://b/ - -"},
		{"a flag before the environment", provider.Selection{BaseURL: "https://flag/", Getenv: env("BASIS_BASE_URL", "https://b/")}, "openai https://flag/ - -"},
		{"named with key", provider.Selection{Provider: "openai", Key: key}, "openai https://api.openai.com/ explicit -"},
		{"named with variable", provider.Selection{Provider: "openrouter", Getenv: env("OPENROUTER_API_KEY", "r", "OPENAI_API_KEY", "o")}, "openrouter https://openrouter.ai/api/ r OPENROUTER_API_KEY"},
		{"local", provider.Selection{Provider: "ollama", Getenv: env("OPENAI_API_KEY", "o")}, "ollama http://127.0.0.1:11434/ - -"},
		{"local, other spelling", provider.Selection{Provider: "LM-Studio"}, "lmstudio http://127.0.0.1:1234/ - -"},
		{"detected", provider.Selection{Getenv: env("OPENROUTER_API_KEY", "r", "OPENAI_API_KEY", "o")}, "openai https://api.openai.com/ o OPENAI_API_KEY"},
		{"detected first", provider.Selection{Getenv: env("ANTHROPIC_API_KEY", "a", "OPENAI_API_KEY", "o")}, "anthropic https://api.anthropic.com/ a ANTHROPIC_API_KEY"},
		{"gemini, moved", provider.Selection{Getenv: env("GEMINI_API_KEY", "g", "GOOGLE_GEMINI_BASE_URL", "http://h:1/")}, "gemini http://h:1/ g GEMINI_API_KEY"},
		{"moved, own wire", provider.Selection{Provider: "anthropic", Getenv: env("ANTHROPIC_API_KEY", "a", "ANTHROPIC_BASE_URL", "http://h:1/")}, "anthropic http://h:1/ a ANTHROPIC_API_KEY"},
		{"demo", provider.Selection{Provider: "demo", Getenv: env("BASIS_BASE_URL", "https://b/")}, "demo  - -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := provider.Resolve(tt.in)
			dash := func(s string) string {
				if s == "" {
					return "-"
				}
				return s
			}
			got := fmt.Sprintf("%s %s %s %s", c.Provider, c.BaseURL, dash(c.Key.Reveal()), dash(c.SourceVar))
			if err != nil || got != tt.want {
				t.Errorf("Resolve() = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// PROV-5: every refusal says what to do.
func TestResolveRefuses(t *testing.T) {
	tests := []struct {
		name string
		in   provider.Selection
		want []string
	}{
		{"nothing", provider.Selection{}, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "BASIS_BASE_URL", "--provider demo"}},
		{"unknown", provider.Selection{Provider: "acme"}, []string{`"acme"`, "anthropic", "openai", "gemini", "openrouter", "ollama", "lmstudio", "demo"}},
		{"no key", provider.Selection{Provider: "openai"}, []string{"openai", "OPENAI_API_KEY"}},
		{"a key of nobody", provider.Selection{Key: provider.NewSecret("k-1234")}, []string{"--provider", "--base-url"}},
		{"anthropic moved to nowhere", provider.Selection{Provider: "anthropic", Getenv: env("ANTHROPIC_API_KEY", "a", "ANTHROPIC_BASE_URL", "nowhere")}, []string{"ANTHROPIC_BASE_URL", "nowhere"}},
		{"bad URL", provider.Selection{BaseURL: "ftp://u:k-1234@h/x?key=k-1234"}, []string{"ftp://h/x", "https://"}},
		{"demo with URL", provider.Selection{Provider: "demo", BaseURL: "https://h/"}, []string{"demo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := provider.Resolve(tt.in)
			if _, ok := errors.AsType[*provider.SelectionError](err); !ok {
				t.Fatalf("Resolve() = %v, want a *SelectionError", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Resolve() = %q, want it to name %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "k-1234") {
				t.Errorf("Resolve() = %q, which holds a secret", err)
			}
			if got := errors.Is(err, provider.ErrNoProvider); got != (tt.name == "nothing") {
				t.Errorf("errors.Is(%q, ErrNoProvider) = %v", err, got)
			}
		})
	}
}

// PROV-4
func TestNormalizeBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://g.example/v1/": "https://g.example/", "http://h:3455/v1": "http://h:3455/", "https://h/api/v1": "https://h/api/",
		" https://h ": "https://h/", "https://h///": "https://h/", "https://h/v1/v1": "https://h/v1/", "https://h/v10": "https://h/v10/",
	} {
		if got, err := provider.NormalizeBaseURL(in); err != nil || got != want {
			t.Errorf("NormalizeBaseURL(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "h/v1", "https://", "ftp://h", "https://h/?a=b", "https://%zz"} {
		_, err := provider.NormalizeBaseURL(in)
		var ue *provider.URLError
		if !errors.As(err, &ue) || !strings.Contains(err.Error(), fmt.Sprintf("%q", strings.TrimSuffix(in, "?a=b"))) {
			t.Errorf("NormalizeBaseURL(%q) = %v, want a *URLError that quotes it", in, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for base, want := range map[string]string{
		"https://h/":               "https://h/v1/x",
		"https://h/api/":           "https://h/api/v1/x",
		"https://h/api/paas/v4/":   "https://h/api/paas/v4/x",
		"https://h/v1beta/openai/": "https://h/v1beta/openai/x",
		"https://h/openai/":        "https://h/openai/v1/x",
	} {
		if got := provider.Endpoint(base, "v1", "x"); got != want {
			t.Errorf("Endpoint(%q) = %q, want %q", base, got, want)
		}
	}
}

// PROV-7 PROV-47: a choice shows where its key comes from, never the key.
func TestChoiceHidesSecrets(t *testing.T) {
	c, err := provider.Resolve(provider.Selection{BaseURL: "https://user:hush@h/", Getenv: env("BASIS_API_KEY", "sk-hush")})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q %x %s", c, c, c, c, c, c, data)
	if strings.Contains(shown, "hush") || !strings.Contains(shown, "BASIS_API_KEY") {
		t.Errorf("Choice prints %s, want the variable and no secret", shown)
	}
	if want := `{"provider":"openai","api_key":"[redacted]","source_var":"BASIS_API_KEY","base_url":"https://h/"}`; string(data) != want {
		t.Errorf("Marshal(choice) = %s, want %s", data, want)
	}
}

// PROV-9 PROV-12: the newest first, those without a date last, equals by id.
func TestNewest(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2030, 1, d, 0, 0, 0, 0, time.UTC) }
	models := []provider.ModelInfo{{ID: "a"}, {ID: "c", Created: day(2)}, {ID: "b", Created: day(2)}, {ID: "d", Created: day(1)}}
	if got, err := provider.Newest("x", models); err != nil || got.ID != "b" {
		t.Errorf("Newest() = %v, %v, want b", got, err)
	}
	if got, err := provider.Newest("x", models[:1]); err != nil || got.ID != "a" {
		t.Errorf("Newest() = %v, %v, want a", got, err)
	}
	if _, err := provider.Newest("acme", nil); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Errorf("Newest(none) = %v, want an error naming the provider", err)
	}
}

// PROV-47: a URL that lacks its scheme, or cannot be parsed, is quoted without
// the password and the query in it.
func TestDisplayURLHidesWhatIsNone(t *testing.T) {
	for _, raw := range []string{
		"key:canary@host", "canary@host/v1", "//key:canary@host/", "host?key=canary", "host#canary", "http://u:canary@host /", "http://u:canary@host/?canary",
	} {
		_, err := provider.NormalizeBaseURL(raw)
		if got := provider.DisplayURL(raw); err == nil || strings.Contains(got+err.Error(), "canary") {
			t.Errorf("DisplayURL(%q) = %q, %v; want neither password nor query", raw, got, err)
		}
	}
}
