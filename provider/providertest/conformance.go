package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// Conformance checks that a model keeps the promises of [provider.Model]
// against a server that answers properly, fails, cuts, lies and falls silent.
// newModel makes a client for a base URL; its limits of silence must be longer
// than a minute, and it must not retry by itself.
func Conformance(t *testing.T, newModel func(baseURL string) provider.Model) {
	c := conformance{newModel}
	t.Run("order of chunks", c.order)
	t.Run("tool round", c.toolRound)
	t.Run("usage", c.usage)
	t.Run("equal requests have equal bytes", c.bytes)
	t.Run("error statuses", c.statuses)
	t.Run("wait of the server", c.retryAfter)
	t.Run("ends without a closing event", c.cutFrames)
	t.Run("connection breaks", c.cutBytes)
	t.Run("another language", c.garbage)
	t.Run("context ends", c.cancel)
	t.Run("reader stops early", c.stopEarly)
	t.Run("no server", c.noServer)
}

type conformance struct {
	newModel func(baseURL string) provider.Model
}

// request is a short conversation.
func request(messages ...provider.Message) provider.Request {
	first := provider.Message{
		Key: "u1", Role: provider.RoleUser,
		Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("hello")}},
	}
	return provider.Request{Model: "test-model", System: "Be brief.", Messages: append([]provider.Message{first}, messages...)}
}

func failure(ctx context.Context, t *testing.T, m provider.Model) *provider.Error {
	t.Helper()
	_, err := provider.Collect(ctx, m, request())
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("Stream() = %v, want a *provider.Error", err)
	}
	return e
}

// order: Sent, deltas, Done, and nothing more; the deltas are the answer.
func (c conformance) order(t *testing.T) {
	s := Script(t, Step{Reasoning: "hmm", Text: "one two three", Deltas: 5})
	var kinds []string
	var text, thought strings.Builder
	var answer provider.Answer
	for chunk, err := range c.newModel(s.URL()).Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		switch chunk := chunk.(type) {
		case provider.Sent:
			kinds = append(kinds, "sent")
		case provider.TextDelta:
			text.WriteString(chunk.Text)
		case provider.ReasoningDelta:
			thought.WriteString(chunk.Text)
		case provider.Done:
			kinds = append(kinds, "done")
			answer = chunk.Answer
		case provider.CallDelta, provider.Retrying:
			t.Errorf("chunk %T, want none", chunk)
		}
	}
	if got := strings.Join(kinds, " "); got != "sent done" {
		t.Errorf("chunks = %s, want sent, then done", got)
	}
	said := map[reducer.ItemType]string{}
	for _, item := range answer.Items {
		said[item.Type] += item.Text.Inline
	}
	if text.String() != "one two three" || said[reducer.ItemText] != text.String() || thought.String() != "hmm" || said[reducer.ItemReasoning] != "hmm" {
		t.Errorf("deltas %q, %q and items %q, want the same words", thought.String(), text.String(), said)
	}
	if answer.Stop != reducer.StopEndTurn || answer.Source.Model != "test-model" || answer.Request.Size != len(s.Requests()[0].Body) {
		t.Errorf("answer = %+v, want end_turn of test-model and the size of the body", answer)
	}
}

// toolRound: calls with arguments as sent, and results that a strict server
// takes.
func (c conformance) toolRound(t *testing.T) {
	s := Script(t, Step{Calls: []Call{{Name: "read", Args: `{ "path": "ä" }`, Pieces: 6}, {Name: "ls"}}}, Text("done"))
	m := c.newModel(s.URL())
	a, err := provider.Collect(t.Context(), m, request())
	if err != nil {
		t.Fatal(err)
	}
	results := provider.Message{Key: "r1", Role: provider.RoleResults}
	for _, item := range a.Items {
		results.Results = append(results.Results, provider.Result{ID: item.ID, Name: item.Name, Text: reducer.T("result of " + item.Name)})
	}
	if len(a.Items) != 2 || a.Items[0].Args.Inline != `{ "path": "ä" }` || a.Stop != reducer.StopToolUse {
		t.Fatalf("answer = %+v, want two calls as sent", a)
	}
	asked := provider.Message{Key: "a1", Role: provider.RoleAssistant, Items: a.Items, Source: a.Source}
	if _, err := provider.Collect(t.Context(), m, request(asked, results)); err != nil {
		t.Fatal(err)
	}
	messages := s.Requests()[1].Messages()
	if last := messages[len(messages)-1]; last.Text != "result of ls" {
		t.Errorf("last message = %+v, want the result of ls", last)
	}
}

func (c conformance) usage(t *testing.T) {
	s := Script(t, Step{Text: "a", Usage: &Usage{Prompt: 30, Completion: 20, Cached: 10, Reasoning: 5}}, Step{Text: "b"})
	m := c.newModel(s.URL())
	a, err := provider.Collect(t.Context(), m, request())
	if err != nil {
		t.Fatal(err)
	}
	u := a.Usage
	if u.Input.Or(-1) != 30 || u.Output.Or(-1) != 20 || u.CacheRead.Or(-1) != 10 || u.Reasoning.Or(-1) != 5 {
		t.Errorf("usage = %+v, want 30, 20, 10, 5", u)
	}
	if a, err = provider.Collect(t.Context(), m, request()); err != nil || !a.Usage.IsZero() {
		t.Errorf("usage = %+v, %v, want unknown", a.Usage, err)
	}
}

