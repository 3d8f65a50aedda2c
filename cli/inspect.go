package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

// maxRows is how many tasks a list shows without --all.
const maxRows = 50

func (a *app) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "show the tasks of a directory, last worked in first",
		Flags:  []cli.Flag{workspaceFlag(), toggle("all", "show all of them, not the newest 50"), jsonFlag()},
		Action: a.plain("list", a.list),
	}
}

// plain runs a command that is about no task.
func (a *app) plain(verb string, do func(context.Context, *cli.Command) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		var err error
		if c.Args().Len() > 0 {
			err = tooMany(c, 0)
		} else {
			err = do(ctx, c)
		}
		if err == nil {
			return nil
		}
		return &commandError{err: err, verb: verb, json: c.Bool("json")}
	}
}

func (a *app) list(_ context.Context, c *cli.Command) error {
	dir, err := a.workspace(c)
	if err != nil {
		return err
	}
	h, err := a.home()
	if err != nil {
		return err
	}
	rows, err := h.List(dir)
	if err != nil {
		return err
	}
	all := len(rows)
	if !c.Bool("all") && all > maxRows {
		rows = rows[:maxRows]
	}
	for _, r := range rows {
		if c.Bool("json") {
			a.con.print(string(line(rowOf(r))))
		} else {
			a.con.print(a.row(r))
		}
	}
	if all == 0 && !c.Bool("json") {
		a.con.say("basis: no tasks in " + dir)
	}
	if len(rows) < all {
		a.con.say(fmt.Sprintf("basis: %d of %d tasks; `basis list --all` shows the rest", len(rows), all))
	}
	a.con.say("next: use `" + synopsis("spawn") + "`")
	return nil
}

// listRow is one line of list --json (CLI-93).
type listRow struct {
	Task        string             `json:"task"`
	State       string             `json:"state"`
	StartedMS   int64              `json:"started_ms"`
	ActivityMS  int64              `json:"last_activity_ms"`
	Prompt      string             `json:"prompt"`
	Continuable bool               `json:"continuable"`
	Usage       *projections.Usage `json:"usage,omitempty"`
}

func rowOf(r basis.Row) listRow {
	return listRow{r.Ref.String(), r.State, r.StartedMS, r.ActivityMS, r.Prompt, r.Continuable, r.Usage}
}

func (a *app) row(r basis.Row) string {
	prompt, _, _ := strings.Cut(strings.TrimLeft(r.Prompt, "\n"), "\n")
	return fmt.Sprintf("%s  %-9s  %8s  %s\n", r.Ref, r.State, age(a.env.Now().Sub(time.UnixMilli(r.ActivityMS))), printable(cut(prompt, 64)))
}

// age is how long ago something was, roughly; a clock that ran backwards says
// just now.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return itoa(int64(d/time.Minute)) + "m ago"
	case d < 48*time.Hour:
		return itoa(int64(d/time.Hour)) + "h ago"
	}
	return itoa(int64(d/(24*time.Hour))) + "d ago"
}

func (a *app) fingerprintCommand() *cli.Command {
	return &cli.Command{
		Name: "fingerprint", Usage: "print a digest of a directory that changes when its files do",
		Flags:  []cli.Flag{workspaceFlag()},
		Action: a.plain("fingerprint", a.fingerprint),
	}
}

func (a *app) fingerprint(ctx context.Context, c *cli.Command) error {
	dir, err := a.workspace(c)
	if err != nil {
		return err
	}
	print, err := basis.Fingerprint(ctx, dir)
	if err != nil {
		return err
	}
	a.con.print(print + "\n")
	return nil
}

func (a *app) replayCommand() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "show a conversation as it stood",
		Flags: []cli.Flag{
			text("at", "N|tK", "as it stood after record N, or at the end of turn tK"),
			jsonFlag(),
		},
		Action: a.about("replay", a.replay),
	}
}

