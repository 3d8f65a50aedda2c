package effects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// memory keeps blobs in memory; full makes it refuse.
type memory struct {
	m    map[string]string
	full error
}

func (m *memory) Put(data []byte, media string) (reducer.Ref, error) {
	if m.full != nil {
		return reducer.Ref{}, m.full
	}
	r := reducer.Ref{Digest: fmt.Sprintf("sha256:%064x", len(m.m)+1), Size: int64(len(data)), Media: media}
	m.m[r.Digest] = string(data)
	return r, nil
}

func (m *memory) Get(r reducer.Ref) ([]byte, error) {
	s, ok := m.m[r.Digest]
	if !ok {
		return nil, errors.New("blob missing")
	}
	return []byte(s), nil
}

func (m *memory) Path(r reducer.Ref) string { return "/blobs/" + r.Digest[len(r.Digest)-4:] }

// recorder is an Out that remembers.
type recorder struct {
	events   []reducer.Event
	progress []reducer.Progress
}

func (r *recorder) Report(events ...reducer.Event)  { r.events = append(r.events, events...) }
func (r *recorder) Progress(p reducer.Progress)     { r.progress = append(r.progress, p) }
func (r *recorder) only(t *testing.T) reducer.Event { return one(t, r.events) }

// counts compares counts by what they are.
func counts() cmp.Option { return cmp.Comparer(func(a, b reducer.Count) bool { return a == b }) }

func differ(want, got any) string { return cmp.Diff(want, got, counts()) }

func same(a, b any) bool { return cmp.Equal(a, b, counts()) }

func one(t *testing.T, events []reducer.Event) reducer.Event {
	t.Helper()
	if len(events) != 1 {
		t.Fatalf("%d events %v, want one", len(events), events)
	}
	return events[0]
}

// plain is a tool with nothing optional.
type plain struct {
	spec Spec
	call func(ctx context.Context, in Invocation) (Result, error)
}

func (p plain) Spec() Spec { return p.spec }

func (p plain) Call(ctx context.Context, in Invocation) (Result, error) { return p.call(ctx, in) }

// clever is a tool with everything optional.
type clever struct{ plain }

func (clever) Normalize(in json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(in), "impossible") {
		return nil, errors.New("impossible input")
	}
	return json.RawMessage(strings.ReplaceAll(string(in), "filePath", "path")), nil
}

func (clever) Classify(in json.RawMessage) (reducer.Class, reducer.Lane) {
	if strings.Contains(string(in), "harmless") {
		return reducer.ClassNone, reducer.LaneParallel
	}
	return reducer.ClassProcess, reducer.LaneExclusive
}

func (clever) Preview(in json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(in), "forbidden") {
		return nil, errors.New("not with canary-key")
	}
	return json.RawMessage(`{"would":"touch canary-key"}`), nil
}

func (clever) Summarize(json.RawMessage) string { return "summary of the input" }

const secret = "canary-key"

// state is the state with calls of an answer to run.
func state(calls ...reducer.Call) reducer.State {
	return reducer.State{Turn: reducer.Turn{ID: "t1", Answer: "r1", Calls: calls}}
}

func aCall(name, args string, class reducer.Class) reducer.Call {
	return reducer.Call{ID: "r1.c1", Name: name, Class: class, Args: reducer.T(args)}
}

// performer is one with the tools plain and clever, whose calls do as told.
func performer(blobs *memory, call func(ctx context.Context, in Invocation) (Result, error)) *Performer {
	p := NewPerformer(Options{
		Blobs: blobs, Secrets: []Secret{{Name: "KEY", Value: secret}, {Name: "SHORT", Value: "abc"}},
		Open: func(context.Context, reducer.State) (Workspace, error) {
			return Workspace{Tools: []Tool{
				plain{Spec{Name: "plain", Class: reducer.ClassState, Lane: reducer.LaneExclusive}, call},
				clever{plain{Spec{Name: "clever", Description: "does things"}, call}},
			}}, nil
		},
		Now: func() time.Time { return time.Time{} },
	})
	p.open(context.Background(), reducer.State{}, &recorder{})
	return p
}

func result(r Result, err error) func(context.Context, Invocation) (Result, error) {
	return func(context.Context, Invocation) (Result, error) { return r, err }
}

func newMemory() *memory { return &memory{m: map[string]string{}} }

