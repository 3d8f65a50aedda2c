package gemini_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/gemini"
	"github.com/basisagent/basis/provider/providertest"
)

// PROV-10 PROV-11: the window of one model is asked for by its name, with the
// key; an answer that tells none, or that is none, is no window.
func TestWindow(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Models: []string{"gemini-a", "gemini-b"}})
	m, err := gemini.New(gemini.Options{BaseURL: s.URL(), Key: provider.NewSecret("k-123")})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gemini-b", "models/gemini-b"} {
		if n, err := m.Window(t.Context(), id); n != 1048576 || err != nil {
			t.Errorf("Window(%s) = %d, %v, want 1048576", id, n, err)
		}
	}
	if n, err := m.Window(t.Context(), "gemini-c"); n != 0 || kind(err) != provider.KindNotFound {
		t.Errorf("Window of a model that is not there = %d, %v, want %s", n, err, provider.KindNotFound)
	}
	if got := s.Lookups(); len(got) != 3 || got[0] != "/v1beta/models/gemini-b" || got[1] != got[0] {
		t.Errorf("asked for %q, want the model's own address", got)
	}
}

func TestWindowOfOddAnswers(t *testing.T) {
	body := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Api-Key") != "k-123" || r.URL.EscapedPath() != "/v1beta/models/a%2Fb" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	m, err := gemini.New(gemini.Options{BaseURL: server.URL, Key: provider.NewSecret("k-123")})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]provider.Kind{
		`{"name":"models/a"}`: "", `{"inputTokenLimit":-5}`: "", `{"inputTokenLimit":"many"}`: "", `[]`: "", `<html>`: provider.KindBadResponse, ``: provider.KindBadResponse,
	} {
		body = text
		if n, err := m.Window(t.Context(), "a/b"); n != 0 || kind(err) != want {
			t.Errorf("Window from %s = %d, %v, want none and %q", text, n, err, want)
		}
	}
}

// kind is the kind of a provider's error, "" for none.
func kind(err error) provider.Kind {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Kind
	}
	return ""
}
