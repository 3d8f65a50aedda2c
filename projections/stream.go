package projections

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/basisagent/basis/reducer"
)

// Stream turns a history into the public stream, line by line. It is a pure
// fold: the same journal gives the same durable lines. The zero value is not
// usable; see [NewStream].
type Stream struct {
	o     StreamOptions
	state reducer.State
	fault string // the kind with which the newest request of the open turn failed
	runs  int    // pairs of run_started and run_finished that were closed
	held  []Body // notices from before a turn: run_started comes first
}

// StreamOptions says what a stream shows that the journal doesn't hold.
type StreamOptions struct {
	Task    string                            // the handle, shown in run_started
	Program string                            // the program's version
	Load    func(reducer.Ref) ([]byte, error) // reads long texts; nil shows head and tail
	Base    reducer.State                     // what a continuation begins with, or what was folded before
}

// NewStream returns a stream at the beginning of a history, or where the state
// that it begins with stands in one.
func NewStream(o StreamOptions) *Stream {
	s := &Stream{o: o, state: o.Base}
	if o.Base.Last.Outcome != "" {
		s.runs = 1
	}
	return s
}

// State is the fold of everything shown so far.
func (s *Stream) State() reducer.State { return s.state }

// Asked is a line about each call of the newest answer, by the call's id.
func (s *Stream) Asked() map[string]string {
	asked := map[string]string{}
	for _, c := range s.state.Turn.Calls {
		asked[c.ID] = Summary(c.Name, input(s.Text(c.Args)))
	}
	return asked
}

// Entry gives the lines that one entry adds.
func (s *Stream) Entry(e reducer.Entry) []Line {
	before := s.state
	s.state = reducer.Apply(s.state, e.Event)
	bodies := s.bodies(before, e.Event)
	lines := make([]Line, len(bodies))
	for i, b := range bodies {
		lines[i] = Line{Record: e.Seq, Body: b}
	}
	return lines
}

// Progress gives the line for something that is streaming, and false if it has none.
func (s *Stream) Progress(p reducer.Progress) (Line, bool) {
	switch p.Kind {
	case reducer.ProgressText:
		return Line{Body: AssistantDelta{Text: p.Text}}, true
	case reducer.ProgressReasoning:
		return Line{Body: AssistantReasoningDelta{Text: p.Text}}, true
	case reducer.ProgressOutput:
		return Line{Body: ToolProgress{ToolCallID: p.Call, ToolName: p.Tool, Progress: p.Text}}, true
	case reducer.ProgressCall, reducer.ProgressVoid:
	}
	return Line{}, false
}

func (s *Stream) bodies(before reducer.State, e reducer.Event) []Body {
	switch e := e.(type) {
	case reducer.TurnStarted:
		s.fault = ""
		return s.opening(before)
	case reducer.TurnEnded:
		return s.turnEnded(e, before.Turn.Usage)
	case reducer.WorkspaceFailed:
		if before.Turn.ID != "" {
			return nil // the turn's own end says it
		}
		return s.unopened(before, RunFinished{Status: "error", Message: e.Error})
	case reducer.TaskEnded:
		if s.runs > 0 || e.State == reducer.StateClosed {
			late := s.held // no turn comes any more for them to stand in
			s.held = nil
			return late
		}
		return s.unopened(before, RunFinished{Status: "error", Message: cmp.Or(e.Error, string(e.State)), StoppedBy: string(e.StoppedBy)})
	case reducer.WorkspaceOpened:
		return s.notices(e.Warnings...)
	case reducer.ModelAnswered:
		return s.modelAnswered(e)
	case reducer.AttemptFailed:
		retry := Retry{AgentID: s.agent(), Error: kindAndMessage(e.Kind, e.Message), Attempt: e.Attempt, MaxAttempts: e.Max, NextDelayMS: e.DelayMS}
		return append(used(s.agent(), e.Usage), retry)
	case reducer.RoundFailed:
		s.fault = e.Kind
		return used(s.agent(), e.Usage)
	case reducer.UsageSampled:
		return used(s.agent()+"/"+strconv.Itoa(e.Child), e.Usage)
	case reducer.CallStarted, reducer.CallRefused, reducer.CallSettled, reducer.ApprovalRequested, reducer.ApprovalAnswered:
		return s.call(before, e)
	case reducer.ChildSpawned:
		return []Body{childUpdate(e.N, e.Task, "spawned", s.delegated(e.Prompt), "")}
	case reducer.ChildSettled:
		status := "finished"
		if e.Outcome != reducer.OutcomeDone {
			status = "failed"
		}
		return s.childSettled(before, e, status)
	case reducer.JournalRepaired:
		if e.CutBytes == 0 {
			return nil // a whole record lacked the end of its line
		}
		return s.notices("the end of the journal was torn: " + strconv.FormatInt(e.CutBytes, 10) +
			" bytes after record " + strconv.FormatUint(e.AfterSeq, 10) + " were set aside in " + e.File)
	case reducer.Note:
		if !e.Known() {
			return s.notices("the journal holds an event that this program does not know: " + e.Name)
		}
	case reducer.JournalCreated, reducer.JournalSalvaged, reducer.AgentCreated, reducer.AgentAttached, reducer.AgentDetached,
		reducer.RoundStarted, reducer.MessageAnswered, reducer.HookAnswered, reducer.CallReviewed,
		reducer.MessageReceived, reducer.SessionConfigured, reducer.CancelRequested, reducer.BoundPassed, reducer.InboxClosed:
	}
	return nil
}

