package effects

import (
	"context"
	"encoding/json"

	"github.com/basisagent/basis/reducer"
)

// Approver answers whether a call may happen.
type Approver interface {
	// Review asks once and returns the answer. When ctx ends it returns at
	// once with an error; the question then stays open. Any other error denies.
	Review(ctx context.Context, a Approval) (Verdict, error)
}

// Approval is one question.
type Approval struct {
	Call        string // our id of the call; also the question's
	Subagent    string // who wants to make it: "" the task itself, "1.2" the second subagent of its first
	Tool        string
	Description string
	Summary     string          // one line: what would be done
	Class       reducer.Class   // what kind of change it could make
	Input       json.RawMessage // as the call would run
	Preview     json.RawMessage // what the tool shows of it; nil if it has nothing to add
	Diff        string          // how a file would change, by line; "" if that is not known

	// Pattern is what a rule would have to say that is for this very call and
	// no other, or for all calls of a tool as a file declares it now; "" where a
	// rule can only be for every tool of the name.
	Pattern  string
	Declared bool // a file declares the tool, and Pattern is for all its calls
}

// Verdict is the answer.
type Verdict struct {
	Allow  bool
	Scope  string // once (or ""), process: while this process drives the agent, project, or global
	By     string // who answered, such as person
	Reason string // for the model, where it is a denial

	// Pattern narrows what a scope beyond this call is for, such as to the
	// approval's own pattern; "" is every call of the tool.
	Pattern string
}
