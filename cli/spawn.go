package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/reducer"
)

// Limits of a wait.
const (
	defaultWait = 30 * time.Minute
	longestWait = 7 * 24 * time.Hour
)

// route is what becomes of a prompt.
type route int

const (
	attach    route = iota // drive it here and print what came of it
	streamed               // drive it here and print the stream
	resumable              // only make it
)

// request is a spawn command that makes sense.
type request struct {
	spec    basis.Spec
	route   route
	json    bool
	timeout time.Duration
}

func (a *app) spawnCommand() *cli.Command {
	return &cli.Command{
		Name: "spawn", Aliases: []string{"run"}, Usage: "give an agent work",
		Flags: []cli.Flag{
			workspaceFlag(), jsonFlag(),
			&cli.StringSliceFlag{Name: "image", Usage: "show the model this PNG, JPEG, GIF or WebP; may be repeated", DefaultText: "FILE", HideDefault: true, Local: true},
			toggle("await", "drive the task here and wait for its end; what happens at a shell anyway"),
			toggle("resumable", "only make the task; basis wait drives it"),
			toggle("continue", "go on with the conversation last worked in here, in a new task"),
			toggle("detached", "inside a task: belong to nobody"),
			timeoutFlag(),
			text("provider", "NAME", "who answers: anthropic, openai, gemini, openrouter, ollama, lmstudio or demo"),
			text("base-url", "URL", "a server of your own that speaks chat/completions"),
			text("model", "ID", "the model; the provider's newest if nothing says which"),
			text("effort", "LEVEL", "how hard to think: low, medium, high, xhigh or max"),
			toggle("no-shell", "refuse commands; files can still be written"),
			text("system-prompt", "TEXT", "replace the whole system text"),
			text("append-system-prompt", "TEXT", "add to the end of the system text"),
			text("approve", "MODE", "who allows changes: always (nobody is asked), prompt (you, at this terminal) or never"),
			text("deadline", "DURATION", "end the task after this long; 30m if not given, none with --json"),
			text("tool-budget", "N", "end a turn that asks for more tool calls than this"),
			text("token-budget", "N", "end a turn that costs more tokens than this"),
			&cli.StringSliceFlag{Name: "pass-env", Usage: "let commands see this variable; may be repeated", DefaultText: "NAME", HideDefault: true, Local: true},
			text("idle-timeout", "DURATION", "give up on a server that is silent for this long"),
			text("command-timeout", "DURATION", "stop a command that runs for longer than this"),
		},
		Action: a.spawn,
	}
}

func (a *app) spawn(ctx context.Context, c *cli.Command) error {
	var ref basis.Ref
	err := a.spawnTo(ctx, c, &ref)
	if err == nil {
		return nil
	}
	if _, said := errors.AsType[settled](err); said {
		return err
	}
	return &commandError{err: err, ref: ref, verb: "spawn", json: c.Bool("json")}
}

