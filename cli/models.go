package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/reducer"
)

func (a *app) modelsCommand() *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "list what an endpoint offers, newest first",
		Flags: []cli.Flag{
			workspaceFlag(),
			text("provider", "NAME", "whom to ask; what the environment names if not given"),
			text("base-url", "URL", "a server of your own that speaks chat/completions"),
			text("idle-timeout", "DURATION", "give up on a server that is silent for this long"),
			jsonFlag(),
		},
		Action: a.plain("models", a.models),
	}
}

func (a *app) models(ctx context.Context, c *cli.Command) error {
	idle, err := durationOf(c, "idle-timeout", 0)
	if err != nil {
		return err
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	dir, err := a.workspace(c)
	if err != nil {
		return err
	}
	listing, err := h.Models(ctx, dir, reducer.Options{Provider: c.String("provider"), BaseURL: c.String("base-url"), IdleMS: idle.Milliseconds()})
	if err != nil {
		return asked(c, err)
	}
	for _, m := range listing.Models {
		if c.Bool("json") {
			a.con.print(string(line(modelRow{Provider: listing.Provider, ID: m.ID, Window: m.Window, Created: day(m.Created)})))
			continue
		}
		a.con.print(strings.TrimRight(fmt.Sprintf("%-40s  %9s  %s", flat(m.ID), window(m.Window), day(m.Created)), " ") + "\n")
	}
	if !c.Bool("json") {
		at := ""
		if listing.Endpoint != "" {
			at = " at " + listing.Endpoint
		}
		a.con.say(fmt.Sprintf("basis: %s of provider %s%s", counted(len(listing.Models), "model"), listing.Provider, at))
		a.con.say("next: use `basis --model ID <PROMPT>`")
	}
	return nil
}

// asked is an error of a listing, which the flags may be to blame for.
func asked(c *cli.Command, err error) error {
	var url *basis.URLError
	switch {
	case c.IsSet("base-url") && errors.As(err, &url):
		return &usageError{what: err.Error(), next: "use `basis models --base-url http://HOST:PORT`"}
	case c.IsSet("provider") && errors.Is(err, basis.ErrUnknownProvider):
		return &usageError{what: err.Error(), next: "use `basis models --provider NAME` with one of these names"}
	}
	return err
}

// modelRow is one line of models --json. A window and a day that the endpoint
// doesn't say are absent.
type modelRow struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Window   int    `json:"window,omitempty"`
	Created  string `json:"created,omitempty"`
}

func window(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return strconv.Itoa(tokens)
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// debugCommand holds what helps to report a fault.
func (a *app) debugCommand() *cli.Command {
	return &cli.Command{
		Name: "debug", Usage: "help to report a fault",
		Commands: []*cli.Command{{
			Name: "decode", Usage: "show what basis makes of a recorded response of a model's server",
			ArgsUsage: "FILE|-",
			Flags: []cli.Flag{
				text("wire", "NAME", "how the server speaks: "+strings.Join(basis.Wires(), ", ")),
				text("status", "N", "the HTTP status of the response; 200 if not given"),
				&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Usage: "a header of the response, as 'Name: value'; may be repeated", DefaultText: "'K: V'", HideDefault: true, Local: true},
			},
			Action: a.decode, OnUsageError: parseError,
		}},
		Action: func(context.Context, *cli.Command) error {
			return &usageError{what: "debug needs a command: decode", next: "use `basis debug decode --wire NAME FILE`"}
		},
	}
}

const decodeSynopsis = "use `basis debug decode --wire NAME FILE`, or - for standard input"

func (a *app) decode(_ context.Context, c *cli.Command) error {
	if c.Bool("help") {
		a.con.print(helpOf(c))
		return nil
	}
	fail := func(err error) error { return &commandError{err: err, verb: "debug"} }
	if c.Args().Len() != 1 {
		return fail(&usageError{what: "debug decode needs one file", next: decodeSynopsis})
	}
	status := 200
	if c.IsSet("status") {
		n, err := strconv.Atoi(c.String("status"))
		if err != nil || n < 100 || n > 599 {
			return fail(&usageError{what: fmt.Sprintf("--status %q is no HTTP status", c.String("status")), next: "give a number from 100 to 599"})
		}
		status = n
	}
	header := map[string][]string{}
	for _, h := range c.StringSlice("header") {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fail(&usageError{what: fmt.Sprintf("--header %q has no name and value", h), next: "give it as --header 'Content-Type: text/event-stream'"})
		}
		name = canonical(name)
		header[name] = append(header[name], strings.TrimSpace(value))
	}
	body, err := a.recording(c.Args().First())
	if err != nil {
		return fail(err)
	}
	defer body.Close()
	decoded, err := basis.DecodeResponse(c.String("wire"), status, header, body)
	if _, ok := errors.AsType[*basis.PackedError](err); ok {
		return fail(err)
	}
	if err != nil {
		return fail(&usageError{what: err.Error(), next: decodeSynopsis})
	}
	a.con.print(string(line(decoded)))
	return nil
}

// canonical writes a header's name as HTTP libraries keep it.
func canonical(name string) string {
	parts := strings.Split(strings.ToLower(name), "-")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "-")
}

// recording opens the file with the response's body.
func (a *app) recording(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.env.Stdin), nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.env.Dir, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, errors.Join(err, f.Close(), errors.New(name+" is not a file"))
	}
	return f, nil
}