// TOOL-23, TOOL-29, TOOL-30: a review normalises the input, keeps it
// where it differs, shows what would happen, and refuses what can't be.
func TestReview(t *testing.T) {
	for _, tt := range []struct {
		name, tool, args string
		want             reducer.CallReviewed
	}{
		{"as sent", "plain", `{"path": "a"}`, reducer.CallReviewed{}},
		{"no arguments", "plain", " ", reducer.CallReviewed{}},
		{"normalised", "clever", `{"filePath":"a"}`, reducer.CallReviewed{Input: reducer.T(`{"path":"a"}`), Preview: json.RawMessage(`{"would":"touch [redacted:KEY]"}`)}},
		{"as it is", "clever", `{"path":"a"}`, reducer.CallReviewed{Preview: json.RawMessage(`{"would":"touch [redacted:KEY]"}`)}},
		{"refused by the preview", "clever", `{"forbidden":1}`, reducer.CallReviewed{Refuse: &reducer.Refusal{Code: "refused", Text: "not with [redacted:KEY]"}}},
		{"not to be normalised", "clever", `{"impossible":1}`, reducer.CallReviewed{Refuse: &reducer.Refusal{Code: "invalid_arguments", Text: "clever: impossible input"}}},
		{"an array", "plain", `[1]`, reducer.CallReviewed{Refuse: &reducer.Refusal{Code: "invalid_arguments", Text: "plain: not a JSON object"}}},
		{"an unknown tool", "nosuch", `{}`, reducer.CallReviewed{Refuse: &reducer.Refusal{Code: "unknown_tool", Text: `There is no tool "nosuch". There are: plain, clever.`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := performer(newMemory(), nil)
			tt.want.Call = "r1.c1"
			s := state(aCall(tt.tool, tt.args, reducer.ClassState))
			got, ok := review(p, s, "r1.c1")
			if diff := differ(reducer.Event(tt.want), got); diff != "" || !ok {
				t.Errorf("Review = ok %v (-want +got):\n%s", ok, diff)
			}
			out := &recorder{}
			p.Perform(t.Context(), s, reducer.ReviewCall{Call: "r1.c1"}, out)
			if !same(out.only(t), got) {
				t.Errorf("Perform reports %v, want %v", out.events, got)
			}
		})
	}
	if e, ok := review(performer(newMemory(), nil), reducer.State{}, "r1.c1"); ok {
		t.Errorf("Review of no call = %v, want nothing", e)
	}
}

// Arguments that are gone with their blob refuse the call instead of running
// it with others (JRN-68).
func TestArgumentsAreLost(t *testing.T) {
	c := aCall("plain", "", reducer.ClassState)
	c.Args = reducer.Text{Blob: reducer.Ref{Digest: "sha256:" + strings.Repeat("0", 64)}}
	e, _ := review(performer(newMemory(), nil), state(c), c.ID)
	if r := e.(reducer.CallReviewed).Refuse; r == nil || r.Code != "blob" {
		t.Errorf("Review = %+v, want it refused because of the blob", e)
	}
}

func run(t *testing.T, p *Performer, c reducer.Call) (reducer.CallSettled, *recorder) {
	t.Helper()
	out := &recorder{}
	p.Perform(t.Context(), state(c), reducer.RunCall{Call: c.ID}, out)
	e, ok := out.only(t).(reducer.CallSettled)
	if !ok || e.Call != c.ID {
		t.Fatalf("Perform reports %v, want the call settled", out.events)
	}
	return e, out
}

// PROV-47, EV-50, JRN-88, FR-029: in outputs, summaries, progress and errors a
// secret is replaced by its name, and bytes that are no text are replaced; what
// is too short to be a secret stays.
func TestSettledAndRedacted(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    Result
		err  error
		want reducer.CallSettled
	}{
		{"done", Result{Output: "ok abc"}, nil, reducer.CallSettled{Outcome: "done", Output: reducer.T("ok abc")}},
		{"a secret", Result{Output: "x " + secret + " y", Summary: "saw " + secret}, nil, reducer.CallSettled{Outcome: "done", Output: reducer.T("x [redacted:KEY] y"), Summary: "saw [redacted:KEY]"}},
		{"failed", Result{Output: "no", IsError: true, Code: "not_found"}, nil, reducer.CallSettled{Outcome: "failed", Code: "not_found", Output: reducer.T("no")}},
		{"nobody knows", Result{Output: "so far"}, errors.New("lost " + secret), reducer.CallSettled{Outcome: "failed", Code: "failed", Output: reducer.T("so far\nclever: lost [redacted:KEY]")}},
		{"no text", Result{Output: "a\xffb"}, nil, reducer.CallSettled{Outcome: "done", Output: reducer.T("a\uFFFDb")}},
		{"the summary it has anyway", Result{Output: "ok", Summary: "summary of the input"}, nil, reducer.CallSettled{Outcome: "done", Output: reducer.T("ok")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := performer(newMemory(), func(_ context.Context, in Invocation) (Result, error) {
				in.Progress("now " + secret)
				return tt.r, tt.err
			})
			got, out := run(t, p, aCall("clever", `{}`, reducer.ClassProcess))
			tt.want.Call = "r1.c1"
			if diff := differ(tt.want, got); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
			want := reducer.Progress{Kind: reducer.ProgressOutput, Call: "r1.c1", Tool: "clever", Text: "now [redacted:KEY]"}
			if len(out.progress) != 1 || out.progress[0] != want {
				t.Errorf("progress = %+v, want %+v", out.progress, want)
			}
		})
	}
}

