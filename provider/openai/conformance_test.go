package openai_test

import (
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/providertest"
)

// PROV-26, PROV-29, PROV-31, PROV-32, PROV-33…35, PROV-38, PROV-39, PROV-46:
// what every wire keeps, on chat/completions.
// FR-059: a server's wait was ignored, or blocked a run past its limit.
// FR-060: a stream that stayed open without events hung the run.
// FR-061: a stream without its closing event was taken for an answer.
// FR-062: an error inside a successful stream was ignored, a lasting one retried.
// FR-063: usage was counted twice, or a missing count shown as zero.
// FR-064: one model was sent what another had signed.
func TestConformance(t *testing.T) {
	providertest.Conformance(t, provider.WireChat, func(e providertest.Endpoint) provider.Model {
		m, err := openai.New(openai.Options{BaseURL: e.BaseURL, Transport: e.Transport})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}
