package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
)

// Env is everything that the command line takes from the process around it.
// Stdin, Stdout, Stderr and Getenv are required.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Getenv reads one variable and Environ lists them all.
	Getenv  func(string) string
	Environ func() []string

	// Dir is the working directory; "" says that there is none any more.
	Dir string

	// StdinTTY, StdoutTTY and StderrTTY report whether a person is at the
	// other end. Nil is no.
	StdinTTY, StdoutTTY, StderrTTY func() bool

	// Width is how many columns the terminal has. Nil, or 0, is 80.
	Width func() int

	// Terminal opens the terminal for an answer to a question, apart from
	// Stdin, so that a read can be given up without losing what is typed
	// later. Nil reads Stdin.
	Terminal func() (io.ReadCloser, error)

	// Now is the clock. Nil is time.Now.
	Now func() time.Time
}

func is(f func() bool) bool { return f != nil && f() }

// dumb reports whether the terminal can't redraw a line.
func (e Env) dumb() bool {
	t := e.Getenv("TERM")
	return t == "dumb"
}

// app is one invocation.
type app struct {
	env Env
	con *console
}

// Main does what args say, args[0] being the program's name, and returns the
// exit code. When ctx ends with a *[basis.Stop] as its cause, a run is let go
// of and the code is that of the signal which the Stop names.
func Main(ctx context.Context, args []string, env Env) int {
	if env.Now == nil {
		env.Now = time.Now
	}
	a := &app{env: env, con: newConsole(env)}
	root := a.root()
	err := root.Run(ctx, shorthand(args))
	return a.finish(err)
}

// shorthand inserts the command that a prompt given alone stands for. Only the
// first argument is looked at, so the value of a flag is never taken for a
// prompt (CLI-11).
func shorthand(args []string) []string {
	if len(args) < 2 {
		return args
	}
	first := args[1]
	switch first {
	case "-h", "--help":
		return append([]string{args[0], "help"}, args[2:]...)
	case "-V", "--version":
		return []string{args[0], "version"}
	}
	if slices.Contains(reserved(), first) || slices.Contains(args[len(args)-1:], completionFlag) {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "spawn")
}

// completionFlag is what completion scripts end a command line with.
const completionFlag = "--generate-shell-completion"

// absent are words that other versions have as commands and this one has not.
// They are reserved so that they never become prompts.
func absent() []string { return []string{"send", "ask", "inbox", "serve", "__daemon"} }

// reserved are the first words that are never a prompt.
func reserved() []string {
	return append(absent(),
		"spawn", "run", "list", "wait", "watch", "cancel", "fingerprint", "replay", "verify", "rules", "doctor", "models", "debug", "version", "completion", "help")
}

func (a *app) root() *cli.Command {
	root := &cli.Command{
		Name: "basis", HideHelp: true, HideVersion: true, Usage: "run coding agents whose every step is on disk",
		Reader: a.env.Stdin, Writer: a.con.out(), ErrWriter: a.con.err(),
		EnableShellCompletion: true, DisableSliceFlagSeparator: true,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {},
		ConfigureShellCompletionCommand: a.completion,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"},
			&cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "show the version"},
		},
		Commands: []*cli.Command{
			a.spawnCommand(), a.listCommand(), a.waitCommand(), a.watchCommand(), a.cancelCommand(),
			a.replayCommand(), a.verifyCommand(), a.rulesCommand(), a.doctorCommand(), a.fingerprintCommand(), a.modelsCommand(), a.debugCommand(), a.versionCommand(), a.helpCommand(),
		},
		Action: a.bare,
	}
	for _, name := range absent() {
		root.Commands = append(root.Commands, absentCommand(name))
	}
	for _, c := range root.Commands {
		c.OnUsageError = parseError
		c.Action = a.withHelp(c.Action)
		c.DisableSliceFlagSeparator = true
	}
	root.OnUsageError = parseError
	root.Action = a.withHelp(root.Action)
	return root
}

// withHelp answers -h and -V before a command looks at its arguments.
func (a *app) withHelp(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		switch {
		case c.Bool("help"):
			a.con.print(helpOf(c))
			return nil
		case c.Bool("version"):
			a.con.print(versionLine())
			return nil
		}
		return action(ctx, c)
	}
}

func versionLine() string { return "basis " + basis.Version + "\n" }

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return tooMany(c, 0)
			}
			a.con.print(versionLine())
			return nil
		},
	}
}

// bare is the program without arguments: it never reads anything and never
// starts anything (CLI-8).
func (a *app) bare(context.Context, *cli.Command) error {
	return &usageError{
		what: `there is nothing to do: basis spawn <PROMPT>, or shorter basis "<PROMPT>", gives an agent work in this directory` +
			"; usage: " + rootSynopsis,
		next: "use `basis spawn <PROMPT>`, `basis fingerprint`, or `basis --help` for all commands; `basis serve --acp` is not part of this version",
	}
}

func absentCommand(name string) *cli.Command {
	return &cli.Command{
		Name: name, Hidden: true, SkipFlagParsing: true,
		Action: func(context.Context, *cli.Command) error {
			return &usageError{
				what: "this version of basis has no command `" + name + "`",
				next: "use `basis --help` to see what it has, or `basis -- " + name + "` if that was meant as a prompt",
			}
		},
	}
}

// home opens the data root.
func (a *app) home() (*basis.Home, error) {
	return basis.Open(basis.Options{Getenv: a.env.Getenv, Environ: a.env.Environ, Now: a.env.Now})
}

// workspace is the directory that -C names, or the working directory.
func (a *app) workspace(c *cli.Command) (string, error) {
	dir := c.String("workspace")
	switch {
	case c.IsSet("workspace") && strings.TrimSpace(dir) == "":
		return "", &usageError{what: "--workspace is empty", next: "name a directory, or leave the flag out for the current one"}
	case filepath.IsAbs(dir):
		return dir, nil
	case a.env.Dir == "":
		return "", errors.New("the working directory is not there any more; change to another one, or name a workspace by an absolute path with -C")
	}
	return filepath.Join(a.env.Dir, dir), nil
}

// task reads the one handle that a command takes.
func (a *app) task(c *cli.Command) (basis.Ref, error) {
	switch c.Args().Len() {
	case 1:
		return basis.ParseRef(c.Args().First())
	case 0:
		return basis.Ref{}, &usageError{what: "basis " + c.Name + " needs a task handle", next: "use `" + synopsis(c.Name) + "`; `basis list` shows the handles of this directory"}
	}
	return basis.Ref{}, tooMany(c, 1)
}

// caller is the task whose command this process is, if it is one.
func (a *app) caller() (basis.Ref, bool) {
	ref, err := basis.ParseRef(a.env.Getenv("BASIS_TASK_ID"))
	return ref, err == nil
}
