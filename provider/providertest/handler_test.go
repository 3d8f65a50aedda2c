package providertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/provider"
)

const validBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"u"}]}`

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"v1/chat/completions", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestScriptThenAnswer(t *testing.T) {
	s := NewServer(t, Options{
		Steps:  []Step{Text("one")},
		Answer: func(r Request) Step { return Text("asked " + r.Last().Text + " of " + r.Model()) },
	})
	if _, got := post(t, s.URL(), validBody); !strings.Contains(got, `"one"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("first answer = %s, want the step", got)
	}
	if _, got := post(t, s.URL(), validBody); !strings.Contains(got, "asked u of m") {
		t.Errorf("second answer = %s, want one made for the request", got)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("requests = %d, want 2", n)
	}
}

func TestHoldWaitsForTheTest(t *testing.T) {
	hold, after := make(chan struct{}), make(chan struct{})
	s := Script(t, Step{Text: "ab", Deltas: 2, Hold: hold, HoldAfter: after, CutFrames: 2})
	var client sync.WaitGroup
	defer client.Wait()
	client.Go(func() {
		if _, got := post(t, s.URL(), validBody); !strings.Contains(got, `"b"`) || !strings.Contains(got, "[DONE]") {
			t.Errorf("answer = %s, want all of it", got)
		}
	})
	if err := s.WaitFor(t.Context(), 1); err != nil {
		t.Error(err)
	}
	close(hold)
	close(after)
}

func TestViolations(t *testing.T) {
	h := NewHandler(Options{Steps: []Step{Text("x")}})
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	url := server.URL + "/"
	if status, got := post(t, url, `{"model":"m","messages":[{"role":"tool","tool_call_id":"x","content":"y"}]}`); status != 400 {
		t.Errorf("orphan result = %d %s, want 400", status, got)
	}
	if status, got := post(t, url, validBody); status != 400 || !strings.Contains(got, "no step") {
		t.Errorf("request beyond the script = %d %s, want 400", status, got)
	}
	if n := len(h.Violations()); n != 2 {
		t.Errorf("violations = %v, want 2", h.Violations())
	}
}

// A server of one wire has no endpoint of another, and a model of Gemini is
// named by the path.
func TestWiresAreToldByPath(t *testing.T) {
	h := NewHandler(Options{Wire: provider.WireGemini, Steps: []Step{Text("x")}})
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	if status, _ := post(t, server.URL+"/", validBody); status != http.StatusNotFound {
		t.Errorf("chat/completions = %d, want 404", status)
	}
	url := server.URL + "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
	resp, err := http.Post(url, "application/json", strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"u"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(got), `"modelVersion":"gemini-3-pro"`) || !strings.Contains(string(got), "\r\n\r\n") {
		t.Errorf("answer = %s, %v; want one of gemini-3-pro with its line ends", got, err)
	}
	if r := h.Requests()[0]; r.Model() != "gemini-3-pro" || r.Last().Text != "u" || r.Wire != provider.WireGemini {
		t.Errorf("request = %+v, want gemini-3-pro asked u", r)
	}
	if n := len(h.Violations()); n != 1 {
		t.Errorf("violations = %v, want one", h.Violations())
	}
}

// The same conversation reads the same on every wire.
func TestMessagesReadAlike(t *testing.T) {
	bodies := map[string]string{
		provider.WireChat: `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url","image_url":{"url":"data:"}}]},` +
			`{"role":"assistant","content":"t","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],` +
			`"tools":[{"type":"function","function":{"name":"ls"}}]}`,
		provider.WireMessages: `{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"u"},{"type":"image"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"c","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}],` +
			`"tools":[{"name":"ls"}]}`,
		provider.WireResponses: `{"model":"m","instructions":"s","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}],` +
			`"tools":[{"type":"function","name":"ls"}]}`,
		provider.WireGemini: `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"},{"inlineData":{}}]},` +
			`{"role":"model","parts":[{"text":"t"},{"functionCall":{"id":"c","name":"ls","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"r"}}}]}],` +
			`"tools":[{"functionDeclarations":[{"name":"ls"}]}]}`,
	}
	want := []Message{
		{Role: "system", Text: "s"},
		{Role: "user", Text: "u", Images: 1},
		{Role: "assistant", Text: "t", Calls: []Call{{ID: "c", Name: "ls", Args: "{}"}}},
		{Role: "tool", Text: "r", CallID: "c"},
	}
	for _, wire := range Wires() {
		r := Request{Wire: wire, Body: []byte(bodies[wire])}
		if got := r.Messages(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: Messages() = %+v, want %+v", wire, got, want)
		}
		if got := r.Tools(); !slices.Equal(got, []string{"ls"}) {
			t.Errorf("%s: Tools() = %q, want ls", wire, got)
		}
	}
}
