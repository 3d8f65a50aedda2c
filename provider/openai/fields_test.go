package openai_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// retrying is a client with a short patience.
func retrying(t *testing.T, s *providertest.Server, budget int) provider.Model {
	t.Helper()
	return provider.Retry(newChat(t, openai.Options{BaseURL: s.URL()}), provider.RetryOptions{Budget: budget, Base: time.Millisecond})
}

func calls(a provider.Answer) []string {
	var out []string
	for _, item := range a.Items {
		if item.Type == reducer.ItemCall {
			out = append(out, item.Name+item.Args.Inline)
		}
	}
	return out
}

func ask(t *testing.T, frames ...string) provider.Answer {
	t.Helper()
	s := providertest.Script(t, providertest.Step{Frames: append(frames, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")})
	return collect(t, newChat(t, openai.Options{BaseURL: s.URL()}), hello())
}

func toolCalls(list string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + list + `]}}]}`
}

// FR-013: calls without an index were glued into one.
func TestFR013NoIndex(t *testing.T) {
	for _, a := range []provider.Answer{
		ask(t, toolCalls(`{"id":"a","function":{"name":"read","arguments":"{\"path\":\"x\"}"}},{"id":"b","function":{"name":"ls","arguments":"{}"}}`)),
		ask(t, toolCalls(`{"id":"a","function":{"arguments":"{\"path\":\"x\"}"}},{"id":"b","function":{"arguments":"{}"}}`),
			toolCalls(`{"id":"a","function":{"name":"read"}},{"id":"b","function":{"name":"ls"}}`)),
	} {
		if got := strings.Join(calls(a), " "); got != `read{"path":"x"} ls{}` || a.Items[0].ID != "a" || a.Items[1].ID != "b" {
			t.Errorf("calls = %s, want read and ls with their own arguments", got)
		}
	}
}

// FR-014: parallel calls with index 0 became one string of several objects.
func TestFR014IndexAlwaysZero(t *testing.T) {
	for _, id := range []string{`"id":"c%",`, ""} {
		var frames []string
		for _, p := range []string{"a", "b", "c"} {
			frames = append(frames, toolCalls(`{"index":0,`+strings.ReplaceAll(id, "%", p)+`"function":{"name":"read","arguments":"{\"path\":\"`+p+`\"}"}}`))
		}
		a := ask(t, frames...)
		if got := strings.Join(calls(a), " "); got != `read{"path":"a"} read{"path":"b"} read{"path":"c"}` {
			t.Errorf("calls = %s, want three reads", got)
		}
	}
}

// FR-015: arguments that are an object are taken, others are kept as they are.
// FR-016: blank, null and missing arguments are the empty ones.
func TestFR015FR016Arguments(t *testing.T) {
	for member, want := range map[string]string{
		`,"arguments":{"path":"a.txt"}`: `{"path":"a.txt"}`,
		`,"arguments":[1]`:              `[1]`,
		`,"arguments":""`:               "",
		`,"arguments":"  "`:             "",
		`,"arguments":null`:             "",
		``:                              "",
	} {
		a := ask(t, toolCalls(`{"index":0,"id":"c","function":{"name":"read"`+member+`}}`))
		if got := calls(a); len(got) != 1 || got[0] != "read"+want {
			t.Errorf("calls for %q = %q, want read with %q", member, got, want)
		}
	}
}

// FR-018: a call cut by the output limit was repaired and run.
func TestFR018LengthIsNoToolUse(t *testing.T) {
	const half = `{"path":"x.txt","content":"par`
	s := providertest.Script(t, providertest.Step{Calls: []providertest.Call{{Name: "write", Args: half}}, Finish: "length"})
	a := collect(t, newChat(t, openai.Options{BaseURL: s.URL()}), hello())
	if a.Stop != reducer.StopMaxTokens || a.Items[0].Args.Inline != half {
		t.Errorf("answer = %+v, want max_tokens and the arguments as they came", a)
	}
}

// FR-053: every failure is one, with its kind.
func TestFR053FailuresAreErrors(t *testing.T) {
	for want, step := range map[provider.Kind]providertest.Step{
		provider.KindAuth:     providertest.Fail(401, "x", "bad key"),
		provider.KindNotFound: providertest.Fail(404, "model_not_found", "no such model"),
		provider.KindOverflow: providertest.Fail(400, "x", "maximum context length is 10 tokens"),
	} {
		s := providertest.Script(t, step)
		if e := fails(t.Context(), t, retrying(t, s, 5), hello()); e.Kind != want || len(s.Requests()) != 1 {
			t.Errorf("error = %v after %d requests, want %s after one", e, len(s.Requests()), want)
		}
	}
}

// FR-054: a stream that broke after three words is asked for again; the answer
// comes once and nothing of the failure is left.
func TestFR054RetriedWithSuccess(t *testing.T) {
	s := providertest.Script(t, providertest.Step{Text: "one two three four", Deltas: 6, CutFrames: 4}, providertest.Text("one two three four"))
	var text strings.Builder
	retries := 0
	for c, err := range retrying(t, s, 5).Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case provider.Sent:
			text.Reset()
		case provider.TextDelta:
			text.WriteString(c.Text)
		case provider.Retrying:
			retries++
			if c.Err.Partial == "" {
				t.Error("Partial is empty, want what was shown")
			}
		case provider.ReasoningDelta, provider.CallDelta, provider.Done:
		}
	}
	if text.String() != "one two three four" || retries != 1 {
		t.Errorf("text = %q after %d retries, want it once after one", text.String(), retries)
	}
}

// FR-061: a stream without its closing event was taken for an answer.
func TestFR061CutStreams(t *testing.T) {
	for name, step := range map[string]providertest.Step{
		"before any event":    {Frames: []string{}, NoDone: true},
		"in a sentence":       {Text: "one two three", Deltas: 3, CutFrames: 3},
		"after a whole call":  {Calls: []providertest.Call{{Name: "write", Args: "{}"}}, NoFinish: true, NoDone: true},
		"the connection dies": {Text: "one two three", Deltas: 3, CutBytes: 300},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{step}, Repeat: true})
			if e := fails(t.Context(), t, retrying(t, s, 2), hello()); e.Kind != provider.KindCut || e.Attempt != 3 || len(s.Requests()) != 3 {
				t.Errorf("error = %v of attempt %d, want stream_cut of the third", e, e.Attempt)
			}
		})
	}
}

