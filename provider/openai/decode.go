package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// Wire is the name of this wire in a [reducer.Provenance].
const Wire = "openai-chat"

// errorBodyLimit is how many bytes of an error body are read.
const errorBodyLimit = 1 << 20

// Response is what a server sent, ready to be decoded. Status, Header and Body
// suffice; the rest makes the answer complete.
type Response struct {
	Status int // 0 means 200
	Header http.Header
	Body   io.Reader

	Source  reducer.Provenance  // stands in the answer
	Request reducer.RequestInfo // stands in the answer and in errors
	URL     string              // of the server, fit to show; named in errors
	Now     time.Time           // when the headers came

	// Progress is called for each data event, so that silence can be measured.
	// Nil is fine.
	Progress func()
	// Fault turns an error of Body into the one to yield, where the reader
	// knows more; nil, or a nil result, means a cut stream.
	Fault func(error) *provider.Error
}

// DecodeResponse reads a response to its end and yields what it says: deltas,
// then one [provider.Done] or one [*provider.Error].
func DecodeResponse(r Response, yield func(provider.Chunk, error) bool) {
	d := decoding{Response: r}
	d.answer.emit = func(c provider.Chunk) bool { return yield(c, nil) }
	e := d.run()
	switch {
	case d.answer.stopped:
	case e != nil:
		yield(nil, d.fill(e))
	default:
		yield(provider.Done{Answer: d.answer.finished(r)}, nil)
	}
}

// decoding is one response on its way.
type decoding struct {
	Response
	answer  answer
	bytes   bool // something came
	comment bool // a comment came, so it is an event stream
	events  int  // data events so far
}

// run reads everything; nil means that the answer is whole.
func (d *decoding) run() *provider.Error {
	if d.Status != 0 && (d.Status < 200 || d.Status > 299) {
		return d.refused()
	}
	body := bufio.NewReader(d.Body)
	first, err := firstByte(body)
	if err != nil {
		return d.broken(err)
	}
	d.bytes = true
	switch first {
	case '{', '[':
		return d.document(body)
	case '<':
		page, err := io.ReadAll(io.LimitReader(body, errorBodyLimit))
		if err != nil {
			return d.broken(err)
		}
		return d.foreign(page)
	}
	return d.stream(body)
}

// refused reads the body of an error status. A body that breaks off is judged
// by what came of it.
func (d *decoding) refused() *provider.Error {
	body, err := io.ReadAll(io.LimitReader(d.Body, errorBodyLimit))
	if err != nil && len(body) == 0 {
		if e := d.fault(err); e != nil {
			return e
		}
	}
	header := d.Header
	if header == nil {
		header = http.Header{}
	}
	e := provider.Classify(provider.Failure{Status: d.Status, Header: header.Get, Body: body, Now: d.Now})
	if e.Message == "" {
		e.Message = "the server gave no reason (" + http.StatusText(d.Status) + ")"
	}
	return e
}

// firstByte looks at the first byte that is neither space nor part of a byte
// order mark.
func firstByte(r *bufio.Reader) (byte, error) {
	for skip := 0; ; {
		b, err := r.Peek(skip + 1)
		if err != nil {
			if skip > 0 && errors.Is(err, io.EOF) {
				return ' ', nil
			}
			return 0, err
		}
		switch b[skip] {
		case ' ', '\t', '\r', '\n':
			if _, err := r.Discard(skip + 1); err != nil {
				return 0, err
			}
			skip = 0
		case 0xEF, 0xBB, 0xBF:
			if skip++; skip > 3 {
				return b[skip-1], nil
			}
		default:
			return b[skip], nil
		}
	}
}

