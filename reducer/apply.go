package reducer

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Apply folds one event into a state. It is total: an event that makes no sense
// in s changes nothing. The old state stays as it was.
func Apply(s State, e Event) State {
	switch e := e.(type) {
	case AgentCreated:
		s = s.created(e)
	case AgentAttached:
		s = s.attached(e)
	case WorkspaceOpened:
		s = s.opened(e)
	case WorkspaceFailed:
		s = s.openingFailed(e)
	case TurnStarted:
		s = s.turnStarted(e)
	case TurnEnded:
		s = s.turnEnded(e)
	case RoundStarted:
		s = s.roundStarted(e)
	case ModelAnswered:
		s = s.answered(e)
	case AttemptFailed:
		s = s.spent(e.Usage)
	case RoundFailed:
		s = s.roundFailed(e)
	case CallReviewed, CallRefused, CallStarted, CallSettled, ApprovalRequested, ApprovalAnswered, HookAnswered:
		s = s.applyCall(e)
	case MessageReceived:
		s = s.received(e)
	case MessageAnswered:
		s = s.replied(e)
	case ChildSpawned, ChildSettled, UsageSampled:
		s = s.applyChild(e)
	case SessionConfigured:
		s = s.configured(e)
	case CancelRequested:
		s = s.cancelRequested(e)
	case BoundPassed:
		s = s.boundPassed(e)
	case InboxClosed:
		s.InboxClosed = true
	case TaskEnded:
		s.End = e
	case JournalCreated, JournalRepaired, JournalSalvaged, AgentDetached, Note:
	}
	if s.Kind == KindTask && s.Gen != 0 && s.idle() {
		s.Settling = true // never taken back, though a message may still start a turn
	}
	return s
}

// Fold applies all events in order.
func Fold(s State, events ...Event) State {
	for _, e := range events {
		s = Apply(s, e)
	}
	return s
}

// created never resets what a continuation brought along.
func (s State) created(e AgentCreated) State {
	s.Kind, s.ID, s.Conversation, s.Workspace = e.Kind, e.ID, e.Conversation, e.Workspace
	s.Parent, s.Detached, s.Depth = e.Parent, e.Detached, e.Depth
	s.Options, s.Bounds, s.DeadlineMS = e.Options, e.Bounds, e.DeadlineMS
	if len(e.Prompt) > 0 && e.Kind != KindSession {
		s.Queue = []Waiting{{Parts: e.Prompt}}
	}
	return s
}

// attached marks what exists now as stale where nobody waits for it any more.
func (s State) attached(e AgentAttached) State {
	s.Gen, s.Rules, s.Program = e.Gen, e.Rules, e.Program
	s.Attaching = true
	s.SetupFailed = false
	s = s.ungranted()
	if s.Kind != KindSession {
		return s
	}
	s.Turn.Stale = s.Turn.ID != ""
	s.Queue = slices.Clone(s.Queue)
	for i := range s.Queue {
		s.Queue[i].Stale = true
	}
	return s
}

// ungranted forgets what was said for the process, also where a reviewed call waits
// for its turn.
func (s State) ungranted() State {
	s.Granted = nil
	s.Turn.Calls = slices.Clone(s.Turn.Calls)
	for i := range s.Turn.Calls {
		c := &s.Turn.Calls[i]
		if scope, _, _ := strings.Cut(c.Rule, "/"); c.Phase == PhaseReviewed && scope == ScopeProcess {
			c.Rule, c.Reason = "", ""
		}
	}
	return s
}

func (s State) opened(e WorkspaceOpened) State {
	s.Attaching, s.SetupFailed = false, false
	old := s.Setup
	s.Setup = Setup{
		Source:       Provenance{Provider: e.Provider, Model: e.Model, Wire: e.Wire},
		Window:       e.Window,
		Context:      e.Context,
		SystemDigest: e.SystemDigest,
		System:       e.System,
		ToolsDigest:  e.ToolsDigest,
		Tools:        e.Tools,
		Hooks:        e.Hooks,
		Effort:       e.Effort,
		FoundDigest:  e.FoundDigest,
		Found:        e.Found,
	}
	if e.SystemDigest == old.SystemDigest && e.System.IsZero() {
		s.Setup.System = old.System
	}
	if e.ToolsDigest == old.ToolsDigest && e.Tools == nil {
		s.Setup.Tools = old.Tools
	}
	if e.FoundDigest == old.FoundDigest && reflect.ValueOf(e.Found).IsZero() {
		s.Setup.Found = old.Found
	}
	return s
}

