package wire

import (
	"bufio"
	"bytes"
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

// AnswerLimit is how many bytes of text, reasoning and arguments one answer may
// have; a server that sends more is broken or hostile.
const AnswerLimit = 64 << 20

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
	// Whole is called once the answer is whole although more may follow, such
	// as its usage. Nil is fine.
	Whole func()
	// Fault turns an error of Body into the one to yield, where the reader
	// knows more; nil, or a nil result, means a cut stream.
	Fault func(error) *provider.Error
}

// Yield takes what a stream says; false ends it.
type Yield = func(provider.Chunk, error) bool

// Decoder reads a response to its end and yields what it says: deltas, then
// one [provider.Done] or one [*provider.Error].
type Decoder = func(Response, Yield)

// Answer is what has arrived of a response, in the words of one wire. It emits
// its deltas itself.
type Answer interface {
	// Event takes the data of one event, without the space around it; name is
	// that of its event line, which proxies drop. An error means that the data
	// can't be read.
	Event(name string, data []byte) error

	// Document takes a body that is one JSON document although a stream was
	// asked for.
	Document(data []byte) error

	// State says how far the answer has come.
	State() State

	// End judges an answer whose stream ended by itself: nil if it is whole.
	End() *provider.Error

	// Partial is the text so far, Usage what was reported so far.
	Partial() string
	Usage() reducer.Usage

	// Finished is the whole answer.
	Finished(r Response) provider.Answer
}

// State is how far an answer has come.
type State struct {
	Failure []byte // an error object that came inside a successful response
	Known   bool   // something of this wire has come
	Closed  bool   // the stream has said that nothing follows
	Whole   bool   // the answer is whole, however the connection ends now
	Stopped bool   // whoever reads the deltas wants no more
}

// Decode reads r into a and yields how it ended, unless the reader has stopped.
func Decode(r Response, a Answer, yield Yield) {
	e := Read(r, a)
	switch {
	case a.State().Stopped:
	case e != nil:
		yield(nil, e)
	default:
		yield(provider.Done{Answer: a.Finished(r)}, nil)
	}
}

// Read reads r into a; nil means that the answer is whole. The error says what
// arrived before it.
func Read(r Response, a Answer) *provider.Error {
	d := decoding{Response: r, answer: a}
	e := d.run()
	if e != nil {
		if e.Partial == "" {
			e.Partial = a.Partial()
		}
		e.Usage, e.Request = a.Usage(), r.Request
	}
	return e
}

// Cut is the error for a stream that ended before its end.
func Cut(why string, err error) *provider.Error {
	return &provider.Error{Kind: provider.KindCut, Message: why, Err: err}
}

// decoding is one response on its way.
type decoding struct {
	Response
	answer  Answer
	bytes   bool // something came
	comment bool // a comment came, so it is an event stream
	events  int  // data events so far
	whole   bool // the answer has been whole before
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
	data, err := io.ReadAll(io.LimitReader(body, AnswerLimit+1))
	if err != nil {
		return d.broken(err)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	d.progress()
	err = d.answer.Document(data)
	switch s := d.answer.State(); {
	case err != nil:
		return d.unreadable(data, err)
	case s.Failure != nil:
		return d.failed(s.Failure)
	case !s.Known:
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

// stream reads an event stream to where it says that nothing follows, or to its
// end.
func (d *decoding) stream(body io.Reader) *provider.Error {
	events := provider.NewSSE(body, provider.SSEOptions{Comment: func() { d.comment = true }})
	for s := d.answer.State(); !s.Closed && !s.Stopped; s = d.answer.State() {
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
	if err := d.answer.Event(frame.Event, data); err != nil {
		var syntax *wirejson.SyntaxError
		if frame.Tail && errors.As(err, &syntax) && syntax.Short {
			return Cut("the stream broke off inside an event", nil)
		}
		return d.unreadable(data, err)
	}
	s := d.answer.State()
	if s.Failure != nil {
		return d.failed(s.Failure)
	}
	if s.Whole && !d.whole {
		d.whole = true
		if d.Whole != nil {
			d.Whole()
		}
	}
	return nil
}

// broken judges a read error, the end of the stream included. A whole answer
// stays one, however the connection ended.
func (d *decoding) broken(err error) *provider.Error {
	if d.answer.State().Whole && !errors.Is(err, provider.ErrFrameTooLong) {
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
	return Cut("the connection broke: "+err.Error(), err)
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
	if d.answer.State().Stopped {
		return nil
	}
	return d.answer.End()
}

// failed judges an error object inside a successful response.
func (d *decoding) failed(body []byte) *provider.Error {
	return provider.Classify(provider.Failure{Status: 0, Body: body, Now: d.Now})
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
	if len(data) > 200 {
		sample += "…" // the mark of a cut, beside which a part of a secret is hidden
	}
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