// notices are warnings; those from before a turn stand behind its beginning.
func (s *Stream) notices(messages ...string) []Body {
	var bodies []Body
	for _, m := range messages {
		bodies = append(bodies, Notice{Severity: "warning", Message: m})
	}
	if s.state.Turn.ID != "" {
		return bodies
	}
	s.held = append(s.held, bodies...)
	return nil
}

func (s *Stream) agent() string { return s.state.Conversation }

// Text is the whole of a text of this history, as far as it can be read.
func (s *Stream) Text(t reducer.Text) string {
	text, _ := Whole(t, s.o.Load)
	return text
}

// unopened is the whole run of a prompt whose turn never began: a stream
// begins with run_started and ends with run_finished whatever happened.
func (s *Stream) unopened(before reducer.State, end RunFinished) []Body {
	s.runs++
	return append(s.opening(before), Failure{Message: end.Message}, end)
}

// found lists the skills and templates of an opening (CORE-11).
func (r *RunStarted) found(f reducer.Found) {
	r.SkillsDirs, r.TemplatesDirs = f.SkillRoots, f.TemplateRoots
	for _, k := range f.Skills {
		r.Skills = append(r.Skills, Skill{Name: k.Name, Description: k.Description, ModelInvocable: !k.Hidden})
	}
	for _, t := range f.Templates {
		r.Templates = append(r.Templates, Template{Name: t.Name, Description: t.Description, ArgumentHint: t.ArgumentHint})
	}
}

// opening is what a turn begins with: the prompt that waited longest in before.
func (s *Stream) opening(before reducer.State) []Body {
	setup, asked := s.state.Setup, s.state.Options
	start := RunStarted{
		Schema: Schema, Basis: s.o.Program, SessionID: s.state.Conversation, Task: s.o.Task,
		Workspace: s.state.Workspace, ContextFiles: []File{},
		Model: cmp.Or(setup.Source.Model, asked.Model), Provider: cmp.Or(setup.Source.Provider, asked.Provider),
	}
	for _, f := range setup.Context {
		start.ContextFiles = append(start.ContextFiles, File{Path: f.Path, Scope: f.Scope})
	}
	start.found(setup.Found)
	said := UserMessage{}
	if len(before.Queue) > 0 {
		for _, p := range before.Queue[0].Parts {
			if p.Type == reducer.PartImage {
				said.ImageCount++
				continue
			}
			said.Text += s.Text(p.Text)
		}
	}
	bodies := append([]Body{start, said}, s.held...)
	s.held = nil
	return bodies
}

