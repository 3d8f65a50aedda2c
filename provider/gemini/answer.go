package gemini

import (
	"bytes"
	"errors"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// Wire is the name of this wire in a [reducer.Provenance].
const Wire = provider.WireGemini

// partsLimit is how many parts one answer may have.
const partsLimit = 4096

var (
	errTooLong      = errors.New("the answer is longer than 64 MiB")
	errTooManyParts = errors.New("the answer has more than 4096 parts")
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

// answer is what has arrived of a response.
type answer struct {
	emit func(provider.Chunk) bool

	parts   []*part
	size    int
	served  string
	finish  string
	blocked string // why the prompt was not answered at all
	usage   tokens
	known   bool
	failure []byte
	stopped bool
}

// Event takes one response object.
func (a *answer) Event(_ string, data []byte) error { return a.chunk(data) }

// Document takes a whole response: one object, or the array of them that comes
// where no event stream was asked for.
func (a *answer) Document(data []byte) error {
	c := wirejson.NewCursor(data)
	if c.Kind() != wirejson.Array {
		return a.chunk(data)
	}
	var first error
	c.Array(func() {
		if err := a.chunk(c.Raw()); first == nil {
			first = err
		}
	})
	if err := c.End(); err != nil {
		return err
	}
	return first
}

func (a *answer) chunk(data []byte) error {
	failed := false
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		switch string(key) {
		case "candidates":
			a.known = true
			n := 0
			c.Array(func() {
				if n++; n == 1 { // only the first of several counts
					a.candidate(&c)
				}
			})
		case "promptFeedback":
			a.known = true
			a.feedback(&c)
		case "usageMetadata":
			a.known = true
			a.usage.read(&c)
		case "modelVersion":
			a.served = c.String()
		case "error":
			failed = c.Kind() != wirejson.Null
		}
	})
	if err := c.End(); err != nil {
		return err
	}
	if failed {
		a.failure = bytes.Clone(data)
	}
	switch {
	case a.size > wire.AnswerLimit:
		return errTooLong
	case len(a.parts) > partsLimit:
		return errTooManyParts
	}
	return nil
}

func (a *answer) candidate(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "content":
			c.Object(func(key []byte) {
				if string(key) == "parts" {
					c.Array(func() { a.part(c.Raw()) })
				}
			})
		case "finishReason":
			if word := c.String(); word != "" {
				a.finish = word
			}
		}
	})
}

func (a *answer) feedback(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		if string(key) == "blockReason" {
			a.blocked = c.String()
		}
	})
}

// part joins a part to the answer: text goes on where text stands, fragments of
// a call's arguments belong to the call that said it would continue.
func (a *answer) part(raw []byte) {
	a.size += len(raw)
	p := readPart(raw)
	var last *part
	if n := len(a.parts); n > 0 {
		last = a.parts[n-1]
	}
	switch {
	case p.kind == kindCall && last != nil && last.open && p.name == "":
		last.more(p)
		a.send(provider.CallDelta{Name: last.name, Bytes: len(raw)})
		return
	case p.empty():
		return
	case last != nil && last.joins(p):
		last.text = append(last.text, p.text...)
	default:
		a.parts = append(a.parts, p)
	}
	switch p.kind {
	case kindText:
		if len(p.text) > 0 {
			a.send(provider.TextDelta{Text: string(p.text)})
		}
	case kindThought:
		if len(p.text) > 0 {
			a.send(provider.ReasoningDelta{Text: string(p.text)})
		}
	case kindCall:
		a.send(provider.CallDelta{Name: p.name, Bytes: len(p.args)})
	case kindOther:
	}
}

func (a *answer) send(c provider.Chunk) {
	if !a.stopped && !a.emit(c) {
		a.stopped = true
	}
}

// State says how far the answer has come. Chunks can follow a finish reason, so
// nothing closes the stream but its end.
func (a *answer) State() wire.State {
	return wire.State{Failure: a.failure, Known: a.known, Whole: a.finish != "" || a.blocked != "", Stopped: a.stopped}
}

// End judges an answer whose stream ended by itself.
func (a *answer) End() *provider.Error {
	if a.finish == "" && a.blocked == "" {
		return wire.Cut("the stream ended without a finish reason", nil)
	}
	return nil
}

// Partial is the text so far.
func (a *answer) Partial() string {
	var text strings.Builder
	for _, p := range a.parts {
		if p.kind == kindText {
			text.Write(p.text)
		}
	}
	return text.String()
}

// Usage is what was reported so far. A report without a number on a prompt that
// was turned away says that none of it was read.
func (a *answer) Usage() reducer.Usage {
	u := a.usage.usage()
	if u.IsZero() && a.blocked != "" && a.usage.reported {
		u.Input = reducer.Known(0)
	}
	return u
}

// Finished is the whole answer.
func (a *answer) Finished(r Response) provider.Answer {
	out := provider.Answer{
		Source: r.Source, Served: a.served, StopRaw: a.finish,
		Usage: a.Usage(), Request: r.Request, Attempt: 1,
	}
	if a.finish == "" && a.blocked != "" {
		out.StopRaw = "promptFeedback:" + a.blocked
	}
	calls := false
	for _, p := range a.parts {
		out.Items = append(out.Items, p.item())
		calls = calls || p.kind == kindCall
	}
	out.Stop = a.stop(calls)
	return out
}

// stop normalises: this wire has no finish reason of its own for calls.
func (a *answer) stop(calls bool) reducer.Stop {
	switch a.finish {
	case "":
		if a.blocked != "" {
			return reducer.StopContentFilter
		}
		return reducer.StopCut
	case "STOP":
		if calls {
			return reducer.StopToolUse
		}
		return reducer.StopEndTurn
	case "MAX_TOKENS":
		return reducer.StopMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		return reducer.StopContentFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return reducer.StopMalformedCall
	}
	return reducer.StopOther
}
