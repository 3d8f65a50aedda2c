package reducer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Decide lists what follows from s without asking the world, in order. It is
// next, iterated over Apply; nil means that the next move is the world's.
func Decide(s State) []Event {
	var all []Event
	for {
		e, ok := next(s)
		if !ok {
			return all
		}
		all = append(all, e)
		s = Apply(s, e)
	}
}

// Next is the one decision that is due in s, and false if there is none.
func Next(s State) (Event, bool) { return next(s) }

func next(s State) (Event, bool) {
	switch {
	case s.Gen == 0 || s.Ended():
		return nil, false
	case s.Turn.ID != "":
		return s.nextInTurn()
	case s.Owed.Message != "":
		return MessageAnswered(s.Owed), true
	}
	return s.nextBetweenTurns()
}

func (s State) nextBetweenTurns() (Event, bool) {
	if len(s.Queue) > 0 && s.Kind == KindSession {
		if e, ok := s.answerUnstarted(s.Queue[0]); ok {
			return e, true
		}
	}
	switch {
	case s.InboxClosed, s.Kind == KindSubagent && s.idle() && !s.childrenOpen():
		return s.taskEnd(), true
	case len(s.Queue) > 0 && !s.closing() && !s.Attaching:
		return TurnStarted{Turn: turnID(s.Turns + 1), Message: s.Queue[0].Message}, true
	}
	return nil, false
}

// answerUnstarted answers a session's prompt whose turn will never begin.
func (s State) answerUnstarted(w Waiting) (Event, bool) {
	switch {
	case s.InboxClosed:
		return MessageAnswered{Message: w.Message, Outcome: OutcomeCancelled}, true
	case w.Stale:
		return MessageAnswered{Message: w.Message, Outcome: OutcomeInterrupted}, true
	case s.SetupFailed:
		return MessageAnswered{Message: w.Message, Outcome: OutcomeFailed, Error: s.Last.Error}, true
	}
	return nil, false
}

func (s State) taskEnd() TaskEnded {
	e := TaskEnded{State: StateSucceeded, Usage: s.Usage()}
	switch {
	case s.Kind == KindSession:
		e.State = StateClosed
	case s.Cancelled:
		e.State = StateCancelled
	case s.Failed:
		e.State, e.Error, e.StoppedBy = StateFailed, s.Last.Error, s.Last.StoppedBy
	default:
		e.Result, e.StoppedBy = s.Last.Result, s.Last.StoppedBy
	}
	return e
}

func (s State) nextInTurn() (Event, bool) {
	if e, ok := s.settleFromOutside(); ok {
		return e, true
	}
	cause, ending := s.ending()
	switch t := s.Turn; {
	case ending:
		return s.nextEnding(cause)
	case t.Round != "":
		return nil, false
	case t.final():
		return s.finalEnd(), true
	case t.Answer != "" && len(t.Calls) > 0:
		return s.nextCall()
	}
	return s.nextRound()
}

// ending says whether the open turn must end before it has an answer, and the
// word for the cause. A turn whose last answer is on disk ends by that answer.
func (s State) ending() (cause string, ending bool) {
	switch t := s.Turn; {
	case t.ID == "" || t.final():
		return "", false
	case s.Cancelled || t.Cancel:
		return string(OutcomeCancelled), true
	case t.Stale:
		return string(OutcomeInterrupted), true
	case t.FailedBy != "":
		return string(t.FailedBy), true
	case t.Fail != "":
		return string(OutcomeFailed), true
	}
	return "", false
}

// settleFromOutside settles what nobody else will: a started call whose process
// is gone is lost; a delegation comes out as its child did.
func (s State) settleFromOutside() (Event, bool) {
	for _, c := range s.Turn.Calls {
		if c.Phase != PhaseStarted {
			continue
		}
		if c.Lane != LaneDelegation {
			if s.Attaching && c.Class != ClassNone {
				return CallSettled{Call: c.ID, Outcome: OutcomeLost}, true
			}
			continue
		}
		if child, ok := s.childOf(c.ID); ok && child.Settled {
			return child.result(), true
		}
	}
	return nil, false
}

