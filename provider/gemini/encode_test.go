package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func user1(key, s string) provider.Message {
	return provider.Message{Key: key, Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T(s)}}}
}

var own = reducer.Provenance{Provider: "gemini", Model: "gemini-3-pro", Wire: Wire}

// answered is an answer as it was decoded, and its calls' results.
func answered(n int, source reducer.Provenance) []provider.Message {
	key := fmt.Sprintf("r%d", n)
	m := provider.Message{Key: key, Role: provider.RoleAssistant, Source: source}
	for _, raw := range []string{
		`{"text":"hm","thought":true}`, `{"text":"looking"}`, `{"text":"","thoughtSignature":"sig0"}`, `{"executableCode":{"code":"1"},"thoughtSignature":"sig1"}`,
		`{"functionCall":{"name":"read","args":{"n":12345678901234567890}},"thoughtSignature":"sig2"}`, `{"functionCall":{"name":"read"}}`,
	} {
		m.Items = append(m.Items, readPart([]byte(raw)).item())
	}
	return []provider.Message{m, {Key: key + ".results", Role: provider.RoleResults, Results: []provider.Result{
		{Name: "read", Text: reducer.T("one")}, {Name: "read", Text: reducer.T("two"), IsError: true},
	}}}
}

func encodeOnce(t *testing.T, e *encoder, req provider.Request) string {
	t.Helper()
	b, err := e.encode(req, reducer.Provenance{Provider: "gemini", Model: req.Model, Wire: Wire})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(b.Reader())
	if err != nil || !json.Valid(body) || len(body) != b.Info.Size {
		t.Fatalf("body = %s, %v; want %d bytes of JSON", body, err, b.Info.Size)
	}
	return string(body)
}

// PROV-16, PROV-25: the request in the vendor's words; each signature goes back
// on the part that it came with.
func TestEncode(t *testing.T) {
	req := provider.Request{
		Model: "gemini-3-pro", System: "Be brief.", Effort: "high", MaxOutput: 100,
		Tools:    []provider.Tool{{Name: "read", Description: "Read.", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: append([]provider.Message{user1("t1", "go")}, answered(1, own)...),
	}
	want := `{"systemInstruction":{"parts":[{"text":"Be brief."}]},` +
		`"tools":[{"functionDeclarations":[{"name":"read","description":"Read.","parametersJsonSchema":{"type":"object"}}]}],` +
		`"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"thinkingLevel":"high"}},` +
		`"contents":[{"role":"user","parts":[{"text":"go"}]},` +
		`{"role":"model","parts":[{"thought":true,"text":"hm"},{"text":"looking"},{"text":"","thoughtSignature":"sig0"},{"executableCode":{"code":"1"},"thoughtSignature":"sig1"},` +
		`{"functionCall":{"name":"read","args":{"n":12345678901234567890}},"thoughtSignature":"sig2"},{"functionCall":{"name":"read","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"one"}}},{"functionResponse":{"name":"read","response":{"error":"two"}}}]}]}`
	if got := encodeOnce(t, &encoder{}, req); got != want {
		t.Errorf("encode = %s\nwant     %s", got, want)
	}
}

// PROV-19, FR-064: what one model signed went to another, and the conversation
// was refused for good.
func TestFR064ForeignSignatures(t *testing.T) {
	got := encodeOnce(t, &encoder{}, provider.Request{Model: "gemini-3-pro", Messages: append([]provider.Message{user1("t1", "go")}, answered(1, reducer.Provenance{Provider: "gemini", Model: "gemini-3-flash", Wire: Wire})...)})
	for _, foreign := range []string{"sig0", "sig1", "sig2", "hm", "executableCode"} {
		if strings.Contains(got, foreign) {
			t.Errorf("body = %s, want nothing of %s", got, foreign)
		}
	}
	if strings.Count(got, skipSignature) != 1 || !strings.Contains(got, `"text":"looking"`) || strings.Count(got, "functionResponse") != 2 {
		t.Errorf("body = %s, want text, calls and results, the first call with the stand-in", got)
	}
}

// PROV-20: consecutive requests begin with the same bytes.
func TestRequestsGrow(t *testing.T) {
	var e encoder
	req := provider.Request{Model: "gemini-3-pro", Messages: []provider.Message{user1("t1", "go")}}
	before := strings.TrimSuffix(encodeOnce(t, &e, req), "]}")
	for n := range 20 {
		req.Messages = append(req.Messages, answered(n, own)...)
		now := encodeOnce(t, &e, req)
		if !strings.HasPrefix(now, before) {
			t.Fatalf("request %d does not begin with the one before", n)
		}
		if fresh := encodeOnce(t, &encoder{}, req); fresh != now {
			t.Fatalf("request %d = %s\nfrom nothing %s", n, now, fresh)
		}
		before = strings.TrimSuffix(now, "]}")
	}
}

// PROV-13, PROV-16: a tier that a model doesn't take is refused by name; lost
// results and images still make a conversation.
func TestEncodeMends(t *testing.T) {
	for model, effort := range map[string]string{"gemini-2.5-pro": "low", "gemini-3-pro": "max", "models/gemini-3-pro": "xhigh"} {
		if _, err := (&encoder{}).encode(provider.Request{Model: model, Effort: effort}, own); err == nil || !strings.Contains(err.Error(), model) {
			t.Errorf("effort %s for %s = %v, want a refusal that names both", effort, model, err)
		}
	}
	req := provider.Request{
		Model: "gemini-3-pro", Load: func(reducer.Ref) ([]byte, error) { return []byte("png"), nil },
		Messages: []provider.Message{
			{Key: "t1", Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartImage, Image: reducer.Ref{Digest: "d", Media: "image/png"}}}},
			answered(1, own)[0], user1("t2", "and?"),
		},
	}
	got := encodeOnce(t, &encoder{}, req)
	if !strings.Contains(got, `{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`) || strings.Count(got, "This call was interrupted") != 2 {
		t.Errorf("body = %s, want the image and a stand-in for each lost result", got)
	}
}

