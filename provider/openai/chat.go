package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
)

// Options say where a model is and how it is reached.
type Options = wire.Options

// Chat is a [provider.Model] on the chat/completions wire. It keeps the bytes
// of the last request, so it serves one agent, one request at a time.
type Chat struct {
	client  *wire.Client
	encoder encoder

	noUsage    bool // the server refused stream_options
	completion bool // the server asked for max_completion_tokens
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Chat, error) {
	client, err := wire.New(o, wire.Vendor{Provider: "openai"})
	if err != nil {
		return nil, err
	}
	return &Chat{client: client}, nil
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Chat) CloseIdleConnections() { m.client.CloseIdle() }

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
	source := m.client.Source(req.Model, Wire)
	p := params{
		source:     source,
		profile:    profileFor(source.Provider, m.client.Base(), req.Model),
		noUsage:    m.noUsage,
		completion: m.completion,
	}
	b, err := m.encoder.encode(req, p)
	if err != nil {
		yield(nil, &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err})
		return false
	}
	if !yield(provider.Sent{Request: b.Info}, nil) {
		return false
	}
	m.client.Exchange(ctx, "chat/completions", b, Response{Source: p.source}, DecodeResponse, func(c provider.Chunk, err error) bool {
		if e, ok := errors.AsType[*provider.Error](err); ok {
			if again = m.adapt(e, req, p); again {
				return false
			}
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