// result is what a delegation came to, for the model that asked for it.
func (c Child) result() CallSettled {
	e := CallSettled{Call: c.Call, Outcome: c.Outcome, Code: c.Code, Output: c.Text, Shown: c.Shown, Child: c.N}
	switch {
	case c.Outcome == OutcomeFailed && c.By != "":
		e.Output, e.Shown = T("The subagent was stopped by its limit "+string(c.By)+": "+c.Error+"."), Text{}
	case c.Outcome == OutcomeFailed && c.Text.IsZero():
		e.Output = T("The subagent failed: " + c.Error)
	}
	return e
}

// nextEnding refuses what has not started, waits for what runs, and then ends
// the turn. While attaching nothing runs, so there is nothing to wait for.
func (s State) nextEnding(cause string) (Event, bool) {
	busy := s.Turn.Round != "" && !s.Attaching
	for _, c := range s.Turn.Calls {
		switch c.Phase {
		case PhaseWaiting, PhaseReviewed, PhaseAsked, PhaseAnswered:
			return CallRefused{Call: c.ID, Code: cause, Text: refusedText(cause)}, true
		case PhasePending:
			busy = busy || !s.Attaching
		case PhaseStarted:
			_, spawned := s.childOf(c.ID)
			switch {
			case c.Lane == LaneDelegation && !spawned:
				return CallSettled{Call: c.ID, Outcome: OutcomeCancelled, Child: -1}, true
			case c.Lane != LaneDelegation && s.Attaching:
				return CallSettled{Call: c.ID, Outcome: OutcomeLost}, true
			}
			busy = true
		case PhaseSettled:
		}
	}
	if busy {
		return nil, false
	}
	e := TurnEnded{Turn: s.Turn.ID, Outcome: OutcomeFailed, Error: s.Turn.Fail, StoppedBy: s.Turn.FailedBy}
	switch cause {
	case string(OutcomeCancelled), string(OutcomeInterrupted):
		e = TurnEnded{Turn: s.Turn.ID, Outcome: Outcome(cause)}
	}
	return e, true
}

func refusedText(cause string) string {
	return "This call was not run, because the turn is ending (" + cause + ")."
}

// finalEnd ends a turn by its answer.
func (s State) finalEnd() Event {
	t := s.Turn
	if text := stopFailure(t); text != "" {
		return TurnEnded{Turn: t.ID, Outcome: OutcomeFailed, Error: text}
	}
	e := TurnEnded{Turn: t.ID, Outcome: OutcomeOK}
	if s.overTokens() {
		e.StoppedBy = BoundTokens
	}
	return e
}

// stopFailure says why an answer without calls is not an answer, "" if it is.
func stopFailure(t Turn) string {
	switch t.Stop {
	case StopMaxTokens:
		return "the answer was cut off at the model's output limit"
	case StopRefusal:
		return "the model refused to answer" + quoted(t.Text)
	case StopContentFilter:
		return "the provider's content filter stopped the answer"
	case StopContextOverflow:
		return "the conversation has filled the model's context window"
	case StopMalformedCall:
		return "the model made a tool call that its provider could not read"
	case StopError, StopCut:
		return "the answer did not arrive whole"
	case StopEndTurn, StopToolUse, StopStopSequence, StopPause, StopOther:
	}
	if strings.TrimSpace(t.Text.String()) == "" {
		return "the model answered nothing"
	}
	return ""
}

func quoted(t Text) string {
	s := strings.TrimSpace(t.String())
	if s == "" {
		return ""
	}
	return ": " + s
}

func (s State) overTokens() bool {
	limit, limited := s.Bounds.Tokens.Get()
	return limited && s.Turn.Usage.Total() > limit
}

