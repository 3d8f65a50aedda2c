package responses

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

var own = reducer.Provenance{Provider: "openai", Model: "gpt-5", Wire: Wire}

// answered is an answer as it was decoded, and its call's result.
func answered(n int, source reducer.Provenance) []provider.Message {
	key := fmt.Sprintf("r%d", n)
	raw := []string{
		`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"eee"}`,
		`{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"one","annotations":[{"n":12345678901234567890}]},{"type":"output_text","text":"two","annotations":[]}]}`,
		`{"id":"ws_1","type":"web_search_call","status":"completed"}`,
		`{"id":"fc_1","type":"function_call","call_id":"call_` + key + `","name":"read","arguments":"{\"path\":\"a\"}","namespace":"files"}`,
	}
	m := provider.Message{Key: key, Role: provider.RoleAssistant, Source: source}
	for _, r := range raw {
		m.Items = append(m.Items, items([]byte(r))...)
	}
	return []provider.Message{m, {Key: key + ".results", Role: provider.RoleResults, Results: []provider.Result{{ID: "call_" + key, Name: "read", Text: reducer.T("L1: x"), IsError: n%2 == 0}}}}
}

func encodeOnce(t *testing.T, e *encoder, req provider.Request) string {
	t.Helper()
	b, err := e.encode(req, reducer.Provenance{Provider: "openai", Model: req.Model, Wire: Wire})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(b.Reader())
	if err != nil || !json.Valid(body) || len(body) != b.Info.Size {
		t.Fatalf("body = %s, %v; want %d bytes of JSON", body, err, b.Info.Size)
	}
	return string(body)
}

// PROV-14, PROV-22: the request in the vendor's words; everything that it sent
// goes back, but for ids that it has not stored.
func TestEncode(t *testing.T) {
	req := provider.Request{
		Model: "gpt-5", System: "Be brief.", Effort: "max",
		Tools:    []provider.Tool{{Name: "read", Description: "Read.", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: append([]provider.Message{user1("t1", "go")}, answered(2, own)...),
	}
	want := `{"model":"gpt-5","store":false,"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"max"},` +
		`"tools":[{"type":"function","name":"read","description":"Read.","parameters":{"type":"object"},"strict":false}],"instructions":"Be brief.",` +
		`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},` +
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"eee"},` +
		`{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"one","annotations":[{"n":12345678901234567890}]},{"type":"output_text","text":"two"}]},` +
		`{"type":"web_search_call","status":"completed"},` +
		`{"type":"function_call","call_id":"call_r2","name":"read","arguments":"{\"path\":\"a\"}","namespace":"files"},` +
		`{"type":"function_call_output","call_id":"call_r2","output":"Tool error: L1: x"}]}`
	if got := encodeOnce(t, &encoder{}, req); got != want {
		t.Errorf("encode = %s\nwant     %s", got, want)
	}
}

// PROV-19, FR-064: encrypted reasoning of one model went to another, and the
// conversation was refused for good.
func TestFR064ForeignReasoning(t *testing.T) {
	got := encodeOnce(t, &encoder{}, provider.Request{Model: "gpt-5", Messages: append([]provider.Message{user1("t1", "go")}, answered(1, reducer.Provenance{Provider: "openai", Model: "gpt-5-mini", Wire: Wire})...)})
	for _, foreign := range []string{"eee", "hm", "web_search", "phase", "namespace", "annotations"} {
		if strings.Contains(got, foreign) {
			t.Errorf("body = %s, want nothing of %s", got, foreign)
		}
	}
	if !strings.Contains(got, `"text":"one"`) || !strings.Contains(got, `"call_id":"call_r1"`) {
		t.Errorf("body = %s, want the text and the call", got)
	}
}

// PROV-20: consecutive requests begin with the same bytes.
func TestRequestsGrow(t *testing.T) {
	var e encoder
	req := provider.Request{Model: "gpt-5", Messages: []provider.Message{user1("t1", "go")}}
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

// Lost results, broken arguments, repeated ids, images and free-form calls:
// still a conversation that the server takes.
func TestEncodeMends(t *testing.T) {
	call := reducer.Item{Type: reducer.ItemCall, ID: "x", Name: "read", Args: reducer.T("[1]")}
	custom := items([]byte(`{"type":"custom_tool_call","call_id":"c","name":"sql","input":"SELECT 1"}`))
	req := provider.Request{
		Model: "m", Load: func(reducer.Ref) ([]byte, error) { return []byte("png"), nil },
		Messages: []provider.Message{
			{Key: "t1", Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartImage, Image: reducer.Ref{Digest: "d", Media: "image/png"}}}},
			{Key: "r1", Role: provider.RoleAssistant, Items: append([]reducer.Item{call, call}, custom...), Source: reducer.Provenance{Provider: "openai", Model: "m", Wire: Wire}},
			user1("t2", "and?"),
		},
	}
	got := encodeOnce(t, &encoder{}, req)
	for _, want := range []string{
		`{"type":"input_image","image_url":"data:image/png;base64,cG5n"}`, `"call_id":"x","name":"read","arguments":"{}"`, `"call_id":"x_2"`,
		`{"type":"custom_tool_call","call_id":"c","name":"sql","input":"SELECT 1"}`, `{"type":"custom_tool_call_output","call_id":"c","output":"This call was interrupted`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("body = %s, want %s", got, want)
		}
	}
	if _, err := (&encoder{}).encode(provider.Request{Model: "m", Effort: "minimal"}, own); err == nil {
		t.Error("effort minimal = nil, want a refusal (PROV-13)")
	}
}

// PROV-2: the endpoint and its headers.
func TestRoundTrip(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "streams", "sealed-reasoning-then-call", "body.sse"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-5","created":1}]}`)
			return
		}
		if r.URL.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("request to %s with %v", r.URL.Path, r.Header)
		}
		_, _ = w.Write(stream)
	}))
	defer s.Close()
	m, err := New(Options{BaseURL: s.URL, Key: provider.NewSecret("k")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.CloseIdleConnections()
	a, err := provider.Collect(t.Context(), m, provider.Request{Model: "gpt-5", Messages: []provider.Message{user1("t1", "go")}})
	if err != nil || a.Source != own || a.Stop != reducer.StopToolUse || len(a.Items) != 2 {
		t.Errorf("answer = %+v, %v; want reasoning and a call of %+v", a, err, own)
	}
	if models, err := m.Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("Models() = %v, %v; want one", models, err)
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
				encodeOnce(t, &encoder{}, provider.Request{Model: "gpt-5", Messages: []provider.Message{user1("t", "x"), {Key: "r", Role: provider.RoleAssistant, Items: d.Answer.Items, Source: own}}})
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
