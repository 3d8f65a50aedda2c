package providertest

import (
	"cmp"
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

// Endpoint is where a model under test finds its server.
type Endpoint struct {
	BaseURL   string
	Transport http.RoundTripper // nil is the client's own
}

// Conformance checks that a model keeps the promises of [provider.Model] on a
// wire, against a server that answers properly, fails, cuts, lies and falls
// silent, and that what it sends is what a strict server takes. newModel makes
// a client; its limits of silence must be the defaults, and it must not retry by
// itself.
func Conformance(t *testing.T, wire string, newModel func(Endpoint) provider.Model) {
	c := conformance{wire: wire, words: wordsOf(wire), newModel: newModel}
	t.Run("order of chunks", c.order)
	t.Run("tool round", c.toolRound)
	t.Run("why it stopped", c.finishes)
	t.Run("FR063 usage", c.usage)
	t.Run("equal requests have equal bytes", c.bytes)
	t.Run("listing", c.listing)
	t.Run("error statuses", c.statuses)
	t.Run("wait of the server", c.retryAfter)
	t.Run("ends without a closing event", c.cutFrames)
	t.Run("connection breaks", c.cutBytes)
	t.Run("another language", c.garbage)
	t.Run("context ends", c.cancel)
	t.Run("reader stops early", c.stopEarly)
	t.Run("no server", c.noServer)
	t.Run("FR064 another model", c.models)
	c.patience(t)
}

type conformance struct {
	wire     string
	words    vendorWords
	newModel func(Endpoint) provider.Model
}

// open makes a client for a server that the end of the test closes.
func (c conformance) open(t *testing.T, s *Server) provider.Model {
	m := c.newModel(Endpoint{BaseURL: s.URL(), Transport: s.Transport()})
	if idle, ok := m.(interface{ CloseIdleConnections() }); ok {
		t.Cleanup(idle.CloseIdleConnections)
	}
	return m
}

// scripted is a client for a server with these steps.
func (c conformance) scripted(t *testing.T, steps ...Step) (provider.Model, *Server) {
	s := NewServer(t, Options{Wire: c.wire, Steps: steps})
	return c.open(t, s), s
}

// request is a short conversation.
func (c conformance) request() provider.Request {
	return provider.Request{Model: c.words.model, System: "Be brief.", Messages: []provider.Message{said("u1", "hello")}}
}

func said(key, text string) provider.Message {
	return provider.Message{
		Key: key, Role: provider.RoleUser,
		Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T(text)}},
	}
}

// round is an answer and the results of its calls as a conversation has them.
func round(key string, a provider.Answer) []provider.Message {
	asked := provider.Message{Key: key, Role: provider.RoleAssistant, Items: a.Items, Source: a.Source}
	results := provider.Message{Key: key + ".results", Role: provider.RoleResults}
	for _, it := range a.Items {
		if it.Type == reducer.ItemCall {
			results.Results = append(results.Results, provider.Result{ID: it.ID, Name: it.Name, Text: reducer.T("result of " + it.Name)})
		}
	}
	if results.Results == nil {
		return []provider.Message{asked}
	}
	return []provider.Message{asked, results}
}

func (c conformance) failure(ctx context.Context, t *testing.T, m provider.Model) *provider.Error {
	t.Helper()
	_, err := provider.Collect(ctx, m, c.request())
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("Stream() = %v, want a *provider.Error", err)
	}
	return e
}

