package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// connectTimeout bounds the making of a connection and of its TLS session.
const connectTimeout = 30 * time.Second

// newTransport is a transport of our own: shared state belongs to nobody else,
// and compression is off because it holds back the events of a stream.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// sameHost follows a redirect only where the credential may go: the same host,
// never from https to http, and never with another method.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > 5, req.Method != first.Method:
		return http.ErrUseLastResponse
	case req.URL.Host != first.URL.Host, req.URL.Scheme != first.URL.Scheme:
		return http.ErrUseLastResponse
	}
	return nil
}

// redirected is the error for a redirect that wasn't followed.
func redirected(resp *http.Response, base string) *provider.Error {
	where := "an address that can't be read"
	if to, err := resp.Location(); err == nil {
		where = (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	}
	return &provider.Error{
		Kind: provider.KindBadResponse, Status: resp.StatusCode,
		Message: fmt.Sprintf("%s redirects to %s, which was not followed, so that the key stays with its host: set the base URL to the right address", base, where),
	}
}

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

// afterEnd is how long silence may last once an answer is whole: what may still
// follow, such as its usage, comes at once or not at all.
const afterEnd = 10 * time.Second

// listingLimit is how many bytes of a listing are read; OpenRouter's has
// several hundred KiB.
const listingLimit = 16 << 20

// Options say where a model is and how it is reached, on every wire.
type Options struct {
	BaseURL  string          // such as https://api.openai.com/; a /v1 at its end is optional
	Key      provider.Secret // zero sends no credential
	Provider string          // the name in a [reducer.Provenance]; "" is the vendor's own

	// KeyHint says of a refusal of that kind where the key came from and what
	// to do; see [provider.Choice.KeyHint]. Nil says nothing.
	KeyHint func(provider.Kind) string

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

// Vendor is how the servers of a wire are asked.
type Vendor struct {
	Provider string // the name where the options have none
	Version  string // stands before every path; "" is v1

	// Sign sets the headers that the vendor wants on every request; key is ""
	// if there is none. Nil sends the key as a bearer token.
	Sign func(header http.Header, key string)
}

// Client speaks HTTP to one server.
type Client struct {
	opts   Options
	vendor Vendor
	base   string
	shown  string // base without secrets
	http   *http.Client
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options, v Vendor) (*Client, error) {
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
	o.Provider = cmp.Or(o.Provider, v.Provider)
	v.Version = cmp.Or(v.Version, "v1")
	o.UserAgent = cmp.Or(o.UserAgent, "basis")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if v.Sign == nil {
		v.Sign = bearer
	}
	return &Client{
		opts: o, vendor: v, base: base, shown: provider.DisplayURL(base),
		http: &http.Client{Transport: o.Transport, CheckRedirect: sameHost},
	}, nil
}

// bearer sends a key, if there is one, as most vendors take it.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// Source is the provenance of an answer of that model on that wire.
func (c *Client) Source(model, wire string) reducer.Provenance {
	return reducer.Provenance{Provider: c.opts.Provider, Model: model, Wire: wire}
}

// Base is the normalised base URL.
func (c *Client) Base() string { return c.base }

// Shown is the base URL without what is secret in it.
func (c *Client) Shown() string { return c.shown }

// fit makes a server's words fit to show: without the key, and with where it
// came from if it was refused.
func (c *Client) fit(e *provider.Error) {
	e.Message = c.opts.Key.Redact(e.Message)
	if c.opts.KeyHint == nil {
		return
	}
	if hint := c.opts.KeyHint(e.Kind); hint != "" {
		e.Message += " (" + hint + ")"
	}
}

// CloseIdle lets go of connections that wait for another request.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Body is a request body in two pieces. Its bytes never change.
type Body struct {
	Front []byte
	Back  string
	Info  reducer.RequestInfo
}

// Reader reads the body from its start.
func (b Body) Reader() io.Reader {
	return io.MultiReader(bytes.NewReader(b.Front), bytes.NewReader([]byte(b.Back)))
}

// Exchange sends b to a path below the base URL and decodes the response,
// which r already says something about. Silence, redirects and lost connections
// become errors; the last thing yielded is a Done or an error.
func (c *Client) Exchange(ctx context.Context, path string, b Body, r Response, decode Decoder, yield Yield) {
	r.Request = b.Info
	fail := func(e *provider.Error) {
		e.Request = b.Info
		yield(nil, e)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, http.MethodPost, path, b)
	if err != nil {
		fail(&provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err})
		return
	}
	w := newWatch(c.opts.HeaderTimeout, cancel)
	defer w.stop()
	resp, err := c.http.Do(req)
	if err != nil {
		e := c.fault(ctx, "response", c.opts.HeaderTimeout)
		if e == nil {
			e = c.unreachable(err)
		}
		fail(e)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		fail(redirected(resp, c.shown))
		return
	}
	c.decode(ctx, resp, w, r, decode, yield)
}

// decode reads the response under the watch, then the rest of a finished one.
func (c *Client) decode(ctx context.Context, resp *http.Response, w *watch, r Response, decode Decoder, yield Yield) {
	w.expect(c.opts.IdleTimeout)
	r.Status, r.Header, r.Body = resp.StatusCode, resp.Header, watched{resp.Body, w}
	r.URL, r.Now = c.shown, c.opts.Now()
	r.Progress = w.progress
	r.Whole = func() { w.expect(min(afterEnd, c.opts.IdleTimeout)) }
	r.Fault = func(error) *provider.Error {
		phase := "data"
		if !w.data {
			phase = "first data"
		}
		return c.fault(ctx, phase, c.opts.IdleTimeout)
	}
	done := false
	decode(r, func(chunk provider.Chunk, err error) bool {
		_, isDone := chunk.(provider.Done)
		done = done || isDone
		if e, ok := errors.AsType[*provider.Error](err); ok {
			c.fit(e)
		}
		return yield(chunk, err)
	})
	if done {
		w.expect(linger)
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	}
}

// Get reads a whole JSON document, such as a listing.
func (c *Client) Get(ctx context.Context, path string) ([]byte, *provider.Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, http.MethodGet, path, Body{})
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err}
	}
	w := newWatch(c.opts.HeaderTimeout, cancel)
	defer w.stop()
	resp, err := c.http.Do(req)
	if err != nil {
		if e := c.fault(ctx, "response", c.opts.HeaderTimeout); e != nil {
			return nil, e
		}
		return nil, c.unreachable(err)
	}
	defer resp.Body.Close()
	w.expect(c.opts.IdleTimeout)
	data, err := io.ReadAll(io.LimitReader(watched{resp.Body, w}, listingLimit))
	switch {
	case err != nil:
		if e := c.fault(ctx, "data", c.opts.IdleTimeout); e != nil {
			return nil, e
		}
		return nil, &provider.Error{Kind: provider.KindCut, Message: fmt.Sprintf("the answer of %s broke off: %v", c.shown, err), Err: err}
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		return nil, redirected(resp, c.shown)
	case resp.StatusCode != http.StatusOK:
		e := provider.Classify(provider.Failure{Status: resp.StatusCode, Header: resp.Header.Get, Body: data, Now: c.opts.Now()})
		c.fit(e)
		return nil, e
	}
	return data, nil
}

