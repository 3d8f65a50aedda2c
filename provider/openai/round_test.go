package openai

import (
	"net/http/httptest"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
)

// BenchmarkRounds is a run of 200 tool rounds over loopback, client and server
// in one process, each round with an answer and a request that grew by 2 KB.
func BenchmarkRounds(b *testing.B) {
	h := providertest.NewHandler(providertest.Options{Lenient: true, KeepBodies: 1, Repeat: true, Steps: []providertest.Step{providertest.CallTool("read", `{"path":"f"}`)}})
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	req := rounds(200)
	for b.Loop() {
		m, err := New(Options{BaseURL: server.URL})
		if err != nil {
			b.Fatal(err)
		}
		for n := 1; n <= len(req.Messages); n += 2 {
			part := req
			part.Messages = req.Messages[:n]
			if _, err := provider.Collect(b.Context(), m, part); err != nil {
				b.Fatal(err)
			}
		}
		m.CloseIdleConnections()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/201, "us/round")
}
