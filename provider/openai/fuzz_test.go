package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// outcome is everything that a decoding yields.
type outcome struct {
	chunks []provider.Chunk
	end    error
}

func decodeAll(status int, body []byte, oneByOne bool) outcome {
	var o outcome
	r := Response{Status: status, Body: bytes.NewReader(body)}
	if oneByOne {
		r.Body = iotest.OneByteReader(r.Body)
	}
	DecodeResponse(r, func(c provider.Chunk, err error) bool {
		if err != nil {
			o.end = err
		} else {
			o.chunks = append(o.chunks, c)
		}
		return true
	})
	return o
}

// Whatever a server sends, the decoder ends, says one thing at the end, says
// the same however the bytes are cut, and what it keeps can be sent again.
func FuzzDecode(f *testing.F) {
	bodies, err := filepath.Glob("testdata/streams/*/body.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range bodies {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8<<10 {
			f.Add(200, data)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		whole, cut := decodeAll(status, body, false), decodeAll(status, body, true)
		if diff := cmp.Diff(whole.chunks, cut.chunks, cmp.AllowUnexported(reducer.Count{}), cmpopts.EquateEmpty()); diff != "" || (whole.end == nil) != (cut.end == nil) {
			t.Fatalf("decode(%q) depends on where it is cut:\n%s\n%v, %v", body, diff, whole.end, cut.end)
		}
		ends := 0
		for _, c := range whole.chunks {
			if done, ok := c.(provider.Done); ok {
				ends++
				checkReplay(t, done.Answer)
			}
		}
		if (whole.end != nil) == (ends > 0) || ends > 1 {
			t.Fatalf("decode(%q) ended %d times and with %v", body, ends, whole.end)
		}
	})
}

// checkReplay sends an answer back, as the next request would.
func checkReplay(t *testing.T, a provider.Answer) {
	t.Helper()
	m := provider.Message{Key: "a", Role: provider.RoleAssistant, Items: a.Items}
	results := provider.Message{Key: "r", Role: provider.RoleResults}
	for _, item := range a.Items {
		if item.Extra != nil && !wirejson.IsObject(item.Extra) {
			t.Fatalf("extra = %s, want a JSON object", item.Extra)
		}
		if item.Type == reducer.ItemCall {
			results.Results = append(results.Results, provider.Result{ID: item.ID})
		}
	}
	req := conversation("m", []provider.Message{m, results})
	encodeOnce(t, req)
}
