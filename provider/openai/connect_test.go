package openai_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/providertest"
)

// PROV-48: a redirect to another host would carry the key there.
func TestRedirectKeepsTheKey(t *testing.T) {
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/v1/chat/completions?token=hush", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	m := newChat(t, openai.Options{BaseURL: server.URL, Key: provider.NewSecret("sk-hush")})
	e := fails(t.Context(), t, m, hello())
	if stolen.Load() || e.Kind != provider.KindBadResponse || !strings.Contains(e.Error(), thief.URL) || strings.Contains(e.Error(), "hush") {
		t.Errorf("error = %v, followed %v, want a refusal that names the host", e, stolen.Load())
	}
	if _, err := m.Models(t.Context()); err == nil || stolen.Load() {
		t.Errorf("Models() = %v, followed %v, want a refusal", err, stolen.Load())
	}
}

func TestRedirectOnTheSameHostIsFollowed(t *testing.T) {
	h := providertest.NewHandler(providertest.Options{Steps: []providertest.Step{providertest.Text("here")}})
	defer h.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/new") {
			http.Redirect(w, r, "/new"+r.URL.Path, http.StatusPermanentRedirect)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	m := newChat(t, openai.Options{BaseURL: server.URL, Key: provider.NewSecret("k-123")})
	if a := collect(t, m, hello()); a.Items[0].Text.Inline != "here" || h.Requests()[0].Header.Get("Authorization") == "" {
		t.Errorf("answer = %+v, want the one behind the redirect, asked with the key", a)
	}
}

// PROV-47: a server that repeats the key, and a URL with a password, show in no
// error.
func TestErrorsHoldNoSecret(t *testing.T) {
	s := providertest.Script(t, providertest.Fail(401, "invalid_api_key", "Incorrect API key provided: sk-hush-1"))
	url := strings.Replace(s.URL(), "http://", "http://me:hush@", 1)
	e := fails(t.Context(), t, newChat(t, openai.Options{BaseURL: url, Key: provider.NewSecret("sk-hush-1")}), hello())
	gone := newChat(t, openai.Options{BaseURL: "http://me:hush@127.0.0.1:1/", Key: provider.NewSecret("sk-hush-1")})
	shown := fmt.Sprintf("%v %+v %v", e, e, fails(t.Context(), t, gone, hello()))
	if strings.Contains(shown, "hush") {
		t.Errorf("errors = %s, want no secret", shown)
	}
}

// A server that doesn't know a member is asked once more without it, and never
// with it again.
func TestAdapts(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Answer: func(r providertest.Request) providertest.Step {
		body := string(r.Body)
		switch {
		case strings.Contains(body, "stream_options"):
			return providertest.Fail(400, "invalid_request_error", "Unknown field: stream_options")
		case strings.Contains(body, `"max_tokens"`):
			return providertest.Fail(400, "unsupported_parameter", "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
		}
		return providertest.Text("ok")
	}})
	m := newChat(t, openai.Options{BaseURL: s.URL()})
	req := hello()
	req.MaxOutput = 7
	for _, want := range []int{3, 4} {
		a := collect(t, m, req)
		if n := len(s.Requests()); n != want || a.Request.Size != len(s.Requests()[n-1].Body) {
			t.Errorf("requests = %d, want %d", n, want)
		}
	}
	if body := string(s.Requests()[3].Body); !strings.Contains(body, `"max_completion_tokens":7`) {
		t.Errorf("body = %s, want max_completion_tokens", body)
	}
}

