package effects

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/basisagent/basis/effects/schema"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// ErrStopped is the cause with which a context ends when the run lets go of
// the agent: what can be taken up again later reports nothing.
var ErrStopped = errors.New("interrupted")

// Unwanted is the cause with which a context ends when the rules no longer
// want the effect; its text is the word of the rules, such as cancelled.
type Unwanted string

func (u Unwanted) Error() string { return string(u) }

// Out takes what an effect has to say while it runs. Both methods may block
// for a moment; neither fails.
type Out interface {
	// Report gives observations that belong together. They are recorded as a
	// whole or not at all.
	Report(events ...reducer.Event)
	Progress(p reducer.Progress)
}

// Blobs keeps long texts beside the journal.
type Blobs interface {
	Put(data []byte, media string) (reducer.Ref, error)
	Get(ref reducer.Ref) ([]byte, error)
	Path(ref reducer.Ref) string
}

// Workspace is what an opening gives: the facts to record, and the means.
type Workspace struct {
	Opened reducer.WorkspaceOpened
	Model  provider.Model
	Tools  []Tool
	Hooks  []Hook // in the order in which they are asked

	// Sealed says that the tools can't read whole outputs beside the journal, so
	// none is told where they are.
	Sealed bool

	// Secrets are values beyond the options' that never enter what effects report.
	Secrets []Secret
}

// Options are a performer's seams. Open and Blobs are required.
type Options struct {
	// Open opens the workspace. An error's text is what the user reads.
	Open func(ctx context.Context, s reducer.State) (Workspace, error)

	Approver Approver         // nil: nobody can be asked
	Subagent string           // for its questions; "" is the task itself
	Blobs    Blobs            //
	Now      func() time.Time // measures durations; nil is time.Now
	Secrets  []Secret         // values that never enter what effects report

	// Rules gives what is remembered beyond this process. Nil is nothing. Where
	// it fails no call that needs a rule may run.
	Rules func() ([]reducer.Rule, error)

	// Remember stores an answer for the scope project or global. Nil stores nothing.
	Remember func(scope string, g reducer.Grant) error

	// Warn takes a line about something that went wrong and was dealt with.
	Warn func(string)
}

// Performer carries out effects. It holds the open workspace between them, so
// it serves one agent, and OpenWorkspace comes before all that needs one.
type Performer struct {
	o       Options
	redact  mask
	hiding  func(more []Secret) *Redactor
	model   provider.Model
	tools   []Tool
	hooks   []Hook
	schemas map[string]*schema.Schema // by the tool's name
	specs   []provider.Tool
}

// NewPerformer returns a performer with nothing open.
func NewPerformer(o Options) *Performer {
	if o.Now == nil {
		o.Now = time.Now
	}
	secrets := o.Secrets
	o.Secrets = nil // what prints a performer does not ask a secret how
	hiding := func(more []Secret) *Redactor { return NewRedactor(slices.Concat(secrets, more)) }
	p := &Performer{o: o, hiding: hiding}
	p.redact.set(hiding(nil), true)
	return p
}

// since is how many milliseconds something took, 0 if the clock was set back.
func (p *Performer) since(begun time.Time) int64 { return max(p.o.Now().Sub(begun).Milliseconds(), 0) }

// CanAsk reports whether there is anybody to answer an Ask.
func (p *Performer) CanAsk() bool { return p.o.Approver != nil }

// Perform carries out f as it is owed in s and reports how it went. It returns
// when everything is reported and nothing that it started is left. When ctx
// ends, its cause is [ErrStopped] or an [Unwanted].
func (p *Performer) Perform(ctx context.Context, s reducer.State, f reducer.Effect, out Out) {
	switch f := f.(type) {
	case reducer.OpenWorkspace:
		p.open(ctx, s, out)
	case reducer.CallModel:
		p.callModel(ctx, s, f, out)
	case reducer.ReviewCall:
		if events := p.Review(ctx, s, f.Call); len(events) > 0 {
			out.Report(events...)
		}
	case reducer.Ask:
		p.ask(ctx, s, f, out)
	case reducer.RunCall:
		p.runCall(ctx, s, f, out)
	case reducer.RunPostHooks:
		p.postHooks(ctx, s, f, out)
	case reducer.AwaitDeadline, reducer.CloseInbox, reducer.DriveChild:
		// The run does these itself: they need its clock, its locks, its files.
	}
}

