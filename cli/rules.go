package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
)

func (a *app) rulesCommand() *cli.Command {
	return &cli.Command{
		Name: "rules", Usage: "list or take back what was allowed or denied for a project or everywhere",
		ArgsUsage: "list | revoke ID",
		Flags:     []cli.Flag{workspaceFlag(), jsonFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := a.rules(ctx, c); err != nil {
				return &commandError{err: err, verb: "rules", json: c.Bool("json")}
			}
			return nil
		},
	}
}

func (a *app) rules(_ context.Context, c *cli.Command) error {
	dir, err := a.workspace(c)
	if err != nil {
		return err
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	args := c.Args().Slice()
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "list":
		return a.listRules(c, h, dir)
	case len(args) == 2 && args[0] == "revoke":
		return a.revokeRule(c, h, dir, args[1])
	}
	return &usageError{what: "rules takes list, or revoke and an id", next: "use `basis rules list`, then `basis rules revoke ID`"}
}

// ruleRow is one line of rules --json.
type ruleRow struct {
	ID      string `json:"id"`
	Scope   string `json:"scope"`
	Tool    string `json:"tool"`
	Pattern string `json:"pattern,omitempty"`
	Allow   bool   `json:"allow"`
	Reason  string `json:"reason,omitempty"`
	TimeMS  int64  `json:"time_ms"`
	Revoked bool   `json:"revoked,omitempty"`
}

func ruleRowOf(r basis.Rule) ruleRow {
	return ruleRow{ID: r.ID, Scope: r.Scope, Tool: r.Tool, Pattern: r.Pattern, Allow: r.Allow, Reason: r.Reason, TimeMS: r.Time.UnixMilli()}
}

func (a *app) listRules(c *cli.Command, h *basis.Home, dir string) error {
	rules, err := h.Rules(dir)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if c.Bool("json") {
			a.con.print(string(line(ruleRowOf(r))))
			continue
		}
		a.con.print(fmt.Sprintf("%-5s %-8s %8s  %s\n", r.ID, r.Scope, age(a.env.Now().Sub(r.Time.Truncate(time.Second))), printable(flat(r.String()))))
	}
	switch {
	case c.Bool("json"):
	case len(rules) == 0:
		a.con.say("basis: nothing is remembered for " + dir)
	default:
		a.con.say("next: use `basis rules revoke ID` to take one back")
	}
	return nil
}

func (a *app) revokeRule(c *cli.Command, h *basis.Home, dir, id string) error {
	r, err := h.Revoke(dir, id)
	if errors.Is(err, basis.ErrNoRule) {
		return fmt.Errorf("%w %q for %s", basis.ErrNoRule, id, dir)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		row := ruleRowOf(r)
		row.Revoked = true
		a.con.print(string(line(row)))
		return nil
	}
	a.con.print("revoked " + r.ID + ": " + printable(flat(r.String())) + "\n")
	return nil
}