// PROV-2, PROV-11: the endpoint, its headers, and the listing page by page.
func TestRoundTrip(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "streams", "thought-then-signed-call", "body.sse"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Api-Key") != "k" || r.Header.Get("Authorization") != "" {
			t.Errorf("request with %v, want the key in its own header", r.Header)
		}
		switch r.URL.RequestURI() {
		case "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse":
			_, _ = w.Write(stream)
		case "/v1beta/models?pageSize=1000":
			_, _ = io.WriteString(w, `{"models":[{"name":"models/a","inputTokenLimit":1000,"supportedGenerationMethods":["generateContent","countTokens"]},{"name":"models/e","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"p2"}`)
		case "/v1beta/models?pageSize=1000&pageToken=p2":
			_, _ = io.WriteString(w, `{"models":[{"name":"models/b"}]}`)
		default:
			t.Errorf("request to %s", r.URL.RequestURI())
		}
	}))
	defer s.Close()
	m, err := New(Options{BaseURL: s.URL, Key: provider.NewSecret("k")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.CloseIdleConnections()
	a, err := provider.Collect(t.Context(), m, provider.Request{Model: "gemini-3-pro", Messages: []provider.Message{user1("t1", "go")}})
	if err != nil || a.Source != own || a.Stop != reducer.StopToolUse || len(a.Items) != 2 {
		t.Errorf("answer = %+v, %v; want a thought and a call of %+v", a, err, own)
	}
	models, err := m.Models(t.Context())
	if err != nil || len(models) != 2 || models[0].Window != 1000 || models[1].ID != "b" {
		t.Errorf("Models() = %v, %v; want a with its window, and b", models, err)
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
		last := 0
		DecodeResponse(Response{Body: bytes.NewReader(data), Source: own}, func(c provider.Chunk, err error) bool {
			if d, ok := c.(provider.Done); ok {
				last++
				encodeOnce(t, &encoder{}, provider.Request{Model: own.Model, Messages: []provider.Message{user1("t", "x"), {Key: "r", Role: provider.RoleAssistant, Items: d.Answer.Items, Source: own}}})
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
