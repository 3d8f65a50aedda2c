package responses

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/reducer"
)

// Options say where a model is and how it is reached.
type Options struct {
	BaseURL  string          // such as https://api.openai.com/
	Key      provider.Secret // zero sends no Authorization header
	Provider string          // the name in a [reducer.Provenance]; "" is openai

	// HeaderTimeout bounds the wait for a response's headers, IdleTimeout the
	// silence inside a response. 0 is 180 s and 120 s, or 600 s for both where
	// the server is on this machine.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration

	UserAgent string            // "" is basis
	Transport http.RoundTripper // nil is a transport of the client's own
	Now       func() time.Time  // nil is time.Now
}

// Model is a [provider.Model] on the Responses wire. It keeps the bytes of the
// last request, so it serves one agent, one request at a time.
type Model struct {
	name    string
	client  *wire.Client
	listing *openai.Chat // the listing is the same on both of the vendor's wires
	encoder encoder
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Model, error) {
	client, err := wire.New(wire.Options{
		BaseURL: o.BaseURL, Key: o.Key, HeaderTimeout: o.HeaderTimeout, IdleTimeout: o.IdleTimeout,
		UserAgent: o.UserAgent, Transport: o.Transport, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	listing, err := openai.New(openai.Options{
		BaseURL: o.BaseURL, Key: o.Key, Provider: o.Provider, HeaderTimeout: o.HeaderTimeout, IdleTimeout: o.IdleTimeout,
		UserAgent: o.UserAgent, Transport: o.Transport, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Model{name: cmp.Or(o.Provider, "openai"), client: client, listing: listing}, nil
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Model) CloseIdleConnections() {
	m.client.CloseIdle()
	m.listing.CloseIdleConnections()
}

// Stream sends req; see [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		source := reducer.Provenance{Provider: m.name, Model: req.Model, Wire: Wire}
		m.client.Send(ctx, wire.Ask{
			Path: "responses", Source: source, Decode: DecodeResponse,
			Encode:  func() (wire.Body, error) { return m.encoder.encode(req, source) },
			Refused: func() bool { return m.encoder.refuse(req, source) },
		}, yield)
	}
}

// Models lists what the server offers; see [openai.Chat.Models].
func (m *Model) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	return m.listing.Models(ctx)
}
