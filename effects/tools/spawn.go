package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/proc"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/reducer"
)

// mode says what an order is for.
type mode string

// The modes.
const (
	modeCommand    mode = "command" // for a shell
	modeDelegation mode = "agent"   // for a subagent
)

// order is the input of spawn after parsing.
type order struct {
	mode   mode
	target string // where a command runs; "" is here
	body   string
}

// local is what the preview calls the target "".
const local = "local"

// parseOrder reads the one string of spawn: "!" begins a command, "!@name " one
// for a target, "!!" a task that begins with "!", anything else is a task.
func parseOrder(input string) (order, error) {
	s := strings.TrimSpace(input)
	switch {
	case s == "":
		return order{}, refuse("input is empty; give a command with a leading !, such as !ls")
	case strings.HasPrefix(s, "!!"):
		return order{mode: modeDelegation, body: s[1:]}, nil
	case strings.HasPrefix(s, "!@"):
		return parseTarget(s[2:])
	case !strings.HasPrefix(s, "!"):
		return order{mode: modeDelegation, body: s}, nil
	}
	body := strings.TrimSpace(s[1:])
	if body == "" {
		return order{}, refuse("there is nothing to run after the !")
	}
	return order{mode: modeCommand, body: body}, nil
}

// parseTarget reads what follows "!@".
func parseTarget(s string) (order, error) {
	end := strings.IndexFunc(s, unicode.IsSpace)
	if end < 0 {
		end = len(s)
	}
	name, body := s[:end], strings.TrimSpace(s[end:])
	switch {
	case name == "":
		return order{}, refuse("the name of a target must follow !@ directly")
	case strings.ContainsFunc(name, func(r rune) bool { return !isTargetRune(r) }):
		return order{}, refuse(fmt.Sprintf("%q is not the name of a target: names are letters, digits, _ and -", cutText(name, 40)))
	case name == local:
		return order{}, refuse("the target name local is reserved; leave out @local to run the command here")
	case body == "":
		return order{}, refuse("there is no command after the target " + cutText(name, 40))
	}
	return order{mode: modeCommand, target: name, body: body}, nil
}

// isTargetRune reports whether a target's name may have this letter.
func isTargetRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// refuse is the error for an order that is never carried out.
func refuse(text string) error { return &problem{CodeInvalid, "spawn: " + text} }

// commandKeep is how much of each stream is kept for whoever wants to read on
// from what a model is shown of it: the first and the last half.
const commandKeep = 8 << 20

// spawn is the tool that runs commands.
type spawn struct {
	tool
	fence   *fence.Fence
	options Options
}

// newSpawn makes the tool spawn.
func newSpawn(f *fence.Fence, o Options) effects.Tool {
	s := spawn{fence: f, options: o}
	s.tool = newTool(tool{
		spec: effects.Spec{
			Name:        "spawn",
			Description: describe(o),
			Class:       reducer.ClassProcess,
			Lane:        reducer.LaneExclusive,
		},
		members: spawnMembers(),
		line:    func(a args) string { return strings.TrimSpace(a.text("input", "")) },
		run: func(ctx context.Context, c call) effects.Result {
			return s.carryOut(ctx, c.text("input", ""), c.progress)
		},
	})
	return s
}

// spawnMembers is the input of spawn: one string.
func spawnMembers() []member { return []member{{name: "input", kind: kindString, required: true}} }

// describe tells a model what the input means.
func describe(o Options) string {
	command := "Run a shell command in the workspace: input is ! and the command, such as \"!go test ./...\". " +
		"Commands go to the operator for approval, so prefer one command."
	if o.Delegate == nil {
		return command + " Input without ! is a task for a subagent, which is not available here."
	}
	return command + " Input without ! is a task for a subagent: it sees nothing of this conversation, works here with the same tools, " +
		"and its last words are the result, so say all that it needs and what to report. Several in one message run side by side."
}

// Classify says what the input may change and what may run beside it: a task
// for a subagent runs beside others.
func (s spawn) Classify(in json.RawMessage) (reducer.Class, reducer.Lane) {
	if _, ok := Task(string(in)); ok && s.options.Delegate != nil {
		return reducer.ClassProcess, reducer.LaneDelegation
	}
	return reducer.ClassProcess, reducer.LaneExclusive
}

// Task is the task for a subagent that the input of spawn holds, and false
// where it holds a command or nothing that makes sense.
func Task(in string) (string, bool) {
	a, err := tool{members: spawnMembers()}.decode(json.RawMessage(in))
	if err != nil {
		return "", false
	}
	o, err := parseOrder(a.text("input", ""))
	return o.body, err == nil && o.mode == modeDelegation
}

