package reducer

import (
	"fmt"
	"slices"
)

// RefusedError says why an event from outside may not be recorded now.
type RefusedError struct {
	Kind   string
	Reason string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s refused: %s", e.Kind, e.Reason) }

// Admit says whether the observation e may be recorded in s: the effect that it
// settles is open, or, where it comes by itself, somebody may still send it.
// The error is a *[RefusedError]. Life-cycle events need no admission; a
// decision comes from Decide alone.
func Admit(s State, e Event) error {
	reason := s.refusal(e)
	if reason == "" {
		return nil
	}
	return &RefusedError{Kind: KindOf(e), Reason: reason}
}

func (s State) refusal(e Event) string {
	if ClassOf(e) != Observation {
		return "it is not an observation"
	}
	if s.Gen == 0 {
		return "nobody is attached"
	}
	if s.Ended() {
		return "the agent has ended"
	}
	if _, due := next(s); due {
		return "a decision comes first"
	}
	if id := settles(e); id != "" {
		if slices.ContainsFunc(s.Open(), func(f Effect) bool { return EffectID(f) == id }) {
			return ""
		}
		return "nothing is owed that it would settle"
	}
	return s.unasked(e)
}

// settles is the id of the effect that an observation reports on, "" where it
// comes by itself.
func settles(e Event) string {
	switch e := e.(type) {
	case WorkspaceOpened, WorkspaceFailed:
		return EffectID(OpenWorkspace{})
	case ModelAnswered:
		return EffectID(CallModel{Round: e.Round})
	case AttemptFailed:
		return EffectID(CallModel{Round: e.Round})
	case RoundFailed:
		return EffectID(CallModel{Round: e.Round})
	case HookAnswered:
		if e.Event == "post" {
			return EffectID(RunPostHooks{Call: e.Call})
		}
		return EffectID(ReviewCall{Call: e.Call})
	case CallReviewed:
		return EffectID(ReviewCall{Call: e.Call})
	case ApprovalAnswered:
		return EffectID(Ask{Call: e.Call})
	case CallSettled:
		return EffectID(RunCall{Call: e.Call})
	case UsageSampled:
		return EffectID(DriveChild{N: e.Child})
	case ChildSettled:
		return EffectID(DriveChild{N: e.N, Task: e.Task})
	case BoundPassed:
		if e.By == "clock" {
			return EffectID(AwaitDeadline{})
		}
	case InboxClosed:
		if e.By != "client" {
			return EffectID(CloseInbox{})
		}
	case JournalCreated, JournalRepaired, JournalSalvaged, AgentCreated, AgentAttached, AgentDetached, Note,
		TurnStarted, TurnEnded, RoundStarted, CallRefused, CallStarted, ApprovalRequested, MessageAnswered, TaskEnded,
		MessageReceived, ChildSpawned, SessionConfigured, CancelRequested:
	}
	return ""
}

// unasked judges what comes by itself. Once the inbox is closed nothing gets
// this far: until the agent has ended, a decision is due.
func (s State) unasked(e Event) string {
	switch e := e.(type) {
	case MessageReceived:
		switch {
		case s.Kind == KindSubagent:
			return "a subagent takes no messages"
		case slices.Contains(s.Seen, e.Message):
			return "it has been received already"
		}
	case ChildSpawned:
		if s.member(0, e.Task) >= 0 {
			return "it is known already"
		}
	case CancelRequested:
		return s.cancelRefusal(e)
	case SessionConfigured:
		if s.Kind != KindSession {
			return "only a session can be configured"
		}
	case InboxClosed:
		if s.Kind != KindSession || s.Turn.ID != "" {
			return "only a session without an open turn can be closed"
		}
	case BoundPassed:
		if s.Passed != "" {
			return "a bound has passed already"
		}
	default:
	}
	return ""
}

func (s State) cancelRefusal(e CancelRequested) string {
	switch {
	case e.Graceful && (s.Turn.ID == "" || s.Turn.Graceful):
		return "no turn is open, or it is stopping already"
	case e.Scope == "turn" && s.Kind != KindSession && !e.Graceful:
		return "a task is cancelled as a whole"
	case e.Scope == "turn" && (s.Turn.ID == "" || s.Turn.ID != e.Turn):
		return "the turn that it names is not open"
	case e.Scope == "turn" && s.Turn.Cancel && !e.Graceful:
		return "the turn is cancelled already"
	case e.Scope != "turn" && s.Kind == KindSession:
		return "a session's turns are cancelled one by one"
	case e.Scope != "turn" && s.Cancelled:
		return "the task is cancelled already"
	}
	return ""
}
