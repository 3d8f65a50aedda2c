// Package declared runs the tools that a workspace declares in tools.json: a
// program that reads its input as one JSON document and prints the result
// (TOOL-43, TOOL-44). No shell is on the way, so nothing has to be quoted.
package declared

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/proc"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// The bounds of what an error repeats of a program's output, and of what is kept
// of each of its streams for whoever wants to read on, in bytes.
const (
	maxStderr = 2 << 10
	maxStdout = 512
	keep      = 8 << 20
)

// The codes of results that fail.
const (
	CodeStatus    = "exit_status" // the program ended with a status other than 0
	CodeTimeout   = "timeout"     // it was stopped at its time limit
	CodeNoStart   = "not_started" // it could not be started
	CodeCancelled = "cancelled"   // the call was stopped before it was done
)

// Tool is one declared tool.
type Tool struct {
	tool    workspace.Tool
	command []string
	env     []string
	hide    *effects.Redactor // a secret that is cut could not be told any more
}

// New is a tool of a workspace at root. Env is the environment that its own
// variables are added to.
func New(t workspace.Tool, root string, env []string) *Tool {
	var secrets []effects.Secret
	for _, v := range t.Hidden() {
		secrets = append(secrets, effects.Secret{Name: v.Name, Value: v.Value})
	}
	d := &Tool{tool: t, env: append([]string{}, env...), hide: effects.NewRedactor(secrets)}
	d.command = append([]string{workspace.Program(root, t.Command[0])}, t.Command[1:]...)
	for _, v := range t.Env {
		d.env = append(d.env, v.Name+"="+v.Value)
	}
	return d
}

// Spec describes the tool. It always has an effect: a file cannot say otherwise.
func (t *Tool) Spec() effects.Spec {
	class := reducer.ClassProcess
	if t.tool.External {
		class = reducer.ClassExternal
	}
	return effects.Spec{
		Name: t.tool.Name, Description: t.tool.Description, Schema: t.tool.Schema,
		Class: class, Lane: reducer.LaneExclusive, From: string(t.tool.Level), Digest: t.tool.Digest,
	}
}

// Normalize refuses input that says something twice: the program might take the
// one, and whoever judged the call the other.
func (t *Tool) Normalize(in json.RawMessage) (json.RawMessage, error) {
	if _, err := reducer.Subject(in); err != nil {
		return nil, err
	}
	return in, nil
}

// Preview is what will run, without the environment (TOOL-45).
func (t *Tool) Preview(in json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"tool": t.tool.Name, "command": t.command, "cwd": t.tool.Dir, "input": in})
}

// Summarize is the call in one line.
func (t *Tool) Summarize(in json.RawMessage) string {
	line := []rune(t.tool.Name + " " + strings.Join(strings.Fields(string(in)), " "))
	if len(line) > maxSummary {
		return string(line[:maxSummary-1]) + "…"
	}
	return string(line)
}

// maxSummary is the longest summary, in characters.
const maxSummary = 120

// Call runs the program. The outcome is always known.
func (t *Tool) Call(ctx context.Context, in effects.Invocation) (effects.Result, error) {
	progress := in.Progress
	if progress == nil {
		progress = func(string) {}
	}
	r, err := proc.Run(ctx, proc.Command{
		Argv: t.command, Dir: t.tool.Dir, Env: t.env, Stdin: in.Input, Timeout: t.tool.Timeout, Keep: keep,
		Progress: func(stream proc.Stream, line string) { progress(string(stream) + ": " + line) },
	})
	if err != nil {
		return t.failed(CodeNoStart, "could not be started: "+t.why(err)), nil
	}
	switch {
	case r.Ending == proc.TimedOut:
		return t.failed(CodeTimeout, fmt.Sprintf("took longer than %v and was stopped", t.tool.Timeout)), nil
	case r.Ending == proc.Cancelled:
		return t.failed(CodeCancelled, "was cancelled and stopped"), nil
	case r.Status != 0:
		return t.failed(CodeStatus, fmt.Sprintf("exited %d: %s", r.Status, t.said(r))), nil
	}
	out := effects.Piece{Text: strings.TrimRight(r.Stdout.Text, "\r\n")}
	if r.Stdout.Cut {
		out.Size = r.Stdout.Bytes
	}
	if strings.TrimSpace(out.Text) == "" {
		out.Text = t.tool.Name + " finished and printed nothing"
	}
	return effects.Result{Output: out.Text, Pieces: []effects.Piece{out}}, nil
}

// failed is the result of a call that came to nothing.
func (t *Tool) failed(code, what string) effects.Result {
	return effects.Result{Output: t.tool.Name + " " + what, IsError: true, Code: code}
}

// why is what kept a program from starting, without its name and arguments,
// which may hold a secret.
func (t *Tool) why(err error) string {
	if e, ok := errors.AsType[*proc.DirError](err); ok {
		if e.Err == nil {
			return "its cwd is not a directory"
		}
		return "its cwd cannot be used"
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	return err.Error() + "; see command in " + t.tool.File
}

// said is what a failed program had to say, cut.
func (t *Tool) said(r proc.Result) string {
	if s := strings.TrimSpace(t.hide.Replace(r.Stderr.Text)); s != "" {
		return end(s, maxStderr)
	}
	return cmp.Or(end(strings.TrimSpace(t.hide.Replace(r.Stdout.Text)), maxStdout), "it printed nothing")
}

// end keeps the end of a text, where programs say what went wrong.
func end(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-most:], "")
}
