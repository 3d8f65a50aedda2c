package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
)

// manyDeltas is one answer in n deltas of a few words.
func manyDeltas(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx","object":"chat.completion.chunk","created":1700000000,"model":"some-model-2030-01-01","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

// BenchmarkDecode reads an answer of 10,000 deltas. x_copy is its time over
// that of copying the bytes, x_map its share of decoding each frame into a map.
func BenchmarkDecode(b *testing.B) {
	data := manyDeltas(10_000)
	b.SetBytes(int64(len(data)))
	ours := measure(b, func() {
		DecodeResponse(Response{Body: bytes.NewReader(data)}, func(c provider.Chunk, err error) bool {
			if err != nil {
				b.Fatal(err)
			}
			return true
		})
	})
	copied := measure(b, func() {
		var dst bytes.Buffer
		if _, err := io.Copy(&dst, bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	})
	mapped := measure(b, func() {
		for line := range strings.Lines(string(data)) {
			payload, ok := strings.CutPrefix(line, "data: {")
			var v map[string]any
			if ok && json.Unmarshal([]byte("{"+payload), &v) != nil {
				b.Fatal(payload)
			}
		}
	})
	for b.Loop() {
		DecodeResponse(Response{Body: bytes.NewReader(data)}, func(provider.Chunk, error) bool { return true })
	}
	b.ReportMetric(float64(ours)/float64(copied), "x_copy")
	b.ReportMetric(float64(ours)/float64(mapped), "x_map")
	b.ReportMetric(ours.Seconds()*1000, "ms/answer")
}

// measure is the shortest of a few runs.
func measure(b *testing.B, run func()) time.Duration {
	b.Helper()
	best := time.Duration(1 << 62)
	for range 5 {
		start := time.Now()
		run()
		best = min(best, time.Since(start))
	}
	return best
}

// rounds is a conversation of n tool rounds of 2 KB.
func rounds(n int) provider.Request {
	req := conversation("m")
	for i := range n {
		m := turn(fmt.Sprint("a", i), "m", textItem("Next."), callItem(fmt.Sprint("c", i), "read", `{"path":"f"}`))
		m[1].Results[0].Text.Inline = strings.Repeat("line of text\n", 160)
		req.Messages = append(req.Messages, m...)
	}
	return req
}

// BenchmarkEncodeRounds encodes the requests of 200 rounds as a client that
// remembers, and as one that starts from zero each time; x_zero is their ratio.
func BenchmarkEncodeRounds(b *testing.B) {
	req := rounds(200)
	each := func(encode func(provider.Request)) func() {
		return func() {
			for n := 1; n <= len(req.Messages); n += 2 {
				part := req
				part.Messages = req.Messages[:n]
				encode(part)
			}
		}
	}
	try := func(e *encoder, r provider.Request) {
		if _, err := e.encode(r, params{source: source("m")}); err != nil {
			b.Fatal(err)
		}
	}
	var kept *encoder
	incremental := each(func(r provider.Request) { try(kept, r) })
	zero := measure(b, each(func(r provider.Request) { try(&encoder{}, r) }))
	grown := measure(b, func() { kept = &encoder{}; incremental() })
	for b.Loop() {
		kept = &encoder{}
		incremental()
	}
	b.ReportMetric(float64(zero)/float64(grown), "x_zero")
	b.ReportMetric(grown.Seconds()*1e6/201, "us/request")
}

// BenchmarkEncodeKnown is the cost of a request whose 1,000 messages are known.
func BenchmarkEncodeKnown(b *testing.B) {
	req := rounds(500)
	e := &encoder{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.encode(req, params{source: source("m")}); err != nil {
			b.Fatal(err)
		}
	}
}
