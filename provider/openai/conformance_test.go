package openai_test

import (
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/providertest"
)

// PROV-26 PROV-29 PROV-31 PROV-32 PROV-39: what every wire keeps.
func TestConformance(t *testing.T) {
	providertest.Conformance(t, func(baseURL string) provider.Model {
		return newChat(t, openai.Options{BaseURL: baseURL})
	})
}