// turnEnded closes a turn, and says what all of it cost, also where the stream
// begins in the middle of it.
func (s *Stream) turnEnded(e reducer.TurnEnded, cost reducer.Usage) []Body {
	s.runs++
	end := RunFinished{Status: "ok", StoppedBy: string(e.StoppedBy), Usage: UsageOf(cost)}
	if e.Outcome == reducer.OutcomeOK {
		return []Body{end}
	}
	end.Status, end.Message = "error", e.Error
	if end.Message == "" {
		end.Message = string(e.Outcome)
	}
	recoverable := e.Outcome == reducer.OutcomeFailed && e.StoppedBy == "" && transient(s.fault)
	return []Body{Failure{Message: end.Message, Recoverable: recoverable}, end}
}

// transient reports whether a request that failed like this may succeed later
// without anything being changed. The words are those of the providers.
func transient(kind string) bool {
	switch kind {
	case "rate_limit", "overloaded", "server", "timeout", "malformed_tool_call", "stream_cut", "network":
		return true
	}
	return false
}

func (s *Stream) modelAnswered(e reducer.ModelAnswered) []Body {
	var bodies []Body
	if text := s.Text(s.state.Turn.Text); text != "" {
		bodies = append(bodies, AssistantMessage{Text: text})
	}
	bodies = append(bodies, used(s.agent(), e.Usage)...)
	for _, c := range s.state.Turn.Calls {
		in := input(s.Text(c.Args))
		bodies = append(bodies, ToolQueued{
			ToolCallID: c.ID, ToolName: c.Name, Summary: Summary(c.Name, in), Mutability: mutability(c), Input: in,
		})
	}
	return bodies
}

func used(agent string, u reducer.Usage) []Body {
	if u.IsZero() {
		return nil
	}
	return []Body{UsageReported{AgentID: agent, Usage: *UsageOf(u)}}
}

// call shows what happens to one call.
func (s *Stream) call(before reducer.State, e reducer.Event) []Body {
	switch e := e.(type) {
	case reducer.CallStarted:
		c, _ := before.Call(e.Call)
		return append(s.permission(c, e.By), ToolStarted{ToolCallID: c.ID, ToolName: c.Name})
	case reducer.CallRefused:
		c, _ := before.Call(e.Call)
		done := ToolCompleted{ToolCallID: c.ID, ToolName: c.Name, Summary: firstLine(e.Text), IsError: true}
		if scope, ok := strings.CutSuffix(c.Rule, "/deny"); ok && e.Code == "denied" {
			return []Body{PermissionResolved{RequestID: c.ID, ToolCallID: c.ID, ToolName: c.Name, Outcome: "denied", RuleScope: scope}, done}
		}
		return []Body{done}
	case reducer.CallSettled:
		c, _ := before.Call(e.Call)
		summary := e.Summary
		switch {
		case summary == "" && e.Outcome == reducer.OutcomeDone:
			summary = Summary(c.Name, input(s.Text(c.Args)))
		case summary == "":
			summary = firstLine(s.settledText(c, e))
		}
		return []Body{ToolCompleted{ToolCallID: c.ID, ToolName: c.Name, Summary: summary, IsError: e.Outcome != reducer.OutcomeDone}}
	case reducer.ApprovalRequested:
		c, _ := before.Call(e.Call)
		return []Body{s.requested(c)}
	case reducer.ApprovalAnswered:
		c, _ := before.Call(e.Call)
		r := PermissionResolved{RequestID: c.ID, ToolCallID: c.ID, ToolName: c.Name, Outcome: "denied"}
		if e.Allow {
			r.Outcome = "allowed"
		}
		if e.Scope != "once" {
			r.RuleScope = e.Scope
		}
		return []Body{r}
	default:
		return nil
	}
}

// settledText is the first that a person would want to read of an outcome.
func (s *Stream) settledText(c reducer.Call, e reducer.CallSettled) string {
	if e.Outcome == reducer.OutcomeLost || e.Outcome == reducer.OutcomeCancelled {
		if after, ok := s.state.Call(c.ID); ok {
			return after.Shown.String()
		}
	}
	return e.Output.String()
}

