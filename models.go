package basis

import (
	"context"
	"io"
	"slices"

	"github.com/basisagent/basis/effects/workspace"
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

// Models asks the endpoint that the options, the files of a workspace and of the
// user, and the environment name what it offers. Without a workspace ("") only
// the user's file counts. The error says which endpoint it was.
func (h *Home) Models(ctx context.Context, dir string, o reducer.Options) (Listing, error) {
	if dir != "" {
		var err error
		if dir, err = directory(dir); err != nil {
			return Listing{}, err
		}
	}
	config, err := workspace.FindConfig(h.configDir(), dir, h.lookup)
	if err != nil {
		return Listing{}, err
	}
	choice, m, err := h.endpointOf(o, h.ladder(o, config))
	if err != nil {
		return Listing{}, err
	}
	models, err := m.Models(ctx)
	slices.SortStableFunc(models, func(a, b provider.ModelInfo) int { return b.Created.Compare(a.Created) })
	return Listing{Provider: choice.Provider, Endpoint: provider.DisplayURL(choice.BaseURL), Models: models}, err
}

// Decoded is what a recorded response is read as.
type Decoded = resolve.Decoded

// PackedError says that a recorded response is compressed.
type PackedError = resolve.PackedError

// DecodeResponse reads a recorded response of a model's server as a client of
// that wire would, for bug reports. It fails only for a wire that isn't spoken,
// and with a [*PackedError] for a body that is compressed and can't be unpacked.
func DecodeResponse(wire string, status int, header map[string][]string, body io.Reader) (Decoded, error) {
	return resolve.Decode(wire, status, header, body)
}

// Wires are the names of the wires that are spoken.
func Wires() []string { return resolve.Wires() }
