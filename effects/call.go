package effects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/basisagent/basis/effects/schema"
	"github.com/basisagent/basis/reducer"
)

// Review checks a call before it may start: the arguments are brought into
// shape, hooks judge them, and schema, tool and rules what the hooks left. The
// events belong together; there are none when ctx has ended. Without a matching
// hook it takes no time, so a loop can do it inside a step.
func (p *Performer) Review(ctx context.Context, s reducer.State, call string) []reducer.Event {
	c, ok := s.Call(call)
	if !ok {
		return nil
	}
	var events []reducer.Event
	e := reducer.CallReviewed{Call: call}
	t, in, refusal := p.prepare(c)
	if refusal == nil {
		ch := p.preHooks(ctx, p.question(s, c, "pre", in))
		if ch.stopped {
			return nil
		}
		for _, v := range ch.events {
			events = append(events, v)
		}
		in, refusal = p.afterHooks(c, t, ch)
	}
	if refusal == nil {
		refusal = p.preview(s, c, t, in, &e)
	}
	if refusal == nil {
		refusal = p.replaced(c, in, &e)
	}
	if refusal != nil {
		refusal.Text = p.redact.Replace(refusal.Text)
		e = reducer.CallReviewed{Call: call, Refuse: refusal}
	}
	return append(events, e)
}

// replaced records the input where the call does not run with what the model sent.
func (p *Performer) replaced(c reducer.Call, in json.RawMessage, e *reducer.CallReviewed) *reducer.Refusal {
	args, err := p.load(c.Args)
	if err == nil && (args == string(in) || blank(args)) && (!blank(args) || string(in) == "{}") {
		return nil
	}
	if e.Input, err = p.keep(string(in), "application/json"); err != nil {
		return &reducer.Refusal{Code: "blob", Text: "This call was not run: " + err.Error()}
	}
	return nil
}

