package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/replay"
)

// Exit codes. A signal's is 128 and its number.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitBound  = 3
)

// usageError is an invocation that makes no sense: what is wrong with it, and
// what to type instead.
type usageError struct{ what, next string }

func (e *usageError) Error() string { return e.what }

// settled carries the exit code of something that has been said already.
type settled int

func (s settled) Error() string { return "exit " + strconv.Itoa(int(s)) }

// timeoutError says that a wait ended before what it waited for.
type timeoutError struct {
	ref     basis.Ref
	after   time.Duration
	running bool
	verb    string // what to go on with
}

func (e *timeoutError) state() string {
	if e.running {
		return "running"
	}
	return "resumable"
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("timed out after %s; task %s is %s", spoken(e.after), e.ref, e.state())
}

// commandError is an error of a command that knows more about it.
type commandError struct {
	err  error
	ref  basis.Ref // the task it is about, if there is one
	verb string    // the command that failed
	json bool      // errors are JSON too
}

func (e *commandError) Error() string { return e.err.Error() }

func (e *commandError) Unwrap() error { return e.err }

// report is how a command's error is told: the exit code, a word for scripts,
// what is wrong and what to do.
type report struct {
	exit       int
	code       string
	what, next string
}

// finish says what went wrong, if something did, and gives the exit code.
func (a *app) finish(err error) int {
	a.con.close()
	var code settled
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	}
	var ce *commandError
	if !errors.As(err, &ce) {
		ce = &commandError{err: err}
	}
	r := explain(ce)
	if ce.json {
		a.con.print(string(failureJSON(ce, r)))
		return r.exit
	}
	a.con.say("basis: " + flat(r.what))
	a.con.say("next: " + r.next)
	return r.exit
}

// failureJSON is an error as one line of JSON (CLI-5, CLI-75).
func failureJSON(e *commandError, r report) []byte {
	o := struct {
		Error    string `json:"error"`
		Code     string `json:"code"`
		TimedOut bool   `json:"timed_out,omitempty"`
		Task     string `json:"task,omitempty"`
		State    string `json:"state,omitempty"`
		Next     string `json:"next"`
	}{Error: r.what, Code: r.code, Next: command(r.next)}
	if !e.ref.IsZero() {
		o.Task = e.ref.String()
	}
	if t, ok := errors.AsType[*timeoutError](e.err); ok {
		o.TimedOut, o.State = true, t.state()
	}
	return line(o)
}

// command is the command that a hint names, else the whole hint.
func command(next string) string {
	if _, rest, ok := strings.Cut(next, "`"); ok {
		if cmd, _, ok := strings.Cut(rest, "`"); ok {
			return cmd
		}
	}
	return next
}