func (p *Performer) open(ctx context.Context, s reducer.State, out Out) {
	w, err := p.o.Open(ctx, s)
	if err != nil {
		if ctx.Err() == nil {
			out.Report(reducer.WorkspaceFailed{Code: "open", Error: p.redact.Replace(err.Error())})
		}
		return
	}
	p.model, p.tools, p.hooks, p.specs = w.Model, w.Tools, w.Hooks, nil
	p.redact.set(p.hiding(w.Secrets), w.Sealed)
	notes := p.compile()
	for _, t := range w.Tools {
		spec := t.Spec()
		p.specs = append(p.specs, provider.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	opened := w.Opened
	opened.Hooks, opened.Warnings = nil, slices.Concat(opened.Warnings, notes)
	for _, h := range w.Hooks {
		opened.Hooks = append(opened.Hooks, h.Info())
	}
	if opened.SystemDigest == s.Setup.SystemDigest {
		opened.System = reducer.Text{}
	} else if opened.System, err = p.keep(opened.System.Inline, "text/plain"); err != nil {
		out.Report(reducer.WorkspaceFailed{Code: "blob", Error: err.Error()})
		return
	}
	if opened.ToolsDigest == s.Setup.ToolsDigest {
		opened.Tools = nil
	}
	if opened.FoundDigest == s.Setup.FoundDigest {
		opened.Found = reducer.Found{}
	}
	out.Report(opened)
}

func (p *Performer) tool(name string) (Tool, bool) {
	for _, t := range p.tools {
		if t.Spec().Name == name {
			return t, true
		}
	}
	return nil, false
}

// keep is the text as a record carries it: inline, or in a blob.
func (p *Performer) keep(s, media string) (reducer.Text, error) {
	if len(s) <= reducer.InlineLimit {
		return reducer.T(s), nil
	}
	ref, err := p.o.Blobs.Put([]byte(s), media)
	if err != nil {
		return reducer.Text{}, err
	}
	return reducer.Text{Blob: ref}, nil
}

// load is the inverse of keep.
func (p *Performer) load(t reducer.Text) (string, error) {
	if t.Blob.Digest == "" {
		return t.Inline, nil
	}
	data, err := p.o.Blobs.Get(t.Blob)
	return string(data), err
}

func (p *Performer) ask(ctx context.Context, s reducer.State, f reducer.Ask, out Out) {
	c, ok := s.Call(f.Call)
	if !ok || p.o.Approver == nil {
		return
	}
	a := Approval{Call: c.ID, Subagent: p.o.Subagent, Tool: c.Name, Class: c.Class, Preview: c.Preview}
	if args, err := p.load(c.Args); err == nil {
		a.Input = json.RawMessage(args)
	}
	if t, ok := p.tool(c.Name); ok {
		a.Description = t.Spec().Description
		if z, ok := t.(Summarizer); ok {
			a.Summary = z.Summarize(a.Input)
		}
		if v, ok := t.(Previewer); ok && len(a.Preview) == 0 {
			a.Preview, _ = v.Preview(a.Input) // the review let it pass; without it the input is shown
		}
		if v, ok := t.(Differ); ok {
			a.Diff = p.redact.Replace(v.Diff(a.Input))
		}
		a.Pattern = exactPattern(json.RawMessage(p.redact.Replace(string(a.Preview))))
		if d := t.Spec().Digest; d != "" {
			a.Pattern, a.Declared = declaredPattern(d), true
		}
	}
	v, err := p.o.Approver.Review(ctx, a)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		v = Verdict{Scope: "once", By: "basis", Reason: p.redact.Replace("the question could not be answered: " + err.Error())}
	}
	out.Report(p.remembered(c, v))
}

// remembered stores an answer that reaches beyond this process. One that can't be
// stored counts for the process.
func (p *Performer) remembered(c reducer.Call, v Verdict) reducer.ApprovalAnswered {
	e := reducer.ApprovalAnswered{Call: c.ID, Allow: v.Allow, Scope: v.Scope, Pattern: v.Pattern, By: v.By, Reason: v.Reason}
	switch v.Scope {
	case "", "once":
		e.Scope, e.Pattern = "once", ""
	case reducer.ScopeProject, reducer.ScopeGlobal:
		err := errors.New("rules are not kept here")
		if p.o.Remember != nil {
			err = p.o.Remember(v.Scope, reducer.Grant{Tool: c.Name, Pattern: v.Pattern, Allow: v.Allow, Reason: v.Reason})
		}
		if err != nil {
			e.Scope = reducer.ScopeProcess
			p.warn("the answer could not be remembered, and counts for this run only: " + err.Error())
		}
	default:
		e.Scope = reducer.ScopeProcess
	}
	return e
}

func (p *Performer) warn(line string) {
	if p.o.Warn != nil {
		p.o.Warn(p.redact.Replace(line))
	}
}
