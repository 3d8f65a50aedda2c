package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// FR-064, PROV-19: after a change of account a vendor could not read what it
// had sealed, and the conversation was refused for good. It is asked once more
// without, and what it seals from then on goes back again.
func TestFR064RefusedSeals(t *testing.T) {
	for _, tt := range []struct{ wire, model, words string }{
		{provider.WireMessages, "claude-opus-5", "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{provider.WireResponses, "gpt-5", "The encrypted content for item rs_1 could not be verified."},
		{provider.WireGemini, "gemini-3-pro", "Thought signature is not valid."},
	} {
		t.Run(tt.wire, func(t *testing.T) {
			calls := func(thought string) providertest.Step {
				return providertest.Step{Reasoning: thought, Calls: []providertest.Call{{Name: "ls", Args: fmt.Sprintf(`{"path":%q}`, thought)}}}
			}
			refused := providertest.Fail(400, "invalid_request_error", tt.words)
			s := providertest.NewServer(t, providertest.Options{Lenient: true, Steps: []providertest.Step{
				calls("old"), refused, calls("new"), providertest.Text("ok"), refused, refused,
			}})
			m, err := resolve.Open(provider.Choice{Provider: "p", Wire: tt.wire, BaseURL: s.URL()}, resolve.Options{})
			if err != nil {
				t.Fatal(err)
			}
			req := provider.Request{Model: tt.model, Messages: []provider.Message{prompt("u1")}}
			var seals []string
			for n := range 3 {
				a, err := provider.Collect(t.Context(), m, req)
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, answered(fmt.Sprint("a", n), a)...)
				seals = append(seals, sealsOf(a)...)
			}
			for n, want := range []string{"", "old", "", "new"} {
				body := string(s.Requests()[n].Body)
				got := ""
				for k, name := range []string{"old", "new"} {
					if strings.Contains(body, seals[k]) {
						got += name
					}
				}
				if got != want {
					t.Errorf("request %d has the seals %q, want %q: %s", n+1, got, want, body)
				}
			}
			req.Messages = append(req.Messages, prompt("u2"))
			if _, err := provider.Collect(t.Context(), m, req); err == nil || len(s.Requests()) != 6 {
				t.Errorf("refused twice = %v after %d requests, want the refusal after 6", err, len(s.Requests()))
			}
		})
	}
}

func prompt(key string) provider.Message {
	return provider.Message{Key: key, Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}}}
}

// answered is an answer and the results of its calls.
func answered(key string, a provider.Answer) []provider.Message {
	results := provider.Message{Key: key + ".results", Role: provider.RoleResults}
	for _, it := range a.Items {
		if it.Type == reducer.ItemCall {
			results.Results = append(results.Results, provider.Result{ID: it.ID, Name: it.Name, Text: reducer.T("r")})
		}
	}
	all := []provider.Message{{Key: key, Role: provider.RoleAssistant, Items: a.Items, Source: a.Source}, results}
	return all[:min(len(all), 1+len(results.Results))]
}

// sealsOf are the strings of an answer that only its vendor can read: no other
// member is a word so long.
func sealsOf(a provider.Answer) []string {
	var all []string
	for _, it := range a.Items {
		for word := range strings.SplitSeq(string(it.Extra), `"`) {
			if len(word) > 20 && !strings.ContainsAny(word, "{}: ") {
				all = append(all, word)
			}
		}
	}
	return all
}