// order: Sent, deltas, Done, and nothing more; the deltas are the answer.
func (c conformance) order(t *testing.T) {
	m, s := c.scripted(t, Step{Reasoning: "hmm", Text: "one two three", Deltas: 5})
	var kinds []string
	var text, thought strings.Builder
	var answer provider.Answer
	for chunk, err := range m.Stream(t.Context(), c.request()) {
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
	if answer.Stop != reducer.StopEndTurn || answer.Source.Model != c.words.model || answer.Source.Wire != c.wire || answer.Request.Size != len(s.Requests()[0].Body) {
		t.Errorf("answer = %+v, want end_turn of %s and the size of the body", answer, c.words.model)
	}
}

// toolRound: calls with arguments as sent, what was thought before them, and
// results that a strict server takes, over three rounds.
func (c conformance) toolRound(t *testing.T) {
	calls := Step{Reasoning: "First.\n\nSecond.", Deltas: 2, Calls: []Call{{Name: "read", Args: `{ "path": "ä", "n": 12345678901234567890 }`, Pieces: 6}, {Name: "ls"}}}
	sealed := Step{Sealed: true, Text: "Looking.", Calls: []Call{{Name: "ls"}, {Name: "ls"}}}
	m, s := c.scripted(t, calls, sealed, Step{Reasoning: "Last.", Text: "done"}, Text("bye"))
	req := c.request()
	for n, want := range []reducer.Stop{reducer.StopToolUse, reducer.StopToolUse, reducer.StopEndTurn} {
		a, err := provider.Collect(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		found := callsOf(a)
		if a.Stop != want || n == 0 && (len(found) != 2 || found[0].Args.Inline != calls.Calls[0].Args || found[1].Name != "ls") {
			t.Fatalf("answer %d = %+v, want %s and the calls as sent", n+1, a, want)
		}
		if usual := provider.StopWord(c.wire, want); a.StopRaw != cmp.Or(usual, string(want)) {
			t.Errorf("answer %d says %q for %s, want the wire's usual word %q", n+1, a.StopRaw, want, usual)
		}
		req.Messages = append(req.Messages, round(fmt.Sprint("a", n), a)...)
	}
	req.Messages = append(req.Messages, said("u2", "and?"))
	if _, err := provider.Collect(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, msg := range s.Requests()[3].Messages() {
		got = append(got, fmt.Sprintf("%s %q %d", msg.Role, msg.Text, len(msg.Calls)))
	}
	want := `system "Be brief." 0|user "hello" 0|assistant "" 2|tool "result of read" 0|tool "result of ls" 0|` +
		`assistant "Looking." 2|tool "result of ls" 0|tool "result of ls" 0|assistant "done" 0|user "and?" 0`
	if strings.Join(got, "|") != want {
		t.Errorf("last request = %s\nwant %s", strings.Join(got, "|"), want)
	}
}

func callsOf(a provider.Answer) []reducer.Item {
	var calls []reducer.Item
	for _, it := range a.Items {
		if it.Type == reducer.ItemCall {
			calls = append(calls, it)
		}
	}
	return calls
}

// finishes: the wire's own word is kept beside what it means.
func (c conformance) finishes(t *testing.T) {
	for word, want := range c.words.finishes {
		m, _ := c.scripted(t, Step{Text: "so far", Finish: word})
		a, err := provider.Collect(t.Context(), m, c.request())
		if err != nil || a.Stop != want || !strings.HasSuffix(a.StopRaw, word) || textOf(a) != "so far" {
			t.Errorf("%s: answer = %+v, %v; want %s with the word", word, a, err, want)
		}
	}
}

// usage: every vendor's counting comes to the same, each figure once; nothing
// reported is unknown.
func (c conformance) usage(t *testing.T) {
	m, _ := c.scripted(t, Step{Text: "a", Deltas: 2, Usage: &Usage{Prompt: 130, Completion: 20, Cached: 100, Reasoning: 5}}, Step{Text: "b"})
	a, err := provider.Collect(t.Context(), m, c.request())
	if err != nil {
		t.Fatal(err)
	}
	u := a.Usage
	if u.Input.Or(-1) != 130 || u.Output.Or(-1) != 20 || u.CacheRead.Or(-1) != 100 || u.Reasoning.Or(-1) != 5 {
		t.Errorf("usage = %+v, want 130, 20, 100, 5", u)
	}
	if a, err = provider.Collect(t.Context(), m, c.request()); err != nil || !a.Usage.IsZero() {
		t.Errorf("usage = %+v, %v, want unknown", a.Usage, err)
	}
}

// listing: what the server has, and of those with dates the newest.
func (c conformance) listing(t *testing.T) {
	s := NewServer(t, Options{Models: []string{"first", "second"}})
	l, ok := c.open(t, s).(provider.Lister)
	if !ok {
		t.Fatal("the model can't list")
	}
	models, err := l.Models(t.Context())
	if err != nil || len(models) != 2 || models[0].ID != "first" || models[1].ID != "second" {
		t.Errorf("Models() = %+v, %v, want first and second", models, err)
	}
}

func (c conformance) bytes(t *testing.T) {
	m, s := c.scripted(t, Text("a"), Text("a"), Text("a"))
	for _, m := range []provider.Model{m, m, c.open(t, s)} {
		if _, err := provider.Collect(t.Context(), m, c.request()); err != nil {
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
	for _, tt := range c.words.refusals {
		t.Run(fmt.Sprint(tt.step.Status, " ", tt.want), func(t *testing.T) {
			m, s := c.scripted(t, tt.step)
			e := c.failure(t.Context(), t, m)
			words := "the words"
			if tt.step.Failure != nil {
				words = tt.step.Failure.Message
			}
			if e.Kind != tt.want || e.Status != tt.step.Status || !strings.Contains(e.Error(), words) {
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
	m, _ := c.scripted(t, step)
	if e := c.failure(t.Context(), t, m); e.RetryAfter != 7*time.Second {
		t.Errorf("RetryAfter = %v, want 7s", e.RetryAfter)
	}
}

// events is how many events a step's stream has.
func (c conformance) events(s Step) int {
	r := Request{Wire: c.wire, Body: []byte(object(`{"model":%s}`, c.words.model))}
	if c.wire == provider.WireGemini {
		r.Path = "/v1beta/models/" + c.words.model + ":streamGenerateContent"
	}
	return len(s.events(dialectOf(c.wire), r, newLedger()))
}

// cutFrames: however much came, without its end it is no answer.
func (c conformance) cutFrames(t *testing.T) {
	whole := Step{Text: "one two three", Deltas: 3, Calls: []Call{{Name: "ls", Args: `{"path":"."}`, Pieces: 2}}, NoFinish: true, NoDone: true}
	for n := 1; n <= c.events(whole); n++ {
		step := whole
		step.CutFrames = n
		m, _ := c.scripted(t, step)
		e := c.failure(t.Context(), t, m)
		if e.Kind != provider.KindCut || !strings.HasPrefix("one two three", e.Partial) {
			t.Errorf("after %d events: error = %v, partial %q, want stream_cut", n, e, e.Partial)
		}
	}
}

func (c conformance) cutBytes(t *testing.T) {
	for n := 1; n < 400; n += 37 {
		m, _ := c.scripted(t, Step{Text: "one two three", Deltas: 3, CutBytes: n})
		e := c.failure(t.Context(), t, m)
		if e.Kind != provider.KindCut {
			t.Errorf("after %d bytes: error = %v, want stream_cut", n, e)
		}
	}
}

func (c conformance) garbage(t *testing.T) {
	for _, body := range []string{"<html><title>Log in</title></html>", `{"hello":"world"}`, "data: {broken\n\n", "data: \x00\x01\n\n"} {
		m, _ := c.scripted(t, Step{Body: body, Header: map[string]string{"Content-Type": "text/html"}})
		e := c.failure(t.Context(), t, m)
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
			m, s := c.scripted(t, step)
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
			e := c.failure(ctx, t, m)
			if e.Kind != provider.KindCancelled || !errors.Is(e, cause) {
				t.Errorf("error = %v, want cancelled by its cause", e)
			}
		})
	}
}

// stopEarly: leaving the loop ends the request at the server.
func (c conformance) stopEarly(t *testing.T) {
	step := Step{Text: "one two", Deltas: 2, NoFinish: true, NoDone: true, Hang: HangBody}
	step.CutFrames = c.events(step)
	m, s := c.scripted(t, step)
	for chunk, err := range m.Stream(t.Context(), c.request()) {
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
	m := c.open(t, s)
	s.stop()
	if e := c.failure(t.Context(), t, m); e.Kind != provider.KindNetwork {
		t.Errorf("error = %v, want network", e)
	}
}
