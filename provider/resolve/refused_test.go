package resolve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
)

// PROV-6, PROV-7, PROV-47: who is refused reads the server's words, the variable
// that the key came from and what to do, on every wire, also of the list of
// models; never the key, even where the server repeats it.
func TestRefusedKeyIsNamed(t *testing.T) {
	const key = "sk-canary-0123456789"
	keys := map[string]string{"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", "": "BASIS_API_KEY"}
	for name, variable := range keys {
		t.Run(variable, func(t *testing.T) {
			env := map[string]string{variable: key}
			if name == "" {
				env["BASIS_BASE_URL"] = "http://127.0.0.1:1/"
			}
			c, err := provider.Resolve(provider.Selection{Provider: name, Getenv: func(name string) string { return env[name] }})
			if err != nil {
				t.Fatal(err)
			}
			for status, want := range map[int]string{
				401: "the words of [redacted] (the key came from " + variable + "; set it to one that is valid)",
				403: "the words of [redacted] (the key came from " + variable + "; set it to one that may do this, or name another model)",
				429: "the words of [redacted]",
			} {
				got := refusals(t, c, status, "the words of "+key)
				if got[0] != want || got[1] != want {
					t.Errorf("HTTP %d reads %q, want %q from both", status, got, want)
				}
			}
		})
	}
}

// PROV-6: a server that was sent no key, but wants one.
func TestMissingKeyIsNamed(t *testing.T) {
	for _, tt := range []struct {
		c    provider.Choice
		want string
	}{
		{resolved(t, provider.Selection{BaseURL: "http://127.0.0.1:1/"}), "no key was sent; set BASIS_API_KEY to one that is valid"},
		{resolved(t, provider.Selection{Provider: "ollama"}), "no key was sent: provider ollama takes none; for a server that wants one use --base-url and BASIS_API_KEY"},
		{resolved(t, provider.Selection{BaseURL: "http://127.0.0.1:1/", Key: provider.NewSecret("k-0123456789")}), "the key was given with the address; give one that is valid"},
		{provider.Choice{Provider: "openai", Wire: provider.WireChat}, "no key was sent"},
	} {
		for _, got := range refusals(t, tt.c, 401, "who are you?") {
			if want := "who are you? (" + tt.want + ")"; got != want {
				t.Errorf("%v: %q, want %q", tt.c, got, want)
			}
		}
	}
}

func resolved(t *testing.T, s provider.Selection) provider.Choice {
	t.Helper()
	c, err := provider.Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refusals is how an answer and a list of models are refused by a server that
// gives c's every request that status.
func refusals(t *testing.T, c provider.Choice, status int, words string) []string {
	t.Helper()
	h := providertest.NewHandler(providertest.Options{Steps: []providertest.Step{{Status: status, Failure: &providertest.Failure{Message: words}}}, Repeat: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"message":"` + words + `"}}`))
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.Close()
		server.Close()
	})
	c.BaseURL = server.URL
	m, err := resolve.Open(c, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, asked := provider.Collect(t.Context(), m, provider.Request{Model: "gemini-3-pro", Messages: []provider.Message{prompt("u")}})
	_, listed := m.Models(t.Context())
	var all []string
	for _, err := range []error{asked, listed} {
		if err == nil {
			t.Fatalf("HTTP %d is no error", status)
		}
		_, text, _ := strings.Cut(err.Error(), ": ")
		all = append(all, text)
	}
	return all
}