// PROV-13, PROV-17: an unknown effort is refused before the network, a known one
// is sent as it was given.
func TestEffort(t *testing.T) {
	s := providertest.Script(t, providertest.Text("ok"))
	m := newChat(t, openai.Options{BaseURL: s.URL()})
	req := hello()
	req.Effort = "huge"
	if e := fails(t.Context(), t, m, req); e.Kind != provider.KindInvalid || !strings.Contains(e.Error(), "huge") || !strings.Contains(e.Error(), req.Model) || len(s.Requests()) != 0 {
		t.Errorf("error = %v, want a refusal naming effort and model", e)
	}
	req.Effort = "xhigh"
	collect(t, m, req)
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"reasoning_effort":"xhigh"`) {
		t.Errorf("body = %s, want the word as given", body)
	}
}

// A connection serves many requests.
func TestConnectionIsReused(t *testing.T) {
	h := providertest.NewHandler(providertest.Options{Steps: []providertest.Step{providertest.Text("a")}, Repeat: true})
	defer h.Close()
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(h)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	m := newChat(t, openai.Options{BaseURL: server.URL})
	for range 5 {
		collect(t, m, hello())
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("connections = %d, want 1", n)
	}
}

// PROV-11
func TestModels(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"a","created":1700000000,"context_length":8192},{"id":"b"},{}]}`)
	})
	server := httptest.NewServer(h)
	defer server.Close()
	got, err := newChat(t, openai.Options{BaseURL: server.URL}).Models(t.Context())
	if err != nil || len(got) != 2 || got[0].Window != 8192 || got[0].Created.Unix() != 1700000000 || !got[1].Created.IsZero() {
		t.Errorf("Models() = %+v, %v, want a with a window and b without a date", got, err)
	}
	for _, body := range []string{`<html>`, `{"hello":1}`} {
		bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		if _, err := newChat(t, openai.Options{BaseURL: bad.URL}).Models(t.Context()); err == nil || !strings.Contains(err.Error(), "base URL") {
			t.Errorf("Models() of %q = %v, want bad_response", body, err)
		}
		bad.Close()
	}
}

// pipe answers with what a test writes, and ends with its request.
type pipe struct {
	headers time.Duration
	play    func(w io.Writer)
	done    chan struct{}
}

func (p *pipe) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	select {
	case <-time.After(p.headers):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	r, w := io.Pipe()
	p.done = make(chan struct{})
	context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
	time.AfterFunc(0, func() {
		defer close(p.done)
		p.play(w)
	})
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req}, nil
}

const wordEvent = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"

// comments writes one each half minute, and events without data between them.
func comments(w io.Writer) {
	for range 1000 {
		<-time.After(30 * time.Second)
		if _, err := io.WriteString(w, ": ping\n\ndata:\n\n"); err != nil {
			return
		}
	}
}

// PROV-46: the default limits of silence, here and on the same machine. Inside
// the bubble no goroutine may outlive the loop.
func TestSilenceLimits(t *testing.T) {
	tests := []struct {
		name, base string
		headers    time.Duration
		play       func(io.Writer)
		want       time.Duration
	}{
		{"no headers", "https://far.example/", time.Hour, nil, 180 * time.Second},
		{"no headers, local", "http://localhost:1/", time.Hour, nil, 600 * time.Second},
		{"no data", "https://far.example/", time.Second, func(io.Writer) {}, 121 * time.Second},
		{"no data, local", "http://127.0.0.1:1/", time.Second, func(io.Writer) {}, 601 * time.Second},
		{"comments before data", "https://far.example/", 0, comments, 1000*30*time.Second + 120*time.Second},
		{"comments after data", "https://far.example/", 0, func(w io.Writer) { _, _ = io.WriteString(w, wordEvent); comments(w) }, 120 * time.Second},
		{"slow data", "https://far.example/", 0, func(w io.Writer) {
			for range 5 {
				_, _ = io.WriteString(w, wordEvent)
				<-time.After(100 * time.Second)
			}
		}, 400*time.Second + 120*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipe{headers: tt.headers, play: tt.play}
				m, err := openai.New(openai.Options{BaseURL: tt.base, Transport: p})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				e := fails(t.Context(), t, m, hello())
				got := time.Since(start)
				if p.done != nil {
					<-p.done
				}
				if e.Kind != provider.KindTimeout || !strings.Contains(e.Error(), "stalled") || got != tt.want {
					t.Errorf("error = %v after %v, want stalled after %v", e, got, tt.want)
				}
			})
		})
	}
}

// A finished answer counts, even if the server then holds the line open.
func TestSilenceAfterTheFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{play: func(w io.Writer) {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n")
		}}
		m, err := openai.New(openai.Options{BaseURL: "https://far.example/", Transport: p})
		if err != nil {
			t.Fatal(err)
		}
		if a := collect(t, m, hello()); a.Items[0].Text.Inline != "x" {
			t.Errorf("answer = %+v, want the text", a)
		}
	})
}
