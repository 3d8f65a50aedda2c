package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/reducer"
)

func (a *app) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "show what a task here would read and use, which setting counts and why, and what is wrong",
		Flags: []cli.Flag{
			workspaceFlag(), jsonFlag(),
			text("provider", "NAME", "as for spawn"), text("base-url", "URL", "as for spawn"),
			text("model", "ID", "as for spawn"), text("effort", "LEVEL", "as for spawn"),
		},
		Action: a.plain("doctor", a.doctor),
	}
}

func (a *app) doctor(_ context.Context, c *cli.Command) error {
	dir, err := a.workspace(c)
	if err != nil {
		return err
	}
	o := reducer.Options{Provider: c.String("provider"), BaseURL: c.String("base-url"), Model: c.String("model")}
	if o.Effort, err = wordOf(c, "effort", "low", "medium", "high", "xhigh", "max"); err != nil {
		return err
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	d, err := h.Diagnose(dir, o)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		a.con.print(string(line(d)))
	} else {
		a.con.print(chart(d))
	}
	if len(d.Problems) > 0 {
		if !c.Bool("json") {
			a.con.say("basis: " + counted(len(d.Problems), "problem") + "; a task here would fail")
			a.con.say("next: mend the first, then use `basis doctor` again")
		}
		return settled(1)
	}
	if !c.Bool("json") {
		a.con.say("next: use `basis <PROMPT>`")
	}
	return nil
}

// sheet is a text made of headings and lines below them.
type sheet struct{ strings.Builder }

// head writes a name and a value beside it.
func (s *sheet) head(name, value string) {
	if value != "" {
		fmt.Fprintf(&s.Builder, "%-11s %s\n", name, printable(flat(value)))
	}
}

// list writes a heading and its lines, or nothing without lines.
func (s *sheet) list(name string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(&s.Builder, "\n%s\n", name)
	for _, l := range lines {
		fmt.Fprintf(&s.Builder, "  %s\n", strings.TrimRight(printable(flat(l)), " "))
	}
}

// chart is a diagnosis for people.
func chart(d basis.Diagnosis) string {
	var s sheet
	s.head("workspace", d.Workspace)
	s.head("data", d.DataDir)
	s.head("global", d.ConfigDir)
	if d.Provider != "" {
		s.head("asks", strings.TrimSpace(d.Provider+" "+d.Endpoint)+", as "+d.Wire)
		s.head("key from", d.KeyFrom)
		model := d.Model
		if model == "" {
			model = "the newest that the endpoint lists"
		}
		s.head("model", model)
	}
	s.list("settings", rows(d.Settings, func(k basis.KnownSetting) string {
		return strings.TrimSpace(fmt.Sprintf("%-9s %s, by %s %s", k.Name, k.Value, k.From, k.File))
	}))
	s.list("context documents, the weakest first", rows(d.Context, scoped))
	s.list("other files read", rows(d.Files, scoped))
	s.list("skills", rows(d.Skills, func(k reducer.SkillInfo) string {
		about := k.Description
		if k.Hidden {
			about = "(not for the model) " + about
		}
		return fmt.Sprintf("%-16s %s", k.Name, about)
	}))
	s.list("templates", rows(d.Templates, func(t reducer.TemplateInfo) string {
		return fmt.Sprintf("%-16s %s", strings.TrimSpace("/"+t.Name+" "+t.ArgumentHint), t.Description)
	}))
	s.list("memories", rows(d.Memories, func(m reducer.MemoryInfo) string { return fmt.Sprintf("%-16s %s", m.Name, m.Path) }))
	s.list("hooks, in the order in which they are asked", rows(d.Hooks, func(k reducer.HookInfo) string {
		about := "every tool"
		if len(k.Tools) > 0 {
			about = strings.Join(k.Tools, ", ")
		}
		return fmt.Sprintf("%-4s %-16s of %s, for %s", k.Event, k.Name, k.From, about)
	}))
	s.list("tools", rows(d.Tools, func(t basis.KnownTool) string {
		if t.From == "" {
			return t.Name
		}
		return fmt.Sprintf("%-16s of %s", t.Name, t.From)
	}))
	if d.Rules > 0 {
		s.list("rules", []string{counted(d.Rules, "remembered answer") + "; see `basis rules`"})
	}
	s.list("warnings", d.Warnings)
	s.list("problems", d.Problems)
	return s.String()
}

func scoped(f reducer.ContextFile) string { return fmt.Sprintf("%-11s %s", f.Scope, f.Path) }

func rows[T any](all []T, row func(T) string) []string {
	var lines []string
	for _, one := range all {
		lines = append(lines, row(one))
	}
	return lines
}
