package openai

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// The limits of silence where [Options] has none. A local server may load a
// model for minutes before it says a word.
const (
	defaultHeaderTimeout = 180 * time.Second
	defaultIdleTimeout   = 120 * time.Second
	loopbackTimeout      = 600 * time.Second
)

// linger is how long the end of a finished response is awaited, so that its
// connection can be used again.
const linger = 50 * time.Millisecond

// Options say where a model is and how it is reached.
type Options struct {
	BaseURL  string          // such as https://api.openai.com/; a /v1 at its end is optional
	Key      provider.Secret // zero sends no Authorization header
	Provider string          // the name in a [reducer.Provenance]; "" is openai

	// HeaderTimeout bounds the wait for a response's headers, IdleTimeout the
	// silence inside a response. 0 is 180 s and 120 s, or 600 s for both where
	// the server is on this machine. There is no limit on the whole request:
	// that is what the context is for.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration

	UserAgent string            // "" is basis
	Transport http.RoundTripper // nil is a transport of the client's own
	Now       func() time.Time  // nil is time.Now; resolves a server's absolute times
}

// Chat is a [provider.Model] on the chat/completions wire. It keeps the bytes
// of the last request, so it serves one agent, one request at a time.
type Chat struct {
	opts    Options
	base    string
	shown   string // base without secrets
	http    *http.Client
	encoder encoder

	noUsage    bool // the server refused stream_options
	completion bool // the server asked for max_completion_tokens
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Chat, error) {
	base, err := provider.NormalizeBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	header, idle := defaultHeaderTimeout, defaultIdleTimeout
	if provider.IsLoopback(base) {
		header, idle = loopbackTimeout, loopbackTimeout
	}
	if o.HeaderTimeout <= 0 {
		o.HeaderTimeout = header
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = idle
	}
	if o.Provider == "" {
		o.Provider = "openai"
	}
	if o.UserAgent == "" {
		o.UserAgent = "basis"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return &Chat{
		opts: o, base: base, shown: provider.DisplayURL(base),
		http: &http.Client{Transport: o.Transport, CheckRedirect: sameHost},
	}, nil
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Chat) CloseIdleConnections() { m.http.CloseIdleConnections() }

// Stream sends req; see [provider.Model]. A server that refuses a member which
// not every server knows is asked once more without it.
func (m *Chat) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		if e := checkRequest(req); e != nil {
			yield(nil, e)
			return
		}
		for again := true; again; {
			again = m.attempt(ctx, req, yield)
		}
	}
}

// checkRequest refuses what no server could answer (PROV-13).
func checkRequest(req provider.Request) *provider.Error {
	switch req.Effort {
	case "", "low", "medium", "high", "xhigh", "max":
		return nil
	}
	return &provider.Error{
		Kind:    provider.KindInvalid,
		Message: fmt.Sprintf("effort %q for model %s: use low, medium, high, xhigh or max", req.Effort, req.Model),
	}
}

// attempt sends one HTTP request. It reports whether another, changed one must
// follow; otherwise everything has been yielded.
func (m *Chat) attempt(ctx context.Context, req provider.Request, yield func(provider.Chunk, error) bool) (again bool) {
	p := params{
		source:     reducer.Provenance{Provider: m.opts.Provider, Model: req.Model, Wire: Wire},
		profile:    profileFor(m.opts.Provider, m.base, req.Model),
		noUsage:    m.noUsage,
		completion: m.completion,
	}
	b, err := m.encoder.encode(req, p)
	if err != nil {
		yield(nil, &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err})
		return false
	}
	if !yield(provider.Sent{Request: b.info}, nil) {
		return false
	}
	m.exchange(ctx, b, p.source, func(c provider.Chunk, err error) bool {
		if e, ok := err.(*provider.Error); ok { //nolint:errorlint // DecodeResponse yields it bare
			if again = m.adapt(e, req, p); again {
				return false
			}
			e.Message = m.opts.Key.Redact(e.Message)
		}
		return yield(c, err)
	})
	return again
}

// adapt learns from a refusal which member the server doesn't know.
func (m *Chat) adapt(e *provider.Error, req provider.Request, p params) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	switch {
	case !m.noUsage && strings.Contains(e.Message, "stream_options"):
		m.noUsage = true
	case !m.completion && !p.profile.completion && req.MaxOutput > 0 && strings.Contains(e.Message, "max_completion_tokens"):
		m.completion = true
	default:
		return false
	}
	return true
}

// exchange sends the bytes and decodes the response.
func (m *Chat) exchange(ctx context.Context, b body, source reducer.Provenance, yield func(provider.Chunk, error) bool) {
	fail := func(e *provider.Error) {
		e.Request = b.info
		yield(nil, e)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := m.request(ctx, http.MethodPost, "chat/completions", b)
	if err != nil {
		fail(&provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err})
		return
	}
	w := newWatch(m.opts.HeaderTimeout, cancel)
	defer w.stop()
	resp, err := m.http.Do(req)
	if err != nil {
		e := m.fault(ctx, "response", m.opts.HeaderTimeout)
		if e == nil {
			e = m.unreachable(err)
		}
		fail(e)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		fail(redirected(resp, m.shown))
		return
	}
	m.decode(ctx, resp, w, Response{Source: source, Request: b.info}, yield)
}

// decode reads the response under the watch, then the rest of a finished one.
func (m *Chat) decode(ctx context.Context, resp *http.Response, w *watch, r Response, yield func(provider.Chunk, error) bool) {
	w.expect(m.opts.IdleTimeout)
	r.Status, r.Header, r.Body = resp.StatusCode, resp.Header, watched{resp.Body, w}
	r.URL, r.Now = m.shown, m.opts.Now()
	r.Progress = w.progress
	r.Fault = func(error) *provider.Error {
		phase := "data"
		if !w.data {
			phase = "first data"
		}
		return m.fault(ctx, phase, m.opts.IdleTimeout)
	}
	done := false
	DecodeResponse(r, func(c provider.Chunk, err error) bool {
		_, isDone := c.(provider.Done)
		done = done || isDone
		return yield(c, err)
	})
	if done {
		w.expect(linger)
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	}
}
