package provider

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/basisagent/basis/reducer"
)

// Model is one model behind one endpoint.
//
// Stream sends req and yields chunks as they arrive. The sequence is
// single-use. It ends after one [Done] chunk or one non-nil error, which is
// always an *[Error]; the chunk beside an error is nil. Stopping early cancels
// the request. No goroutine outlives the loop over it. A Model serves one
// agent: several requests, one at a time, because it may remember messages by
// their keys.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Request is what is asked of a model, in words that every wire has.
type Request struct {
	Model     string
	System    string // the whole system text; "" sends none
	Tools     []Tool // in a stable order, so that prompt caches hit
	Messages  []Message
	Effort    string // low, medium, high, xhigh or max; "" sends no reasoning field
	MaxOutput int    // output tokens; 0 sends the wire's default

	// Load reads a text that is kept in a blob. It is called only for texts
	// that are not inline. Nil is fine where there are none.
	Load func(reducer.Ref) ([]byte, error)
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of type object, compact
}

type (
	// Message is one step of the conversation.
	Message = reducer.Message
	// Role says who speaks in a message.
	Role = reducer.Role
	// Result is the outcome of one call as the model is shown it.
	Result = reducer.Result
)

// The roles.
const (
	RoleUser      = reducer.RoleUser
	RoleAssistant = reducer.RoleAssistant
	RoleResults   = reducer.RoleResults
)

// Chunk is one thing that a stream yields.
//
//sumtype:decl
type Chunk interface{ chunk() }

// Sent comes first, once per attempt: the request's bytes are fixed.
type Sent struct{ Request reducer.RequestInfo }

// TextDelta is new text of the answer.
type TextDelta struct{ Text string }

// ReasoningDelta is new readable reasoning.
type ReasoningDelta struct{ Text string }

// CallDelta says that arguments of a call are arriving; it is for display.
type CallDelta struct {
	Name  string // "" until it is known
	Bytes int    // of arguments since the last CallDelta of this call
}

// Retrying says that an attempt failed and another follows after Delay: all
// deltas since the last Sent are void. Only [Retry] yields it.
type Retrying struct {
	Attempt int // the one that failed, from 1
	Max     int // attempts in all
	Err     *Error
	Delay   time.Duration
}

// Done is the whole answer; nothing follows it.
type Done struct{ Answer Answer }

func (Sent) chunk()           {}
func (TextDelta) chunk()      {}
func (ReasoningDelta) chunk() {}
func (CallDelta) chunk()      {}
func (Retrying) chunk()       {}
func (Done) chunk()           {}

// Answer is one finished response.
type Answer struct {
	Items   []reducer.Item
	Source  reducer.Provenance
	Served  string       // the model that the server says answered, if it says
	Stop    reducer.Stop // normalised
	StopRaw string       // the wire's own word, "" if none came
	Usage   reducer.Usage
	Request reducer.RequestInfo
	Attempt int // from 1; more than 1 after retries
}