// permission shows how a call that somebody had to allow came to be allowed.
func (s *Stream) permission(c reducer.Call, by string) []Body {
	if c.Phase == reducer.PhaseAnswered {
		return nil // the answer has its own line
	}
	allowed := PermissionResolved{RequestID: c.ID, ToolCallID: c.ID, ToolName: c.Name, Outcome: "allowed"}
	switch scope, isRule := strings.CutSuffix(by, "/allow"); {
	case isRule:
		allowed.RuleScope = scope
		return []Body{allowed}
	case by == "process":
		allowed.RuleScope = by
		return []Body{allowed}
	case by == "always":
		return []Body{s.requested(c), allowed}
	}
	return nil // a read needs none
}

func (s *Stream) requested(c reducer.Call) Body {
	in := input(s.Text(c.Args))
	preview := c.Preview
	if preview == nil {
		preview = in
	}
	return PermissionRequested{
		RequestID: c.ID, ToolCallID: c.ID, ToolName: c.Name, Description: Summary(c.Name, in), Preview: preview,
	}
}

// childSettled shows how a child ended, and of a delegation what it cost beyond
// what was relayed: a crash may have lost some of that.
func (s *Stream) childSettled(before reducer.State, e reducer.ChildSettled, status string) []Body {
	i := slices.IndexFunc(before.Family, func(c reducer.Child) bool { return c.N == e.N && c.Task == e.Task })
	if i < 0 {
		return []Body{childUpdate(e.N, e.Task, status, "", e.Error)}
	}
	child := before.Family[i]
	bodies := []Body{childUpdate(e.N, e.Task, status, s.delegated(child.Prompt), e.Error)}
	if e.N == 0 {
		return bodies
	}
	return append(used(s.agent()+"/"+strconv.Itoa(e.N), e.Usage.Beyond(child.Usage)), bodies...)
}

// delegated is the task in the input with which a subagent was asked for.
func (s *Stream) delegated(prompt reducer.Text) string {
	text := s.Text(prompt)
	var in struct {
		Input string `json:"input"`
	}
	if json.Unmarshal([]byte(text), &in) == nil && in.Input != "" {
		text = in.Input
	}
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "!!") {
		return text[1:]
	}
	return text
}

func childUpdate(n int, task, status, title, detail string) Body {
	u := TaskUpdated{TaskID: task, Kind: "background_task", Status: status, Title: firstLine(title), Detail: detail}
	if n != 0 {
		u.TaskID, u.Kind = strconv.Itoa(n), "subagent"
	}
	return u
}

func mutability(c reducer.Call) string {
	switch c.Class {
	case reducer.ClassNone:
		return "read_only"
	case reducer.ClassState, reducer.ClassProcess:
		return "mutating"
	case reducer.ClassExternal:
	}
	return "unknown"
}

func kindAndMessage(kind, message string) string {
	if message == "" {
		return kind
	}
	return kind + ": " + message
}

// input is a call's arguments as JSON: parsed if they are, else the raw string.
func input(args string) json.RawMessage {
	if strings.TrimSpace(args) == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return raw
}

// summaryMembers are the input members that say most of what a call is about,
// and how each is written.
var summaryMembers = []struct{ name, before, after string }{
	{"pattern", "/", "/"}, {"path", "", ""}, {"file_path", "", ""}, {"filePath", "", ""}, {"input", "", ""}, {"command", "", ""}, {"name", "", ""},
}

// Summary is one line of at most 120 characters about a call, made of its name
// and input alone.
func Summary(tool string, in json.RawMessage) string {
	var members map[string]json.RawMessage
	words := []string{tool}
	if json.Unmarshal(in, &members) == nil {
		known := false
		for _, m := range summaryMembers {
			if _, ok := members[m.name]; ok {
				known = true
			}
			var v string
			if json.Unmarshal(members[m.name], &v) == nil && v != "" {
				words = append(words, m.before+firstLine(v)+m.after)
			}
		}
		var all bytes.Buffer
		if !known && len(members) > 0 && json.Compact(&all, in) == nil {
			words = append(words, all.String())
		}
	}
	return firstLine(strings.Join(words, " "))
}

// firstLine is the first line that is not blank, at most 120 characters.
func firstLine(s string) string {
	const most = 120
	line := ""
	for l := range strings.Lines(s) {
		if line = strings.TrimSpace(l); line != "" {
			break
		}
	}
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most]) + "…"
}