// FR-062: an error inside a stream was ignored, or a lasting one retried.
func TestFR062ErrorsInsideStreams(t *testing.T) {
	word := `{"choices":[{"index":0,"delta":{"content":"two words"}}]}`
	tests := []struct {
		step     providertest.Step
		want     provider.Kind
		requests int
	}{
		{providertest.Step{Body: "event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"busy\"}\n\n", Header: map[string]string{"Content-Type": "text/event-stream"}}, provider.KindOverloaded, 3},
		{providertest.Step{Frames: []string{`{"error":{"code":"rate_limit"}}`}}, provider.KindRate, 3},
		{providertest.Step{Frames: []string{word, `{"type":"error","error":{"type":"invalid_request_error","message":"never so"}}`}}, provider.KindInvalid, 1},
	}
	for _, tt := range tests {
		s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{tt.step}, Repeat: true})
		e := fails(t.Context(), t, retrying(t, s, 2), hello())
		if e.Kind != tt.want || len(s.Requests()) != tt.requests {
			t.Errorf("error = %v after %d requests, want %s after %d", e, len(s.Requests()), tt.want, tt.requests)
		}
		if tt.requests == 1 && (!strings.Contains(e.Error(), "never so") || e.Partial != "two words") {
			t.Errorf("error = %v with %q, want the server's words and the text", e, e.Partial)
		}
	}
}

// FR-063: figures of a stream are cumulative, and a missing count is unknown.
func TestFR063UsageCountsOnce(t *testing.T) {
	s := providertest.Script(t,
		providertest.Step{Frames: []string{
			`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":25,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":10}}}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":25,"completion_tokens":15}}`, "[DONE]",
		}},
		providertest.Step{Text: "no usage"})
	m := newChat(t, openai.Options{BaseURL: s.URL()})
	want := reducer.Usage{Input: reducer.Known(25), Output: reducer.Known(15), CacheRead: reducer.Known(10)}
	if got := collect(t, m, hello()).Usage; got != want {
		t.Errorf("usage = %+v, want %+v", got, want)
	}
	if got := collect(t, m, hello()).Usage; !got.IsZero() {
		t.Errorf("usage = %+v, want unknown", got)
	}
}

// FR-059: a wait that outlasts the deadline ends the run at once.
func TestFR059LongWaitUnderDeadline(t *testing.T) {
	step := providertest.Fail(429, "rate_limit", "later")
	step.Header = map[string]string{"Retry-After": "3600"}
	s := providertest.Script(t, step)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if e := fails(ctx, t, retrying(t, s, 5), hello()); !strings.Contains(e.Error(), "1h0m0s") {
		t.Errorf("error = %v, want it to name the wait", e)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("the deadline passed, want an error at once")
	}
}
