package effects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/basisagent/basis/reducer"
)

// Hook judges calls: before they run, or what they came to before the model
// reads it. Hooks form a chain, in which each sees what the one before it left.
type Hook interface {
	// Info says which calls the hook wants to see. It never changes.
	Info() reducer.HookInfo

	// Ask lets the hook judge one call. An error, or a panic, means that it could
	// not: the call is then refused, or its result kept from the model. When
	// ctx ends the answer is not used.
	Ask(ctx context.Context, q HookQuestion) (HookAnswer, error)
}

// HookQuestion is one call as a hook sees it (TOOL-48).
type HookQuestion struct {
	Event     string // pre or post
	Workspace string // the canonical directory
	Agent     string // the conversation's id, with /1/2 for a subagent below it
	Call      string // such as r3.c2
	Tool      string
	Input     json.RawMessage // one JSON object, as the hooks before left it
	Output    string          // post: what the model would read
	IsError   bool            // post
}

// HookDecision is what a hook says of a call.
type HookDecision string

// The decisions.
const (
	HookAllow   HookDecision = "allow"   // nothing is changed
	HookDeny    HookDecision = "deny"    // pre: the call does not run; post: the model reads the reason instead
	HookModify  HookDecision = "modify"  // pre: the call goes on with Input
	HookReplace HookDecision = "replace" // post: the model reads Output
	HookFailed  HookDecision = "failed"  // it could not judge, and is allowed not to: as HookAllow, but said
)

// HookAnswer is a hook's verdict on one call.
type HookAnswer struct {
	Decision HookDecision
	Reason   string
	Input    json.RawMessage // of HookModify: one JSON object
	Output   string          // of HookReplace
	IsError  *bool           // of HookReplace; nil leaves it as it is
}

// hookName is what texts call a hook: a program of a file, or a host's own code.
func hookName(h reducer.HookInfo) string {
	if h.From == reducer.FromHost {
		return "interceptor '" + h.Name + "'"
	}
	return "hook '" + h.Name + "'"
}

// chain is a walk through the hooks that a call matches.
type chain struct {
	p       *Performer
	q       HookQuestion
	events  []reducer.HookAnswered
	changed []string // who changed something, with the reason
	denied  string   // what the model reads where one refused
	stopped bool     // ctx ended: nothing of it counts
}

// walk asks each matching hook in turn, until one refuses.
func (p *Performer) walk(ctx context.Context, q HookQuestion, take func(*chain, reducer.HookInfo, HookAnswer) error) *chain {
	c := &chain{p: p, q: q}
	for _, h := range p.hooks {
		info := h.Info()
		if !info.Matches(q.Event, q.Tool) {
			continue
		}
		begun := p.o.Now()
		a, err := judged(ctx, h, c.q)
		if ctx.Err() != nil {
			c.stopped = true
			return c
		}
		if err == nil && a.Decision != HookDeny && a.Decision != HookFailed {
			err = take(c, info, a)
		}
		e := reducer.HookAnswered{
			Call: q.Call, Event: q.Event, Hook: info.Name, Decision: string(a.Decision),
			Reason: p.reason(a.Reason), MS: p.since(begun),
		}
		if err != nil {
			e.Decision, e.Reason = string(HookFailed), p.reason(err.Error())
		}
		c.events = append(c.events, e)
		c.tell(info, e, err != nil)
		if c.denied != "" {
			return c
		}
	}
	return c
}

// tell says what a verdict means: a refusal to the model, a fault to the user.
func (c *chain) tell(info reducer.HookInfo, e reducer.HookAnswered, refuses bool) {
	who := hookName(info)
	switch {
	case refuses:
		c.denied = "denied by " + who + ": it could not answer: " + e.Reason
		c.p.warn(who + " could not answer about " + c.q.Tool + ", which counts as a refusal: " + e.Reason)
	case HookDecision(e.Decision) == HookFailed:
		c.p.warn(who + " could not answer about " + c.q.Tool + ", and is set not to refuse then: " + e.Reason)
	case HookDecision(e.Decision) == HookDeny:
		reason := e.Reason
		if strings.TrimSpace(reason) == "" {
			reason = "no reason is given"
		}
		c.denied = "denied by " + who + ": " + reason
	}
}

