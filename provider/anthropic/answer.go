package anthropic

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
const Wire = provider.WireMessages

// blocksLimit is how many blocks one answer may have.
const blocksLimit = 4096

var (
	errTooLong       = errors.New("the answer is longer than 64 MiB")
	errTooManyBlocks = errors.New("the answer has more than 4096 blocks")
)

// Response is what a server sent, ready to be decoded.
type Response = wire.Response

// Inspect reads a response to its end and returns everything that arrived, with
// the error that ended it, if one did. What came of a broken answer is evidence
// and nothing to act on.
func Inspect(r Response, emit func(provider.Chunk) bool) (provider.Answer, *provider.Error) {
	a := &answer{emit: emit, request: r.Request}
	failure := wire.Read(r, a)
	return a.Finished(r), failure
}

// DecodeResponse reads a response to its end and yields what it says: deltas,
// then one [provider.Done] or one [*provider.Error].
func DecodeResponse(r Response, yield func(provider.Chunk, error) bool) {
	a := &answer{emit: func(c provider.Chunk) bool { return yield(c, nil) }, request: r.Request}
	wire.Decode(r, a, yield)
}

// answer is what has arrived of a response.
type answer struct {
	emit    func(provider.Chunk) bool
	request reducer.RequestInfo

	blocks  []*block
	size    int
	served  string
	stop    string
	usage   tokens
	started bool
	closed  bool
	failure []byte
	stopped bool
}

// event is one event of the stream, its parts raw.
type event struct {
	kind    string
	index   int64
	message []byte
	block   []byte
	delta   []byte
	usage   []byte
}

func readEvent(data []byte) (event, error) {
	var e event
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		switch string(key) {
		case "type":
			e.kind = c.String()
		case "index":
			e.index, _ = c.Int()
		case "message":
			e.message = c.Raw()
		case "content_block":
			e.block = c.Raw()
		case "delta":
			e.delta = c.Raw()
		case "usage":
			e.usage = c.Raw()
		}
	})
	return e, c.End()
}

// Event takes one event. Its kind is that of the JSON: proxies drop the event
// line. Unknown kinds say nothing.
func (a *answer) Event(_ string, data []byte) error {
	e, err := readEvent(data)
	if err != nil {
		return err
	}
	switch e.kind {
	case "message_start":
		a.start(e.message)
	case "content_block_start":
		a.open(e.index, e.block)
	case "content_block_delta":
		if b := a.at(e.index); b != nil {
			a.size += len(e.delta)
			a.send(b.add(e.delta))
		}
	case "message_delta":
		a.end(e.delta)
		a.usage.read(e.usage)
	case "message_stop":
		a.closed = true
	case "error":
		a.failure = bytes.Clone(data)
	}
	switch {
	case a.size > wire.AnswerLimit:
		return errTooLong
	case len(a.blocks) > blocksLimit:
		return errTooManyBlocks
	}
	return nil
}

// Document takes a whole message, or an error object.
func (a *answer) Document(data []byte) error {
	var kind string
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		if string(key) == "type" {
			kind = c.String()
		}
	})
	if err := c.End(); err != nil {
		return err
	}
	switch kind {
	case "message":
		a.start(data)
		a.closed = true
	case "error":
		a.failure = bytes.Clone(data)
	}
	return nil
}

// start takes the message that opens a stream. A second one means that a proxy
// has asked again: what came before it is void. With tools that call tools the
// whole answer can already be inside.
func (a *answer) start(message []byte) {
	if a.started {
		a.blocks, a.stop, a.usage, a.size = nil, "", tokens{}, 0
		a.send(provider.Sent{Request: a.request})
	}
	a.started = true
	c := wirejson.NewCursor(message)
	c.Object(func(key []byte) {
		switch string(key) {
		case "model":
			a.served = c.String()
		case "content":
			c.Array(func() { a.open(int64(len(a.blocks)), c.Raw()) })
		case "stop_reason":
			a.stop = c.String()
		case "usage":
			a.usage.read(c.Raw())
		}
	})
}

func (a *answer) open(index int64, raw []byte) {
	a.size += len(raw)
	b := newBlock(index, raw)
	a.blocks = append(a.blocks, b)
	a.send(b.opening())
}

// at is the newest block with that index.
func (a *answer) at(index int64) *block {
	for _, v := range slices.Backward(a.blocks) {
		if v.index == index {
			return v
		}
	}
	return nil
}

// end takes why the model stopped.
func (a *answer) end(delta []byte) {
	c := wirejson.NewCursor(delta)
	c.Object(func(key []byte) {
		if string(key) == "stop_reason" {
			if word := c.String(); word != "" {
				a.stop = word
			}
		}
	})
}

func (a *answer) send(c provider.Chunk) {
	if c != nil && !a.stopped && !a.emit(c) {
		a.stopped = true
	}
}

// State says how far the answer has come. With a stop reason it is whole.
func (a *answer) State() wire.State {
	return wire.State{Failure: a.failure, Known: a.started, Closed: a.closed, Whole: a.stop != "", Stopped: a.stopped}
}

// End judges an answer whose stream ended by itself.
func (a *answer) End() *provider.Error {
	if a.stop == "" {
		return wire.Cut("the stream ended without a stop reason", nil)
	}
	return nil
}

// Partial is the text so far.
func (a *answer) Partial() string {
	var text strings.Builder
	for _, b := range a.blocks {
		if b.kind == "text" {
			text.Write(b.text)
		}
	}
	return text.String()
}

// Usage is what was reported so far.
func (a *answer) Usage() reducer.Usage { return a.usage.usage() }

// Finished is the whole answer.
func (a *answer) Finished(r Response) provider.Answer {
	out := provider.Answer{
		Source: r.Source, Served: a.served, Stop: a.reason(), StopRaw: a.stop,
		Usage: a.usage.usage(), Request: r.Request, Attempt: 1,
	}
	for _, b := range a.blocks {
		out.Items = append(out.Items, b.item())
	}
	return out
}

// reason normalises the stop reason.
func (a *answer) reason() reducer.Stop {
	switch a.stop {
	case "":
		return reducer.StopCut
	case "end_turn":
		return reducer.StopEndTurn
	case "tool_use":
		return reducer.StopToolUse
	case "max_tokens":
		return reducer.StopMaxTokens
	case "stop_sequence":
		return reducer.StopStopSequence
	case "pause_turn":
		return reducer.StopPause
	case "refusal":
		return reducer.StopRefusal
	case "model_context_window_exceeded":
		return reducer.StopContextOverflow
	}
	return reducer.StopOther
}
