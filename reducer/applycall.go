package reducer

import (
	"slices"
	"strings"
)

// What the model reads in place of a result that it can't have.
const (
	textWithheld = "The result is withheld: a check of it did not finish."
	textLost     = "The process was interrupted while this call was running. It may or may not have happened. " +
		"Look at what it would have changed before you call it again."
	textLostRead  = "The process was interrupted before this call finished. It changed nothing; call it again if you need it."
	textCancelled = "This call was cancelled."
)

// applyCall folds the events about one call.
func (s State) applyCall(e Event) State {
	switch e := e.(type) {
	case CallReviewed:
		return s.withCall(e.Call, func(c *Call) {
			c.Phase, c.Refuse, c.Rule, c.Reason, c.Preview = PhaseReviewed, e.Refuse, e.Rule, e.Reason, e.Preview
			if !e.Input.IsZero() {
				c.Args = e.Input
			}
		})
	case CallRefused:
		return s.withCall(e.Call, func(c *Call) {
			c.Phase, c.Shown, c.IsError = PhaseSettled, T(e.Text), true
		})
	case CallStarted:
		return s.withCall(e.Call, func(c *Call) { c.Phase, c.By = PhaseStarted, e.By })
	case ApprovalRequested:
		return s.withCall(e.Call, func(c *Call) { c.Phase = PhaseAsked })
	case ApprovalAnswered:
		return s.approved(e)
	case CallSettled:
		return s.settled(e)
	case HookAnswered:
		if e.Event != "post" || !e.Last {
			return s // a verdict on the way; the review or the last one says what it came to
		}
		return s.withCall(e.Call, func(c *Call) {
			c.Phase = PhaseSettled
			switch {
			case e.Withheld:
				c.Shown, c.IsError = T(textWithheld), true
			case !e.Shown.IsZero():
				c.Shown = e.Shown
			}
			if e.IsError != nil {
				c.IsError = *e.IsError
			}
		})
	default:
		return s
	}
}

// withCall changes one call in a copy of the list.
func (s State) withCall(id string, change func(*Call)) State {
	i := slices.IndexFunc(s.Turn.Calls, func(c Call) bool { return c.ID == id })
	if i < 0 || s.Turn.Calls[i].Phase == PhaseSettled {
		return s
	}
	s.Turn.Calls = slices.Clone(s.Turn.Calls)
	change(&s.Turn.Calls[i])
	return s
}

func (s State) approved(e ApprovalAnswered) State {
	c, ok := s.Call(e.Call)
	if ok && e.Scope == ScopeProcess {
		s.Granted = append(slices.Clip(s.Granted), Grant{Tool: c.Name, Pattern: e.Pattern, Allow: e.Allow, Reason: e.Reason})
	}
	return s.withCall(e.Call, func(c *Call) {
		c.Phase, c.Allow, c.By, c.Reason = PhaseAnswered, e.Allow, e.By, e.Reason
	})
}

func (s State) settled(e CallSettled) State {
	s = s.seen(e.Files)
	return s.withCall(e.Call, func(c *Call) {
		c.Outcome, c.IsError, c.Shown = e.Outcome, e.Outcome != OutcomeDone, e.shown(*c)
		c.Phase = PhaseSettled
		came := ClassOf(e) == Observation || c.Lane == LaneDelegation && e.Outcome != OutcomeLost
		if came && s.hooked("post", c.Name) {
			c.Phase = PhasePending
		}
	})
}

// seen takes down what a call read or wrote the whole of.
func (s State) seen(files []FileSeen) State {
	if len(files) == 0 {
		return s
	}
	s.Files = slices.DeleteFunc(slices.Clone(s.Files), func(old FileSeen) bool {
		return slices.ContainsFunc(files, func(f FileSeen) bool { return f.Path == old.Path })
	})
	for _, f := range files {
		if f.Digest != "" {
			s.Files = append(s.Files, f)
		}
	}
	return s
}

// shown is what the model reads of an outcome.
func (e CallSettled) shown(c Call) Text {
	switch e.Outcome {
	case OutcomeLost:
		if c.Class == ClassNone {
			return T(textLostRead)
		}
		return T(textLost)
	case OutcomeCancelled:
		words := textCancelled
		if e.Reason != "" {
			words = "This call was cancelled: " + e.Reason + "."
		}
		shown := e.Output
		if !e.Shown.IsZero() {
			shown = e.Shown
		}
		if out := strings.TrimSpace(shown.String()); out != "" {
			words += "\nIts output until then:\n" + out
		}
		return T(words)
	default:
	}
	if !e.Shown.IsZero() {
		return e.Shown
	}
	return e.Output
}

// applyChild folds the events about delegations and child tasks.
func (s State) applyChild(e Event) State {
	switch e := e.(type) {
	case ChildSpawned:
		if e.N != 0 {
			s.Children = max(s.Children, e.N)
			s = s.withCall(e.Call, func(c *Call) { c.Child = e.N })
		}
		s.Family = append(slices.Clip(s.Family), Child{
			N: e.N, Task: e.Task, Call: e.Call, Prompt: e.Prompt, Bounds: e.Bounds, Depth: e.Depth,
		})
	case UsageSampled:
		i := s.member(e.Child, "")
		if i < 0 || s.Family[i].Settled {
			return s
		}
		s.Family = slices.Clone(s.Family)
		s.Family[i].Usage = s.Family[i].Usage.Add(e.Usage)
		s.Turn.Usage = s.Turn.Usage.Add(e.Usage)
	case ChildSettled:
		i := s.member(e.N, e.Task)
		if i < 0 || s.Family[i].Settled {
			return s
		}
		s.Family = slices.Clone(s.Family)
		c := &s.Family[i]
		if e.N != 0 {
			s.Turn.Usage = s.Turn.Usage.Add(e.Usage.Beyond(c.Usage))
		}
		c.Settled, c.Outcome, c.Code, c.Usage = true, e.Outcome, e.Code, e.Usage
		c.Text, c.Shown, c.Error, c.By = e.Text, e.Shown, e.Error, e.StoppedBy
	default:
	}
	return s
}

func (s State) member(n int, task string) int {
	return slices.IndexFunc(s.Family, func(c Child) bool { return c.N == n && c.Task == task })
}
