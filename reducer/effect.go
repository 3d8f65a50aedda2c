package reducer

import "strconv"

// Effect is something that is owed to the outside world: begun by one event,
// open until another settles it. Where Unwanted is not empty the effect must
// not be started, and must be stopped if it runs; the word is the cause.
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// AwaitDeadline is settled by bound.passed.
	AwaitDeadline struct{ AtMS int64 }

	// OpenWorkspace is settled by workspace.opened or workspace.failed.
	OpenWorkspace struct{}

	// CallModel is settled by model.answered or round.failed.
	CallModel struct {
		Round    string
		Unwanted string
	}

	// ReviewCall is settled by call.reviewed.
	ReviewCall struct {
		Call   string
		Hooked bool // a hook matches, so it takes time
	}

	// Ask is settled by approval.answered.
	Ask struct{ Call string }

	// RunCall is settled by call.settled.
	RunCall struct {
		Call     string
		Unwanted string
	}

	// RunPostHooks is settled by hook.answered with event post and last.
	RunPostHooks struct {
		Call     string
		Unwanted string
	}

	// DriveChild is settled by child.settled. An unwanted child is attached in
	// order to be ended.
	DriveChild struct {
		N        int
		Task     string
		Unwanted string
	}

	// CloseInbox is settled by inbox.closed.
	CloseInbox struct{}
)

func (AwaitDeadline) effect() {}
func (OpenWorkspace) effect() {}
func (CallModel) effect()     {}
func (ReviewCall) effect()    {}
func (Ask) effect()           {}
func (RunCall) effect()       {}
func (RunPostHooks) effect()  {}
func (DriveChild) effect()    {}
func (CloseInbox) effect()    {}

// EffectID names an effect by kind and subject: what runs under the same id is
// the same effect, whether or not it is still wanted.
func EffectID(e Effect) string {
	switch e := e.(type) {
	case AwaitDeadline:
		return "deadline"
	case OpenWorkspace:
		return "open"
	case CallModel:
		return "model " + e.Round
	case ReviewCall:
		return "review " + e.Call
	case Ask:
		return "ask " + e.Call
	case RunCall:
		return "run " + e.Call
	case RunPostHooks:
		return "post " + e.Call
	case DriveChild:
		if e.N != 0 {
			return "child " + strconv.Itoa(e.N)
		}
		return "task " + e.Task
	case CloseInbox:
		return "close"
	}
	return ""
}

// Unwanted is the cause for which an effect must not go on, "" if it may.
func Unwanted(e Effect) string {
	switch e := e.(type) {
	case CallModel:
		return e.Unwanted
	case RunCall:
		return e.Unwanted
	case RunPostHooks:
		return e.Unwanted
	case DriveChild:
		return e.Unwanted
	case AwaitDeadline, OpenWorkspace, ReviewCall, Ask, CloseInbox:
		return ""
	}
	return ""
}

// Open lists what is owed now, in the order in which it was begun.
func (s State) Open() []Effect {
	if s.Gen == 0 || s.Ended() {
		return nil
	}
	var open []Effect
	if s.DeadlineMS != 0 && s.Passed != BoundDeadline {
		open = append(open, AwaitDeadline{AtMS: s.DeadlineMS})
	}
	if s.owesOpening() {
		open = append(open, OpenWorkspace{})
	}
	if s.Turn.ID != "" && !s.Attaching {
		open = append(open, s.openInTurn()...)
	}
	for _, c := range s.Family {
		if !c.Settled && (c.N != 0 || s.Settling) {
			open = append(open, DriveChild{N: c.N, Task: c.Task, Unwanted: s.childUnwanted(c)})
		}
	}
	if s.Kind == KindTask && s.idle() && !s.childrenOpen() && !s.InboxClosed {
		open = append(open, CloseInbox{})
	}
	return open
}

// owesOpening: a turn that will go on, or a prompt that waits, needs a workspace.
func (s State) owesOpening() bool {
	if !s.Attaching || s.SetupFailed {
		return false
	}
	if s.Turn.ID != "" {
		_, ending := s.ending()
		return !ending && !s.Turn.final()
	}
	return len(s.Queue) > 0 && !s.closing()
}

func (s State) openInTurn() []Effect {
	cause, ending := s.ending()
	unwanted := ""
	if ending {
		unwanted = cause
	}
	if s.Turn.Round != "" {
		return []Effect{CallModel{Round: s.Turn.Round, Unwanted: unwanted}}
	}
	var open []Effect
	reached := s.Turn.reached()
	for i, c := range s.Turn.Calls {
		switch c.Phase {
		case PhaseWaiting:
			if i < reached && !ending && s.needsReview(c) {
				open = append(open, ReviewCall{Call: c.ID, Hooked: s.hooked("pre", c.Name)})
			}
		case PhaseAsked:
			if !ending {
				open = append(open, Ask{Call: c.ID})
			}
		case PhaseStarted:
			if c.Lane != LaneDelegation {
				open = append(open, RunCall{Call: c.ID, Unwanted: unwanted})
			}
		case PhasePending:
			open = append(open, RunPostHooks{Call: c.ID, Unwanted: unwanted})
		case PhaseReviewed, PhaseAnswered, PhaseSettled:
		}
	}
	return open
}

// childUnwanted is why a child must end: the turn that waits for a delegation
// is ending, or the task that owns a child task is.
func (s State) childUnwanted(c Child) string {
	if c.N != 0 && s.Turn.ID != "" {
		if cause, ending := s.ending(); ending {
			return cause
		}
		return ""
	}
	switch {
	case s.Cancelled:
		return "cancelled"
	case s.Passed != "":
		return string(s.Passed)
	case s.Failed:
		return "failed"
	}
	return ""
}
