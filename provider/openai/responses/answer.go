package responses

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// Wire is the name of this wire in a [reducer.Provenance].
const Wire = provider.WireResponses

// itemsLimit is how many output items one answer may have.
const itemsLimit = 4096

var (
	errTooLong      = errors.New("the answer is longer than 64 MiB")
	errTooManyItems = errors.New("the answer has more than 4096 items")
)

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

// answer is what has arrived of a response. Items are kept by output_index:
// their ids change between events at some gateways.
type answer struct {
	emit func(provider.Chunk) bool

	outputs []*output
	size    int
	served  string
	status  string // completed, incomplete or failed, once it has come
	reason  string // why it is incomplete
	usage   tokens
	known   bool
	failure []byte // an error object, as it came
	stopped bool
}

// output is one output item as it grows.
type output struct {
	index int64
	name  string // of a call, for display
	text  []byte // of a message, as shown
	think []byte // of reasoning, as shown
	item  []byte // the finished item, raw
}

// event is one event of the stream, its parts raw.
type event struct {
	kind     string
	index    int64
	item     []byte
	response []byte
	failure  []byte
	delta    string
}

func readEvent(data []byte) (event, error) {
	var e event
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		switch string(key) {
		case "type":
			e.kind = c.String()
		case "output_index":
			e.index, _ = c.Int()
		case "item":
			e.item = c.Raw()
		case "response":
			e.response = c.Raw()
		case "error":
			e.failure = c.Raw()
		case "delta":
			if c.Kind() == wirejson.String {
				e.delta = c.String()
			}
		}
	})
	return e, c.End()
}

// Event takes one event. Unknown kinds say nothing. [DONE], which some servers
// add, neither.
func (a *answer) Event(_ string, data []byte) error {
	if string(data) == "[DONE]" {
		return nil
	}
	e, err := readEvent(data)
	if err != nil {
		return err
	}
	a.known = a.known || strings.HasPrefix(e.kind, "response.")
	a.size += len(e.delta) + len(e.item)
	switch {
	case e.kind == "error" || e.kind == "" && e.failure != nil:
		a.failure = bytes.Clone(data)
	case e.response != nil:
		a.head(e.response, data)
	default:
		a.grow(e)
	}
	switch {
	case a.size > wire.AnswerLimit:
		return errTooLong
	case len(a.outputs) > itemsLimit:
		return errTooManyItems
	}
	return nil
}

// grow takes an event about one item.
func (a *answer) grow(e event) {
	switch e.kind {
	case "response.output_item.added":
		o := a.at(e.index)
		o.name = callName(e.item)
		if o.name != "" {
			a.send(provider.CallDelta{Name: o.name})
		}
	case "response.output_item.done":
		o := a.at(e.index)
		o.item = bytes.Clone(e.item)
		a.catchUp(o)
	case "response.output_text.delta", "response.refusal.delta":
		o := a.at(e.index)
		o.text = append(o.text, e.delta...)
		a.send(provider.TextDelta{Text: e.delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		o := a.at(e.index)
		o.think = append(o.think, e.delta...)
		a.send(provider.ReasoningDelta{Text: e.delta})
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.send(provider.CallDelta{Name: a.at(e.index).name, Bytes: len(e.delta)})
	}
}

// at is the item of that index; one that was never announced begins here.
func (a *answer) at(index int64) *output {
	for _, v := range slices.Backward(a.outputs) {
		if v.index == index {
			return v
		}
	}
	o := &output{index: index}
	a.outputs = append(a.outputs, o)
	return o
}

// catchUp shows what a finished item says beyond the deltas that came of it.
func (a *answer) catchUp(o *output) {
	for _, it := range items(o.item) {
		text := it.Text.Inline
		switch it.Type {
		case reducer.ItemText:
			rest, seen := strings.CutPrefix(text, string(o.text[:min(len(o.text), len(text))]))
			o.text = o.text[min(len(o.text), len(text)):]
			if seen && rest != "" {
				a.send(provider.TextDelta{Text: rest})
			}
		case reducer.ItemReasoning:
			if rest, ok := strings.CutPrefix(text, string(o.think)); ok && rest != "" {
				a.send(provider.ReasoningDelta{Text: rest})
			}
		case reducer.ItemCall, reducer.ItemOther:
		}
	}
	o.text = nil
}

// head takes a whole response object: how it stands, and at the end what it
// cost and, where a server sent no items before, what it is.
func (a *answer) head(response, data []byte) {
	var output []byte
	c := wirejson.NewCursor(response)
	c.Object(func(key []byte) {
		switch string(key) {
		case "model":
			if name := c.String(); name != "" {
				a.served = name
			}
		case "status":
			switch s := c.String(); s {
			case "completed", "incomplete", "failed":
				a.status = s
			}
		case "incomplete_details":
			c.Object(func(key []byte) {
				if string(key) == "reason" {
					a.reason = c.String()
				}
			})
		case "usage":
			a.usage.read(c.Raw())
		case "output":
			output = c.Raw()
		}
	})
	if a.status == "failed" && a.failure == nil {
		a.failure = failureOf(response, data)
	}
	if a.status == "" || len(a.outputs) > 0 {
		return
	}
	c = wirejson.NewCursor(output)
	c.Array(func() {
		o := a.at(int64(len(a.outputs)))
		o.item = bytes.Clone(c.Raw())
		a.size += len(o.item)
		a.catchUp(o)
	})
}

// failureOf is the error object of a failed response.
func failureOf(response, data []byte) []byte {
	out := bytes.Clone(data)
	c := wirejson.NewCursor(response)
	c.Object(func(key []byte) {
		if string(key) == "error" && c.Kind() == wirejson.Object {
			out = append(append([]byte(`{"error":`), c.Raw()...), '}')
		}
	})
	return out
}

// Document takes a whole response, or an error object.
func (a *answer) Document(data []byte) error {
	object, failed := "", false
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		switch string(key) {
		case "object":
			object = c.String()
		case "error":
			failed = c.Kind() != wirejson.Null
		}
	})
	if err := c.End(); err != nil {
		return err
	}
	switch {
	case object == "response":
		a.known = true
		a.head(data, data)
	case failed:
		a.failure = bytes.Clone(data)
	}
	return nil
}

