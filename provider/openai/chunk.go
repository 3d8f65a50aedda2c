package openai

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

// piecesLimit is how many calls, and how many reasoning details, one answer may
// have, so that finding the one that a fragment continues stays cheap.
const piecesLimit = 1024

var (
	errAnswerTooLong = errors.New("the answer is longer than 64 MiB")
	errTooManyPieces = errors.New("the answer has more than 1024 calls or reasoning details")
)

// answer is what has arrived of a response.
type answer struct {
	emit func(provider.Chunk) bool

	order     []reducer.ItemType // text, reasoning and call by first appearance
	text      strings.Builder
	refusal   strings.Builder
	reasoning strings.Builder
	field     string // the member that the readable reasoning came in
	textExtra wirejson.Members
	details   details
	calls     callList
	other     [][]byte // content parts of unknown types
	size      int

	served  string
	finish  string
	done    bool // [DONE] came
	choices bool // some choice came, so it is this wire
	usage   tokens
	failure []byte // an error object, as it came
	stopped bool   // the reader wants no more

	now delta
}

// delta is what one chunk adds. Its buffers are used again for the next.
type delta struct {
	content, refusal     []byte
	reasoningContent     []byte // reasoning_content
	reasoning            []byte // reasoning
	thinking             []byte // parts of type thinking in content
	details, calls, call []byte // raw, of the chunk
	extra                []byte // raw, of the chunk
	finish               []byte
	index                int64
}

func (d *delta) reset() {
	*d = delta{
		content: d.content[:0], refusal: d.refusal[:0], reasoningContent: d.reasoningContent[:0],
		reasoning: d.reasoning[:0], thinking: d.thinking[:0], finish: d.finish[:0],
	}
}

// chunk takes one JSON document of the stream, or a whole response body.
func (a *answer) chunk(data []byte) error {
	c := wirejson.NewCursor(data)
	failed := false
	c.Object(func(key []byte) {
		switch string(key) {
		case "choices":
			c.Array(func() { a.choice(&c) })
		case "usage":
			a.usage.read(&c)
		case "model":
			if name, _ := c.Text(); len(name) > 0 && string(name) != a.served {
				a.served = string(name)
			}
		case "x_groq":
			a.nestedUsage(&c)
		case "error":
			failed = failed || c.Kind() != wirejson.Null && c.Kind() != wirejson.False
		case "type", "object":
			word, _ := c.Text()
			failed = failed || string(word) == "error"
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
		return errAnswerTooLong
	case len(a.calls) > piecesLimit, len(a.details) > piecesLimit:
		return errTooManyPieces
	}
	return nil
}

func (a *answer) nestedUsage(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		if string(key) == "usage" {
			a.usage.read(c)
		}
	})
}

// choice reads the choice in front; only the first of several counts.
func (a *answer) choice(c *wirejson.Cursor) {
	d := &a.now
	d.reset()
	c.Object(func(key []byte) {
		switch string(key) {
		case "index":
			d.index, _ = c.Int()
		case "delta", "message":
			a.delta(c)
		case "finish_reason":
			word, _ := c.Text()
			d.finish = append(d.finish[:0], word...)
		case "usage":
			a.usage.read(c)
		}
	})
	if c.Err() != nil || d.index != 0 {
		return
	}
	a.choices = true
	if len(d.finish) > 0 {
		a.finish = string(d.finish)
	}
	a.apply()
}

func (a *answer) delta(c *wirejson.Cursor) {
	d := &a.now
	c.Object(func(key []byte) {
		switch string(key) {
		case "content":
			a.content(c)
		case "reasoning_content":
			d.reasoningContent = appendText(d.reasoningContent, c)
		case "reasoning":
			d.reasoning = appendText(d.reasoning, c)
		case "refusal":
			d.refusal = appendText(d.refusal, c)
		case "reasoning_details":
			d.details = c.Raw()
		case "tool_calls":
			d.calls = c.Raw()
		case "function_call":
			d.call = c.Raw()
		case "extra_content":
			d.extra = c.Raw()
		}
	})
}

func appendText(dst []byte, c *wirejson.Cursor) []byte {
	text, _ := c.Text()
	return append(dst, text...)
}

