// Package hooks asks programs about calls: the hooks that hooks.json files name.
//
// A program gets one JSON document on its standard input and answers with one on
// its standard output (TOOL-48, TOOL-49). It runs in the workspace's root without
// a shell, with the environment that it is given, and in a process group of its
// own, which ends with it. Anything but a clear answer in time is none.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/proc"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/reducer"
)

// MaxAnswer is how long an answer may be, in bytes.
const MaxAnswer = 1 << 20

// Program is a hook that is a program.
type Program struct {
	hook workspace.Hook
	root string
	env  []string
}

// New is the hook of a workspace at root, with the whole environment of its
// program.
func New(h workspace.Hook, root string, env []string) *Program {
	return &Program{hook: h, root: root, env: env}
}

// Info says which calls the hook wants to see.
func (p *Program) Info() reducer.HookInfo { return p.hook.Info }

// request is what a program reads.
type request struct {
	Schema    int             `json:"hook_schema"`
	Event     string          `json:"event"`
	Workspace string          `json:"workspace"`
	Agent     string          `json:"agent_id"`
	Call      string          `json:"tool_call_id"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"input"`
	Output    *string         `json:"output,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
}

// Ask runs the program. Where it has no answer and its entry says that this may
// be, the decision is [effects.HookFailed].
func (p *Program) Ask(ctx context.Context, q effects.HookQuestion) (effects.HookAnswer, error) {
	a, err := p.ask(ctx, q)
	if err != nil && p.hook.Lenient && ctx.Err() == nil {
		return effects.HookAnswer{Decision: effects.HookFailed, Reason: err.Error()}, nil
	}
	return a, err
}

func (p *Program) ask(ctx context.Context, q effects.HookQuestion) (effects.HookAnswer, error) {
	r := request{
		Schema: 1, Event: q.Event + "_tool_use", Workspace: q.Workspace, Agent: q.Agent,
		Call: q.Call, Tool: q.Tool, Input: q.Input,
	}
	if q.Event == "post" {
		r.Output, r.IsError = &q.Output, &q.IsError
	}
	var stdin bytes.Buffer
	e := json.NewEncoder(&stdin)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return effects.HookAnswer{}, fmt.Errorf("the question could not be put: %w", err)
	}
	command := append([]string{workspace.Program(p.root, p.hook.Command[0])}, p.hook.Command[1:]...)
	result, err := proc.Run(ctx, proc.Command{
		Argv: command, Dir: p.root, Env: p.env, Stdin: stdin.Bytes(), Timeout: p.hook.Timeout, Keep: MaxAnswer, Alone: true,
	})
	if err != nil {
		return effects.HookAnswer{}, err
	}
	if err := p.ended(result); err != nil {
		return effects.HookAnswer{}, err
	}
	return parse(q.Event, result.Stdout.Text)
}

// ended says what went wrong with a program, nil if it ended well and printed
// something that may be an answer.
func (p *Program) ended(r proc.Result) error {
	switch {
	case r.Ending == proc.TimedOut:
		return fmt.Errorf("it took longer than %v and was stopped", p.hook.Timeout)
	case r.Ending == proc.Cancelled:
		return errors.New("it was stopped")
	case r.Status != 0:
		why := fmt.Sprintf("it exited with status %d", r.Status)
		if said := begin(r.Stderr.Text); said != "" {
			why += " and said " + said
		}
		return errors.New(why)
	case r.Stdout.Cut:
		return fmt.Errorf("it printed more than %d bytes", MaxAnswer)
	case strings.TrimSpace(r.Stdout.Text) == "":
		return errors.New("it printed nothing; to let a call pass it must print {\"decision\":\"allow\"}")
	}
	return nil
}

// parse reads an answer. Members count by their exact names, and none twice, so
// that nobody can read a denial as an allowance.
func parse(event, text string) (effects.HookAnswer, error) {
	none := effects.HookAnswer{}
	m, err := members(text)
	if err != nil {
		return none, err
	}
	var a effects.HookAnswer
	for name, into := range map[string]any{"decision": &a.Decision, "reason": &a.Reason, "is_error": &a.IsError} {
		if raw, ok := m[name]; ok && json.Unmarshal(raw, into) != nil {
			return none, fmt.Errorf("its %s is of the wrong type", name)
		}
	}
	switch {
	case a.Decision == effects.HookAllow, a.Decision == effects.HookDeny:
	case a.Decision == effects.HookModify && event == "pre":
		var in map[string]json.RawMessage
		if json.Unmarshal(m["input"], &in) != nil || in == nil {
			return none, errors.New("its modify has no input that is a JSON object")
		}
		a.Input = m["input"]
	case a.Decision == effects.HookReplace && event == "post":
		raw, ok := m["output"]
		if !ok {
			return none, errors.New("its replace has no output")
		}
		if json.Unmarshal(raw, &a.Output) != nil || raw[0] != '"' {
			a.Output = string(raw) // structured: the model reads it as it is
		}
	case a.Decision == "":
		return none, errors.New("its answer has no decision")
	default:
		return none, fmt.Errorf("it decided %s, which is nothing that can be decided at %s_tool_use", begin(string(a.Decision)), event)
	}
	return a, nil
}

// members reads one JSON object, which may not say anything twice.
func members(text string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\uFEFF")))
	var doc json.RawMessage
	err := d.Decode(&doc)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more follows")
		}
	}
	if err != nil {
		return nil, errors.New("it printed something that is not one JSON document: " + begin(text))
	}
	if _, err := reducer.Subject(doc); err != nil {
		return nil, fmt.Errorf("its answer is not clear: %w", err)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(doc, &m) != nil || m == nil {
		return nil, errors.New("its answer is not a JSON object: " + begin(text))
	}
	return m, nil
}

// maxBegin is how much of a broken answer a reason repeats, in bytes.
const maxBegin = 200

// begin is the beginning of a text, on one line.
func begin(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxBegin {
		text = strings.ToValidUTF8(text[:maxBegin], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
