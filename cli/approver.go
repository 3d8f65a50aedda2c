package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/basisagent/basis"
)

// approver asks the person at the terminal. Questions come one at a time.
type approver struct {
	env Env
	con *console
}

// Review shows what would run and reads one line. An answer for the rest of
// the run is kept by the process that drives the task and goes with it (CLI-71).
func (p *approver) Review(ctx context.Context, a basis.Approval) (basis.Verdict, error) {
	tool := flat(a.Tool)
	who := ""
	if a.Subagent != "" {
		who = "subagent " + flat(a.Subagent) + ": "
	}
	p.con.say("\n" + who + tool + " wants to run")
	if d := sentence(purpose(a)); d != "" {
		p.con.say("  " + printable(d))
	}
	var lines []string
	if s := strings.TrimRight(subject(a), "\n"); s != "" {
		lines = strings.Split(s, "\n")
	}
	if a.Diff != "" {
		lines = append(lines, strings.Split(strings.TrimSuffix(a.Diff, "\n"), "\n")...)
	} else {
		lines = append(lines, change(a.Input)...)
	}
	for _, l := range excerpt(lines) {
		p.con.say("  | " + printable(l))
	}
	p.con.say("  a and r hold in this run for every call of " + tool + "; with p or g " + reach(a))
	done := p.con.ask("allow? y once, a in this run, p in this project, g everywhere; n not now, r never in this run, rp, rg [y/a/p/g/n/r/rp/rg]: ")
	answer, err := p.line(ctx)
	done()
	if err != nil {
		return basis.Verdict{}, err
	}
	return verdict(answer, a), nil
}

// purpose is what the tool is for: spawn runs commands, but is asked about a task
// for a subagent, too.
func purpose(a basis.Approval) string {
	var p struct{ Mode string }
	if a.Tool == "spawn" && json.Unmarshal(a.Preview, &p) == nil && p.Mode == "agent" {
		return "Give this task to a subagent, which works here with the same tools."
	}
	return a.Description
}

// reach says what an answer for a project or for everywhere is about.
func reach(a basis.Approval) string {
	switch {
	case a.Declared:
		return "for every call of " + flat(a.Tool) + " as it is declared now"
	case a.Pattern != "":
		return "for exactly this command"
	}
	return "for every call of " + flat(a.Tool)
}

// verdict reads an answer. Whatever is none of the words denies once. What
// reaches beyond this run is narrowed to this very call where that can be said.
func verdict(answer string, a basis.Approval) basis.Verdict {
	v := basis.Verdict{Scope: "once", By: "person"}
	tool, what := a.Tool, a.Tool
	if a.Pattern != "" && !a.Declared {
		what = "this command"
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		v.Allow = true
	case "a", "always":
		v.Allow, v.Scope = true, "process"
	case "p", "project":
		v.Allow, v.Scope, v.Pattern = true, "project", a.Pattern
	case "g", "global":
		v.Allow, v.Scope, v.Pattern = true, "global", a.Pattern
	case "r", "never":
		v.Scope, v.Reason = "process", "the user does not allow "+tool+" in this run"
	case "rp":
		v.Scope, v.Pattern, v.Reason = "project", a.Pattern, "the user does not allow "+what+" in this project"
	case "rg":
		v.Scope, v.Pattern, v.Reason = "global", a.Pattern, "the user does not allow "+what+" anywhere"
	default:
		v.Reason = "the user did not allow this call of " + tool
	}
	return v
}

// subject is what a call would do: the whole command, or what it would change.
func subject(a basis.Approval) string {
	for _, raw := range []json.RawMessage{a.Preview, a.Input} {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		for _, name := range []string{"body", "command", "path", "file_path", "filePath", "input"} {
			var s string
			if json.Unmarshal(m[name], &s) == nil && s != "" {
				return s
			}
		}
	}
	var m map[string]json.RawMessage
	if a.Summary == "" && json.Unmarshal(a.Input, &m) == nil {
		return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	}
	return a.Summary
}

// sentence is the first sentence of a description: the rest is for the model.
func sentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if first, _, more := strings.Cut(s, ". "); more {
		s = first + "."
	}
	return cut(s, askedLine)
}

// change is what a call would write: the lines that go, and those that come.
func change(input json.RawMessage) []string {
	var m map[string]json.RawMessage
	if json.Unmarshal(input, &m) != nil {
		return nil
	}
	var edits []map[string]json.RawMessage
	if json.Unmarshal(m["edits"], &edits) != nil {
		edits = []map[string]json.RawMessage{m}
	}
	var lines []string
	for _, e := range edits {
		lines = append(lines, marked("- ", textOf(e, "old_string", "oldText", "oldString", "old"))...)
		lines = append(lines, marked("+ ", textOf(e, "new_string", "newText", "newString", "new", "content"))...)
	}
	return lines
}

// textOf is the first text under one of the names that models write.
func textOf(m map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(m[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func marked(mark, text string) []string {
	var lines []string
	for l := range strings.Lines(text) {
		lines = append(lines, mark+strings.TrimSuffix(l, "\n"))
	}
	return lines
}

// Limits of what a question shows.
const (
	askedHead = 80  // lines of the beginning
	askedTail = 40  // and of the end
	askedLine = 160 // runes; what is longer goes on in the next line
)

// excerpt is the text in lines that a terminal shows whole: a long one goes on
// in the next, since what a person does not see they can't judge. Of very many
// lines the beginning and the end are shown, and how many are between them.
func excerpt(lines []string) []string {
	var shown []string
	for _, l := range lines {
		rest := []rune(strings.ToValidUTF8(l, "\uFFFD"))
		for len(rest) > askedLine {
			shown = append(shown, string(rest[:askedLine]))
			rest = rest[askedLine:]
		}
		shown = append(shown, string(rest))
	}
	if more := len(shown) - askedHead - askedTail; more > 0 {
		tail := shown[len(shown)-askedTail:]
		shown = append(append(slices.Clone(shown[:askedHead]), "… "+counted(more, "line")+" are not shown …"), tail...)
	}
	return shown
}

// line reads one line of the terminal. When ctx ends it returns at once, and
// what is typed later is not lost: the read is given up, not left waiting,
// wherever the system can do that.
func (p *approver) line(ctx context.Context) (string, error) {
	in := p.env.Stdin
	if p.env.Terminal != nil {
		t, err := p.env.Terminal()
		if err != nil {
			return "", err
		}
		defer func() { _ = t.Close() }() // only read
		in = t
	}
	return readLine(ctx, in)
}

// deadliner is a reader whose reads can be given up.
type deadliner interface{ SetReadDeadline(time.Time) error }

func readLine(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		text string
		err  error
	}
	done := make(chan read, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		text, err := oneLine(in)
		done <- read{text, err}
	})
	select {
	case got := <-done:
		reader.Wait()
		return got.text, got.err
	case <-ctx.Done():
	}
	if d, ok := in.(deadliner); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		reader.Wait()
	} // else it waits for a line that nobody reads; the run is at its end
	return "", context.Cause(ctx)
}

// oneLine reads byte by byte, so nothing behind the line is taken.
func oneLine(in io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for {
		n, err := in.Read(b)
		if n > 0 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err == io.EOF {
			return string(line), nil // no answer is an answer: it denies
		}
		if err != nil {
			return "", err
		}
		if len(line) > bufio.MaxScanTokenSize {
			return string(line), nil
		}
	}
}