func (s State) openingFailed(e WorkspaceFailed) State {
	switch {
	case s.Kind == KindSession:
		s.SetupFailed = true
		s.Last = Reply{Outcome: OutcomeFailed, Error: e.Error}
	case s.Turn.ID != "":
		s.Turn.Fail = e.Error
	default:
		s.Failed = true
		s.Last = Reply{Outcome: OutcomeFailed, Error: e.Error}
	}
	return s
}

func (s State) turnStarted(e TurnStarted) State {
	if len(s.Queue) == 0 {
		return s
	}
	w := s.Queue[0]
	s.Queue = slices.Clone(s.Queue[1:])
	s.Turns++
	s.Turn = Turn{ID: e.Turn, Message: e.Message}
	s.Transcript = s.Transcript.with(Message{Key: e.Turn, Role: RoleUser, Parts: w.Parts})
	return s
}

func (s State) roundStarted(e RoundStarted) State {
	s = s.showResults()
	s.Rounds++
	s.Turn.Round = e.Round
	s.Asked = Asked{Model: cmp.Or(e.Model, s.Asked.Model), ToolsDigest: cmp.Or(e.ToolsDigest, s.Asked.ToolsDigest)}
	s.Turn.Answer, s.Turn.Stop, s.Turn.Text, s.Turn.Partial = "", "", Text{}, Text{}
	return s
}

// showResults gives the model the results of the newest answer's calls, in
// call order whatever the order in which they settled.
func (s State) showResults() State {
	if len(s.Turn.Calls) == 0 {
		return s
	}
	results := make([]Result, len(s.Turn.Calls))
	for i, c := range s.Turn.Calls {
		results[i] = Result{Call: c.ID, ID: c.Wire, Name: c.Name, Text: c.Shown, IsError: c.IsError}
		if c.Phase != PhaseSettled {
			results[i].Text, results[i].IsError = T(textWithheld), true
		}
	}
	s.Transcript = s.Transcript.with(Message{Key: s.Turn.Answer + ".results", Role: RoleResults, Results: results})
	s.Turn.Calls = nil
	return s
}

func (s State) answered(e ModelAnswered) State {
	if s.Turn.Round != e.Round {
		return s
	}
	s = s.spent(e.Usage)
	t := &s.Turn
	t.Round, t.Answer, t.Stop, t.Partial = "", e.Round, e.Stop, Text{}
	if t.Text = e.Text; t.Text == (Text{}) {
		t.Text = answerText(e.Items)
	}
	t.Calls = calls(e, s.Bounds.Tools, t.Tools)
	t.Tools += int64(len(t.Calls))
	if len(t.Calls) > 0 && (e.Stop != StopToolUse || allBroken(t.Calls)) {
		t.Cut++
	} else {
		t.Cut = 0
	}
	if len(e.Items) > 0 {
		source := e.Source
		if source == (Provenance{}) {
			source = s.Setup.Source
		}
		s.Transcript = s.Transcript.with(Message{Key: e.Round, Role: RoleAssistant, Items: e.Items, Source: source})
	}
	return s
}

// answerText is what an answer says whose pieces are all in the event, or whose
// only piece is in a blob. Of any other the event has the text besides; one that
// hasn't is read as its last piece.
func answerText(items []Item) Text {
	var all Text
	for _, it := range items {
		if it.Type != ItemText {
			continue
		}
		if it.Text.Blob.Digest != "" || all.Blob.Digest != "" {
			all = it.Text
			continue
		}
		all.Inline += it.Text.Inline
	}
	return all
}

func calls(e ModelAnswered, budget Count, used int64) []Call {
	var items []Item
	for _, it := range e.Items {
		if it.Type == ItemCall {
			items = append(items, it)
		}
	}
	limit, limited := budget.Get()
	list := make([]Call, len(e.Calls))
	for i, h := range e.Calls {
		list[i] = Call{ID: callID(e.Round, i), Name: h.Name, Class: h.Class, Lane: h.Lane, Broken: h.Broken}
		list[i].Over = limited && used+int64(i) >= limit
		if i < len(items) {
			list[i].Wire, list[i].Args = items[i].ID, items[i].Args
		}
	}
	return list
}

