package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// view shows a run in the form that was asked for: to a person, as a stream of
// JSON, or not at all because only the end is wanted.
type view struct {
	a     *app
	home  *basis.Home
	json  bool // the end is JSON
	lines bool // and what happens before it, too
	human *renderer
	out   *jsonl
}

func (a *app) newView(h *basis.Home, lines, asJSON bool) *view {
	return &view{a: a, home: h, json: asJSON, lines: lines}
}

// open begins the showing of a task, from a state of it on.
func (v *view) open(ref basis.Ref, from reducer.State) {
	switch s := stream(v.home, ref, from); {
	case v.lines:
		v.out = &jsonl{con: v.a.con, stream: s}
	case !v.json:
		v.human = v.a.newRenderer(s)
	}
}

func (v *view) update(u basis.Update) {
	switch {
	case v.out != nil:
		v.out.update(u)
	case v.human != nil:
		v.human.update(u)
	}
}

// said reports whether the answer is on standard output already.
func (v *view) said() bool { return v.human != nil && v.human.said }

// outcome tells how a drive or a wait came out.
func (a *app) outcome(h *basis.Home, v *view, out basis.Outcome, err error, timeout time.Duration) error {
	a.con.close()
	switch {
	case out.State.Ended():
		if err != nil { // the work is done and on disk; only the leaving went wrong
			a.con.say("basis: " + flat(err.Error()))
		}
		return a.ended(h, v, out)
	case err == nil:
		return errors.New("the run has let go of the task before its end")
	case errors.Is(err, basis.ErrTimeout):
		return &timeoutError{ref: out.Ref, after: timeout, running: h.Held(out.Ref), verb: "wait"}
	}
	return err
}

// ended prints a terminal record and gives its exit code (CLI-103, CLI-104).
func (a *app) ended(h *basis.Home, v *view, out basis.Outcome) error {
	t := h.Terminal(out)
	next := "basis watch " + out.Ref.String()
	if t.State != string(reducer.StateSucceeded) {
		next = synopsis("spawn")
		if out.Ref.Sub != "" { // what its task made of it
			next = "basis watch " + out.Ref.Task().String()
		}
	}
	if t.State == string(reducer.StateFailed) && out.State.Attaching && t.StoppedBy == "" { // it was never opened: what it was to read or use is at fault
		next = "basis doctor -C " + shellWord(out.State.Workspace)
	}
	switch {
	case v.lines && !v.out.watching: // the stream has said it
		return exitOf(t)
	case v.json:
		t.Seq, t.Head = 0, ""
		a.con.print(string(line(struct {
			Task string `json:"task"`
			projections.Terminal
			Next string `json:"next"`
		}{out.Ref.String(), t, next})))
		return exitOf(t)
	}
	a.verdict(h, v, out, t)
	a.con.say("next: use `" + next + "`")
	return exitOf(t)
}

// verdict is a terminal record in words.
func (a *app) verdict(h *basis.Home, v *view, out basis.Outcome, t projections.Terminal) {
	switch reducer.TaskState(t.State) {
	case reducer.StateSucceeded, reducer.StateClosed:
		if !v.said() {
			a.answer(h, out)
		}
		if t.StoppedBy != "" {
			a.con.say("basis: stopped by " + t.StoppedBy)
		}
	case reducer.StateFailed:
		a.con.say("basis: task failed: " + flat(t.Error))
	case reducer.StateCancelled:
		a.con.say("basis: task was cancelled")
	default:
		a.con.print("task state: unknown\n")
	}
}

// answer prints the whole result, which a terminal record cuts.
func (a *app) answer(h *basis.Home, out basis.Outcome) {
	text, err := h.Answer(out)
	a.con.reply(text)
	if err != nil {
		a.con.say("basis: only the beginning and the end of the answer are there: " + flat(err.Error()))
	}
}

func (a *app) waitCommand() *cli.Command {
	return &cli.Command{
		Name: "wait", Usage: "bring a task to its end, and print its answer",
		Flags:  []cli.Flag{timeoutFlag(), jsonFlag()},
		Action: a.about("wait", a.wait),
	}
}

// about runs a command that is about one task, and tells its errors so.
func (a *app) about(verb string, do func(context.Context, *cli.Command, *basis.Home, basis.Ref) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		ref, err := a.task(c)
		if err == nil {
			var h *basis.Home
			if h, err = a.home(); err == nil {
				err = do(ctx, c, h, ref)
			}
		}
		if err == nil {
			return nil
		}
		if _, said := errors.AsType[settled](err); said {
			return err
		}
		return &commandError{err: err, ref: ref, verb: verb, json: c.Bool("json")}
	}
}

func (a *app) wait(ctx context.Context, c *cli.Command, h *basis.Home, ref basis.Ref) error {
	timeout, err := durationOf(c, "timeout", defaultWait)
	if err != nil {
		return err
	}
	timeout = min(timeout, longestWait)
	if err := a.notItself(h, ref, "wait for"); err != nil {
		return err
	}
	v := a.newView(h, false, c.Bool("json"))
	d := a.drive(v, timeout)
	d.Started = func(ref basis.Ref, from reducer.State) {
		v.open(ref, from)
		if !v.json {
			a.con.begin()
		}
	}
	if !v.json && h.Held(ref) {
		a.con.say("basis: another process drives this task; waiting for its end")
	}
	out, err := h.Wait(ctx, ref, d)
	out.Ref = ref
	return a.outcome(h, v, out, err, timeout)
}