// NotAListing is the error for a document that is no list of models.
func (c *Client) NotAListing(err error) *provider.Error {
	return &provider.Error{
		Kind: provider.KindBadResponse, Status: http.StatusOK, Err: err,
		Message: fmt.Sprintf("%s sent no list of models: %v; check the base URL", c.shown, err),
	}
}

// request makes one HTTP request with the headers that every call has.
func (c *Client) request(ctx context.Context, method, path string, b Body) (*http.Request, error) {
	var content io.Reader
	if b.Front != nil {
		content = b.Reader()
	}
	req, err := http.NewRequestWithContext(ctx, method, provider.Endpoint(c.base, c.vendor.Version, path), content)
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", c.shown, err)
	}
	if b.Front != nil {
		req.ContentLength = int64(b.Info.Size)
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(b.Reader()), nil }
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	c.vendor.Sign(req.Header, c.opts.Key.Reveal())
	req.Header.Set("User-Agent", c.opts.UserAgent)
	return req, nil
}

// fault is the error of a connection that ended because its context did; nil if
// it ended by itself. phase says what was being
// waited for; limit is how long silence was allowed to last.
func (c *Client) fault(ctx context.Context, phase string, limit time.Duration) *provider.Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStalled):
		return &provider.Error{
			Kind: provider.KindTimeout, Err: errStalled,
			Message: fmt.Sprintf("%s stalled: no %s for %s", c.shown, phase, limit),
		}
	case cause != nil:
		return &provider.Error{Kind: provider.KindCancelled, Message: cause.Error(), Err: cause}
	}
	return nil
}

// unreachable is the error for a request that got no response.
func (c *Client) unreachable(err error) *provider.Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its own text holds the whole URL
	}
	return &provider.Error{
		Kind: provider.KindNetwork, Err: err,
		Message: fmt.Sprintf("no response from %s: %s; check that the address is right and that the server runs", c.shown, c.opts.Key.Redact(err.Error())),
	}
}
