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
	p.con.say("\n" + tool + " wants to run")
	if d := firstOf(a.Description); d != "" {
		p.con.say("  " + printable(d))
	}
	for _, l := range excerpt(subject(a)) {
		p.con.say("  | " + printable(l))
	}
	done := p.con.ask("allow? y once, a always in this run, n not now, r never in this run [y/n/a/r]: ")
	answer, err := p.line(ctx)
	done()
	if err != nil {
		return basis.Verdict{}, err
	}
	return verdict(answer, a.Tool), nil
}

// verdict reads an answer. Whatever is none of the words denies once.
func verdict(answer, tool string) basis.Verdict {
	v := basis.Verdict{Scope: "once", By: "person"}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		v.Allow = true
	case "a", "always":
		v.Allow, v.Scope = true, "process"
	case "r", "never":
		v.Scope, v.Reason = "process", "The user does not allow "+tool+" in this run."
	default:
		v.Reason = "The user did not allow this call of " + tool + "."
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

// Limits of what a question shows.
const (
	maxAskedLines = 40
	maxAskedLine  = 400
)

// excerpt is the text in lines, and how much is left out if it is too long to
// show. A command is shown to its end wherever that is possible: what a person
// does not see they can't judge.
func excerpt(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if more := len(lines) - maxAskedLines; more > 0 {
		lines = append(slices.Clone(lines[:maxAskedLines]), "… and "+counted(more, "more line"))
	}
	for i, l := range lines {
		if more := len(l) - maxAskedLine; more > 0 {
			lines[i] = strings.ToValidUTF8(l[:maxAskedLine], "") + "… and " + counted(more, "more byte")
		}
	}
	return lines
}

func firstOf(s string) string {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			return cut(l, 160)
		}
	}
	return ""
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