// afterHooks judges what the hooks left of a call: what they changed must still
// be a call of the same kind that the tool takes (TOOL-8, TOOL-10).
func (p *Performer) afterHooks(c reducer.Call, t Tool, ch *chain) (json.RawMessage, *reducer.Refusal) {
	if ch.denied != "" {
		return nil, &reducer.Refusal{Code: "hook", Text: ch.denied}
	}
	in := ch.q.Input
	var err error
	if n, ok := t.(Normalizer); ok && len(ch.changed) > 0 {
		if in, err = n.Normalize(in); err != nil {
			err = fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if err == nil {
		err = p.fits(t, in)
	}
	if err == nil && !sameLane(c, t, in) {
		err = fmt.Errorf("%s: the call was made as a command or as a task for a subagent, and can't become the other", c.Name)
	}
	if err == nil {
		return in, nil
	}
	text := err.Error()
	if len(ch.changed) > 0 {
		text += ". This is not about what you sent, but about what was made of it by " + strings.Join(ch.changed, "; ")
	}
	return nil, &reducer.Refusal{Code: "invalid_arguments", Text: text}
}

// fits judges the input of a call by what its tool publishes.
func (p *Performer) fits(t Tool, in json.RawMessage) error {
	if v, ok := t.(Validator); ok {
		return v.Validate(in)
	}
	s, ok := p.schemas[t.Spec().Name]
	if !ok {
		return nil
	}
	problems := s.Problems(in)
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("invalid arguments for %s: %s. Send one JSON object that fits this schema: %s",
		t.Spec().Name, strings.Join(problems, "; "), t.Spec().Schema)
}

// compile makes the schemas that calls are held against, and notes those that
// can't be: calls of such a tool are not judged.
func (p *Performer) compile() (notes []string) {
	p.schemas = map[string]*schema.Schema{}
	for _, t := range p.tools {
		if _, ok := t.(Validator); ok {
			continue
		}
		spec := t.Spec()
		s, err := schema.Compile(spec.Schema)
		if err != nil {
			notes = append(notes, "tool "+spec.Name+": its input_schema is shown to the model, but calls are not held against it: "+err.Error())
			continue
		}
		p.schemas[spec.Name] = s
	}
	return notes
}

// sameLane reports whether a call is still of the kind as which the answer was
// recorded: who runs it is settled by then.
func sameLane(c reducer.Call, t Tool, in json.RawMessage) bool {
	z, ok := t.(Classifier)
	if !ok {
		return true
	}
	_, lane := z.Classify(in)
	return (lane == reducer.LaneDelegation) == (c.Lane == reducer.LaneDelegation)
}

// preview lets the tool show what the call would do, and holds the rules against
// that: against what the hooks have left, and in one spelling.
func (p *Performer) preview(s reducer.State, c reducer.Call, t Tool, in json.RawMessage, e *reducer.CallReviewed) *reducer.Refusal {
	subject := in
	if v, ok := t.(Previewer); ok {
		preview, err := v.Preview(in)
		if err != nil {
			return &reducer.Refusal{Code: "refused", Text: err.Error()}
		}
		// What would only repeat the input is computed again where it is shown.
		if len(preview) <= previewLimit {
			e.Preview = json.RawMessage(p.redact.Replace(string(preview)))
		}
		subject = preview
	}
	if c.Class == reducer.ClassNone {
		return nil
	}
	return p.rule(s, c, ruled(t, subject), e)
}

// ruled is what rules are held against: what the tool shows of a call, and of a
// declared tool also which one it is. That stands first, so that nothing in the
// input can pass for it.
func ruled(t Tool, preview json.RawMessage) json.RawMessage {
	digest := t.Spec().Digest
	var m map[string]json.RawMessage
	if digest == "" || json.Unmarshal(preview, &m) != nil {
		return preview
	}
	m["as"], _ = json.Marshal(digest) // a string always encodes
	doc, err := json.Marshal(m)
	if err != nil {
		return preview
	}
	return doc
}

// declaredPattern is the pattern of a rule for all calls of a tool as a file
// declares it now.
func declaredPattern(digest string) string { return `{"as":"` + digest + `",*}` }

// rule finds the remembered answer for a call, if there is one. Where the rules
// can't be read nothing that they might forbid is run.
func (p *Performer) rule(s reducer.State, c reducer.Call, doc json.RawMessage, e *reducer.CallReviewed) *reducer.Refusal {
	var rules []reducer.Rule
	if p.o.Rules != nil {
		var err error
		if rules, err = p.o.Rules(); err != nil {
			return &reducer.Refusal{Code: "rules", Text: "This call was not run: the remembered rules cannot be read: " + err.Error()}
		}
	}
	for _, g := range s.Granted {
		rules = append(rules, reducer.Rule{Grant: g, Scope: reducer.ScopeProcess})
	}
	if len(rules) == 0 {
		return nil
	}
	subject, err := reducer.Subject(json.RawMessage(p.redact.Replace(string(doc))))
	if err != nil {
		return &reducer.Refusal{Code: "rules", Text: "This call was not run: it cannot be held against the remembered rules: " + err.Error()}
	}
	r, ok := reducer.Judge(rules, c.Name, subject)
	switch {
	case ok && r.Allow:
		e.Rule = r.Scope + "/allow"
	case ok:
		e.Rule, e.Reason = r.Scope+"/deny", r.Reason
	}
	return nil
}

// exactPattern is the pattern of a rule for a command alone, wherever it runs.
func exactPattern(preview json.RawMessage) string {
	var m map[string]json.RawMessage
	var mode string
	if json.Unmarshal(preview, &m) != nil || json.Unmarshal(m["mode"], &mode) != nil || mode != "command" {
		return ""
	}
	delete(m, "cwd")
	doc, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	exact, err := reducer.Subject(doc)
	if err != nil {
		return ""
	}
	body, rest, ok := strings.Cut(exact, `,"mode":"command"`)
	if !ok {
		return ""
	}
	return body + `,"cwd":"*","mode":"command"` + rest
}

const previewLimit = 1 << 10

// prepare finds the tool and brings the arguments into its shape.
func (p *Performer) prepare(c reducer.Call) (Tool, json.RawMessage, *reducer.Refusal) {
	t, ok := p.tool(c.Name)
	if !ok {
		return nil, nil, &reducer.Refusal{Code: "unknown_tool", Text: "There is no tool " + quote(c.Name) + ". There are: " + p.names() + "."}
	}
	args, err := p.load(c.Args)
	if err != nil {
		return nil, nil, &reducer.Refusal{Code: "blob", Text: "The arguments of this call are lost: " + err.Error()}
	}
	in, err := document(args)
	if err == nil {
		if n, ok := t.(Normalizer); ok {
			in, err = n.Normalize(in)
		}
	}
	if err == nil {
		// A hook might take the one and the tool the other.
		_, err = reducer.Subject(in)
	}
	if err != nil {
		return nil, nil, &reducer.Refusal{Code: "invalid_arguments", Text: c.Name + ": " + err.Error()}
	}
	return t, in, nil
}

func (p *Performer) names() string {
	var all []string
	for _, t := range p.tools {
		all = append(all, t.Spec().Name)
	}
	return strings.Join(all, ", ")
}

func quote(s string) string { return "\"" + s + "\"" }

// runCall runs a call once. A read that is interrupted reports nothing and is
// run again later; everything else says how far it came.
func (p *Performer) runCall(ctx context.Context, s reducer.State, f reducer.RunCall, out Out) {
	c, ok := s.Call(f.Call)
	if !ok {
		return
	}
	t, in, refusal := p.prepare(c)
	if refusal == nil && c.Class == reducer.ClassNone {
		if err := p.fits(t, in); err != nil { // there may have been no review before
			refusal = &reducer.Refusal{Code: "invalid_arguments", Text: err.Error()}
		}
	}
	if refusal != nil {
		out.Report(reducer.CallSettled{Call: c.ID, Outcome: reducer.OutcomeFailed, Code: refusal.Code, Output: reducer.T(p.redact.Replace(refusal.Text))})
		return
	}
	begun := p.o.Now()
	r, err := t.Call(ctx, Invocation{Call: c.ID, Input: in, Files: s.Files, Progress: func(text string) {
		out.Progress(reducer.Progress{Kind: reducer.ProgressOutput, Call: c.ID, Tool: c.Name, Text: p.redact.Replace(text)})
	}})
	if z, ok := t.(Summarizer); ok && r.Summary == z.Summarize(in) {
		r.Summary = "" // the call itself says as much
	}
	var cause error
	if ctx.Err() != nil && (r.IsError || err != nil) {
		cause = context.Cause(ctx)
	}
	if errors.Is(cause, ErrStopped) && c.Class == reducer.ClassNone {
		return
	}
	e := p.settle(c, r, err, cause, p.since(begun))
	e.Files = unseen(r.Files, s.Files)
	out.Report(e)
}

// unseen is what a call saw of files that the state does not hold already.
func unseen(files, known []reducer.FileSeen) []reducer.FileSeen {
	var all []reducer.FileSeen
	for _, f := range files {
		if !slices.Contains(known, f) {
			all = append(all, f)
		}
	}
	return all
}

// settle is the event about a result. A call that was cancelled has a cause.
func (p *Performer) settle(c reducer.Call, r Result, err, cause error, ms int64) reducer.CallSettled {
	e := reducer.CallSettled{Call: c.ID, Outcome: reducer.OutcomeDone, Code: r.Code, Summary: r.Summary, MS: ms}
	if r.IsError {
		e.Outcome = reducer.OutcomeFailed
	}
	if err != nil {
		e.Outcome, e.Code = reducer.OutcomeFailed, "failed"
		r.Output, r.Pieces = strings.TrimSpace(r.Output+"\n"+c.Name+": "+err.Error()), nil
	}
	e.Summary = p.redact.Replace(e.Summary)
	limits := Limits{Bytes: DefaultResultBytes, Lines: DefaultResultLines}
	if r.Paged {
		limits.Lines = 0
	}
	if cause != nil {
		e.Outcome, e.Reason = reducer.OutcomeCancelled, cause.Error()
		limits.Bytes = cancelledBytes
	}
	e.Output, e.Shown = p.result(p.pieces(r), limits)
	return e
}

// cancelledBytes bounds what a model is shown of a call that was cancelled: the
// words for it stand in the conversation, with what there was until then.
const cancelledBytes = reducer.InlineLimit / 2

// pieces is a result's output, without secrets and valid.
func (p *Performer) pieces(r Result) []Piece {
	all := slices.Clone(r.Pieces)
	if len(all) == 0 {
		all = []Piece{{Text: r.Output}}
	}
	for i := range all {
		all[i].Text = strings.ToValidUTF8(p.redact.Replace(all[i].Text), "\uFFFD")
	}
	return all
}

// Result is a text as a record keeps it and, where that is too much for it,
// what a model is shown instead, as for a tool's output.
func (p *Performer) Result(text string) (output, shown reducer.Text) {
	return p.result(p.pieces(Result{Output: text}), Limits{Bytes: DefaultResultBytes, Lines: DefaultResultLines})
}

// result is a tool's output as the record keeps it and, where that is too much
// for it, what the model is shown. What is cut is a file, so that the model can
// read the rest of it (TOOL-11).
func (p *Performer) result(pieces []Piece, limits Limits) (output, shown reducer.Text) {
	text := join(pieces)
	_, cut := limits.Fit(pieces, "")
	if !cut && len(text) <= reducer.InlineLimit {
		return reducer.T(text), reducer.Text{}
	}
	ref, err := p.o.Blobs.Put([]byte(text), "text/plain")
	if err != nil {
		begin := strings.ToValidUTF8(text[:min(len(text), reducer.InlineLimit/2)], "")
		return reducer.T(begin + "\n[the rest could not be kept: " + err.Error() + "]"), reducer.Text{}
	}
	output = reducer.Text{Blob: ref}
	if cut {
		where := ""
		if !p.redact.sealed() {
			where = p.o.Blobs.Path(ref)
		}
		words, _ := limits.Fit(pieces, where)
		shown, _ = p.keep(words, "text/plain") // else the model reads all of it
	}
	return output, shown
}