func (a *app) replay(ctx context.Context, c *cli.Command, h *basis.Home, ref basis.Ref) error {
	var p replay.Point
	if c.IsSet("at") {
		var err error
		if p, err = replay.ParsePoint(c.String("at")); err != nil {
			return &usageError{what: "--at " + err.Error(), next: "use `basis replay --at 17 " + ref.String() + "`; `basis watch --json` shows the record of each line"}
		}
	}
	base, err := h.Base(ref)
	if err != nil {
		return err
	}
	s, seq, err := replay.At(base, h.Entries(ctx, ref), p)
	if _, damaged := errors.AsType[*basis.CorruptError](err); err != nil && (!damaged || seq == 0) {
		return err
	}
	t := transcript{load: h.Load(ref)}
	if c.Bool("json") {
		a.con.print(string(line(t.json(ref, s, seq))))
		return err
	}
	a.con.reply(t.words(s))
	a.con.say(fmt.Sprintf("basis: %s after record %d of task %s", counted(s.Transcript.Len(), "message"), seq, ref))
	return err // of a damaged journal, whose good records are shown
}

func (a *app) verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check a task's journal: bytes, links, and that it explains itself",
		Flags:  []cli.Flag{jsonFlag()},
		Action: a.about("verify", a.verify),
	}
}

// audit is what a verification found, as --json prints it.
type audit struct {
	Task      string   `json:"task"`
	OK        bool     `json:"ok"`
	Records   uint64   `json:"records"`
	Bytes     int64    `json:"bytes"`
	Runs      uint64   `json:"generations"`
	Repairs   int      `json:"repairs"`
	Decisions int      `json:"decisions"`
	Skipped   int      `json:"skipped"`             // decided under other rules
	Subagents int      `json:"subagents,omitempty"` // whose journals were checked, too
	Head      string   `json:"head"`
	Torn      bool     `json:"torn"` // the end is cut off; the next attach repairs it
	Findings  []string `json:"findings"`
}

func (a *app) verify(ctx context.Context, c *cli.Command, h *basis.Home, ref basis.Ref) error {
	checked, err := h.Check(ref)
	if err != nil {
		return err
	}
	base, unfounded := h.Base(ref)
	r, diverged := replay.Verify(base, h.Entries(ctx, ref))
	v := audit{
		Task: ref.String(), Records: checked.Records, Bytes: checked.Bytes, Runs: checked.Gens, Repairs: checked.Repairs,
		Decisions: r.Decisions, Skipped: r.Skipped, Head: checked.Head.Link, Findings: []string{},
	}
	v.Torn = len(checked.Findings) == 0 && checked.Size > checked.Bytes
	for _, f := range checked.Findings {
		v.Findings = append(v.Findings, f.Error())
	}
	if _, damaged := errors.AsType[*basis.CorruptError](diverged); diverged != nil && !damaged {
		v.Findings = append(v.Findings, diverged.Error())
	}
	if unfounded != nil && len(v.Findings) == 0 {
		v.Findings = append(v.Findings, unfounded.Error())
	}
	for _, child := range h.Subagents(ref) {
		v.Subagents++
		r, err := replay.Verify(reducer.State{}, h.Entries(ctx, child))
		v.Decisions, v.Skipped = v.Decisions+r.Decisions, v.Skipped+r.Skipped
		if _, damaged := errors.AsType[*basis.CorruptError](err); err != nil && !damaged {
			v.Findings = append(v.Findings, "subagent "+child.Sub+": "+err.Error())
		}
	}
	v.OK = len(v.Findings) == 0
	if c.Bool("json") {
		a.con.print(string(line(v)))
	} else {
		a.told(v)
	}
	if !v.OK {
		return settled(exitFailed)
	}
	return nil
}