// nextRound asks the model, unless the turn has reached one of its limits.
func (s State) nextRound() (Event, bool) {
	t := s.Turn
	failed := func(by Bound, text string) (Event, bool) {
		return TurnEnded{Turn: t.ID, Outcome: OutcomeFailed, Error: text, StoppedBy: by}, true
	}
	switch {
	case slices.ContainsFunc(t.Calls, func(c Call) bool { return c.Over }):
		return failed(BoundTools, boundText(BoundTools))
	case s.overTokens():
		return failed(BoundTokens, boundText(BoundTokens))
	case t.Graceful && t.Answer != "":
		return TurnEnded{Turn: t.ID, Outcome: OutcomeOK}, true
	case t.Cut >= MaxCutAnswers:
		return failed("", "the model's calls came cut off or unreadable "+strconv.Itoa(t.Cut)+" times in a row")
	case s.Kind == KindSubagent && s.Rounds >= MaxSubagentRounds:
		return failed("", "it has asked its model "+strconv.Itoa(MaxSubagentRounds)+" times, which is the most a subagent may")
	case s.Attaching:
		return nil, false
	}
	e := RoundStarted{
		Round:       roundID(s.Rounds + 1),
		Model:       s.Setup.Source.Model,
		Params:      Params{Effort: cmp.Or(s.Options.Effort, s.Setup.Effort)},
		ToolsDigest: s.Setup.ToolsDigest,
	}
	if e.Model == s.Asked.Model {
		e.Model = ""
	}
	if e.ToolsDigest == s.Asked.ToolsDigest {
		e.ToolsDigest = ""
	}
	return e, true
}

func boundText(b Bound) string {
	switch b {
	case BoundDeadline:
		return "the deadline passed"
	case BoundTokens:
		return "the token budget is spent"
	case BoundTools:
		return "the tool budget is spent"
	}
	return "a limit was reached"
}

// nextCall advances the calls of the newest answer.
func (s State) nextCall() (Event, bool) {
	if e, ok := s.refuseUnrunnable(); ok {
		return e, true
	}
	for _, c := range s.Turn.Calls[:s.Turn.reached()] {
		if e, ok := s.advance(c); ok {
			return e, true
		}
	}
	if slices.ContainsFunc(s.Turn.Calls, func(c Call) bool { return c.Phase != PhaseSettled }) {
		return nil, false
	}
	return s.nextRound()
}

// refuseUnrunnable refuses, before anything of the answer starts, the calls of
// an answer that was cut off, those beyond the tool budget and those whose
// arguments can't be read.
func (s State) refuseUnrunnable() (Event, bool) {
	for _, c := range s.Turn.Calls {
		if c.Phase != PhaseWaiting {
			continue
		}
		switch {
		case s.Turn.Stop != StopToolUse:
			return CallRefused{Call: c.ID, Code: "truncated", Text: "This call was not run: the answer it came in ended early (" +
				string(s.Turn.Stop) + "), so its arguments may be truncated. Send it again, shorter if it was long."}, true
		case c.Over:
			return CallRefused{Call: c.ID, Code: string(BoundTools), Text: "This call was not run: " + boundText(BoundTools) + "."}, true
		case c.Broken:
			return CallRefused{Call: c.ID, Code: "invalid_arguments", Text: "This call was not run: its arguments are not one valid JSON object. " +
				"Send it again with valid JSON for the tool's schema. Received: " + head(c.Args.String(), 500)}, true
		}
	}
	return nil, false
}

func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// reached is how many calls, from the first, have had their lane reached:
// everything before their batch is settled.
func (t Turn) reached() int {
	for i := 0; i < len(t.Calls); {
		j := i + 1
		for t.Calls[i].Lane != LaneExclusive && j < len(t.Calls) && t.Calls[j].Lane == t.Calls[i].Lane {
			j++
		}
		if slices.ContainsFunc(t.Calls[i:j], func(c Call) bool { return c.Phase != PhaseSettled }) {
			return j
		}
		i = j
	}
	return len(t.Calls)
}

