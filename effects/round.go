package effects

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// callModel asks the model once, its retries included, and reports each failed
// attempt and at last the answer or the failure.
func (p *Performer) callModel(ctx context.Context, s reducer.State, f reducer.CallModel, out Out) {
	req, err := p.request(s)
	if err != nil {
		out.Report(reducer.RoundFailed{Round: f.Round, Kind: string(provider.KindInvalid), Message: err.Error()})
		return
	}
	if s.DeadlineMS != 0 {
		// The clock ends the turn; this only lets a retry see that its wait
		// would be in vain.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, time.UnixMilli(s.DeadlineMS).Add(deadlineGrace), Unwanted(reducer.BoundDeadline))
		defer cancel()
	}
	begun, streamed := p.o.Now(), false
	for chunk, err := range p.model.Stream(ctx, req) {
		if err != nil {
			p.roundFailed(ctx, f.Round, err, out)
			return
		}
		switch c := chunk.(type) {
		case provider.Sent: // what streamed before it does not count
			if streamed {
				out.Progress(reducer.Progress{Kind: reducer.ProgressVoid, Round: f.Round})
			}
			streamed = false
		case provider.TextDelta:
			streamed = true
			out.Progress(reducer.Progress{Kind: reducer.ProgressText, Round: f.Round, Text: c.Text})
		case provider.ReasoningDelta:
			streamed = true
			out.Progress(reducer.Progress{Kind: reducer.ProgressReasoning, Round: f.Round, Text: c.Text})
		case provider.CallDelta:
			if c.Name != "" {
				out.Progress(reducer.Progress{Kind: reducer.ProgressCall, Round: f.Round, Text: c.Name})
			}
		case provider.Retrying:
			streamed = false
			out.Progress(reducer.Progress{Kind: reducer.ProgressVoid, Round: f.Round})
			out.Report(p.attemptFailed(f.Round, c))
		case provider.Done:
			e, err := p.answered(s, f.Round, c.Answer)
			if err != nil {
				out.Report(reducer.RoundFailed{Round: f.Round, Kind: "blob", Message: err.Error(), Usage: c.Answer.Usage})
				return
			}
			e.MS = p.since(begun)
			out.Report(e)
		}
	}
}

// deadlineGrace is how long after the deadline a request gives up by itself.
const deadlineGrace = 2 * time.Second

// request says what the conversation asks of the model now.
func (p *Performer) request(s reducer.State) (provider.Request, error) {
	system, err := p.load(s.Setup.System)
	if err != nil {
		return provider.Request{}, err
	}
	return provider.Request{
		Model:    s.Setup.Source.Model,
		System:   system,
		Tools:    p.specs,
		Messages: s.Transcript.Messages(),
		Effort:   cmp.Or(s.Options.Effort, s.Setup.Effort),
		Load:     p.o.Blobs.Get,
	}, nil
}

func (p *Performer) answered(s reducer.State, round string, a provider.Answer) (reducer.ModelAnswered, error) {
	e := reducer.ModelAnswered{
		Round: round, Items: a.Items, Stop: a.Stop, Usage: a.Usage, Request: a.Request,
	}
	if a.StopRaw != string(a.Stop) && a.StopRaw != provider.StopWord(a.Source.Wire, a.Stop) {
		e.StopRaw = a.StopRaw
	}
	if a.Source != s.Setup.Source {
		e.Source = a.Source
	}
	if a.Served != s.Setup.Source.Model {
		e.Served = a.Served
	}
	if a.Attempt > 1 {
		e.Attempt = a.Attempt
	}
	var err error
	if e.Text, err = p.whole(a.Items); err != nil {
		return e, err
	}
	for i := range e.Items {
		it := &e.Items[i]
		if it.Type == reducer.ItemCall {
			e.Calls = append(e.Calls, p.head(reducer.CallID(round, len(e.Calls)), *it))
		}
		if it.Text, err = p.keep(it.Text.Inline, "text/plain"); err != nil {
			return e, err
		}
		if it.Args, err = p.keep(it.Args.Inline, "application/json"); err != nil {
			return e, err
		}
	}
	return e, nil
}

// whole is the text of an answer of several pieces that can't be joined again
// from the event alone, because one of them goes to a blob.
func (p *Performer) whole(items []reducer.Item) (reducer.Text, error) {
	var pieces []string
	long := false
	for _, it := range items {
		if it.Type == reducer.ItemText {
			pieces = append(pieces, it.Text.Inline)
			long = long || len(it.Text.Inline) > reducer.InlineLimit
		}
	}
	if !long || len(pieces) < 2 {
		return reducer.Text{}, nil
	}
	return p.keep(strings.Join(pieces, ""), "text/plain")
}

// head says what kind of call it is. A call of a tool that doesn't exist is a
// read: running it does nothing but say so.
func (p *Performer) head(id string, it reducer.Item) reducer.CallHead {
	h := reducer.CallHead{ID: id, Name: it.Name, Class: reducer.ClassNone, Lane: reducer.LaneParallel}
	in, err := document(it.Args.Inline)
	h.Broken = err != nil
	if t, ok := p.tool(it.Name); ok {
		spec := t.Spec()
		h.Class, h.Lane = spec.Class, spec.Lane
		if c, ok := t.(Classifier); ok && !h.Broken {
			h.Class, h.Lane = c.Classify(in)
		}
	}
	return h
}

// document is the arguments as one JSON object; none at all mean an empty one.
func document(args string) (json.RawMessage, error) {
	if blank(args) {
		return json.RawMessage("{}"), nil
	}
	var in json.RawMessage
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return nil, err
	}
	if in[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return in, nil
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
	}
	return true
}

func (p *Performer) attemptFailed(round string, c provider.Retrying) reducer.AttemptFailed {
	e := reducer.AttemptFailed{Round: round, Attempt: c.Attempt, Max: c.Max, DelayMS: c.Delay.Milliseconds()}
	if c.Err != nil {
		e.Kind, e.Status, e.Message = string(c.Err.Kind), c.Err.Status, p.redact.Replace(c.Err.Message)
		e.Usage, e.Request = c.Err.Usage, c.Err.Request
		e.Partial, _ = p.keep(c.Err.Partial, "text/plain") // a partial text that can't be kept is no loss
	}
	return e
}

func (p *Performer) roundFailed(ctx context.Context, round string, err error, out Out) {
	e := reducer.RoundFailed{Round: round, Kind: string(provider.KindNetwork), Message: p.redact.Replace(err.Error())}
	if pe, ok := errors.AsType[*provider.Error](err); ok {
		e.Kind, e.Status, e.Message = string(pe.Kind), pe.Status, p.redact.Replace(pe.Message)
		e.Usage, e.Request, e.Attempt = pe.Usage, pe.Request, pe.Attempt
		e.Partial, _ = p.keep(pe.Partial, "text/plain")
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrStopped) {
			return // the round stays open and is asked again
		}
		e.Kind, e.Status, e.Message = cause.Error(), 0, ""
	}
	out.Report(e)
}