func allBroken(list []Call) bool {
	return !slices.ContainsFunc(list, func(c Call) bool { return !c.Broken })
}

// spent adds what a request of this agent's own cost.
func (s State) spent(u Usage) State {
	s.Own = s.Own.Add(u)
	s.Turn.Usage = s.Turn.Usage.Add(u)
	return s
}

func (s State) roundFailed(e RoundFailed) State {
	if s.Turn.Round != e.Round {
		return s
	}
	s = s.spent(e.Usage)
	s.Turn.Round, s.Turn.Partial = "", e.Partial
	if s.Turn.Fail == "" {
		s.Turn.Fail = failureText(e)
	}
	return s
}

func failureText(e RoundFailed) string {
	if e.Message == "" {
		return e.Kind
	}
	return e.Kind + ": " + e.Message
}

// turnEnded leaves the transcript after something the assistant said, and each
// call with a result.
func (s State) turnEnded(e TurnEnded) State {
	if s.Turn.ID == "" {
		return s
	}
	t := s.Turn
	s = s.showResults()
	if m, ok := s.Transcript.Last(); !ok || m.Role != RoleAssistant {
		words := closingWords(e)
		if p := t.Partial.String(); p != "" {
			words = p + "\n" + words
		}
		s.Transcript = s.Transcript.with(Message{
			Key: e.Turn + ".end", Role: RoleAssistant, Items: []Item{{Type: ItemText, Text: T(words)}},
		})
	}
	s.Last = Reply{Message: t.Message, Outcome: e.Outcome, Error: e.Error, StoppedBy: e.StoppedBy}
	if e.Outcome == OutcomeOK {
		s.Last.Result = t.Text
	}
	s.Owed = Reply{}
	if t.Message != "" {
		s.Owed = s.Last
	}
	s.Failed = s.Failed || (s.Kind != KindSession && e.Outcome == OutcomeFailed)
	s.Turn = Turn{}
	return s
}

func closingWords(e TurnEnded) string {
	switch {
	case e.StoppedBy != "":
		return "[This turn was ended by its limit: " + string(e.StoppedBy) + ".]"
	case e.Outcome == OutcomeCancelled:
		return "[This turn was cancelled.]"
	case e.Outcome == OutcomeInterrupted:
		return "[This turn was interrupted.]"
	case e.Outcome == OutcomeFailed:
		return "[This turn failed before an answer.]"
	}
	return "[This turn was stopped after its last round.]"
}

func (s State) received(e MessageReceived) State {
	if e.Message == "" || slices.Contains(s.Seen, e.Message) {
		return s
	}
	s.Seen = append(slices.Clip(s.Seen), e.Message)
	s.Queue = append(slices.Clip(s.Queue), Waiting{Message: e.Message, From: e.From, Parts: e.Parts})
	s.SetupFailed = false
	return s
}

func (s State) replied(e MessageAnswered) State {
	if s.Owed.Message == e.Message {
		s.Owed = Reply{}
		return s
	}
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(w Waiting) bool { return w.Message == e.Message })
	return s
}

func (s State) configured(e SessionConfigured) State {
	if e.Model != "" {
		s.Options.Model, s.Setup.Source.Model, s.Setup.Window = e.Model, e.Model, e.Window
	}
	if e.Effort != "" {
		s.Options.Effort = e.Effort
	}
	if e.Approve != "" {
		s = s.ungranted()
		s.Options.Approve = e.Approve
	}
	return s
}

func (s State) cancelRequested(e CancelRequested) State {
	open := s.Turn.ID != ""
	switch {
	case e.Graceful:
		s.Turn.Graceful = open
	case e.Scope == "turn":
		s.Turn.Cancel = open
	default:
		s.Cancelled = true
	}
	return s
}

// boundPassed fails an open turn or the work that waits for one. A success
// that is already there stays one.
func (s State) boundPassed(e BoundPassed) State {
	s.Passed = e.Bound
	text := boundText(e.Bound)
	switch {
	case s.Turn.ID != "":
		s.Turn.Fail, s.Turn.FailedBy = text, e.Bound
	case len(s.Queue) > 0 && s.Kind != KindSession && !s.closing():
		s.Failed = true
		s.Last = Reply{Outcome: OutcomeFailed, Error: text, StoppedBy: e.Bound}
	}
	return s
}
