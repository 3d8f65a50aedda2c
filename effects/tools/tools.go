package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/effects/tools/patch"
	"github.com/basisagent/basis/reducer"
)

// Options says what the tools may reach.
type Options struct {
	Root       string   // the workspace and working directory; it must exist
	ReadRoots  []string // other directories that may be read
	WriteRoots []string // other directories that may be written
	Closed     []string // what is neither read nor written, but for roots below it
	Kept       []string // what is not written, but for roots below it

	// Judge is why a file must not come to hold a content, by its canonical path;
	// nil is no reason, and a Judge that is nil never has one.
	Judge    func(path string, content []byte) error
	Excludes string // the user's own file of git's ignore rules; "" is none
	NoShell  bool   // spawn refuses commands

	Env            []string      // the whole environment of commands, as NAME=value; see proc.Environ
	CommandTimeout time.Duration // the time limit of a command; 0 is DefaultCommandTimeout
	CommandCeiling time.Duration // the highest time limit; 0 is DefaultCommandCeiling

	// Skills are those that were found; load_skill is there where a model may
	// load one of them.
	Skills []reducer.SkillInfo

	// Delegate looks at a task for a subagent before anybody is asked about it:
	// what the subagent gets that its caller hasn't, or why there is none for
	// it. Nil: tasks are for nobody.
	Delegate func(task string) (ChildPreview, error)
}

// ChildPreview is what a subagent gets that its caller hasn't (TOOL-29): only
// what differs, and of a system text never the words.
type ChildPreview struct {
	Model  string          `json:"model,omitempty"`
	Roster *reducer.Roster `json:"roster,omitempty"`
	System string          `json:"system,omitempty"` // "replaced"
}

// The time limits of commands, unless Options says otherwise.
const (
	DefaultCommandTimeout = 120 * time.Second
	DefaultCommandCeiling = 600 * time.Second
)

// The codes of results that this package itself makes.
const (
	CodeInvalid   = "invalid_arguments" // the input is not what the schema asks for
	CodePattern   = "invalid_pattern"   // a regular expression or glob that does not parse
	CodeNotText   = "not_text"          // the file is not UTF-8 text
	CodeCancelled = "cancelled"         // the call was stopped before it was done
	CodeFailed    = "exit_status"       // the command ended with a status other than 0
	CodeTimeout   = "timeout"           // the command was stopped at its time limit
	CodeNoStart   = "not_started"       // the command could not be started
	CodeDenied    = "denied"            // policy forbids it
	CodeUnfit     = "unfit"             // the file must not hold that
)

// The bounds of the file tools. A result of theirs fits the limit that a model
// is shown (TOOL-11), so each tool itself says how to see the rest.
const (
	maxOutput  = 48 << 10  // bytes of a result, but for its last lines
	maxLines   = 2000      // lines of a result, but for its first and its last
	maxEntries = 500_000   // names that one walk looks at
	maxEdit    = 32 << 20  // bytes of a file that edit takes
	maxSearch  = 16 << 20  // bytes of a file that grep looks into
	maxIgnore  = 256 << 10 // bytes of a file of ignore rules that is heeded
)

// Names are the names that tools of this program have, in the order of the roster.
func Names() []string {
	return []string{"read", "ls", "grep", "glob", "write", "edit", "compact", "load_skill", "spawn"}
}

// New makes the tools, always in the same order: read, ls, grep, glob, write,
// edit, load_skill if there is a skill to load, spawn. It fails if the root is not a directory.
func New(o Options) ([]effects.Tool, error) {
	f, err := fence.New(fence.Options{Base: o.Root, ReadRoots: o.ReadRoots, WriteRoots: o.WriteRoots, Closed: o.Closed, Kept: o.Kept})
	if err != nil {
		return nil, fmt.Errorf("make tools: %w", err)
	}
	if o.CommandTimeout <= 0 {
		o.CommandTimeout = DefaultCommandTimeout
	}
	if o.CommandCeiling <= 0 {
		o.CommandCeiling = DefaultCommandCeiling
	}
	if o.Judge == nil {
		o.Judge = func(string, []byte) error { return nil }
	}
	all := []effects.Tool{newRead(f), newList(f), newGrep(f, o.Excludes), newGlob(f, o.Excludes), newWrite(f, o.Judge), newEdit(f, o.Judge)}
	if offersSkills(o.Skills) {
		all = append(all, newLoadSkill(o.Skills))
	}
	return append(all, newSpawn(f, o)), nil
}

