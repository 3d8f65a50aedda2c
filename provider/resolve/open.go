package resolve

import (
	"net/http"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/anthropic"
	"github.com/basisagent/basis/provider/demo"
	"github.com/basisagent/basis/provider/gemini"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/openai/responses"
)

// Model is a model that can also list what its server offers.
type Model interface {
	provider.Model
	provider.Lister
}

// Options are what every wire's client takes; the zero value is the default of
// each.
type Options struct {
	HeaderTimeout time.Duration // 0 is 180 s, or 600 s for a server on this machine
	IdleTimeout   time.Duration // 0 is 120 s, or 600 s for a server on this machine
	UserAgent     string
	Transport     http.RoundTripper
	Now           func() time.Time
}

// Open makes the client for c. A client serves one agent, one request at a
// time. It fails only for a base URL that is none.
func Open(c provider.Choice, o Options) (Model, error) {
	if c.Provider == provider.Demo {
		return demo.New(), nil
	}
	all := wire.Options{
		BaseURL: c.BaseURL, Key: c.Key, KeyHint: c.KeyHint, Provider: c.Provider,
		HeaderTimeout: o.HeaderTimeout, IdleTimeout: o.IdleTimeout,
		UserAgent: o.UserAgent, Transport: o.Transport, Now: o.Now,
	}
	switch c.Wire {
	case provider.WireResponses:
		return responses.New(all)
	case provider.WireGemini:
		return gemini.New(all)
	case provider.WireMessages:
		return anthropic.New(all)
	}
	return openai.New(all)
}