// Preview shows the command. It refuses what could never be carried out.
func (s spawn) Preview(in json.RawMessage) (json.RawMessage, error) {
	a, err := s.decode(in)
	if err != nil {
		return nil, err
	}
	o, err := parseOrder(a.text("input", ""))
	if err != nil {
		return nil, err
	}
	if err := s.servable(o); err != nil {
		return nil, err
	}
	if o.mode == modeDelegation {
		return s.previewTask(o)
	}
	target := o.target
	if target == "" {
		target = local
	}
	return encode(map[string]any{"mode": o.mode, "body": o.body, "cwd": s.fence.Base(), "target": target}), nil
}

// previewTask shows a task for a subagent, and what that one gets of its own.
func (s spawn) previewTask(o order) (json.RawMessage, error) {
	child, err := s.options.Delegate(o.body)
	if err != nil {
		return nil, refuse(err.Error())
	}
	shown := map[string]any{"mode": o.mode, "body": o.body, "cwd": s.fence.Base(), "target": local}
	if child != (ChildPreview{}) {
		shown["child"] = child
	}
	return encode(shown), nil
}

// servable refuses orders that there is nobody for.
func (s spawn) servable(o order) error {
	switch {
	case o.mode == modeDelegation && s.options.Delegate == nil:
		return refuse("there are no subagents here; do the task yourself, or run a command with a leading !, such as !ls")
	case o.target != "":
		return refuse(fmt.Sprintf("there is no target %s, as there are none at all; leave out @%s to run the command here", o.target, o.target))
	}
	return nil
}

// carryOut runs the command that the input asks for.
func (s spawn) carryOut(ctx context.Context, input string, progress func(string)) effects.Result {
	o, err := parseOrder(input)
	if err == nil {
		err = s.servable(o)
	}
	if err == nil && o.mode == modeDelegation {
		err = refuse("a task for a subagent can't be run as a command")
	}
	if err != nil {
		return failed(err)
	}
	if s.options.NoShell {
		return failed(&problem{CodeDenied, "spawn: commands are switched off in this workspace; use the file tools"})
	}
	limit := min(s.options.CommandTimeout, s.options.CommandCeiling)
	r, err := proc.Run(ctx, proc.Command{
		Shell:    o.body,
		Dir:      s.fence.Base(),
		Env:      s.options.Env,
		Timeout:  limit,
		Keep:     commandKeep,
		Progress: func(stream proc.Stream, line string) { progress(string(stream) + ": " + line) },
	})
	if err != nil {
		return failed(&problem{CodeNoStart, "spawn: " + err.Error()})
	}
	return s.report(r, limit.String())
}

// report is what the model reads of a command. What a failing command wrote to
// either stream is kept, because build tools put the reason in the one and the
// verdict in the other.
func (s spawn) report(r proc.Result, limit string) effects.Result {
	out, err := piece(r.Stdout), piece(r.Stderr)
	var res effects.Result
	last := ""
	switch {
	case r.Ending == proc.TimedOut:
		res.IsError, res.Code = true, CodeTimeout
		last = fmt.Sprintf("Command timed out after %s and was stopped (status %d)", limit, r.Status)
	case r.Ending == proc.Cancelled:
		res.IsError, res.Code = true, CodeCancelled
		last = "Command was cancelled and stopped"
	case r.Status != 0:
		res.IsError, res.Code = true, CodeFailed
		last = fmt.Sprintf("Command exited with status %d", r.Status)
	case blank(out.Text) && blank(err.Text):
		last = "(no output)"
	}
	switch {
	case !res.IsError && out.Text == "":
		res.Pieces = append(res.Pieces, err)
	case !res.IsError, blank(err.Text):
		res.Pieces = append(res.Pieces, out)
	case blank(out.Text):
		res.Pieces = append(res.Pieces, err)
	default:
		err.Text = withBreak(err.Text)
		res.Pieces = append(res.Pieces, err, effects.Piece{Text: "stdout:\n"}, out)
	}
	if r.LeftRunning {
		last = strings.TrimPrefix(last+"\n[something that the command started is still running]", "\n")
	}
	return closed(res, last)
}

// piece is what a stream came to.
func piece(c proc.Capture) effects.Piece {
	p := effects.Piece{Text: c.Text}
	if c.Cut {
		p.Size = c.Bytes
	}
	return p
}

// closed completes a result: last stands on lines of its own behind the output,
// or alone if that is blank.
func closed(res effects.Result, last string) effects.Result {
	end := len(res.Pieces) - 1
	if last != "" {
		if end == 0 && blank(res.Pieces[0].Text) {
			res.Pieces[0] = effects.Piece{}
		}
		res.Pieces[end].Text = withBreak(res.Pieces[end].Text)
	}
	res.Pieces = append(res.Pieces, effects.Piece{Text: last})
	for _, p := range res.Pieces {
		res.Output += p.Text
	}
	return res
}

// blank reports whether text is nothing but white space.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// withBreak ends text with a line break, unless it is empty.
func withBreak(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
