package basis

import (
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// Gateway is one endpoint of several that front the same models.
type Gateway struct {
	URL string
	Key provider.Secret // zero sends no credential
}

// GatewayPolicy says how gateways are judged and who is told; see
// [provider.RingOptions]. Labels and Now are filled in.
type GatewayPolicy = provider.RingOptions

// newRing is the health of the gateways; nil if there are none.
func newRing(o Options) (*provider.Ring, error) {
	if len(o.Gateways) == 0 {
		return nil, nil //nolint:nilnil // no gateways is no error
	}
	policy := o.GatewayPolicy
	policy.Labels, policy.Now = nil, o.Now
	for _, g := range o.Gateways {
		url, err := provider.NormalizeBaseURL(g.URL)
		if err != nil {
			return nil, &OptionError{"gateway", err.Error()}
		}
		policy.Labels = append(policy.Labels, provider.DisplayURL(url))
	}
	return provider.NewRing(policy)
}

// throughRing is a client of every gateway, behind the ring.
func (h *Home) throughRing(o reducer.Options, clients resolve.Options) (provider.Choice, resolve.Model, error) {
	if o.BaseURL != "" || o.Provider != "" {
		return provider.Choice{}, nil, &OptionError{"provider and base URL", "do not go with gateways; leave them out"}
	}
	var first provider.Choice
	var models []provider.Model
	for i, g := range h.o.Gateways {
		choice, err := provider.Resolve(provider.Selection{BaseURL: g.URL, Key: g.Key})
		if err != nil {
			return choice, nil, err
		}
		choice.KeyVar = "" // a gateway's key is not in the environment
		m, err := h.dial(choice, clients)
		if err != nil {
			return choice, nil, err
		}
		if i == 0 {
			first = choice
		}
		models = append(models, m)
	}
	return first, h.ring.Model(models), nil
}