// notItself refuses what could never come to an end: a task's own command that
// waits for the task or for another part of it (TASK-110). What has ended can be asked about.
func (a *app) notItself(h *basis.Home, ref basis.Ref, what string) error {
	if caller, inTask := a.caller(); !inTask || caller != ref.Task() {
		return nil
	}
	if _, ended, err := h.Ended(ref); ended || err != nil {
		return err
	}
	return &selfError{ref, what}
}

// selfError says that a task's command asked for the end of a part of its own task.
type selfError struct {
	ref  basis.Ref
	what string // what it was to do: "wait for"
}

func (*selfError) next() string {
	return "let this command end; what it wanted to know is told to the task then"
}

func (e *selfError) Error() string {
	if e.ref.Sub != "" {
		return fmt.Sprintf("a task cannot %s its own subagent %s: this command is part of the same task, which goes on only when it returns", e.what, e.ref.Sub)
	}
	return fmt.Sprintf("a task cannot %s itself: this command is part of task %s", e.what, e.ref)
}

func (a *app) watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "show what a task did and does, without driving it",
		Flags:  []cli.Flag{text("timeout", "DURATION", "stop watching after this long; 30m if not given"), jsonFlag()},
		Action: a.about("watch", a.watch),
	}
}

func (a *app) watch(ctx context.Context, c *cli.Command, h *basis.Home, ref basis.Ref) error {
	timeout, err := durationOf(c, "timeout", defaultWait)
	if err != nil {
		return err
	}
	if err := a.notItself(h, ref, "watch"); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, timeout, basis.ErrTimeout)
	defer cancel()
	v := a.newView(h, c.Bool("json"), c.Bool("json"))
	s, err := a.show(bounded, v, ref)
	for {
		cut, ok := errors.AsType[*basis.RewoundError](err)
		if !ok {
			break
		}
		a.rewound(v, cut)
		s, err = a.show(bounded, v, ref)
	}
	if err != nil {
		a.con.close()
		return err
	}
	err = context.Cause(bounded)
	if err == nil && !s.Ended() {
		err = basis.ErrTimeout
	}
	err = a.outcome(h, v, basis.Outcome{Ref: ref, State: s}, err, timeout)
	if t, ok := errors.AsType[*timeoutError](err); ok {
		t.verb = "watch"
	}
	return err
}

// show shows a task from its beginning, and gives how far it came.
func (a *app) show(ctx context.Context, v *view, ref basis.Ref) (reducer.State, error) {
	s, err := v.home.Base(ref)
	if err != nil {
		return s, err
	}
	v.open(ref, s)
	if v.out != nil {
		v.out.watching, v.out.seq = true, 1
	} else {
		a.con.begin()
	}
	if state, err := v.home.State(ref); err == nil && !state.Ended() && !v.home.Held(ref) {
		a.con.say("basis: nobody drives this task now; `basis wait " + ref.Task().String() + "` does")
	}
	for u, err := range v.home.Watch(ctx, ref) {
		if err != nil {
			return s, err
		}
		if !u.Live {
			s = reducer.Apply(s, u.Entry.Event)
		}
		v.update(u)
	}
	return s, nil
}

// rewound says that what was shown begins anew, because a repair has cut off
// some of it.
func (a *app) rewound(v *view, cut *basis.RewoundError) {
	if v.out != nil {
		a.con.print(string(line(struct {
			Type   string `json:"type"`
			Record uint64 `json:"record"`
		}{"rewound", cut.To})))
		return
	}
	a.con.say(fmt.Sprintf("basis: a repair cut off what came after record %d; it was never acknowledged. From the beginning:", cut.To))
}

func (a *app) cancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "ask for the end of a task",
		Flags:  []cli.Flag{jsonFlag()},
		Action: a.about("cancel", a.cancel),
	}
}

func (a *app) cancel(_ context.Context, c *cli.Command, h *basis.Home, ref basis.Ref) error {
	by := "person"
	if caller, inTask := a.caller(); inTask {
		if caller != ref {
			return fmt.Errorf("task %s may cancel itself and what it has begun, not task %s", caller, ref)
		}
		by = "task"
	}
	asked, err := h.Cancel(ref, by)
	if err != nil {
		return err
	}
	if !asked {
		out, ended, err := h.Ended(ref)
		if err != nil {
			return err
		}
		if ended {
			return a.ended(h, a.newView(h, false, c.Bool("json")), out)
		}
	}
	next := "basis wait " + ref.String()
	if c.Bool("json") {
		a.con.print(string(line(struct {
			Task  string `json:"task"`
			State string `json:"state"`
			Next  string `json:"next"`
		}{ref.String(), "cancel_requested", next})))
		return nil
	}
	a.con.print("task " + ref.String() + ": cancel_requested\n")
	a.con.say("next: use `" + next + "`")
	return nil
}

// shellWord is s as a shell takes it for one word; a plain path stays as it is.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