// told is an audit in words.
func (a *app) told(v audit) {
	a.con.print(fmt.Sprintf("%s, %s, %s, %s checked, head %s\n", counted(int(v.Records), "record"), counted(int(v.Bytes), "byte"),
		counted(int(v.Runs), "generation"), counted(v.Decisions, "decision"), v.Head))
	if v.Skipped > 0 {
		a.con.say(fmt.Sprintf("basis: %s made under another version of the rules were not compared", counted(v.Skipped, "record")))
	}
	if v.Torn {
		a.con.say("basis: the last record is cut off; that is what a crash leaves, and `basis wait` sets it aside")
	}
	if v.OK {
		a.con.print("nothing is wrong\n")
		return
	}
	for _, f := range v.Findings {
		a.con.say("basis: " + flat(f))
	}
	a.con.say("next: use `basis replay " + v.Task + "` to read what is good; nothing was changed")
}

// transcript writes a conversation.
type transcript struct {
	load func(reducer.Ref) ([]byte, error)
}

func (t transcript) text(x reducer.Text) string {
	if x.Blob.Digest != "" {
		if data, err := t.load(x.Blob); err == nil {
			return string(data)
		}
	}
	return x.String()
}

// The JSON form of a conversation.
type (
	conversation struct {
		Task     string    `json:"task"`
		Record   uint64    `json:"record"`
		State    string    `json:"state,omitempty"` // of a task that has ended
		Model    string    `json:"model,omitempty"`
		Provider string    `json:"provider,omitempty"`
		Messages []message `json:"messages"`
	}

	message struct {
		Role    string   `json:"role"`
		Text    string   `json:"text,omitempty"`
		Calls   []call   `json:"calls,omitempty"`
		Results []result `json:"results,omitempty"`
	}

	call struct {
		ID    string          `json:"tool_call_id"`
		Name  string          `json:"tool_name"`
		Input json.RawMessage `json:"input"`
	}

	result struct {
		ID      string `json:"tool_call_id"`
		Name    string `json:"tool_name"`
		Text    string `json:"text"`
		IsError bool   `json:"is_error"`
	}
)

func (t transcript) json(ref basis.Ref, s reducer.State, seq uint64) conversation {
	c := conversation{
		Task: ref.String(), Record: seq, State: string(s.End.State),
		Model: s.Setup.Source.Model, Provider: s.Setup.Source.Provider, Messages: []message{},
	}
	for _, m := range s.Transcript.Messages() {
		c.Messages = append(c.Messages, t.message(m))
	}
	return c
}

func (t transcript) message(m reducer.Message) message {
	out := message{Role: string(m.Role), Text: projections.PartsText(m.Parts)}
	calls := 0
	for _, it := range m.Items {
		switch it.Type {
		case reducer.ItemText:
			out.Text += t.text(it.Text)
		case reducer.ItemCall:
			out.Calls = append(out.Calls, call{reducer.CallID(m.Key, calls), it.Name, asJSON(t.text(it.Args))})
			calls++
		case reducer.ItemReasoning, reducer.ItemOther:
		}
	}
	for _, r := range m.Results {
		out.Results = append(out.Results, result{r.Call, r.Name, t.text(r.Text), r.IsError})
	}
	return out
}

// asJSON is a call's arguments as they were sent, as a string if they are not JSON.
func asJSON(args string) json.RawMessage {
	if strings.TrimSpace(args) == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return line(args)
}

// words is the conversation for a person: who speaks stands alone on a line.
func (t transcript) words(s reducer.State) string {
	var b strings.Builder
	for _, m := range s.Transcript.Messages() {
		w := t.message(m)
		if m.Role != reducer.RoleResults {
			fmt.Fprintf(&b, "%s:\n", w.Role)
		}
		indent(&b, "  ", w.Text)
		for _, c := range w.Calls {
			fmt.Fprintf(&b, "  %s %s %s\n", c.ID, c.Name, c.Input)
		}
		for _, r := range w.Results {
			mark := "result"
			if r.IsError {
				mark = "error"
			}
			fmt.Fprintf(&b, "%s of %s %s:\n", mark, r.ID, r.Name)
			indent(&b, "  ", r.Text)
		}
	}
	return b.String()
}

func indent(b *strings.Builder, by, text string) {
	for l := range strings.Lines(text) {
		b.WriteString(by + strings.TrimSuffix(l, "\n") + "\n")
	}
}