func (a *app) spawnTo(ctx context.Context, c *cli.Command, ref *basis.Ref) error {
	r, err := a.request(ctx, c)
	if err != nil {
		return err
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	if r.route == resumable {
		if *ref, err = h.Spawn(r.spec); err != nil {
			return err
		}
		return a.made(*ref, r.json)
	}
	return a.run(ctx, h, r, ref)
}

// made tells of a task that waits for somebody to drive it (CLI-48).
func (a *app) made(ref basis.Ref, asJSON bool) error {
	next := "basis wait " + ref.String()
	if asJSON {
		a.con.print(string(line(struct {
			Task  string `json:"task"`
			State string `json:"state"`
			Next  string `json:"next"`
		}{ref.String(), "resumable", next})))
		return nil
	}
	a.con.print("task " + ref.String() + ": resumable\n")
	a.con.say("next: use `" + next + "`")
	return nil
}

// run makes the task and drives it here.
func (a *app) run(ctx context.Context, h *basis.Home, r request, ref *basis.Ref) error {
	view := a.newView(h, r.route == streamed, r.json)
	d := a.drive(view, r.timeout)
	d.Started = func(made basis.Ref, from reducer.State) {
		*ref = made
		view.open(made, from)
		a.con.say("basis: task " + made.String())
		a.con.begin()
	}
	out, err := h.Run(ctx, r.spec, d)
	return a.outcome(h, view, out, err, r.timeout)
}

// drive is what both driving commands ask of the SDK.
func (a *app) drive(v *view, timeout time.Duration) basis.Drive {
	d := basis.Drive{
		Sink: v.update, Timeout: timeout,
		Warn: func(line string) { a.con.say("basis: " + flat(line)) },
	}
	if is(a.env.StdinTTY) {
		d.Approver = &approver{env: a.env, con: a.con}
	}
	return d
}

// request reads what the command says, before anything is touched.
func (a *app) request(ctx context.Context, c *cli.Command) (request, error) {
	r := request{json: c.Bool("json")}
	for _, pair := range [][2]string{{"await", "resumable"}, {"system-prompt", "append-system-prompt"}} {
		if err := conflict(c, pair[0], pair[1]); err != nil {
			return r, err
		}
	}
	_, inTask := a.caller()
	r.route = routeOf(inTask, c.Bool("await"), c.Bool("resumable"), r.json)
	var err error
	if r.timeout, err = a.timeoutOf(c, r.route); err != nil {
		return r, err
	}
	if r.spec, err = a.spec(c, r.route); err != nil {
		return r, err
	}
	if r.spec.Prompt, err = a.prompt(ctx, c); err != nil || c.Args().First() == "-" {
		return r, err
	}
	r.spec.Prompt, err = a.expand(r.spec.Workspace, r.spec.Prompt)
	return r, err
}

// expand puts a template in the place of its name (CLI-36, CLI-40).
func (a *app) expand(dir, prompt string) (string, error) {
	if !strings.HasPrefix(prompt, "/") {
		return prompt, nil
	}
	h, err := a.home()
	if err != nil {
		return "", err
	}
	text, err := h.Expand(dir, prompt)
	if unknown, ok := errors.AsType[*basis.TemplateError](err); ok {
		there := "there are none; put one into .basis/templates/" + flat(unknown.Name) + ".md"
		if len(unknown.Names) > 0 {
			there = "there are: " + flat(strings.Join(unknown.Names, ", "))
		}
		return "", &usageError{
			what: fmt.Sprintf("%s; %s. A prompt that begins with a slash can come on standard input", unknown.Error(), there),
			next: "use `basis spawn -`",
		}
	}
	return text, err
}

// routeOf: the environment decides and not the renderer (CLI-45). Inside a task
// a new one is only made unless --await says otherwise.
func routeOf(inTask, await, only, asJSON bool) route {
	switch {
	case await:
		return attach
	case only || inTask:
		return resumable
	case asJSON:
		return streamed
	}
	return attach
}

func (a *app) timeoutOf(c *cli.Command, r route) (time.Duration, error) {
	if c.IsSet("timeout") && !c.Bool("await") {
		return 0, &usageError{
			what: "--timeout bounds a wait that --await asks for; here it would bound nothing",
			next: "add --await, or use --deadline to end the task itself",
		}
	}
	if r == streamed {
		return 0, nil
	}
	d, err := durationOf(c, "timeout", defaultWait)
	return min(d, longestWait), err
}

// spec is what the flags ask of a task.
func (a *app) spec(c *cli.Command, r route) (basis.Spec, error) {
	s := basis.Spec{Detached: c.Bool("detached"), Continue: c.Bool("continue")}
	for _, name := range c.StringSlice("image") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(a.env.Dir, name)
		}
		s.Images = append(s.Images, name)
	}
	var err error
	if s.Options, err = options(c); err != nil {
		return s, err
	}
	if s.Bounds.Tools, err = countOf(c, "tool-budget"); err != nil {
		return s, err
	}
	if s.Bounds.Tokens, err = countOf(c, "token-budget"); err != nil {
		return s, err
	}
	otherwise := time.Duration(0)
	if r == streamed {
		otherwise = basis.NoDeadline
	}
	if s.Deadline, err = durationOf(c, "deadline", otherwise); err != nil {
		return s, err
	}
	if s.Workspace, err = a.workspace(c); err != nil {
		return s, err
	}
	s.Parent, _ = a.caller()
	return s, a.askable(s.Options.Approve, r)
}