// What a call saw of a file stands in the journal once: one that is as the agent
// last saw it is not named again, one that has changed or is no longer known is.
func TestFilesAsTheyWereAreNotRecorded(t *testing.T) {
	saw := []reducer.FileSeen{{Path: "/same", Digest: "1"}, {Path: "/changed", Digest: "2"}, {Path: "/new", Digest: "3"}, {Path: "/lost"}}
	p := performer(newMemory(), result(Result{Files: saw}, nil))
	c := aCall("clever", `{}`, reducer.ClassNone)
	s := state(c)
	s.Files = []reducer.FileSeen{{Path: "/lost", Digest: "4"}, {Path: "/changed", Digest: "1"}, {Path: "/same", Digest: "1"}}
	out := &recorder{}
	p.Perform(t.Context(), s, reducer.RunCall{Call: c.ID}, out)
	got := out.only(t).(reducer.CallSettled).Files
	if diff := cmp.Diff(saw[1:], got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TOOL-11, JRN-66, JRN-67: a long output goes to a blob, and only what exceeds
// what a model is shown is cut, with the place of the whole; also where it is
// long only in lines.
func TestLongResults(t *testing.T) {
	for _, tt := range []struct {
		name       string
		output     string
		paged      bool
		blob       bool
		shownLines int // 0: as it is
	}{
		{"short", strings.Repeat("x", reducer.InlineLimit), false, false, 0},
		{"for a blob", strings.Repeat("x", reducer.InlineLimit+1), false, true, 0},
		{"many bytes", strings.Repeat(strings.Repeat("y", 99)+"\n", 600), false, true, 512},
		{"many lines", strings.Repeat("z\n", 2001), false, true, 2000},
		{"lines that the tool bounds", strings.Repeat("z\n", 2002), true, false, 0},
		{"bytes in spite of that", strings.Repeat(strings.Repeat("y", 99)+"\n", 600), true, true, 512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blobs := newMemory()
			p := performer(blobs, result(Result{Output: tt.output, Paged: tt.paged}, nil))
			got, _ := run(t, p, aCall("plain", `{}`, reducer.ClassState))
			if whole, err := p.load(got.Output); err != nil || whole != tt.output || (got.Output.Blob.Digest != "") != tt.blob {
				t.Errorf("output = %d bytes, %v, blob %q, want all of it, in a blob: %v", len(whole), err, got.Output.Blob.Digest, tt.blob)
			}
			shown, err := p.load(got.Shown)
			if err != nil || (shown != "") != (tt.shownLines > 0) {
				t.Fatalf("shown = %q, %v, want it where it differs", shown, err)
			}
			if shown == "" {
				return
			}
			last := fmt.Sprintf("[truncated: showing %d of %d lines; full output at %s]", tt.shownLines, strings.Count(tt.output, "\n"), blobs.Path(got.Output.Blob))
			if !strings.HasSuffix(shown, "\n"+last) || strings.Count(shown, "\n") != tt.shownLines {
				t.Errorf("shown ends with %q, want %q after %d lines", shown[len(shown)-120:], last, tt.shownLines)
			}
		})
	}
}

// A result that can't be kept is cut in the record, after a whole character,
// and says so: the call has happened, and the model must know.
func TestResultThatCannotBeKept(t *testing.T) {
	blobs := newMemory()
	blobs.full = errors.New("no room")
	p := performer(blobs, result(Result{Output: strings.Repeat("é", 60<<10)}, nil))
	got, _ := run(t, p, aCall("plain", `{}`, reducer.ClassState))
	text := got.Output.Inline
	if got.Outcome != reducer.OutcomeDone || !strings.HasSuffix(text, "é\n[the rest could not be kept: no room]") || len(text) > reducer.InlineLimit {
		t.Errorf("output = %d bytes ending in %q, want its beginning and why", len(text), text[max(0, len(text)-60):])
	}
}

// JRN-34: a read that is interrupted reports nothing and is done again;
// everything else says how far it came and why it ended; one that was done
// before it heard of the end is done.
func TestInterruptedCalls(t *testing.T) {
	stopped := result(Result{Output: "half", IsError: true, Code: "cancelled"}, nil)
	for _, tt := range []struct {
		name  string
		class reducer.Class
		cause error
		call  func(context.Context, Invocation) (Result, error)
		want  []reducer.Event
	}{
		{"a read, put off", reducer.ClassNone, ErrStopped, stopped, nil},
		{"a read, unwanted", reducer.ClassNone, Unwanted("cancelled"), stopped, []reducer.Event{reducer.CallSettled{Call: "r1.c1", Outcome: "cancelled", Code: "cancelled", Output: reducer.T("half"), Reason: "cancelled"}}},
		{"a command, put off", reducer.ClassProcess, ErrStopped, stopped, []reducer.Event{reducer.CallSettled{Call: "r1.c1", Outcome: "cancelled", Code: "cancelled", Output: reducer.T("half"), Reason: "interrupted"}}},
		{"a command, out of time", reducer.ClassProcess, Unwanted("deadline"), stopped, []reducer.Event{reducer.CallSettled{Call: "r1.c1", Outcome: "cancelled", Code: "cancelled", Output: reducer.T("half"), Reason: "deadline"}}},
		{"done all the same", reducer.ClassProcess, ErrStopped, result(Result{Output: "whole"}, nil), []reducer.Event{reducer.CallSettled{Call: "r1.c1", Outcome: "done", Output: reducer.T("whole")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(tt.cause)
			out := &recorder{}
			performer(newMemory(), tt.call).Perform(ctx, state(aCall("plain", `{}`, tt.class)), reducer.RunCall{Call: "r1.c1"}, out)
			if diff := differ(tt.want, out.events); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// verdict answers with a value or an error.
type verdict struct {
	v    Verdict
	err  error
	seen *Approval
}

func (v verdict) Review(_ context.Context, a Approval) (Verdict, error) {
	*v.seen = a
	return v.v, v.err
}

// TOOL-55: whoever is asked sees what the call is; an approver that fails
// denies, without its secrets; one whose question was put off says nothing.
func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    Verdict
		err  error
		want reducer.ApprovalAnswered
	}{
		{"allowed", Verdict{Allow: true, Scope: "process", By: "person"}, nil, reducer.ApprovalAnswered{Allow: true, Scope: "process", By: "person"}},
		{"denied", Verdict{By: "person", Reason: "no"}, nil, reducer.ApprovalAnswered{Scope: "once", By: "person", Reason: "no"}},
		{"failed", Verdict{Allow: true}, errors.New("broken " + secret), reducer.ApprovalAnswered{Scope: "once", By: "basis", Reason: "the question could not be answered: broken [redacted:KEY]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := performer(newMemory(), nil)
			var seen Approval
			p.o.Approver = verdict{tt.v, tt.err, &seen}
			c := aCall("clever", `{"path":"a"}`, reducer.ClassProcess)
			c.Preview = json.RawMessage(`{"would":1}`)
			out := &recorder{}
			p.Perform(t.Context(), state(c), reducer.Ask{Call: c.ID}, out)
			tt.want.Call = c.ID
			if diff := differ(reducer.Event(tt.want), out.only(t)); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
			want := Approval{
				Call: c.ID, Tool: "clever", Description: "does things", Summary: "summary of the input",
				Class: reducer.ClassProcess, Input: json.RawMessage(`{"path":"a"}`), Preview: c.Preview,
			}
			if diff := differ(want, seen); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(ErrStopped)
			out = &recorder{}
			p.Perform(ctx, state(c), reducer.Ask{Call: c.ID}, out)
			if len(out.events) > 0 {
				t.Errorf("a question that was put off reports %v, want nothing", out.events)
			}
		})
	}
	p := performer(newMemory(), nil)
	out := &recorder{}
	p.Perform(t.Context(), state(aCall("plain", `{}`, reducer.ClassState)), reducer.Ask{Call: "r1.c1"}, out)
	if p.CanAsk() || len(out.events) > 0 {
		t.Errorf("CanAsk = %v, reported %v, want nobody and nothing", p.CanAsk(), out.events)
	}
}

// PROV-47: an opening records bodies only where their digest is new; a
// failing one says why, without secrets; one that was put off says nothing.
func TestOpen(t *testing.T) {
	info := []reducer.ToolInfo{{Name: "plain"}}
	opened := reducer.WorkspaceOpened{Model: "m", System: reducer.T("sys"), SystemDigest: "s", Tools: info, ToolsDigest: "t"}
	var err error
	p := NewPerformer(Options{Blobs: newMemory(), Secrets: []Secret{{Name: "KEY", Value: secret}}, Open: func(context.Context, reducer.State) (Workspace, error) {
		return Workspace{Opened: opened}, err
	}})
	open := func(ctx context.Context, setup reducer.Setup) []reducer.Event {
		out := &recorder{}
		p.Perform(ctx, reducer.State{Setup: setup}, reducer.OpenWorkspace{}, out)
		return out.events
	}
	if got := one(t, open(t.Context(), reducer.Setup{})); !same(got, reducer.Event(opened)) {
		t.Errorf("first opening = %+v, want all of it", got)
	}
	less := opened
	less.System, less.Tools = reducer.Text{}, nil
	if got := one(t, open(t.Context(), reducer.Setup{SystemDigest: "s", ToolsDigest: "t"})); !same(got, reducer.Event(less)) {
		t.Errorf("next opening = %+v, want no bodies", got)
	}
	err = errors.New("refused " + secret)
	if got := one(t, open(t.Context(), reducer.Setup{})); !same(got, reducer.Event(reducer.WorkspaceFailed{Code: "open", Error: "refused [redacted:KEY]"})) {
		t.Errorf("failing opening = %+v", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopped)
	if got := open(ctx, reducer.Setup{}); len(got) > 0 {
		t.Errorf("an opening that was put off reports %v, want nothing", got)
	}
}

// PROV-47: no way to print a secret shows it.
func TestSecretIsNeverPrinted(t *testing.T) {
	s := Secret{Name: "KEY", Value: secret}
	data, _ := json.Marshal(s)
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), string(data), fmt.Sprintf("%+v", Options{Secrets: []Secret{s}})} {
		if strings.Contains(text, secret) {
			t.Errorf("printed %q, want the name alone", text)
		}
	}
}

// model streams what it was given.
type model struct {
	chunks []provider.Chunk
	err    error
	req    provider.Request
}

func (m *model) Stream(_ context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	m.req = req
	return func(yield func(provider.Chunk, error) bool) {
		for _, c := range m.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if m.err != nil {
			yield(nil, m.err)
		}
	}
}

func asked(ctx context.Context, p *Performer, m *model, s reducer.State) *recorder {
	p.model = m
	out := &recorder{}
	p.Perform(ctx, s, reducer.CallModel{Round: "r1"}, out)
	return out
}

// CLI-3, FR-061: the text of an answer in several pieces is whole even if one is
// kept apart.
func TestAnswerInPieces(t *testing.T) {
	long := strings.Repeat("l", reducer.InlineLimit+1)
	for _, tt := range []struct {
		pieces []string
		kept   bool
	}{
		{[]string{"first ", long}, true},
		{[]string{long, " last"}, true},
		{[]string{"first ", "last"}, false},
		{[]string{long}, false},
	} {
		var items []reducer.Item
		for _, p := range tt.pieces {
			items = append(items, reducer.Item{Type: reducer.ItemText, Text: reducer.T(p)})
		}
		blobs := newMemory()
		s := reducer.State{Turn: reducer.Turn{ID: "t1", Round: "r1"}}
		out := asked(t.Context(), performer(blobs, nil), &model{chunks: []provider.Chunk{provider.Done{Answer: provider.Answer{Stop: reducer.StopEndTurn, Items: items}}}}, s)
		e, ok := out.only(t).(reducer.ModelAnswered)
		if !ok || (e.Text != reducer.Text{}) != tt.kept {
			t.Fatalf("%d pieces: reported %+v, want the text besides: %v", len(tt.pieces), e, tt.kept)
		}
		text := reducer.Apply(s, e).Turn.Text
		got := text.String()
		if text.Blob.Digest != "" {
			data, err := blobs.Get(text.Blob)
			if err != nil {
				t.Fatal(err)
			}
			got = string(data)
		}
		if want := strings.Join(tt.pieces, ""); got != want {
			t.Errorf("%d pieces: the answer's text is %d bytes, want all %d", len(tt.pieces), len(got), len(want))
		}
	}
}

// FR-061: an answer is recorded whole: items as they came, heads of the
// calls by class and lane, long pieces in blobs; a retry voids what was shown.
func TestCallModel(t *testing.T) {
	long := strings.Repeat("l", reducer.InlineLimit+1)
	usage := reducer.Usage{Input: reducer.Known(3)}
	m := &model{chunks: []provider.Chunk{
		provider.TextDelta{Text: "Hel"},
		provider.Retrying{Attempt: 1, Max: 6, Delay: time.Second, Err: &provider.Error{Kind: provider.KindCut, Status: 200, Message: "cut " + secret, Partial: "Hel", Usage: usage}},
		provider.ReasoningDelta{Text: "hm"},
		provider.CallDelta{Name: "plain"},
		provider.CallDelta{},
		provider.Done{Answer: provider.Answer{
			Stop: reducer.StopToolUse, StopRaw: "function_call", Usage: usage, Attempt: 2, Served: "m-2026", Request: reducer.RequestInfo{Digest: "d", Size: 9},
			Items: []reducer.Item{
				{Type: reducer.ItemText, Text: reducer.T(long)},
				{Type: reducer.ItemCall, ID: "v1", Name: "plain", Args: reducer.T(`{"x":"` + long + `"}`)},
				{Type: reducer.ItemCall, ID: "v2", Name: "clever", Args: reducer.T(`{"harmless":1,"k":"` + secret + `"}`)},
				{Type: reducer.ItemCall, ID: "v3", Name: "clever", Args: reducer.T(`not json`)},
				{Type: reducer.ItemCall, ID: "v4", Name: "nosuch", Args: reducer.T(``)},
			},
		}},
	}}
	p := performer(newMemory(), nil)
	s := reducer.State{Setup: reducer.Setup{Source: reducer.Provenance{Model: "m"}, System: reducer.T("sys")}, Options: reducer.Options{Effort: "high"}}
	out := asked(t.Context(), p, m, s)
	if m.req.Model != "m" || m.req.System != "sys" || m.req.Effort != "high" || len(m.req.Tools) != 2 {
		t.Errorf("request = %+v, want model, system text, effort and tools", m.req)
	}
	if len(out.events) != 2 {
		t.Fatalf("reported %v, want the retry and the answer", out.events)
	}
	failed := reducer.AttemptFailed{Round: "r1", Attempt: 1, Max: 6, Kind: "stream_cut", Status: 200, Message: "cut [redacted:KEY]", Partial: reducer.T("Hel"), Usage: usage, DelayMS: 1000}
	if diff := differ(reducer.Event(failed), out.events[0]); diff != "" {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
	a := out.events[1].(reducer.ModelAnswered)
	if a.Round != "r1" || a.StopRaw != "function_call" || a.Attempt != 2 || a.Served != "m-2026" || a.Usage != usage || a.Request.Size != 9 || a.Source != (reducer.Provenance{}) {
		t.Errorf("answer = %+v, want what the wire said where it differs", a)
	}
	heads := []reducer.CallHead{
		{ID: "r1.c1", Name: "plain", Class: reducer.ClassState, Lane: reducer.LaneExclusive},
		{ID: "r1.c2", Name: "clever", Class: reducer.ClassNone, Lane: reducer.LaneParallel},
		{ID: "r1.c3", Name: "clever", Broken: true},
		{ID: "r1.c4", Name: "nosuch", Class: reducer.ClassNone, Lane: reducer.LaneParallel},
	}
	if diff := differ(heads, a.Calls); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
	if text, err := p.load(a.Items[0].Text); err != nil || text != long || a.Items[0].Text.Blob.Digest == "" || a.Items[1].Args.Blob.Digest == "" {
		t.Errorf("long pieces = %d bytes, %v, want them in blobs", len(text), err)
	}
	if got := a.Items[2].Args.Inline; !strings.Contains(got, secret) {
		t.Errorf("input = %s, want it as the model sent it: a record never lies about what ran", got)
	}
	var shown []string
	for _, pr := range out.progress {
		shown = append(shown, string(pr.Kind)+":"+pr.Text)
	}
	if want := []string{"text:Hel", "void:", "reasoning:hm", "call:plain"}; !slices.Equal(shown, want) {
		t.Errorf("progress = %q, want %q", shown, want)
	}
}

// CORE-58, PROV-47: why a round failed, in the server's words without secrets;
// one that was put off is asked again; one that is unwanted has the rules' word.
func TestCallModelFails(t *testing.T) {
	usage := reducer.Usage{Output: reducer.Known(1)}
	failure := &provider.Error{Kind: provider.KindAuth, Status: 401, Message: "key " + secret, Partial: "so", Usage: usage, Attempt: 3}
	ended := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want []reducer.Event
	}{
		{"refused", t.Context(), failure, []reducer.Event{reducer.RoundFailed{Round: "r1", Kind: "auth", Status: 401, Message: "key [redacted:KEY]", Partial: reducer.T("so"), Usage: usage, Attempt: 3}}},
		{"another error", t.Context(), errors.New("odd"), []reducer.Event{reducer.RoundFailed{Round: "r1", Kind: "network", Message: "odd"}}},
		{"put off", ended(ErrStopped), failure, nil},
		{"unwanted", ended(Unwanted("deadline")), failure, []reducer.Event{reducer.RoundFailed{Round: "r1", Kind: "deadline", Partial: reducer.T("so"), Usage: usage, Attempt: 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := asked(tt.ctx, performer(newMemory(), nil), &model{err: tt.err}, reducer.State{})
			if diff := differ(tt.want, out.events); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
	lost := reducer.State{Setup: reducer.Setup{System: reducer.Text{Blob: reducer.Ref{Digest: "sha256:" + strings.Repeat("0", 64)}}}}
	out := asked(t.Context(), performer(newMemory(), nil), &model{}, lost)
	if e, ok := out.only(t).(reducer.RoundFailed); !ok || e.Kind != "invalid_request" || e.Message != "blob missing" {
		t.Errorf("without its system text: %+v, want the round failed", out.events)
	}
	blobs := newMemory()
	blobs.full = errors.New("no room")
	big := &model{chunks: []provider.Chunk{provider.Done{Answer: provider.Answer{Usage: usage, Items: []reducer.Item{{Type: reducer.ItemText, Text: reducer.T(strings.Repeat("x", reducer.InlineLimit+1))}}}}}}
	if e, ok := asked(t.Context(), performer(blobs, nil), big, reducer.State{}).only(t).(reducer.RoundFailed); !ok || e.Kind != "blob" || e.Usage != usage {
		t.Errorf("an answer that can't be kept: %+v, want the round failed and its cost known", e)
	}
}

// Where no hook looks the result may be shown.
func TestRunPostHooksOfNothing(t *testing.T) {
	out := &recorder{}
	performer(newMemory(), nil).Perform(t.Context(), reducer.State{}, reducer.RunPostHooks{Call: "r1.c1"}, out)
	if want := (reducer.HookAnswered{Call: "r1.c1", Event: "post", Last: true}); out.only(t) != reducer.Event(want) {
		t.Errorf("reported %v, want %v", out.events, want)
	}
}

// review is the event that a review of a call without hooks comes to.
func review(p *Performer, s reducer.State, call string) (reducer.Event, bool) {
	events := p.Review(context.Background(), s, call)
	if len(events) == 0 {
		return nil, false
	}
	return events[len(events)-1], true
}
