package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/basisagent/basis/provider"
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

// request makes one HTTP request with the headers that every call has.
func (m *Chat) request(ctx context.Context, method, path string, b body) (*http.Request, error) {
	var content io.Reader
	if b.front != nil {
		content = b.reader()
	}
	req, err := http.NewRequestWithContext(ctx, method, provider.Endpoint(m.base, path), content)
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", m.shown, err)
	}
	if b.front != nil {
		req.ContentLength = int64(b.info.Size)
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(b.reader()), nil }
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	if !m.opts.Key.IsZero() {
		req.Header.Set("Authorization", "Bearer "+m.opts.Key.Reveal())
	}
	req.Header.Set("User-Agent", m.opts.UserAgent)
	return req, nil
}

// fault is the error of a connection that ended because its context did; nil if
// it ended by itself. phase says what was being
// waited for; limit is how long silence was allowed to last.
func (m *Chat) fault(ctx context.Context, phase string, limit time.Duration) *provider.Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStalled):
		return &provider.Error{
			Kind: provider.KindTimeout, Err: errStalled,
			Message: fmt.Sprintf("%s stalled: no %s for %s", m.shown, phase, limit),
		}
	case cause != nil:
		return &provider.Error{Kind: provider.KindCancelled, Message: cause.Error(), Err: cause}
	}
	return nil
}

// unreachable is the error for a request that got no response.
func (m *Chat) unreachable(err error) *provider.Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its own text holds the whole URL
	}
	return &provider.Error{
		Kind: provider.KindNetwork, Err: err,
		Message: fmt.Sprintf("no response from %s: %s; check that the address is right and that the server runs", m.shown, m.opts.Key.Redact(err.Error())),
	}
}
