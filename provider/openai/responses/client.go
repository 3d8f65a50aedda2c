package responses

import (
	"context"
	"iter"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/openai"
)

// Options say where a model is and how it is reached.
type Options = wire.Options

// Model is a [provider.Model] on the Responses wire. It keeps the bytes of the
// last request, so it serves one agent, one request at a time.
type Model struct {
	client  *wire.Client
	listing *openai.Chat // the listing is the same on both of the vendor's wires
	encoder encoder
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Model, error) {
	client, err := wire.New(o, wire.Vendor{Provider: "openai"})
	if err != nil {
		return nil, err
	}
	listing, err := openai.New(o)
	if err != nil {
		return nil, err
	}
	return &Model{client: client, listing: listing}, nil
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Model) CloseIdleConnections() {
	m.client.CloseIdle()
	m.listing.CloseIdleConnections()
}

// Stream sends req; see [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		source := m.client.Source(req.Model, Wire)
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
