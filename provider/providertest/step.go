package providertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Step is one answer of a scripted server, whichever wire it is asked on. The
// zero value is an empty answer that ends properly.
type Step struct {
	// Reasoning comes first. Where the vendor signs or encrypts its reasoning
	// the server does so and refuses any other signature later. Blank lines
	// part it into several summaries on the Responses wire.
	Reasoning string
	Sealed    bool // of the reasoning nothing is readable, where the vendor can do that
	Text      string
	Deltas    int // into how many pieces Text and Reasoning are cut; 0 is 1
	Calls     []Call
	Finish    string // the wire's own word; "" is the one that fits
	Usage     *Usage // nil reports none
	Served    string // the model that the server says answered; "" is the one asked for
	NoFinish  bool   // leaves out why the answer ends
	NoDone    bool   // leaves out that nothing follows

	// Failure is an error in the vendor's own form: the body of an error
	// status, or, in a stream, what comes in place of its end.
	Failure *Failure

	// Frames replaces the stream: each is the data of one event, sent as it
	// is. Body replaces everything after the headers.
	Frames []string
	Body   string

	Status int               // 0 is 200; an error status without a body gets one
	Header map[string]string // added; "Content-Type" replaces the default

	// Hold delays the response until it is closed; HoldAfter does so in
	// mid-stream, after CutFrames events.
	Hold      <-chan struct{}
	HoldAfter <-chan struct{}

	CutFrames int           // after so many events the stream ends cleanly, unless HoldAfter or Hang is set
	CutBytes  int           // after so many bytes of the body the connection breaks
	Hang      Hang          // where the server falls silent
	Every     time.Duration // pause between events, and between comments
}

// Failure is what a server says of an error.
type Failure struct {
	Code    string // the vendor's word, such as rate_limit_error
	Message string
}

// Hang says where a server falls silent for good: until the client leaves or
// the server is closed.
type Hang int

// The places.
const (
	HangNot      Hang = iota
	HangHeaders       // takes the request and says nothing
	HangBody          // sends headers and CutFrames events, then nothing
	HangComments      // as HangBody, but sends a comment at each interval
)

// Call is a tool call of an answer, or one found in a request.
type Call struct {
	// ID is "" for one that the server makes, counted over its life, where the
	// wire has ids; in a request it is what was sent.
	ID   string
	Name string
	Args string // the JSON text; "" is {}
	// Pieces is into how many fragments Args is cut; 0 is 1. On the wire of
	// Gemini arguments come whole.
	Pieces int
}

// Usage is what a step reports. It is told to every server in the same way;
// each wire counts it in its own.
type Usage struct {
	Prompt     int // the whole prompt, with what was cached
	Completion int // all that was generated, with the reasoning
	Cached     int // of the prompt, read from the cache
	Written    int // of the prompt, written to the cache, where the wire says it
	Reasoning  int // of the completion
}

// Text is a step that answers with text.
func Text(text string) Step { return Step{Text: text, Usage: &Usage{Prompt: 10, Completion: 5}} }

// CallTool is a step that calls one tool.
func CallTool(name, args string) Step {
	return Step{Calls: []Call{{Name: name, Args: args}}, Usage: &Usage{Prompt: 10, Completion: 5}}
}

// Fail is a step that answers with an error status and a body in the vendor's
// form. A status of 0 is an error inside a stream.
func Fail(status int, code, message string) Step {
	return Step{Status: status, Failure: &Failure{Code: code, Message: message}}
}

// events are the events of the step's stream.
func (s Step) events(d dialect, r Request, l *ledger) []event {
	if s.Frames == nil {
		return d.events(s.complete(), r, l)
	}
	var all []event
	for _, data := range s.Frames {
		all = append(all, event{data: data})
	}
	return all
}

// complete fills in what a step left out.
func (s Step) complete() Step {
	calls := make([]Call, len(s.Calls))
	for i, c := range s.Calls {
		c.Args = cmp.Or(c.Args, "{}")
		calls[i] = c
	}
	s.Calls = calls
	if s.Failure != nil {
		s.NoFinish, s.NoDone = true, true
	}
	return s
}

// errorBody is the body of an error status.
func (s Step) errorBody(d dialect) string {
	switch {
	case s.Body != "":
		return s.Body
	case s.Failure != nil:
		return d.failure(s.Status, *s.Failure)
	}
	return d.failure(s.Status, Failure{Code: "scripted", Message: "scripted failure"})
}

// pieces cuts text into n parts at runes, none of them empty.
func pieces(text string, n int) []string {
	if text == "" {
		return nil
	}
	runes := []rune(text)
	n = min(max(n, 1), len(runes))
	var out []string
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}

// object writes JSON: strings among the values are quoted, those of type raw
// stand as they are.
func object(format string, values ...any) string {
	for i, v := range values {
		if s, ok := v.(string); ok {
			values[i] = quote(s)
		}
	}
	return fmt.Sprintf(format, values...)
}

// raw is JSON that stands as it is.
type raw string

func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