// change notes who changed something.
func (c *chain) change(info reducer.HookInfo, reason string) {
	who := hookName(info)
	if reason = strings.TrimSpace(c.p.reason(reason)); reason != "" {
		who += ": " + reason
	}
	c.changed = append(c.changed, who)
}

// maxReason is how much of a reason is kept, in bytes.
const maxReason = 8 << 10

// reason is a hook's reason without secrets, valid, and not endless.
func (p *Performer) reason(s string) string {
	s = strings.ToValidUTF8(p.redact.Replace(s), "\uFFFD")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + " [cut]"
	}
	return s
}

// judged is a hook's answer. A host's code that panics has none.
func judged(ctx context.Context, h Hook, q HookQuestion) (a HookAnswer, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = HookAnswer{}, fmt.Errorf("it panicked: %v", r)
		}
	}()
	return h.Ask(ctx, q)
}

// preHooks lets the hooks judge a call before it runs.
func (p *Performer) preHooks(ctx context.Context, q HookQuestion) *chain {
	return p.walk(ctx, q, func(c *chain, info reducer.HookInfo, a HookAnswer) error {
		switch a.Decision {
		case HookAllow:
		case HookModify:
			in, err := document(string(a.Input))
			if err != nil || len(a.Input) == 0 {
				return errors.New("its modify has no input that is a JSON object")
			}
			c.q.Input = in
			c.change(info, a.Reason)
		default:
			return fmt.Errorf("it decided %q, which is nothing that can be decided before a call", a.Decision)
		}
		return nil
	})
}

// postHooks lets the hooks judge what a call came to, and reports it as a whole:
// only the last verdict shows the model something (TOOL-51, TOOL-52).
func (p *Performer) postHooks(ctx context.Context, s reducer.State, f reducer.RunPostHooks, out Out) {
	last := reducer.HookAnswered{Call: f.Call, Event: "post", Last: true}
	call, ok := s.Call(f.Call)
	if !ok {
		out.Report(last)
		return
	}
	_, in, _ := p.prepare(call) // what could not be prepared did not run, and has no result
	q := p.question(s, call, "post", in)
	output, err := p.load(call.Shown)
	if err != nil {
		last.Withheld, last.Reason = true, err.Error()
		out.Report(last)
		return
	}
	q.Output, q.IsError = output, call.IsError
	c := p.walk(ctx, q, takeReplacement)
	switch {
	case c.stopped && errors.Is(context.Cause(ctx), ErrStopped):
		return // they run again later
	case c.stopped:
		last.Withheld = true
		out.Report(last)
		return
	case len(c.events) > 0:
		last = c.events[len(c.events)-1]
		last.Last = true
		c.events = c.events[:len(c.events)-1]
	}
	switch {
	case c.denied != "":
		last.Shown, last.IsError = reducer.T(c.denied), new(true)
	case len(c.changed) > 0:
		last.Shown = p.shown(c.q.Output)
		if c.q.IsError != call.IsError {
			last.IsError = new(c.q.IsError)
		}
	}
	var all []reducer.Event
	for _, e := range c.events {
		all = append(all, e)
	}
	out.Report(append(all, last)...)
}

func takeReplacement(c *chain, info reducer.HookInfo, a HookAnswer) error {
	switch a.Decision {
	case HookAllow:
	case HookReplace:
		c.q.Output = a.Output
		if a.IsError != nil {
			c.q.IsError = *a.IsError
		}
		c.change(info, a.Reason)
	default:
		return fmt.Errorf("it decided %q, which is nothing that can be decided after a call", a.Decision)
	}
	return nil
}

// shown is what a model reads of a text: the text, cut if it is too long. An
// empty one says that it is, so that it is not taken for no change.
func (p *Performer) shown(text string) reducer.Text {
	if text == "" {
		return reducer.T("(nothing)")
	}
	output, cut := p.Result(text)
	if cut.IsZero() {
		return output
	}
	return cut
}

// question is what hooks are asked about a call: with the input that it runs with.
func (p *Performer) question(s reducer.State, c reducer.Call, event string, in json.RawMessage) HookQuestion {
	return HookQuestion{Event: event, Workspace: s.Workspace, Agent: s.Conversation, Call: c.ID, Tool: c.Name, Input: in}
}
