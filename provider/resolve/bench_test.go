package resolve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/anthropic"
	"github.com/basisagent/basis/provider/gemini"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/openai/responses"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// benched is a wire, a model of it, and how its responses are decoded.
type benched struct {
	wire, model string
	decode      func(body io.Reader, yield func(provider.Chunk, error) bool)
}

func benchWires() []benched {
	type yield = func(provider.Chunk, error) bool
	return []benched{
		{provider.WireChat, "test-model", func(r io.Reader, y yield) { openai.DecodeResponse(openai.Response{Body: r}, y) }},
		{provider.WireResponses, "gpt-5", func(r io.Reader, y yield) { responses.DecodeResponse(responses.Response{Body: r}, y) }},
		{provider.WireMessages, "claude-opus-5", func(r io.Reader, y yield) { anthropic.DecodeResponse(anthropic.Response{Body: r}, y) }},
		{provider.WireGemini, "gemini-3-pro", func(r io.Reader, y yield) { gemini.DecodeResponse(gemini.Response{Body: r}, y) }},
	}
}

// open is a client of the wire whose connections t makes.
func (w benched) open(b *testing.B, t http.RoundTripper) provider.Model {
	b.Helper()
	m, err := resolve.Open(provider.Choice{Provider: "p", Wire: w.wire, BaseURL: "http://model.example/"}, resolve.Options{Transport: t})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// served is the body that a scripted server sends on a wire for a step.
func (w benched) served(b *testing.B, step providertest.Step) []byte {
	b.Helper()
	h := providertest.NewHandler(providertest.Options{Steps: []providertest.Step{step}})
	defer h.Close()
	var body []byte
	record := roundTrip(func(r *http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		body = rec.Body.Bytes()
		return rec.Result(), nil
	})
	if _, err := provider.Collect(b.Context(), w.open(b, record), rounds(w, 0)); err != nil {
		b.Fatal(err)
	}
	return body
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// shortest is the shortest of a few runs.
func shortest(run func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 5 {
		start := time.Now()
		run()
		best = min(best, time.Since(start))
	}
	return best
}

// BenchmarkDecode reads an answer of 10,000 deltas on each wire. x_copy is its
// time over that of copying the bytes, x_map over that of decoding each frame
// into a map.
func BenchmarkDecode(b *testing.B) {
	for _, w := range benchWires() {
		b.Run(w.wire, func(b *testing.B) {
			data := w.served(b, providertest.Step{Text: strings.Repeat("some word ", 10_000), Deltas: 10_000})
			b.SetBytes(int64(len(data)))
			deltas := 0
			decode := func() {
				deltas = 0
				w.decode(bytes.NewReader(data), func(c provider.Chunk, err error) bool {
					if err != nil {
						b.Fatal(err)
					}
					if _, ok := c.(provider.TextDelta); ok {
						deltas++
					}
					return true
				})
			}
			ours := shortest(decode)
			copied := shortest(func() {
				var dst bytes.Buffer
				_, _ = io.Copy(&dst, bytes.NewReader(data))
			})
			mapped := shortest(func() {
				for line := range strings.Lines(string(data)) {
					payload, ok := strings.CutPrefix(line, "data: {")
					var v map[string]any
					if ok && json.Unmarshal([]byte("{"+payload), &v) != nil {
						b.Fatal(payload)
					}
				}
			})
			for b.Loop() {
				decode()
			}
			if deltas != 10_000 {
				b.Fatalf("%d deltas, want 10,000", deltas)
			}
			b.ReportMetric(float64(ours)/float64(copied), "x_copy")
			b.ReportMetric(float64(ours)/float64(mapped), "x_map")
			b.ReportMetric(ours.Seconds()*1000, "ms/answer")
		})
	}
}

// rounds is a conversation of n tool rounds of 2 KB, as a wire's own model
// answered it.
func rounds(w benched, n int) provider.Request {
	source := reducer.Provenance{Provider: "p", Model: w.model, Wire: w.wire}
	req := provider.Request{Model: w.model, System: "Be brief.", Messages: []provider.Message{
		{Key: "u", Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}}},
	}}
	result := strings.Repeat("line of text\n", 160)
	for i := range n {
		id := fmt.Sprint("c", i)
		req.Messages = append(req.Messages,
			provider.Message{Key: fmt.Sprint("a", i), Role: provider.RoleAssistant, Source: source, Items: []reducer.Item{
				{Type: reducer.ItemText, Text: reducer.T("Next.")},
				{Type: reducer.ItemCall, ID: id, Name: "read", Args: reducer.T(`{"path":"f"}`)},
			}},
			provider.Message{Key: fmt.Sprint("r", i), Role: provider.RoleResults, Results: []provider.Result{{ID: id, Name: "read", Text: reducer.T(result)}}})
	}
	return req
}

// BenchmarkEncodeRounds makes the requests of 200 rounds on each wire with a
// client that remembers, and with a new one for each; x_zero is the new one's
// time over the other's. The connection takes a request's headers and answers
// at once, so what is left is the encoding.
func BenchmarkEncodeRounds(b *testing.B) {
	const n = 200
	for _, w := range benchWires() {
		b.Run(w.wire, func(b *testing.B) {
			answer := w.served(b, providertest.Text("ok"))
			instant := roundTrip(func(r *http.Request) (*http.Response, error) {
				defer r.Body.Close()
				return &http.Response{
					StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
					Body: io.NopCloser(bytes.NewReader(answer)),
				}, nil
			})
			req := rounds(w, n)
			each := func(next func() provider.Model) {
				for k := 1; k <= len(req.Messages); k += 2 {
					part := req
					part.Messages = req.Messages[:k]
					if _, err := provider.Collect(b.Context(), next(), part); err != nil {
						b.Fatal(err)
					}
				}
			}
			grow := func() {
				kept := w.open(b, instant)
				each(func() provider.Model { return kept })
			}
			grown := shortest(grow)
			zero := shortest(func() { each(func() provider.Model { return w.open(b, instant) }) })
			for b.Loop() {
				grow()
			}
			b.ReportMetric(float64(zero)/float64(grown), "x_zero")
			b.ReportMetric(grown.Seconds()*1e6/(n+1), "us/request")
		})
	}
}
