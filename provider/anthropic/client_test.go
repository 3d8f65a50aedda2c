package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// serve answers each request with the next handler.
func serve(t *testing.T, handlers ...http.HandlerFunc) *Messages {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		if n > len(handlers) {
			t.Errorf("request %d was not expected", n)
			return
		}
		handlers[n-1](w, r)
	}))
	t.Cleanup(s.Close)
	m, err := New(Options{BaseURL: s.URL, Key: provider.NewSecret("sk-canary-123")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdleConnections)
	return m
}

// PROV-2, PROV-21: the endpoint, its headers, and an answer that goes back in
// the next request as it came.
func TestRoundTrip(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "streams", "interleaved", "body.sse"))
	if err != nil {
		t.Fatal(err)
	}
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "sk-canary-123" || r.Header.Get("Anthropic-Version") != version || r.Header.Get("Authorization") != "" {
			t.Errorf("request to %s with %v, want /v1/messages with key and version", r.URL.Path, r.Header)
		}
		_, _ = w.Write(stream)
	})
	req := provider.Request{Model: "m", Messages: []provider.Message{user("t1", "go")}}
	a, err := provider.Collect(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages,
		provider.Message{Key: "r1", Role: provider.RoleAssistant, Items: a.Items, Source: a.Source},
		provider.Message{Key: "r1.results", Role: provider.RoleResults, Results: []provider.Result{{ID: "toolu_a", Text: reducer.T("a")}, {ID: "toolu_b", Text: reducer.T("b")}}})
	got := encodeOnce(t, &encoder{}, req)
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"A","signature":"s1"},{"type":"text","text":"t1 "},{"type":"tool_use","id":"toolu_a","name":"ls","input":{}},` +
		`{"type":"thinking","thinking":"B","signature":"s2"},{"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"toolu_b","name":"read","input":{"path":"y"}}]}`
	if a.Source.Provider != "anthropic" || !strings.Contains(got, want) {
		t.Errorf("source %+v, body = %s\nwant %s", a.Source, got, want)
	}
}

// PROV-47: an error says what the server says, and never the key.
func TestErrorsHideTheKey(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"bad key sk-canary-123"}}`)
	})
	_, err := provider.Collect(t.Context(), m, provider.Request{Model: "m", Messages: []provider.Message{user("t1", "go")}})
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.KindAuth || strings.Contains(err.Error(), "sk-canary") {
		t.Errorf("error = %v, want auth without the key", err)
	}
}

// PROV-9, PROV-11: the listing page by page.
func TestModels(t *testing.T) {
	m := serve(t,
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != "/v1/models?limit=1000" {
				t.Errorf("first page at %s", r.URL.RequestURI())
			}
			_, _ = io.WriteString(w, `{"data":[{"id":"a","created_at":"2026-01-02T00:00:00Z"}],"has_more":true,"last_id":"a"}`)
		},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != "/v1/models?limit=1000&after_id=a" {
				t.Errorf("second page at %s", r.URL.RequestURI())
			}
			_, _ = io.WriteString(w, `{"data":[{"id":"b","created_at":"2026-03-01T00:00:00Z"}],"has_more":false,"last_id":"b"}`)
		},
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"hello":1}`) },
	)
	models, err := m.Models(t.Context())
	if err != nil || len(models) != 2 {
		t.Fatalf("Models() = %v, %v; want two", models, err)
	}
	if newest, err := provider.Newest("anthropic", models); err != nil || newest.ID != "b" {
		t.Errorf("Newest = %v, %v; want b", newest, err)
	}
	if _, err := m.Models(context.Background()); err == nil || !strings.Contains(err.Error(), "no list of models") {
		t.Errorf("Models() of another document = %v, want a clear error", err)
	}
}

// FuzzDecode: whatever a server sends, decoding ends without a panic, and what
// it made of it can be sent back.
func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "streams", "*", "body.*"))
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		source := reducer.Provenance{Provider: "anthropic", Model: "m", Wire: Wire}
		last := 0
		DecodeResponse(Response{Body: bytes.NewReader(data), Source: source}, func(c provider.Chunk, err error) bool {
			if d, ok := c.(provider.Done); ok {
				last++
				encodeOnce(t, &encoder{}, provider.Request{Model: "m", Messages: []provider.Message{user("t", "x"), {Key: "r", Role: provider.RoleAssistant, Items: d.Answer.Items, Source: source}}})
			} else if err != nil {
				last++
			}
			return true
		})
		if last != 1 {
			t.Errorf("the stream ended %d times, want once", last)
		}
	})
}
