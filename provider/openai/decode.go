package openai

import (
	"bytes"
	"encoding/json"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// Wire is the name of this wire in a [reducer.Provenance].
const Wire = provider.WireChat

// Response is what a server sent, ready to be decoded.
type Response = wire.Response

// Inspect reads a response to its end and returns everything that arrived, with
// the error that ended it, if one did. What came of a broken answer is evidence
// and nothing to act on.
func Inspect(r Response, emit func(provider.Chunk) bool) (provider.Answer, *provider.Error) {
	a := &answer{emit: emit}
	failure := wire.Read(r, a)
	return a.Finished(r), failure
}

// DecodeResponse reads a response to its end and yields what it says: deltas,
// then one [provider.Done] or one [*provider.Error].
func DecodeResponse(r Response, yield func(provider.Chunk, error) bool) {
	a := &answer{emit: func(c provider.Chunk) bool { return yield(c, nil) }}
	wire.Decode(r, a, yield)
}

// Event takes one chunk, the [DONE] that ends a stream, or an error event.
func (a *answer) Event(name string, data []byte) error {
	switch {
	case string(data) == "[DONE]":
		a.done = true
		return nil
	case name == "error":
		a.failure = bytes.Clone(data)
		return nil
	}
	return a.chunk(data)
}

// Document takes a whole response.
func (a *answer) Document(data []byte) error { return a.chunk(data) }

// State says how far the answer has come. After a finish reason it is whole.
func (a *answer) State() wire.State {
	return wire.State{Failure: a.failure, Known: a.choices, Closed: a.done, Whole: a.finish != "", Stopped: a.stopped}
}

// End judges an answer whose stream ended by itself.
func (a *answer) End() *provider.Error {
	switch {
	case a.finish == "error":
		return &provider.Error{Kind: provider.KindServer, Message: "the server ended its answer with the finish reason error"}
	case a.finish == "" && !a.done:
		return wire.Cut("the stream ended without a finish reason and without [DONE]", nil)
	}
	return nil
}

// Partial is the text so far.
func (a *answer) Partial() string { return a.text.String() }

// Usage is what was reported so far.
func (a *answer) Usage() reducer.Usage { return a.usage.usage() }

// Finished is the whole answer.
func (a *answer) Finished(r Response) provider.Answer {
	return provider.Answer{
		Items:   a.items(),
		Source:  r.Source,
		Served:  a.served,
		Stop:    a.stop(),
		StopRaw: a.finish,
		Usage:   a.usage.usage(),
		Request: r.Request,
		Attempt: 1,
	}
}

// stop normalises the finish reason.
func (a *answer) stop() reducer.Stop {
	switch a.finish {
	case "stop", "tool_calls", "function_call", "":
		switch {
		case a.finish == "" && !a.done:
			return reducer.StopCut
		case len(a.calls) > 0:
			return reducer.StopToolUse
		case a.refusal.Len() > 0 && a.finish == "stop":
			return reducer.StopRefusal
		}
		return reducer.StopEndTurn
	case "length", "model_length":
		return reducer.StopMaxTokens
	case "content_filter":
		return reducer.StopContentFilter
	case "model_context_window_exceeded":
		return reducer.StopContextOverflow
	case "error":
		return reducer.StopError
	}
	return reducer.StopOther
}

// items are the pieces of the answer in the order in which they began.
func (a *answer) items() []reducer.Item {
	var items []reducer.Item
	for _, t := range a.order {
		switch t {
		case reducer.ItemReasoning:
			items = append(items, a.reasoningItem())
		case reducer.ItemText:
			items = append(items, reducer.Item{Type: t, Text: reducer.T(a.text.String()), Extra: a.textExtra.Object()})
		case reducer.ItemCall:
			for _, c := range a.calls {
				items = append(items, c.items()...)
			}
		case reducer.ItemOther:
		}
	}
	if a.refusal.Len() > 0 {
		items = append(items, reducer.Item{Type: reducer.ItemText, Text: reducer.T(a.refusal.String()), Extra: json.RawMessage(`{"field":"refusal"}`)})
	}
	if a.text.Len() == 0 && len(a.textExtra) > 0 {
		items = append(items, reducer.Item{Type: reducer.ItemOther, Extra: a.textExtra.Object()})
	}
	for _, raw := range a.other {
		m := wirejson.Members{{Key: "part", Raw: raw}}
		items = append(items, reducer.Item{Type: reducer.ItemOther, Extra: m.Object()})
	}
	return items
}

// reasoningItem keeps, beside the readable words, the member that they came in
// and the vendor's details.
func (a *answer) reasoningItem() reducer.Item {
	var extra wirejson.Members
	if a.field != "" {
		extra = append(extra, wirejson.Member{Key: "field", Raw: wirejson.AppendString(nil, a.field)})
	}
	if len(a.details) > 0 {
		extra = append(extra, wirejson.Member{Key: "reasoning_details", Raw: a.details.array()})
	}
	return reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T(a.reasoning.String()), Extra: extra.Object()}
}