func (c conformance) bytes(t *testing.T) {
	s := Script(t, Text("a"), Text("a"), Text("a"))
	m := c.newModel(s.URL())
	for _, m := range []provider.Model{m, m, c.newModel(s.URL())} {
		if _, err := provider.Collect(t.Context(), m, request()); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.Requests() {
		if string(r.Body) != string(s.Requests()[0].Body) {
			t.Errorf("body = %s, want %s", r.Body, s.Requests()[0].Body)
		}
	}
}

func (c conformance) statuses(t *testing.T) {
	for _, tt := range []struct {
		step Step
		want provider.Kind
	}{
		{Fail(400, "invalid_request_error", "the words"), provider.KindInvalid},
		{Fail(400, "context_length_exceeded", "the words"), provider.KindOverflow},
		{Fail(401, "invalid_api_key", "the words"), provider.KindAuth},
		{Fail(403, "permission_error", "the words"), provider.KindPermission},
		{Fail(404, "model_not_found", "the words"), provider.KindNotFound},
		{Fail(413, "too_large", "the words"), provider.KindTooLarge},
		{Fail(429, "rate_limit_exceeded", "the words"), provider.KindRate},
		{Fail(429, "insufficient_quota", "the words"), provider.KindQuota},
		{Fail(500, "server_error", "the words"), provider.KindServer},
		{Step{Status: 502, Body: "<title>the words</title>"}, provider.KindServer},
		{Fail(504, "gateway", "the words"), provider.KindTimeout},
		{Fail(529, "overloaded_error", "the words"), provider.KindOverloaded},
	} {
		t.Run(fmt.Sprint(tt.step.Status, " ", tt.want), func(t *testing.T) {
			s := Script(t, tt.step)
			e := failure(t.Context(), t, c.newModel(s.URL()))
			if e.Kind != tt.want || e.Status != tt.step.Status || !strings.Contains(e.Error(), "the words") {
				t.Errorf("error = %v, want %s with the server's words", e, tt.want)
			}
			if e.Request.Size != len(s.Requests()[0].Body) {
				t.Errorf("size = %d, want %d", e.Request.Size, len(s.Requests()[0].Body))
			}
		})
	}
}

func (c conformance) retryAfter(t *testing.T) {
	step := Fail(http.StatusTooManyRequests, "rate_limit", "slow down")
	step.Header = map[string]string{"Retry-After": "7"}
	if e := failure(t.Context(), t, c.newModel(Script(t, step).URL())); e.RetryAfter != 7*time.Second {
		t.Errorf("RetryAfter = %v, want 7s", e.RetryAfter)
	}
}

// cutFrames: however much came, without its end it is no answer.
func (c conformance) cutFrames(t *testing.T) {
	whole := Step{Text: "one two three", Deltas: 3, Calls: []Call{{Name: "ls", Args: `{"path":"."}`, Pieces: 2}}, NoFinish: true, NoDone: true}
	for n := 1; n <= len(whole.frames("m", func() string { return "x" })); n++ {
		step := whole
		step.CutFrames = n
		e := failure(t.Context(), t, c.newModel(Script(t, step).URL()))
		if e.Kind != provider.KindCut || !strings.HasPrefix("one two three", e.Partial) {
			t.Errorf("after %d events: error = %v, partial %q, want stream_cut", n, e, e.Partial)
		}
	}
}

func (c conformance) cutBytes(t *testing.T) {
	for n := 1; n < 400; n += 37 {
		e := failure(t.Context(), t, c.newModel(Script(t, Step{Text: "one two three", Deltas: 3, CutBytes: n}).URL()))
		if e.Kind != provider.KindCut {
			t.Errorf("after %d bytes: error = %v, want stream_cut", n, e)
		}
	}
}

func (c conformance) garbage(t *testing.T) {
	for _, body := range []string{"<html><title>Log in</title></html>", `{"hello":"world"}`, "data: {broken\n\n", "data: \x00\x01\n\n"} {
		e := failure(t.Context(), t, c.newModel(Script(t, Step{Body: body, Header: map[string]string{"Content-Type": "text/html"}}).URL()))
		if e.Kind != provider.KindBadResponse {
			t.Errorf("body %q: error = %v, want bad_response", body, e)
		}
	}
}

// cancel: the context cuts through every silence, and its cause is kept.
func (c conformance) cancel(t *testing.T) {
	for name, step := range map[string]Step{
		"before headers": {Hang: HangHeaders},
		"before data":    {Hang: HangBody},
		"in mid-stream":  {Text: "word", Hang: HangBody, CutFrames: 2},
		"in an error":    {Status: 500, Hold: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			s := Script(t, step)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			cause := errors.New("enough")
			var canceller sync.WaitGroup
			defer canceller.Wait()
			canceller.Go(func() {
				if err := s.WaitFor(t.Context(), 1); err != nil {
					t.Error(err)
				}
				cancel(cause)
			})
			e := failure(ctx, t, c.newModel(s.URL()))
			if e.Kind != provider.KindCancelled || !errors.Is(e, cause) {
				t.Errorf("error = %v, want cancelled by its cause", e)
			}
		})
	}
}

// stopEarly: leaving the loop ends the request at the server.
func (c conformance) stopEarly(t *testing.T) {
	s := Script(t, Step{Text: "one two", Deltas: 2, Hang: HangBody, CutFrames: 2})
	for chunk, err := range c.newModel(s.URL()).Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := chunk.(provider.TextDelta); ok {
			break
		}
	}
	if err := s.WaitIdle(t.Context()); err != nil {
		t.Error(err)
	}
}

func (c conformance) noServer(t *testing.T) {
	s := NewServer(t, Options{})
	url := s.URL()
	s.http.Close()
	if e := failure(t.Context(), t, c.newModel(url)); e.Kind != provider.KindNetwork {
		t.Errorf("error = %v, want network", e)
	}
}