// tool is what all tools have in common.
type tool struct {
	spec    effects.Spec
	members []member
	run     func(ctx context.Context, c call) effects.Result
	line    func(a args) string // the call in one line, without the tool's name
	adjust  func(m map[string]json.RawMessage) error
}

// call is one call after its input was judged.
type call struct {
	args
	progress func(string)
	files    []reducer.FileSeen // what the agent saw of files so far
}

// newTool completes a tool: its schema is made from its members.
func newTool(t tool) tool {
	t.spec.Schema = schemaOf(t.members)
	return t
}

// reading is the spec of a tool that changes nothing.
func reading(name, description string) effects.Spec {
	return effects.Spec{Name: name, Description: description, Class: reducer.ClassNone, Lane: reducer.LaneParallel}
}

// writing is the spec of a tool that changes files.
func writing(name, description string) effects.Spec {
	return effects.Spec{Name: name, Description: description, Class: reducer.ClassState, Lane: reducer.LaneExclusive}
}

// Spec describes the tool.
func (t tool) Spec() effects.Spec { return t.spec }

// Normalize gives members their published names, and drops those that say null
// where nothing is required.
func (t tool) Normalize(in json.RawMessage) (json.RawMessage, error) {
	return normalize(in, t.members, t.adjust)
}

// Validate judges the input and says everything that is wrong with it.
func (t tool) Validate(in json.RawMessage) error {
	_, err := t.decode(in)
	return err
}

// Call judges the input and runs the tool. It always knows the outcome, so the
// error is always nil.
func (t tool) Call(ctx context.Context, in effects.Invocation) (effects.Result, error) {
	a, err := t.decode(in.Input)
	if err != nil {
		return failed(err), nil
	}
	progress := in.Progress
	if progress == nil {
		progress = func(string) {}
	}
	r := t.run(ctx, call{a, progress, in.Files})
	r.Output = strings.ToValidUTF8(r.Output, "\uFFFD")
	if r.Summary == "" {
		r.Summary = t.summary(a)
	}
	return r, nil
}

// Summarize is the call in one line of at most 120 characters, such as
// "read src/a.go". Input that makes no sense gives the tool's name.
func (t tool) Summarize(in json.RawMessage) string {
	a, err := t.decode(in)
	if err != nil {
		return t.spec.Name
	}
	return t.summary(a)
}

// maxSummary is the longest summary, in characters.
const maxSummary = 120

// summary is the one line for input that was judged.
func (t tool) summary(a args) string {
	return oneLine(t.spec.Name + " " + t.line(a))
}

// decode judges a call's input.
func (t tool) decode(in json.RawMessage) (args, error) {
	in, err := t.Normalize(in)
	if err != nil {
		return args{}, t.invalid(err.Error())
	}
	a, problems := decode(in, t.members)
	if len(problems) > 0 {
		return args{}, t.invalid(strings.Join(problems, "; "))
	}
	return a, nil
}

// invalid is the error for input that does not fit the schema.
func (t tool) invalid(problems string) error {
	return &inputError{tool: t.spec.Name, problems: problems, schema: t.spec.Schema}
}

// inputError says all that is wrong with a call's input.
type inputError struct {
	tool     string
	problems string
	schema   json.RawMessage
}

// Error names the problems and shows the schema.
func (e *inputError) Error() string {
	return fmt.Sprintf("invalid arguments for %s: %s. Send one JSON object that fits this schema: %s", e.tool, e.problems, e.schema)
}

// problem is an error with a code of this package.
type problem struct {
	code, text string
}

// Error returns the text.
func (p *problem) Error() string { return p.text }

// failed is the result for an error that the model should read.
func failed(err error) effects.Result {
	return effects.Result{Output: err.Error(), IsError: true, Code: codeOf(err)}
}

// codeOf returns the short word for an error.
func codeOf(err error) string {
	if e, ok := errors.AsType[*inputError](err); ok && e != nil {
		return CodeInvalid
	}
	if e, ok := errors.AsType[*problem](err); ok {
		return e.code
	}
	if e, ok := errors.AsType[*fence.Error](err); ok {
		return string(e.Code)
	}
	if e, ok := errors.AsType[*patch.Error](err); ok {
		return string(e.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return CodeCancelled
	}
	return string(fence.CodeIO)
}

// stopped is the result of a call whose context ended.
func stopped() effects.Result {
	return effects.Result{Output: "the call was cancelled before it was done", IsError: true, Code: CodeCancelled}
}