// askable refuses a task that would ask where nobody can answer (CLI-67).
func (a *app) askable(mode reducer.Approve, r route) error {
	switch {
	case mode != reducer.ApprovePrompt:
		return nil
	case r == resumable:
		return &unaskable{"--approve prompt needs somebody to ask, and a task that is only made has nobody"}
	case !is(a.env.StdinTTY):
		return &unaskable{"--approve prompt needs a terminal to ask at, and standard input is none"}
	}
	return nil
}

// unaskable is a task that could never get an answer.
type unaskable struct{ what string }

func (e *unaskable) Error() string { return e.what }

func (*unaskable) next() string {
	return "use `basis spawn --approve never <PROMPT>` or `--approve always`, or give it work at a terminal"
}

// Unwrap is the SDK's word for it.
func (e *unaskable) Unwrap() error { return basis.ErrUnaskable }

func options(c *cli.Command) (reducer.Options, error) {
	o := reducer.Options{
		Provider: c.String("provider"), BaseURL: c.String("base-url"), Model: c.String("model"),
		NoShell: c.Bool("no-shell"), Append: c.String("append-system-prompt"),
	}
	if c.IsSet("system-prompt") {
		system := c.String("system-prompt")
		o.System = &system
	}
	var err error
	if o.Effort, err = wordOf(c, "effort", "low", "medium", "high", "xhigh", "max"); err != nil {
		return o, err
	}
	approve, err := wordOf(c, "approve", "always", "prompt", "never")
	if err != nil {
		return o, err
	}
	o.Approve = reducer.Approve(approve)
	idle, err := durationOf(c, "idle-timeout", 0)
	if err != nil {
		return o, err
	}
	commands, err := durationOf(c, "command-timeout", 0)
	if err != nil {
		return o, err
	}
	o.IdleMS, o.CommandMS = idle.Milliseconds(), commands.Milliseconds()
	o.PassEnv, err = passEnv(c)
	return o, err
}

func passEnv(c *cli.Command) ([]string, error) {
	names := c.StringSlice("pass-env")
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, "= \t\n") {
			return nil, &usageError{
				what: fmt.Sprintf("--pass-env %q is not the name of a variable", n),
				next: "give the name alone, as in `--pass-env GOFLAGS`; its value is taken from this environment",
			}
		}
	}
	return names, nil
}

// maxStdin is how much of standard input is read before a prompt on it is
// refused as too long, so that an endless stream ends.
const maxStdin = 8 << 20

// prompt is the one argument, or all of standard input where it is "-".
func (a *app) prompt(ctx context.Context, c *cli.Command) (string, error) {
	switch c.Args().Len() {
	case 0:
		return "", &usageError{what: "there is no prompt", next: "use `" + synopsis("spawn") + "`, or `basis -` to read it from standard input"}
	case 1:
	default:
		return "", tooMany(c, 1)
	}
	p := c.Args().First()
	if p != "-" {
		if !utf8.ValidString(p) {
			return "", &usageError{what: "the prompt is not UTF-8 text", next: "put it into a file in UTF-8 and name the file in the prompt"}
		}
		return p, nil
	}
	data, err := readAll(ctx, a.env.Stdin)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", fmt.Errorf("read the prompt from standard input: %w", err)
	case len(data) > maxStdin:
		return "", fmt.Errorf("the prompt on standard input is longer than %d bytes, the most is %d; put the long part into a file and name it", maxStdin, basis.MaxPrompt)
	case !utf8.Valid(data):
		return "", errors.New("what came on standard input is not UTF-8 text; convert it, or put it into a file and name the file")
	case strings.TrimSpace(string(data)) == "":
		return "", &usageError{what: "no prompt on stdin: standard input held nothing but white space", next: "use `basis spawn <PROMPT>`, or pipe text into `basis -`"}
	}
	return string(data), nil
}

// readAll reads a little more than maxStdin at most. A read that waits is
// given up when ctx ends: the process ends then, and the reader with it.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		data, err := io.ReadAll(io.LimitReader(r, maxStdin+1))
		done <- read{data, err}
	})
	select {
	case got := <-done:
		reader.Wait()
		return got.data, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
