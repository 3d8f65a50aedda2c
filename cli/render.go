package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// renderer shows a run to a person, while it happens or again.
type renderer struct {
	con    *console
	stream *projections.Stream
	shown  string // what has been streamed of the answer that is arriving
	said   bool   // the final message of the newest turn is on standard output
	calls  map[string]string
}

func (a *app) newRenderer(s *projections.Stream) *renderer {
	return &renderer{con: a.con, stream: s, calls: s.Asked()}
}

// stream is the public stream of a task from a state of it on.
func stream(h *basis.Home, ref basis.Ref, from reducer.State) *projections.Stream {
	return projections.NewStream(projections.StreamOptions{Task: ref.String(), Program: basis.Version, Load: h.Load(ref), Base: from})
}

// update shows one thing that happened.
func (r *renderer) update(u basis.Update) {
	if u.Live {
		r.progress(u.Progress)
		return
	}
	lines := r.stream.Entry(u.Entry)
	for _, l := range lines {
		r.line(l.Body)
	}
	switch e := u.Entry.Event.(type) {
	case reducer.TurnStarted:
		r.shown, r.said = "", false
	case reducer.RoundStarted:
		r.shown = ""
		r.doing("waiting for " + r.stream.State().Asked.Model)
	case reducer.TurnEnded:
		r.turnEnded(e)
	default: // the public stream has lines for the others
	}
}

func (r *renderer) doing(what string) {
	total := r.stream.State().Usage().Total()
	r.con.update(func(a *activity) { a.doing, a.tokens = what, total })
}

func (r *renderer) progress(p reducer.Progress) {
	switch p.Kind {
	case reducer.ProgressText:
		if r.con.outTTY {
			r.shown += p.Text
			r.con.print(printable(p.Text))
		}
		r.doing("answering")
	case reducer.ProgressReasoning:
		r.doing("thinking")
	case reducer.ProgressCall:
		r.doing("calling " + p.Text)
	case reducer.ProgressOutput:
		if last := lastLine(p.Text); last != "" {
			r.doing(r.calls[p.Call] + ": " + last)
		}
	case reducer.ProgressVoid:
		r.shown = ""
		r.con.endLine()
	}
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// line shows one line of the public stream.
func (r *renderer) line(b projections.Body) {
	switch b := b.(type) {
	case projections.RunStarted:
		if b.Model != "" { // a prompt whose turn never began has none
			r.con.say("basis: " + flat(b.Model) + ", " + counted(len(b.ContextFiles), "context file"))
		}
		noModel(r.con, b)
	case projections.AssistantMessage:
		r.message(b.Text)
	case projections.ToolQueued:
		r.calls[b.ToolCallID] = b.Summary
		r.con.say("  · " + flat(orElse(b.Summary, b.ToolName)))
	case projections.ToolStarted:
		r.doing(orElse(r.calls[b.ToolCallID], b.ToolName))
	case projections.ToolCompleted:
		r.completed(b)
	case projections.Retry:
		delay := (time.Duration(b.NextDelayMS) * time.Millisecond).Round(100 * time.Millisecond)
		r.con.say(fmt.Sprintf("basis: %s (retry %d of %d, in %s)", flat(b.Error), b.Attempt, b.MaxAttempts-1, delay))
	case projections.Notice:
		r.con.say("basis: " + flat(b.Message))
	case projections.RunFinished:
		r.finished(b)
	case projections.UserMessage, projections.AssistantDelta, projections.AssistantReasoningDelta, projections.ToolProgress,
		projections.PermissionRequested, projections.PermissionResolved, projections.TaskUpdated, projections.UsageReported,
		projections.Failure: // the end says it
	}
}

// noModel says so where the answers come from no model.
func noModel(con *console, b projections.RunStarted) {
	if b.Provider == "demo" {
		con.say("basis: provider demo: no model is asked, a program in this binary plays one")
	}
}

// message shows what has not been streamed of an answer that is now on disk.
func (r *renderer) message(text string) {
	if !r.con.outTTY {
		return // the end of the turn prints the final one
	}
	rest, ok := strings.CutPrefix(text, r.shown)
	if !ok {
		r.con.endLine()
		rest = text
	}
	r.con.print(printable(rest))
	r.con.endLine()
	r.shown, r.said = "", true
}

func (r *renderer) completed(b projections.ToolCompleted) {
	name := flat(orElse(b.ToolName, b.ToolCallID))
	if b.IsError {
		r.con.say("  ! " + name + ": " + flat(b.Summary))
	} else {
		r.con.say("  ✓ " + name)
	}
	delete(r.calls, b.ToolCallID)
	r.doing("")
}

func (r *renderer) turnEnded(e reducer.TurnEnded) {
	r.doing("")
	if e.Outcome != reducer.OutcomeOK {
		r.con.endLine()
		return
	}
	if r.con.outTTY {
		return
	}
	if text := r.stream.Text(r.stream.State().Last.Result); text != "" {
		r.con.reply(text)
		r.said = true
	}
}

func (r *renderer) finished(b projections.RunFinished) {
	if b.Usage == nil {
		return
	}
	in, out := known(b.Usage.Input), known(b.Usage.Output)
	if in+out > 0 {
		r.con.say("basis: " + tokens(in) + " in · " + tokens(out) + " out")
	}
}

func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// tokens writes a count in at most four characters: 980, 1.2k, 12k, 1.2M.
func tokens(n int64) string {
	if n < 1000 {
		return itoa(n)
	}
	unit, suffix := int64(1000), "k"
	if n >= 1_000_000 {
		unit, suffix = 1_000_000, "M"
	}
	whole, tenth := n/unit, n%unit*10/unit
	if whole >= 10 || tenth == 0 {
		return itoa(whole) + suffix
	}
	return itoa(whole) + "." + itoa(tenth) + suffix
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// jsonl writes the public stream as JSON lines.
type jsonl struct {
	con      *console
	stream   *projections.Stream
	seq      int64
	watching bool // lines that are only streaming carry no number
}

func (j *jsonl) update(u basis.Update) {
	if u.Live {
		l, ok := j.stream.Progress(u.Progress)
		switch {
		case !ok:
		case j.watching:
			j.con.print(string(l.JSON(-1)) + "\n")
		default:
			j.write(l)
		}
		return
	}
	for _, l := range j.stream.Entry(u.Entry) {
		j.write(l)
		if b, ok := l.Body.(projections.RunStarted); ok && !j.watching {
			noModel(j.con, b)
		}
	}
}

func (j *jsonl) write(l projections.Line) {
	j.con.print(string(l.JSON(j.seq)) + "\n")
	j.seq++
}