func (a *answer) send(c provider.Chunk) {
	if !a.stopped && !a.emit(c) {
		a.stopped = true
	}
}

// State says how far the answer has come. An error event is mostly followed by
// response.failed with the same words; they are reported once, at the end.
func (a *answer) State() wire.State {
	s := wire.State{Known: a.known, Closed: a.status != "", Whole: a.status != "", Stopped: a.stopped}
	if a.failure != nil && (a.status != "" || !a.known) {
		s.Failure = a.failure
	}
	return s
}

// End judges an answer whose stream ended by itself.
func (a *answer) End() *provider.Error {
	switch {
	case a.failure != nil:
		return provider.Classify(provider.Failure{Body: a.failure})
	case a.status == "":
		return wire.Cut("the stream ended without a completed response", nil)
	}
	return nil
}

// Partial is the text so far.
func (a *answer) Partial() string {
	var text strings.Builder
	for _, o := range a.outputs {
		if o.item == nil {
			text.Write(o.text)
			continue
		}
		for _, it := range items(o.item) {
			if it.Type == reducer.ItemText {
				text.WriteString(it.Text.Inline)
			}
		}
	}
	return text.String()
}

// Usage is what was reported so far.
func (a *answer) Usage() reducer.Usage { return a.usage.usage() }

// Finished is the whole answer. Items that never got their done event are no
// part of it.
func (a *answer) Finished(r Response) provider.Answer {
	out := provider.Answer{
		Source: r.Source, Served: a.served, StopRaw: a.status,
		Usage: a.usage.usage(), Request: r.Request, Attempt: 1,
	}
	for _, o := range a.outputs {
		out.Items = append(out.Items, items(o.item)...)
	}
	if a.status == "incomplete" && a.reason != "" {
		out.StopRaw += ":" + a.reason
	}
	out.Stop = a.stop(out.Items)
	return out
}

// stop normalises: this wire has no finish reason for calls, it follows from
// the items.
func (a *answer) stop(all []reducer.Item) reducer.Stop {
	switch a.status {
	case "completed":
		stop := reducer.StopEndTurn
		for _, it := range all {
			switch {
			case it.Type == reducer.ItemCall:
				return reducer.StopToolUse
			case it.Type == reducer.ItemText && isRefusal(it.Extra):
				stop = reducer.StopRefusal
			}
		}
		return stop
	case "incomplete":
		switch a.reason {
		case "max_output_tokens":
			return reducer.StopMaxTokens
		case "content_filter":
			return reducer.StopContentFilter
		}
		return reducer.StopOther
	case "failed":
		return reducer.StopError
	}
	return reducer.StopCut
}