// content reads delta.content: a string, null, or an array of typed parts.
func (a *answer) content(c *wirejson.Cursor) {
	if c.Kind() != wirejson.Array {
		a.now.content = appendText(a.now.content, c)
		return
	}
	c.Array(func() { a.part(c.Raw()) })
}

func (a *answer) part(raw []byte) {
	c := wirejson.NewCursor(raw)
	if c.Kind() == wirejson.String {
		a.now.content = appendText(a.now.content, &c)
		return
	}
	known := false
	c.Object(func(key []byte) {
		switch string(key) {
		case "text":
			known = true
			a.now.content = appendText(a.now.content, &c)
		case "thinking":
			known = true
			a.now.thinking = appendThinking(a.now.thinking, &c)
		}
	})
	if !known && c.Err() == nil {
		a.other = append(a.other, bytes.Clone(raw))
		a.size += len(raw)
	}
}

// appendThinking reads Mistral's thinking: a string, or parts with text.
func appendThinking(dst []byte, c *wirejson.Cursor) []byte {
	if c.Kind() != wirejson.Array {
		return appendText(dst, c)
	}
	c.Array(func() {
		c.Object(func(key []byte) {
			if string(key) == "text" {
				dst = appendText(dst, c)
			}
		})
	})
	return dst
}

// apply adds the delta that was read to the answer and emits what is new.
func (a *answer) apply() {
	d := &a.now
	a.think(d)
	if len(d.content) > 0 {
		a.began(reducer.ItemText)
		a.text.Write(d.content)
		a.size += len(d.content)
		a.send(provider.TextDelta{Text: string(d.content)})
	}
	if len(d.refusal) > 0 {
		a.refusal.Write(d.refusal)
		a.size += len(d.refusal)
		a.send(provider.TextDelta{Text: string(d.refusal)})
	}
	a.textExtra.Set("extra_content", d.extra)
	if len(d.calls) > 0 {
		a.fragments(d.calls)
	}
	if len(d.call) > 0 && d.call[0] == '{' {
		c := wirejson.NewCursor(d.call)
		f := fragment{alone: true}
		f.function(&c)
		a.fragment(f)
	}
}

// think takes the reasoning of a chunk. Several members may repeat the same
// words: one of them is shown, the details are kept besides.
func (a *answer) think(d *delta) {
	shown, field := d.reasoningContent, "reasoning_content"
	if len(shown) == 0 {
		shown, field = d.reasoning, "reasoning"
	}
	if len(shown) == 0 {
		shown, field = d.thinking, "thinking"
	}
	if len(d.details) > 0 {
		c := wirejson.NewCursor(d.details)
		text := a.details.add(&c)
		a.size += len(d.details)
		if len(a.details) > 0 {
			a.began(reducer.ItemReasoning)
		}
		if len(shown) == 0 {
			shown, field = text, ""
		}
	}
	if len(shown) == 0 {
		return
	}
	a.began(reducer.ItemReasoning)
	if a.field == "" {
		a.field = field
	}
	a.reasoning.Write(shown)
	a.size += len(shown)
	a.send(provider.ReasoningDelta{Text: string(shown)})
}

func (a *answer) fragments(raw []byte) {
	n := 0
	c := wirejson.NewCursor(raw)
	c.Array(func() { n++ })
	c = wirejson.NewCursor(raw)
	position := 0
	c.Array(func() {
		if len(a.calls) > piecesLimit {
			return
		}
		f := readFragment(&c)
		f.position, f.alone = position, n == 1
		position++
		a.fragment(f)
	})
}

func (a *answer) fragment(f fragment) {
	a.began(reducer.ItemCall)
	c := a.calls.add(f)
	a.size += len(f.args) + len(f.name) + len(f.id)
	for _, m := range f.extra {
		a.size += len(m.Raw)
	}
	a.send(provider.CallDelta{Name: c.name, Bytes: len(f.args)})
}

func (a *answer) began(t reducer.ItemType) {
	if slices.Contains(a.order, t) {
		return
	}
	a.order = append(a.order, t)
}

func (a *answer) send(c provider.Chunk) {
	if !a.stopped && !a.emit(c) {
		a.stopped = true
	}
}
