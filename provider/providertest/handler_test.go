package providertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
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