// needsReview: a read that no hook wants to see starts at once.
func (s State) needsReview(c Call) bool {
	return c.Class != ClassNone || s.hooked("pre", c.Name)
}

// advance moves one call whose lane has been reached. While attaching, what
// would start something is withheld.
func (s State) advance(c Call) (Event, bool) {
	switch c.Phase {
	case PhaseWaiting:
		if !s.needsReview(c) {
			return s.start(c, "")
		}
	case PhaseReviewed:
		return s.judge(c)
	case PhaseAnswered:
		if !c.Allow {
			return refuse(c, "denied", deniedText(c.Name, c.Reason)), true
		}
		return s.start(c, c.By)
	case PhaseStarted:
		if _, spawned := s.childOf(c.ID); c.Lane == LaneDelegation && !spawned && !s.Attaching {
			return ChildSpawned{N: s.Children + 1, Call: c.ID, Prompt: c.Args, Bounds: s.childBounds(), Depth: s.Depth + 1}, true
		}
	case PhaseAsked, PhasePending, PhaseSettled:
	}
	return nil, false
}

// judge applies what the review found, the mode in force and what has been
// said for this process.
func (s State) judge(c Call) (Event, bool) {
	granted := slices.IndexFunc(s.Granted, func(g Grant) bool { return g.Tool == c.Name && g.Pattern == "" })
	scope, verdict, ruled := strings.Cut(c.Rule, "/")
	switch {
	case c.Refuse != nil:
		return refuse(c, c.Refuse.Code, c.Refuse.Text), true
	case c.Class == ClassNone:
		return s.start(c, "")
	case s.mode() == ApproveNever:
		return refuse(c, "denied", deniedText(c.Name, "this run may not change anything (--approve never)")), true
	case ruled && verdict == "allow":
		return s.start(c, c.Rule)
	case ruled:
		return refuse(c, "denied", deniedText(c.Name, cmp.Or(c.Reason, "a "+scope+" rule says so"))), true
	case granted >= 0 && s.Granted[granted].Allow:
		return s.start(c, "process")
	case granted >= 0:
		return refuse(c, "denied", deniedText(c.Name, s.Granted[granted].Reason)), true
	case s.mode() == ApproveAlways:
		return s.start(c, "always")
	case s.Attaching || s.asking():
		return nil, false
	}
	return ApprovalRequested{Call: c.ID}, true
}

// asking reports whether somebody is being asked: questions come one by one.
func (s State) asking() bool {
	return slices.ContainsFunc(s.Turn.Calls, func(c Call) bool { return c.Phase == PhaseAsked })
}

func (s State) start(c Call, by string) (Event, bool) {
	if c.Lane == LaneDelegation && s.overTokens() {
		return refuse(c, string(BoundTokens), "This task was not given to a subagent: "+boundText(BoundTokens)+"."), true
	}
	if s.Attaching || (c.Lane == LaneDelegation && s.delegating() >= MaxDelegations) {
		return nil, false
	}
	return CallStarted{Call: c.ID, By: by}, true
}

// childBounds are the limits of a new delegation: of the tokens of the turn it
// gets what is left.
func (s State) childBounds() Bounds {
	b := s.Bounds
	if limit, limited := b.Tokens.Get(); limited {
		b.Tokens = Known(limit - s.Turn.Usage.Total())
	}
	return b
}

func (s State) delegating() int {
	n := 0
	for _, c := range s.Turn.Calls {
		if c.Lane == LaneDelegation && c.Phase == PhaseStarted {
			n++
		}
	}
	return n
}

func refuse(c Call, code, text string) Event {
	return CallRefused{Call: c.ID, Code: code, Text: text}
}

func deniedText(tool, reason string) string {
	if reason == "" {
		return "The call of " + tool + " was denied."
	}
	return "The call of " + tool + " was denied: " + reason + "."
}
