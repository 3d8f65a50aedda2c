package effects

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/reducer"
)

// speaker is a tool whose result is given.
type speaker struct {
	name   string
	result Result
	err    error
	ran    *int
}

func (s speaker) Spec() Spec {
	return Spec{Name: s.name, Schema: json.RawMessage(`{}`), Class: reducer.ClassState, Lane: reducer.LaneExclusive}
}

func (s speaker) Call(context.Context, Invocation) (Result, error) {
	*s.ran++
	return s.result, s.err
}

// shelf keeps blobs in memory.
type shelf struct {
	told
	kept []string
}

func (b *shelf) Put(data []byte, media string) (reducer.Ref, error) {
	b.kept = append(b.kept, string(data))
	return reducer.Ref{Digest: "sha256:" + strings.Repeat("0", 63) + string('0'+rune(len(b.kept))), Size: int64(len(data)), Media: media}, nil
}

func (b *shelf) Path(r reducer.Ref) string { return "/blobs/" + r.Digest[len(r.Digest)-1:] + ".txt" }

// settling runs one started call and returns how it settled.
func settling(t *testing.T, tool speaker, name string) (reducer.CallSettled, *shelf) {
	t.Helper()
	out, clock := &shelf{}, time.Unix(1<<30, 0)
	back := func() time.Time { clock = clock.Add(-time.Hour); return clock }
	p := NewPerformer(Options{Blobs: out, Now: back, Open: func(context.Context, reducer.State) (Workspace, error) {
		return Workspace{Tools: []Tool{tool}}, nil
	}})
	s := reducer.State{Turn: reducer.Turn{Calls: []reducer.Call{{ID: "r1.c1", Name: name, Phase: reducer.PhaseStarted}}}}
	p.Perform(t.Context(), s, reducer.OpenWorkspace{}, out)
	out.events = nil
	p.Perform(t.Context(), s, reducer.RunCall{Call: "r1.c1"}, out)
	if len(out.events) != 1 {
		t.Fatalf("Perform reported %v, want one event", out.events)
	}
	if e := out.events[0].(reducer.CallSettled); e.MS != 0 {
		t.Errorf("with a clock that was set back the call took %d ms, want 0", e.MS)
	}
	return out.events[0].(reducer.CallSettled), out
}

// TOOL-4: a call of a tool that there is none of runs nothing, and its result
// names it and those that there are.
func TestUnknownToolIsAnError(t *testing.T) {
	ran := 0
	got, _ := settling(t, speaker{name: "only", ran: &ran}, "made_up")
	if text := got.Output.String(); ran != 0 || got.Outcome != reducer.OutcomeFailed || got.Code != "unknown_tool" ||
		!strings.Contains(text, `"made_up"`) || !strings.Contains(text, "only") {
		t.Errorf("settled = %+v, want a failure naming both", got)
	}
}

// TOOL-11: a result beyond the bounds is recorded whole, in a blob where it is
// long, and the model reads as much as fits and where the rest is.
func TestLongResultIsKeptWhole(t *testing.T) {
	long := strings.Repeat("0123456789\n", 6000)
	ran := 0
	got, blobs := settling(t, speaker{name: "long", ran: &ran, result: Result{Output: long}}, "long")
	if got.Output.Blob.Size != int64(len(long)) || len(blobs.kept) != 1 || blobs.kept[0] != long {
		t.Fatalf("output = %+v, want all of it in a blob", got.Output)
	}
	shown := got.Shown.Inline
	if len(shown) > DefaultResultBytes+200 || !strings.HasSuffix(shown, "[truncated: showing 2000 of 6000 lines; full output at /blobs/1.txt]") {
		t.Errorf("shown = %d bytes that end %q, want them bounded with the place of the rest", len(shown), shown[len(shown)-80:])
	}
	if got, _ := settling(t, speaker{name: "short", ran: &ran, result: Result{Output: "short"}}, "short"); !got.Shown.IsZero() || got.Output.String() != "short" {
		t.Errorf("settled = %+v, want one text where nothing is missing", got)
	}
}

// An error of a tool is a failure that says so, with what there was.
func TestToolErrorIsAFailure(t *testing.T) {
	ran := 0
	got, _ := settling(t, speaker{name: "bad", ran: &ran, result: Result{Output: "half"}, err: errors.New("it broke")}, "bad")
	if got.Outcome != reducer.OutcomeFailed || got.Code == "" || got.Output.String() != "half\nbad: it broke" {
		t.Errorf("settled = %+v, want a failure with what there was", got)
	}
}

// shower is a tool that has more to show of a call than its arguments.
type shower struct{ speaker }

func (s shower) Preview(in json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"body":` + string(in) + `}`), nil
}

// questioned keeps the question it was asked.
type questioned struct{ Approval }

func (a *questioned) Review(_ context.Context, q Approval) (Verdict, error) {
	a.Approval = q
	return Verdict{}, nil
}

// CLI-70: a preview that is too long for the journal is made again for whoever
// is questioned, so that the end of a long command is not hidden from them.
func TestAskShowsLongPreviews(t *testing.T) {
	out, question := &shelf{}, &questioned{}
	tool := shower{speaker{name: "t"}}
	p := NewPerformer(Options{Blobs: out, Approver: question, Open: func(context.Context, reducer.State) (Workspace, error) {
		return Workspace{Tools: []Tool{tool}}, nil
	}})
	args := `{"input":"` + strings.Repeat("x", previewLimit) + `"}`
	s := reducer.State{Turn: reducer.Turn{Calls: []reducer.Call{{ID: "r1.c1", Name: "t", Args: reducer.T(args)}}}}
	p.Perform(t.Context(), s, reducer.OpenWorkspace{}, out)
	e, _ := review(p, s, "r1.c1")
	reviewed := e.(reducer.CallReviewed)
	s.Turn.Calls[0].Preview = reviewed.Preview
	p.Perform(t.Context(), s, reducer.Ask{Call: "r1.c1"}, out)
	if want := `{"body":` + args + `}`; string(question.Preview) != want || reviewed.Preview != nil {
		t.Errorf("the question shows %d bytes and the review recorded %d, want %d and none", len(question.Preview), len(reviewed.Preview), len(want))
	}
}
