package resolve_test

import (
	"fmt"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
)

// PROV-3 PROV-9: a base URL is chat/completions, and its newest model is found.
func TestOpenBaseURL(t *testing.T) {
	server := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{providertest.Text("hi")}, Models: []string{"old", "new"}})
	choice, err := provider.Resolve(provider.Selection{BaseURL: server.URL() + "v1/"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := resolve.Open(choice, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	models, err := m.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest, err := provider.Newest(choice.Provider, models)
	if err != nil || newest.ID != "new" {
		t.Fatalf("Newest(%v) = %v, %v, want new", models, newest, err)
	}
	a, err := provider.Collect(t.Context(), m, provider.Request{Model: newest.ID, Messages: []provider.Message{{Key: "u", Role: provider.RoleUser}}})
	if err != nil || a.Source.Provider != "openai" || server.Requests()[0].Path != "/v1/chat/completions" {
		t.Errorf("answer = %+v, %v at %s, want one of openai at /v1/chat/completions", a, err, server.Requests()[0].Path)
	}
}

func TestOpenDemo(t *testing.T) {
	m, err := resolve.Open(provider.Choice{Provider: provider.Demo}, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	models, err := m.Models(t.Context())
	if err != nil || len(models) != 1 {
		t.Errorf("Models() = %v, %v, want one", models, err)
	}
}

// PROV-2: each preset is spoken to on its own wire.
func TestOpenWires(t *testing.T) {
	for wire, want := range map[string]string{
		provider.WireChat: "*openai.Chat", provider.WireMessages: "*anthropic.Messages", provider.WireResponses: "*responses.Model", provider.WireGemini: "*gemini.Model",
	} {
		m, err := resolve.Open(provider.Choice{Provider: "p", Wire: wire, BaseURL: "http://127.0.0.1:1/"}, resolve.Options{})
		if got := fmt.Sprintf("%T", m); err != nil || got != want {
			t.Errorf("Open(%s) = %s, %v; want %s", wire, got, err, want)
		}
	}
}
