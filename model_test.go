package basis

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// told is a run as watch --json shows it, and its end.
type told struct {
	out   Outcome
	end   projections.Terminal
	lines []map[string]any
}

func (l told) ofType(kind string) []map[string]any {
	return slices.DeleteFunc(slices.Clone(l.lines), func(l map[string]any) bool { return l["type"] != kind })
}

// tell runs a task to its end and gathers the durable lines.
func tell(t *testing.T, h *Home, spec Spec) told {
	t.Helper()
	stream := projections.NewStream(projections.StreamOptions{Program: Version})
	var l told
	out, err := h.Run(limited(t), spec, Drive{Sink: func(u Update) {
		if u.Live {
			return
		}
		for _, line := range stream.Entry(u.Entry) {
			var m map[string]any
			if err := json.Unmarshal(line.JSON(0), &m); err != nil {
				t.Error(err)
			}
			l.lines = append(l.lines, m)
		}
	}})
	l.out, l.end = out, h.ended(t, out, err)
	sound(t, h, out.Ref)
	return l
}

// failedWith checks that a run failed for a reason that stands in the terminal
// record, in the error line and in the last line of all.
func (l told) failedWith(t *testing.T, words string) {
	t.Helper()
	if l.end.State != "failed" || l.end.Exit() != 1 || !strings.Contains(l.end.Error, words) {
		t.Errorf("ended %+v, want it failed with %q", l.end, words)
	}
	last := l.lines[len(l.lines)-1]
	errs := l.ofType("error")
	if last["type"] != "run_finished" || last["status"] != "error" || last["message"] != l.end.Error || len(errs) != 1 || errs[0]["message"] != l.end.Error {
		t.Errorf("the last line is %v after the errors %v, want the error in both", last, errs)
	}
}

// FR-053: failures ended with exit code 0: a refused key, an unknown model, too
// long a conversation, no connection, nothing answered.
func TestFR053FailuresFail(t *testing.T) {
	for name, tt := range map[string]struct {
		step     providertest.Step
		words    string
		requests int
	}{
		"a refused key":    {providertest.Fail(401, "invalid_api_key", "Incorrect API key"), "auth: Incorrect API key", 1},
		"an unknown model": {providertest.Fail(404, "model_not_found", "no model m"), "not_found: no model m", 1},
		"too long":         {providertest.Fail(400, "context_length_exceeded", "too many tokens"), "context_overflow: too many tokens", 1},
		"nothing answered": {providertest.Step{Text: ""}, "answered nothing", 1},
		"refused":          {providertest.Step{Text: "I won't", Finish: "content_filter"}, "filter", 1},
		"cut by its limit": {providertest.Step{Text: "so", Finish: "length"}, "output limit", 1},
		"busy for ever":    {providertest.Fail(503, "overloaded", "busy"), "busy", 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{tt.step}, Repeat: true})
			tell(t, newHome(t, nil), asking(s, newWorkspace(t), "hi")).failedWith(t, tt.words)
			if n := len(s.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
	t.Run("no connection", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		_ = l.Close()
		spec := Spec{Workspace: newWorkspace(t), Prompt: "hi", Options: reducer.Options{BaseURL: "http://" + addr, Model: "m"}}
		tell(t, newHome(t, nil), spec).failedWith(t, "network")
	})
	t.Run("no provider at all", func(t *testing.T) {
		tell(t, newHome(t, nil), Spec{Workspace: newWorkspace(t), Prompt: "hi"}).failedWith(t, "--provider demo")
	})
}

// FR-054: a step that failed and was tried again with success made the whole run
// fail. The answer counts, once, and the retry is told.
func TestFR054RetriedWithSuccess(t *testing.T) {
	s := providertest.Script(t,
		providertest.Step{Text: "the answer is", Deltas: 3, CutBytes: 700}, // in mid-sentence
		providertest.Step{Text: "the answer is twelve", Deltas: 4},
	)
	l := tell(t, newHome(t, nil), asking(s, newWorkspace(t), "hi"))
	if l.end.Exit() != 0 || l.end.Result != "the answer is twelve" {
		t.Errorf("ended %+v, want the answer once", l.end)
	}
	if n := len(l.ofType("assistant_message")); n != 1 || len(l.ofType("retry")) != 1 || len(l.ofType("error")) != 0 {
		t.Errorf("lines %v, want one message, one retry and no error", l.lines)
	}
}