// document reads a body that is JSON although a stream was asked for.
func (d *decoding) document(body io.Reader) *provider.Error {
	data, err := io.ReadAll(io.LimitReader(body, answerLimit+1))
	if err != nil {
		return d.broken(err)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	d.progress()
	switch err := d.answer.chunk(data); {
	case err != nil:
		return d.unreadable(data, err)
	case d.answer.failure != nil:
		return d.failed()
	case !d.answer.choices:
		return d.foreign(data)
	}
	return d.ended()
}

func (d *decoding) progress() {
	d.events++
	if d.Progress != nil {
		d.Progress()
	}
}

// stream reads an event stream to [DONE] or to its end.
func (d *decoding) stream(body io.Reader) *provider.Error {
	events := provider.NewSSE(body, provider.SSEOptions{Comment: func() { d.comment = true }})
	for !d.answer.done && !d.answer.stopped {
		frame, err := events.Next()
		if err != nil {
			return d.broken(err)
		}
		data := bytes.TrimSpace(frame.Data)
		if len(data) == 0 {
			continue // a keep-alive in another dress
		}
		d.progress()
		if e := d.event(frame, data); e != nil {
			return e
		}
	}
	return d.ended()
}

// event takes the data of one event, without the space around it.
func (d *decoding) event(frame provider.Frame, data []byte) *provider.Error {
	switch {
	case string(data) == "[DONE]":
		d.answer.done = true
		return nil
	case frame.Event == "error":
		d.answer.failure = bytes.Clone(data)
		return d.failed()
	}
	if err := d.answer.chunk(data); err != nil {
		var syntax *wirejson.SyntaxError
		if frame.Tail && errors.As(err, &syntax) && syntax.Short {
			return d.cut("the stream broke off inside an event", nil)
		}
		return d.unreadable(data, err)
	}
	if d.answer.failure != nil {
		return d.failed()
	}
	return nil
}

// broken judges a read error, the end of the stream included. After a finish
// reason the answer is whole, however the connection ended.
func (d *decoding) broken(err error) *provider.Error {
	if d.answer.finish != "" && !errors.Is(err, provider.ErrFrameTooLong) {
		return d.ended()
	}
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		if d.bytes && d.events == 0 && !d.comment && d.otherType() {
			return d.foreign(nil)
		}
		return d.ended()
	case errors.Is(err, provider.ErrFrameTooLong):
		return &provider.Error{Kind: provider.KindBadResponse, Message: err.Error(), Err: err}
	}
	if e := d.fault(err); e != nil {
		return e
	}
	return d.cut("the connection broke: "+err.Error(), err)
}

// otherType reports whether the headers declare something else than an event
// stream; then a body without events or comments is another language.
func (d *decoding) otherType() bool {
	kind := d.Header.Get("Content-Type")
	return kind != "" && !strings.HasPrefix(kind, "text/event-stream")
}

func (d *decoding) fault(err error) *provider.Error {
	if d.Fault == nil {
		return nil
	}
	return d.Fault(err)
}

// ended judges an answer whose stream ended by itself.
func (d *decoding) ended() *provider.Error {
	switch {
	case d.answer.stopped:
		return nil
	case d.answer.finish == "error":
		return &provider.Error{Kind: provider.KindServer, Message: "the server ended its answer with the finish reason error"}
	case d.answer.finish == "" && !d.answer.done:
		return d.cut("the stream ended without a finish reason and without [DONE]", nil)
	}
	return nil
}

func (d *decoding) cut(why string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindCut, Message: why, Err: err}
}

// failed judges an error object inside a successful response.
func (d *decoding) failed() *provider.Error {
	return provider.Classify(provider.Failure{Status: 0, Body: d.answer.failure, Now: d.Now})
}

// foreign is a body that is not this wire at all.
func (d *decoding) foreign(body []byte) *provider.Error {
	what := "something that is not a model's answer"
	if len(body) > 0 {
		what = provider.Classify(provider.Failure{Body: body}).Message
	}
	return &provider.Error{
		Kind: provider.KindBadResponse, Status: d.Status,
		Message: fmt.Sprintf("%s answered with %s: check the base URL, and whether a proxy or a login page stands before the server", d.who(), what),
	}
}

// unreadable is a chunk that can't be taken.
func (d *decoding) unreadable(data []byte, err error) *provider.Error {
	sample := strings.ToValidUTF8(string(data[:min(len(data), 200)]), "\uFFFD")
	return &provider.Error{
		Kind: provider.KindBadResponse, Status: d.Status, Err: err,
		Message: fmt.Sprintf("%s sent a chunk that can't be read: %v; it begins with %q", d.who(), err, sample),
	}
}

func (d *decoding) who() string {
	if d.URL == "" {
		return "the server"
	}
	return d.URL
}

// fill adds to an error what arrived before it.
func (d *decoding) fill(e *provider.Error) *provider.Error {
	if e.Partial == "" {
		e.Partial = d.answer.text.String()
	}
	e.Usage = d.answer.usage.usage()
	e.Request = d.Request
	return e
}

// finished is the whole answer.
func (a *answer) finished(r Response) provider.Answer {
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
			items = append(items, reducer.Item{Type: t, Text: reducer.T(a.text.String()), Extra: a.textExtra.object()})
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
		items = append(items, reducer.Item{Type: reducer.ItemOther, Extra: a.textExtra.object()})
	}
	for _, raw := range a.other {
		m := members{{"part", raw}}
		items = append(items, reducer.Item{Type: reducer.ItemOther, Extra: m.object()})
	}
	return items
}

// reasoningItem keeps, beside the readable words, the member that they came in
// and the vendor's details.
func (a *answer) reasoningItem() reducer.Item {
	var extra members
	if a.field != "" {
		extra = append(extra, member{"field", wirejson.AppendString(nil, a.field)})
	}
	if len(a.details) > 0 {
		extra = append(extra, member{"reasoning_details", a.details.array()})
	}
	return reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T(a.reasoning.String()), Extra: extra.object()}
}
