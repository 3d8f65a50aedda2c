package basis

import (
	"context"
	"io"
	"slices"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// ModelInfo is one model that an endpoint offers.
type ModelInfo = provider.ModelInfo

// Listing is what an endpoint offers, newest first as far as it says.
type Listing struct {
	Provider string
	Endpoint string // fit to show
	Models   []ModelInfo
}

// Models asks the endpoint that the options and the environment name what it
// offers. The error says which endpoint it was.
func (h *Home) Models(ctx context.Context, o reducer.Options) (Listing, error) {
	choice, m, err := h.endpoint(o)
	if err != nil {
		return Listing{}, err
	}
	models, err := m.Models(ctx)
	slices.SortStableFunc(models, func(a, b provider.ModelInfo) int { return b.Created.Compare(a.Created) })
	return Listing{Provider: choice.Provider, Endpoint: provider.DisplayURL(choice.BaseURL), Models: models}, err
}

// Decoded is what a recorded response is read as.
type Decoded = resolve.Decoded

// DecodeResponse reads a recorded response of a model's server as a client of
// that wire would, for bug reports. It fails only for a wire that isn't spoken.
func DecodeResponse(wire string, status int, header map[string][]string, body io.Reader) (Decoded, error) {
	return resolve.Decode(wire, status, header, body)
}

// Wires are the names of the wires that are spoken.
func Wires() []string { return resolve.Wires() }