// FR-059: a server's wait was ignored, or blocked a run past its own limit. A
// wait beyond the deadline ends the run at once, by name; one within it can be
// interrupted.
func TestFR059ServerWaits(t *testing.T) {
	busy := providertest.Fail(429, "rate_limit", "slow down")
	busy.Header = map[string]string{"Retry-After": "3600"}
	s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{busy}, Repeat: true})
	h := newHome(t, nil)
	spec := asking(s, newWorkspace(t), "hi")
	spec.Deadline = 30 * time.Minute
	tell(t, h, spec).failedWith(t, "1h0m0s")
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	spec.Deadline = NoDeadline
	ctx, cancel := context.WithCancelCause(limited(t))
	_, err := h.Run(ctx, spec, Drive{Sink: func(u Update) {
		if _, ok := u.Entry.Event.(reducer.AttemptFailed); ok {
			cancel(&Stop{Reason: "signal", Detail: "terminated"})
		}
	}})
	if stop, ok := errors.AsType[*Stop](err); !ok || stop.Reason != "signal" {
		t.Errorf("Run = %v, want it interrupted in its wait", err)
	}
}

// FR-060: a stream that stayed open without events hung the run. Silence is
// ended, tried again within bounds, and named.
func TestFR060SilenceEnds(t *testing.T) {
	for name, step := range map[string]providertest.Step{
		"no headers":    {Hang: providertest.HangHeaders},
		"no event":      {Hang: providertest.HangBody},
		"only comments": {Text: "one", Hang: providertest.HangComments, CutFrames: 2, Every: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{step}, Repeat: true})
			h := newHome(t, nil)
			h.patience.Budget = 1
			spec := asking(s, newWorkspace(t), "hi")
			spec.Options.IdleMS = 60
			tell(t, h, spec).failedWith(t, "timeout")
			if n := len(s.Requests()); n != 2 {
				t.Errorf("%d requests, want two", n)
			}
		})
	}
}

// FR-061: a stream without its closing event was taken for an answer, and its
// calls ran. It is tried again within bounds, and nothing of it runs.
func TestFR061UnfinishedStreams(t *testing.T) {
	write := []providertest.Call{{Name: "write", Args: `{"path":"x.txt","content":"x"}`}}
	for name, step := range map[string]providertest.Step{
		"before any event":  {Frames: []string{}},
		"in mid-sentence":   {Text: "the answer", NoFinish: true, NoDone: true},
		"after a call":      {Calls: write, NoFinish: true, NoDone: true},
		"within a call":     {Calls: write, CutBytes: 600},
		"before the finish": {Calls: write, CutFrames: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{step}, Repeat: true})
			h, ws := newHome(t, nil), newWorkspace(t)
			h.patience.Budget = 2
			l := tell(t, h, asking(s, ws, "hi"))
			if l.end.State != "failed" || l.end.Exit() != 1 || len(l.ofType("tool_queued")) > 0 {
				t.Errorf("ended %+v with calls %v, want it failed without any", l.end, l.ofType("tool_queued"))
			}
			if n := len(s.Requests()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
			if _, err := os.Stat(filepath.Join(ws, "x.txt")); !os.IsNotExist(err) {
				t.Errorf("Stat(x.txt) = %v, want that nothing ran", err)
			}
		})
	}
}

// FR-062: an error inside a stream that began well was ignored, or one that lasts
// was tried again.
func TestFR062ErrorsInsideStreams(t *testing.T) {
	word := `{"choices":[{"index":0,"delta":{"content":"two words"}}]}`
	for name, tt := range map[string]struct {
		frames   []string
		words    string
		requests int
	}{
		"overloaded":      {[]string{`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`}, "busy", 3},
		"a rate limit":    {[]string{`{"error":{"code":"rate_limit","message":"slow down"}}`}, "slow down", 3},
		"after two words": {[]string{word, `{"type":"error","error":{"type":"invalid_request_error","message":"bad input"}}`}, "bad input", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{{Frames: tt.frames}}, Repeat: true})
			h := newHome(t, nil)
			h.patience.Budget = 2
			tell(t, h, asking(s, newWorkspace(t), "hi")).failedWith(t, tt.words)
			if n := len(s.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

// Whether a failed turn is worth trying again is what its provider says of the
// same kind (EV-21).
func TestRecoverableAgreesWithProviders(t *testing.T) {
	for _, kind := range []provider.Kind{
		provider.KindAuth, provider.KindPermission, provider.KindNotFound, provider.KindInvalid, provider.KindOverflow, provider.KindTooLarge,
		provider.KindExceedsRate, provider.KindRate, provider.KindQuota, provider.KindOverloaded, provider.KindServer, provider.KindTimeout,
		provider.KindContentFilter, provider.KindMalformedCall, provider.KindBadResponse, provider.KindCut, provider.KindNetwork, provider.KindCancelled,
	} {
		stream := projections.NewStream(projections.StreamOptions{})
		stream.Entry(reducer.Entry{Seq: 1, Event: reducer.RoundFailed{Kind: string(kind)}})
		for _, l := range stream.Entry(reducer.Entry{Seq: 2, Event: reducer.TurnEnded{Outcome: reducer.OutcomeFailed}}) {
			want := (&provider.Error{Kind: kind}).Temporary()
			if f, ok := l.Body.(projections.Failure); ok && f.Recoverable != want {
				t.Errorf("a turn that failed by %s is recoverable: %v, want %v", kind, f.Recoverable, want)
			}
		}
	}
}
