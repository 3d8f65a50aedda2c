package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// ModelID is the id of the only model.
const ModelID = "demo"

// Wire is the name of its wire in a [reducer.Provenance].
const Wire = "demo"

// Model is a [provider.Model] without a server.
type Model struct{}

// New makes one. It has no state.
func New() Model { return Model{} }

// Models lists the only model.
func (Model) Models(context.Context) ([]provider.ModelInfo, error) {
	return []provider.ModelInfo{{ID: ModelID}}, nil
}

// Stream answers with the next step of the tour.
func (Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		info := describe(req)
		if !yield(provider.Sent{Request: info}, nil) {
			return
		}
		t, err := look(req)
		if err != nil {
			yield(nil, &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err, Request: info})
			return
		}
		text, calls := t.next()
		for _, word := range strings.SplitAfter(text, " ") {
			if ctx.Err() != nil {
				cause := context.Cause(ctx)
				yield(nil, &provider.Error{Kind: provider.KindCancelled, Message: cause.Error(), Err: cause, Request: info})
				return
			}
			if !yield(provider.TextDelta{Text: word}, nil) {
				return
			}
		}
		a := provider.Answer{
			Items:   []reducer.Item{{Type: reducer.ItemText, Text: reducer.T(text)}},
			Source:  reducer.Provenance{Provider: provider.Demo, Model: req.Model, Wire: Wire},
			Served:  ModelID,
			Stop:    reducer.StopEndTurn,
			Request: info, Attempt: 1,
		}
		for _, c := range calls {
			if !yield(provider.CallDelta{Name: c.Name, Bytes: len(c.Args.Inline)}, nil) {
				return
			}
			a.Stop = reducer.StopToolUse
			a.Items = append(a.Items, c)
		}
		yield(provider.Done{Answer: a}, nil)
	}
}

// describe stands for a request's bytes, which are never sent: it covers what
// the next step depends on.
func describe(req provider.Request) reducer.RequestInfo {
	data, err := json.Marshal(struct {
		Model    string
		System   string
		Messages []provider.Message
	}{req.Model, req.System, req.Messages})
	if err != nil {
		data = []byte(err.Error()) // an Extra that is no JSON; the tour doesn't read it
	}
	sum := sha256.Sum256(data)
	return reducer.RequestInfo{Digest: hex.EncodeToString(sum[:reducer.DigestSize]), Size: len(data)}
}