// line is v as one line of JSON, without the escaping that HTML would need.
func line(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"error":"this could not be written as JSON","code":"failed"}` + "\n")
	}
	return b.Bytes()
}

// adviser is an error that knows itself what to do next.
type adviser interface {
	error
	next() string
}

// explain is the one table from errors to exit codes, words and advice.
func explain(e *commandError) report {
	failed := report{exit: exitFailed, code: "failed", what: e.err.Error(), next: e.retry()}
	var (
		usage     *usageError
		handle    *basis.RefError
		stop      *basis.Stop
		timeout   *timeoutError
		damage    *basis.CorruptError
		option    *basis.OptionError
		home      *basis.HomeError
		point     *replay.NoPointError
		follow    *basis.ContinueError
		unfounded *basis.UnfoundedError
		advised   adviser
	)
	switch {
	case errors.As(e.err, &usage):
		return report{exit: exitUsage, code: "usage", what: usage.what, next: usage.next}
	case errors.As(e.err, &handle):
		return report{exit: exitUsage, code: "usage", what: handle.Error(), next: "use `basis list` to see the handles of this directory"}
	case errors.Is(e.err, basis.ErrEmptyPrompt):
		return report{exit: exitUsage, code: "usage", what: e.err.Error(), next: "use `basis spawn <PROMPT>`, or `basis -` to read it from standard input"}
	case errors.As(e.err, &timeout):
		return report{exit: exitBound, code: "timeout", what: timeout.Error(), next: "use `basis " + timeout.verb + " " + timeout.ref.String() + "`"}
	case errors.As(e.err, &stop):
		return e.stopped(stop)
	case errors.Is(e.err, basis.ErrDiskFull):
		failed.code = "disk_full"
		failed.next = e.follow("make room, then use `basis wait %s`", "make room on that disk, or set BASIS_DATA_DIR to a directory on another one, and try again")
	case errors.As(e.err, &unfounded):
		if errors.As(e.err, &damage) {
			failed.code = "damaged"
		}
		failed.next = e.unfounded()
	case errors.As(e.err, &damage):
		failed.code = "damaged"
		failed.next = e.follow("use `basis verify %s` to see all that is wrong; nothing was changed", failed.next)
	case errors.Is(e.err, basis.ErrFailed):
		failed.what = strings.ReplaceAll(failed.what, ": "+basis.ErrFailed.Error(), "")
		failed.next = e.follow("look at that disk, then use `basis wait %s`; what was recorded is kept", failed.next)
	case errors.Is(e.err, basis.ErrNoTask):
		failed.what = fmt.Sprintf("no task directory for %s", e.ref)
		failed.next = e.absent()
	case errors.Is(e.err, basis.ErrSubagent):
		failed.next = "use `basis " + e.verb + " " + e.ref.Task().String() + "`"
	case errors.As(e.err, &follow):
		failed.next = insteadOf(follow)
	case errors.As(e.err, &option):
		return ofOption(option, failed)
	case errors.As(e.err, &advised):
		failed.next = advised.next()
	case errors.Is(e.err, basis.ErrNoRule):
		failed.next = "use `basis rules list` to see the ids"
	case errors.As(e.err, &home):
		failed.next = "set BASIS_DATA_DIR to a directory that can be written and try again"
	case errors.As(e.err, &point):
		failed.next = e.follow("use `basis replay %s` to see the whole history", failed.next)
	}
	return failed
}

// absent is where to look for a task that is not there.
func (e *commandError) absent() string {
	if e.ref.Sub != "" {
		return "use `basis watch " + e.ref.Task().String() + "` to see the subagents of that task"
	}
	return "use `basis list` to see the tasks of this directory"
}

// unfounded is what is left to do with a task whose conversation can't be read.
func (e *commandError) unfounded() string {
	switch {
	case e.ref.IsZero():
		return "use `basis spawn <PROMPT>` to begin another conversation"
	case e.verb == "wait":
		return "use `basis cancel " + e.ref.String() + "` to end it, because it cannot go on"
	}
	return "use `basis verify " + e.ref.String() + "` to see all that is wrong; nothing was changed"
}

// insteadOf is what to do where a conversation can't be continued.
func insteadOf(e *basis.ContinueError) string {
	switch {
	case e.Within:
		return "use `basis spawn --detached <PROMPT>`, which begins a conversation of its own"
	case e.Ref.IsZero():
		return "use `basis spawn <PROMPT>`"
	}
	return "use `basis wait " + e.Ref.String() + "`"
}

// unpackHint says how to get at a body that is compressed.
func unpackHint(p *basis.PackedError) string {
	if p.Err != nil {
		return "record it anew, as with `curl --compressed`"
	}
	tools := map[string]string{"zstd": "zstd -d", "br": "brotli -d"}
	if tool := tools[p.Coding]; tool != "" {
		return "unpack it first, as with `" + tool + " FILE`, or record it anew with `curl --compressed`"
	}
	return "unpack it first, or record it anew with `curl --compressed`"
}

// ofOption is a setting of a task that makes no sense. An image is judged before
// anything is made, and is part of the invocation.
func ofOption(o *basis.OptionError, r report) report {
	switch {
	case strings.HasPrefix(o.Field, "image"):
		return report{exit: exitUsage, code: "usage", what: r.what, next: "show a PNG, JPEG, GIF or WebP file of at most 5 MiB with `--image FILE`"}
	case o.Field == "parent", o.Field == "workspace" && strings.Contains(o.Reason, "another workspace"):
		r.next = "use `basis spawn --detached <PROMPT>`"
	case o.Field == "workspace":
		r.next = "name a directory that exists with `-C DIR`"
	}
	return r
}

// stopped is a run that let go of its task, or a command that a signal ended.
func (e *commandError) stopped(s *basis.Stop) report {
	r := report{exit: exitFailed, code: "interrupted", what: "interrupted: " + s.Detail, next: e.retry()}
	switch s.Reason {
	case "signal":
		r.exit = signalExit(s.Detail)
		if !e.ref.IsZero() {
			r.what = fmt.Sprintf("interrupted (%s); task %s is kept and can go on", s.Detail, e.ref)
			r.next = "use `basis wait " + e.ref.String() + "`"
		}
	case "unaskable":
		r.code = "failed"
		r.what = s.Detail + ": there is no terminal to ask at; the task is kept and can go on"
		r.next = "use `basis wait " + e.ref.String() + "` at a terminal"
	case "disk_full":
		r.code = "disk_full"
		r.what = "the disk is full; the task is kept and can go on"
		r.next = "make room, then use `basis wait " + e.ref.String() + "`"
	}
	return r
}

// Signals that end a command, by the words that a Stop carries, and the exit
// codes they give.
func signalExit(name string) int {
	switch name {
	case "hangup":
		return 129
	case "interrupt":
		return 130
	case "terminated":
		return 143
	}
	return exitFailed
}

// follow is a hint that names the task, if there is one.
func (e *commandError) follow(format, otherwise string) string {
	if e.ref.IsZero() {
		return otherwise
	}
	return fmt.Sprintf(format, e.ref)
}

// retry is the hint for an error that says nothing more.
func (e *commandError) retry() string {
	if p, ok := errors.AsType[*basis.PackedError](e.err); ok {
		return unpackHint(p)
	}
	if e.verb == "" {
		return "use `basis --help`"
	}
	return "retry with `" + synopsis(e.verb) + "` or inspect `basis --help`"
}

// parseError is an argument that the parser does not take: it is told in words
// and never as JSON (CLI-6).
func parseError(_ context.Context, c *cli.Command, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = "unknown flag " + dashed(name) + "; what follows `--` is never taken for a flag"
	} else if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		text = "flag " + dashed(strings.TrimLeft(name, "-")) + " needs a value"
	} else if rest, ok := strings.CutSuffix(text, ": can't duplicate this flag"); ok {
		text = "flag " + dashed(rest[strings.LastIndex(rest, "-")+1:]) + " is given twice"
		if i := strings.LastIndex(rest, " for flag -"); i >= 0 {
			text = "flag " + dashed(rest[i+len(" for flag -"):]) + " is given twice"
		}
	}
	return &usageError{what: text, next: "use `" + synopsis(c.Name) + "`, or `basis " + c.Name + " --help` for its flags"}
}

func dashed(name string) string {
	name = strings.TrimLeft(name, "-")
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func tooMany(c *cli.Command, want int) error {
	takes := "no argument"
	if want > 0 {
		takes = counted(want, "argument")
	}
	e := &usageError{
		what: fmt.Sprintf("basis %s takes %s, got %d", c.Name, takes, c.Args().Len()),
		next: "use `" + synopsis(c.Name) + "`",
	}
	if c.Name == "spawn" {
		e.next += "; a prompt of several words needs quotes"
	}
	return e
}

// exitOf is the code for a terminal record (CLI-2).
func exitOf(t projections.Terminal) error {
	if code := t.Exit(); code != exitDone {
		return settled(code)
	}
	return nil
}
