package effects

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/basisagent/basis/reducer"
)

// Tool is something a model can call.
type Tool interface {
	// Spec describes the tool; it never changes.
	Spec() Spec

	// Call runs the tool once. A failure that the model should read is a
	// Result with IsError; an error means that the outcome is unknown. When
	// ctx ends the call stops what it started and returns what there is.
	Call(ctx context.Context, in Invocation) (Result, error)
}

// Spec is what the model and the rules know of a tool.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of type object, compact
	Class       reducer.Class
	Lane        reducer.Lane
	From        string // who declares it: host, workspace or global; "" is built in

	// Digest names what a file says of the tool, and whose it is: another file
	// can declare another one by the same name. "" where no file does.
	Digest string
}

// Invocation is one call.
type Invocation struct {
	Call     string          // our id, such as r3.c2
	Input    json.RawMessage // one JSON document, as the model or a hook left it
	Progress func(text string)
	Files    []reducer.FileSeen // what the agent saw of files so far
}

// Result is what a call came to.
type Result struct {
	Output  string  // valid UTF-8
	Pieces  []Piece // what Output is made of, where it is made of several; each keeps its end
	Paged   bool    // the tool itself bounds its lines and says how to see the rest
	IsError bool
	Code    string // a short word for programs where IsError, such as not_found or not_unique
	Summary string // one line for people; "" lets the first line of Output stand

	// Files are the files that the agent now knows all of, and those that it
	// no longer does.
	Files []reducer.FileSeen
}

// Piece is a part of an output that is cut by itself where the whole of it is
// too long for a model, such as one stream of a command.
type Piece struct {
	Text string
	Size int64 // bytes of it before the tool left some out; 0 where it left none
}

// join is the output that pieces make.
func join(pieces []Piece) string {
	var all strings.Builder
	for _, p := range pieces {
		all.WriteString(p.Text)
	}
	return all.String()
}

// Normalizer is implemented by a tool that accepts looser input than its
// schema says (TOOL-23). Normalize returns input of the published shape. It
// runs before hooks and the schema check.
type Normalizer interface {
	Normalize(in json.RawMessage) (json.RawMessage, error)
}

// Validator is implemented by a tool that judges its input itself, in the words
// of its kind. Other tools' input is held against their schema (TOOL-10). The
// error's text is what the model reads.
type Validator interface {
	Validate(in json.RawMessage) error
}

// Classifier is implemented by a tool whose class or lane depends on its input.
type Classifier interface {
	Classify(in json.RawMessage) (reducer.Class, reducer.Lane)
}

// Previewer is implemented by a tool that can show an approver what a call
// would do (TOOL-29). A non-nil error refuses the call before anyone is asked;
// its text is what the model reads (TOOL-30).
type Previewer interface {
	Preview(in json.RawMessage) (json.RawMessage, error)
}

// Differ is implemented by a tool that changes one file and can show how: as
// lines that begin with a space, - or +, in hunks that begin with @@. It is ""
// where that can't be shown, or nothing would change.
type Differ interface {
	Diff(in json.RawMessage) string
}

// Summarizer is implemented by a tool that has a better one-line description
// of a call than its name, such as "read src/a.go".
type Summarizer interface {
	Summarize(in json.RawMessage) string
}
