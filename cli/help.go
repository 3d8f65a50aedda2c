package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

const rootSynopsis = `basis "<PROMPT>" [flags], or basis <COMMAND> [flags]`

// synopsis is how a command is typed.
func synopsis(name string) string {
	switch name {
	case "spawn", "run":
		return "basis spawn <PROMPT>"
	case "wait", "watch", "cancel", "replay", "verify":
		return "basis " + name + " <ID>"
	case "debug", "decode":
		return "basis debug decode --wire NAME FILE|-"
	case "rules":
		return "basis rules [list | revoke ID]"
	case "list", "fingerprint", "models", "doctor", "version", "help":
		return "basis " + name
	case "completion":
		return "basis completion bash|zsh|fish"
	}
	return "basis spawn <PROMPT>"
}

const rootHelp = `basis gives coding agents work. Every step of a run is on disk before it
happens, so a run that is interrupted goes on where it stood, and can be read
and checked afterwards.

usage:
  basis "<PROMPT>"              the same as basis spawn "<PROMPT>"
  basis -                       read the prompt from standard input
  basis <COMMAND> [flags]

commands:
  spawn <PROMPT>                give an agent work in this directory (also: run)
  wait <ID>                     bring a task to its end, print its answer
  watch <ID>                    show what a task did and does
  cancel <ID>                   ask for the end of a task
  list                          the tasks of this directory
  replay <ID> [--at N|tK]       the conversation as it stood
  verify <ID>                   check a task's journal
  rules [list | revoke ID]      what was allowed or denied for good
  doctor                        what a task here would read and use, and what is wrong
  models                        what an endpoint offers
  debug decode                  what basis makes of a recorded response
  fingerprint                   a digest that changes when the files do
  completion bash|zsh|fish      a completion script
  version, help [COMMAND]

examples:
  basis "why does TestParse fail?" > answer.md
  git diff | basis -
  basis --json "count the tests" | jq -r 'select(.type=="tool_queued").summary'
  basis --approve prompt "fix it"         ask before each change
  basis --approve never "review this"     change nothing
  basis --provider demo "show me around"  no key, no model, no cost
  basis -- list                           a prompt that is also a command

exit codes:
  0    the run finished, or the command did its job
  1    the run failed, or could not be started
  2    the invocation was wrong
  3    a bound ended the run (deadline, tool budget, token budget), or a wait timed out
  129, 130, 143   ended by a hang-up, an interrupt, a termination; basis wait <ID> goes on

A provider's key is taken from its variable, such as OPENAI_API_KEY; for a server
of your own set BASIS_BASE_URL. basis spawn --help lists the flags.
`

// examples are the lines that a command's help ends with.
func examples(name string) string {
	switch name {
	case "spawn":
		return `examples:
  basis "explain the build"                     drive it here, print the answer
  basis spawn --resumable "update the docs"     only make it; then basis wait <ID>
  basis --model ID --effort high "find the race"
  basis --deadline 10m --token-budget 200000 "tidy up"
  basis --no-shell --approve never "review main.go"
  basis --pass-env GOFLAGS "run the tests"
`
	case "wait":
		return "A task that has ended is answered from its journal; nothing runs again. If another\nprocess drives the task, this one waits for it.\n\nexamples:\n  basis wait <ID>\n  basis wait --timeout 5m --json <ID>\n"
	case "watch":
		return "It never drives: a task that nobody drives stays as it is.\n\nexamples:\n  basis watch <ID>\n  basis watch --json <ID> | jq -c 'select(.type==\"usage\")'\n"
	case "cancel":
		return "A running command is stopped at once. A task that nobody drives is cancelled when\nsomebody next waits for it.\n\nexample:\n  basis cancel <ID> && basis wait <ID>\n"
	case "list":
		return "examples:\n  basis list\n  basis list --json --all | jq -r 'select(.state==\"resumable\").task'\n"
	case "replay":
		return "examples:\n  basis replay <ID>\n  basis replay --at t1 <ID>\n  basis replay --at 17 --json <ID>\n"
	case "verify":
		return "Exit code 1 says that something is wrong; each finding is told.\n\nexample:\n  basis verify --json <ID> | jq .head\n"
	case "models":
		return "examples:\n  basis models\n  basis models --provider ollama --json | jq -r .id\n"
	case "doctor":
		return "It asks no server and runs nothing. Exit code 1 says that a task here would fail.\n\nexamples:\n  basis doctor\n  basis doctor -C ../other --json | jq '.settings[]'\n"
	case "debug":
		return "`basis debug decode --help` lists its flags.\n"
	case "decode":
		return "For bug reports: the body of a response in, one JSON object out. Calls may be carried\nout only where stop is tool_use; error_class says what went wrong, if anything did.\n\nexamples:\n  basis debug decode --wire openai-chat body.sse\n  curl … | basis debug decode --wire anthropic-messages --status 529 -\n"
	case "rules":
		return "A question's answers p and rp are kept for the project, g and rg for every\ndirectory. They hold until they are revoked. What they allow still\ndoes not run under --approve never.\n\n" +
			"example:\n  basis rules\n  basis rules revoke p2\n"
	case "fingerprint":
		return "example:\n  test \"$(basis fingerprint)\" = \"$(cat last)\" || basis \"look at what changed\"\n"
	}
	return ""
}

// helpOf is the help of one command.
func helpOf(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nusage:\n  %s [flags]\n", c.Name, c.Usage, synopsis(c.Name))
	if c.Name == "spawn" {
		b.WriteString("  basis \"<PROMPT>\" [flags]\n  basis - [flags]               the prompt from standard input\n")
	}
	if len(c.Flags) > 0 {
		b.WriteString("\nflags:\n")
	}
	for _, f := range c.Flags {
		b.WriteString(flagLine(f))
	}
	if ex := examples(c.Name); ex != "" {
		b.WriteString("\n" + ex)
	}
	b.WriteString("\n`basis --help` explains the exit codes.\n")
	return b.String()
}

func flagLine(f cli.Flag) string {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
	left := strings.Join(names, ", ")
	if doc.TakesValue() {
		left += " " + doc.GetDefaultText()
	}
	return fmt.Sprintf("  %-28s  %s\n", left, doc.GetUsage())
}

func (a *app) helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "show help",
		Action: func(_ context.Context, c *cli.Command) error {
			name := c.Args().First()
			for _, sub := range c.Root().Commands {
				if !sub.Hidden && name != "" && slices.Contains(sub.Names(), name) {
					a.con.print(helpOf(sub))
					return nil
				}
			}
			if name != "" {
				return &usageError{what: "there is no command `" + name + "`", next: "use `basis --help` to see all of them"}
			}
			a.con.print(rootHelp)
			return nil
		},
	}
}

// completion keeps the shells that basis is tested with.
func (a *app) completion(c *cli.Command) {
	c.Hidden = false
	c.Usage = "print a completion script"
	c.Description = ""
	c.Commands = slices.DeleteFunc(c.Commands, func(sub *cli.Command) bool { return sub.Name == "pwsh" })
	c.OnUsageError = parseError
	c.Action = a.withHelp(func(_ context.Context, c *cli.Command) error {
		what := "basis completion needs the name of a shell"
		if c.Args().Present() {
			what = fmt.Sprintf("there is no completion for %q", c.Args().First())
		}
		return &usageError{what: what, next: "use `basis completion bash`, `basis completion zsh` or `basis completion fish`"}
	})
}
