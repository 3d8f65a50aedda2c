package providertest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Step is one answer of a scripted server. The zero value is an empty answer
// that ends properly.
type Step struct {
	// An answer as a stream of chat/completions chunks.
	Reasoning string
	Text      string
	Deltas    int // into how many pieces Text is cut; 0 is 1
	Calls     []Call
	Finish    string // "" is stop, or tool_calls if there are calls
	Usage     *Usage // nil reports none
	Served    string // the model that the server says answered; "" is the one asked for
	NoFinish  bool   // leaves the finish reason out
	NoDone    bool   // leaves [DONE] out

	// Frames replaces the stream: each is the data of one event, sent as it
	// is. Body replaces everything after the headers.
	Frames []string
	Body   string

	Status int               // 0 is 200; an error status without Body gets one
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
	ID   string // "" is call_N, N counted over the server's life; in a request as sent
	Name string
	Args string // the JSON text; "" is {}
	// Pieces is into how many fragments Args is cut; 0 is 1.
	Pieces int
}

// Usage is what a step reports, in the wire's own counting.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// Text is a step that answers with text.
func Text(text string) Step { return Step{Text: text, Usage: &Usage{Prompt: 10, Completion: 5}} }

// CallTool is a step that calls one tool.
func CallTool(name, args string) Step {
	return Step{Calls: []Call{{Name: name, Args: args}}, Usage: &Usage{Prompt: 10, Completion: 5}}
}

// Fail is a step that answers with an error status and a body in the common
// form.
func Fail(status int, code, message string) Step {
	body := `{"error":{"message":` + quote(message) + `,"type":` + quote(code) + `,"code":` + quote(code) + `}}`
	return Step{Status: status, Body: body}
}

// frames are the events of the step's stream, without framing.
func (s Step) frames(model string, mint func() string) []string {
	if s.Frames != nil {
		return s.Frames
	}
	if s.Served != "" {
		model = s.Served
	}
	c := chunker{model: model}
	c.delta(`{"role":"assistant","content":""}`)
	if s.Reasoning != "" {
		c.delta(`{"reasoning_content":` + quote(s.Reasoning) + `}`)
	}
	for _, piece := range pieces(s.Text, s.Deltas) {
		c.delta(`{"content":` + quote(piece) + `}`)
	}
	for i, call := range s.Calls {
		c.call(i, call, mint)
	}
	if !s.NoFinish {
		c.finish(s.finish())
	}
	if s.Usage != nil {
		c.usage(*s.Usage)
	}
	if !s.NoDone {
		c.out = append(c.out, "[DONE]")
	}
	return c.out
}

func (s Step) finish() string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// chunker writes chat.completion.chunk objects.
type chunker struct {
	model string
	out   []string
}

func (c *chunker) choice(choice, more string) {
	c.out = append(c.out, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":`+
		quote(c.model)+`,"choices":[`+choice+`]`+more+`}`)
}

func (c *chunker) delta(delta string) {
	c.choice(`{"index":0,"delta":`+delta+`,"finish_reason":null}`, "")
}

func (c *chunker) finish(reason string) {
	c.choice(`{"index":0,"delta":{},"finish_reason":`+quote(reason)+`}`, "")
}

func (c *chunker) call(i int, call Call, mint func() string) {
	if call.ID == "" {
		call.ID = mint()
	}
	if call.Args == "" {
		call.Args = "{}"
	}
	index := strconv.Itoa(i)
	c.delta(`{"tool_calls":[{"index":` + index + `,"id":` + quote(call.ID) +
		`,"type":"function","function":{"name":` + quote(call.Name) + `,"arguments":""}}]}`)
	for _, piece := range pieces(call.Args, call.Pieces) {
		c.delta(`{"tool_calls":[{"index":` + index + `,"function":{"arguments":` + quote(piece) + `}}]}`)
	}
}

func (c *chunker) usage(u Usage) {
	c.choice("", `,"usage":{"prompt_tokens":`+strconv.Itoa(u.Prompt)+`,"completion_tokens":`+strconv.Itoa(u.Completion)+
		`,"total_tokens":`+strconv.Itoa(u.Prompt+u.Completion)+
		`,"prompt_tokens_details":{"cached_tokens":`+strconv.Itoa(u.Cached)+
		`},"completion_tokens_details":{"reasoning_tokens":`+strconv.Itoa(u.Reasoning)+`}}`)
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

func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
