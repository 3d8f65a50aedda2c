package providertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// refusal is an error status and what it means.
type refusal struct {
	step Step
	want provider.Kind
}

// vendorWords are a wire's models and what its vendor says when it fails.
type vendorWords struct {
	model, other   string // two models that sign what they think, where any does
	overloaded     Failure
	rate, invalid  Failure
	overflow       Failure
	refusals       []refusal
	anyModelSigned bool // reasoning goes back, so that a model can be told from another
}

// common are the refusals whose words are the same everywhere.
func common(invalid, auth, permission, missing, large, rate, server string) []refusal {
	return []refusal{
		{Fail(400, invalid, "the words"), provider.KindInvalid},
		{Fail(401, auth, "the words"), provider.KindAuth},
		{Fail(403, permission, "the words"), provider.KindPermission},
		{Fail(404, missing, "the words"), provider.KindNotFound},
		{Fail(413, large, "the words"), provider.KindTooLarge},
		{Fail(429, rate, "the words"), provider.KindRate},
		{Fail(500, server, "the words"), provider.KindServer},
		{Step{Status: 502, Body: "<title>the words</title>"}, provider.KindServer},
		{Fail(504, "gateway", "the words"), provider.KindTimeout},
		{Fail(529, "overloaded_error", "the words"), provider.KindOverloaded},
	}
}

func wordsOf(wire string) vendorWords {
	switch wire {
	case provider.WireMessages:
		return messagesWords()
	case provider.WireGemini:
		return geminiWords()
	}
	w := vendorWords{
		model: "test-model", other: "other-model",
		overloaded: Failure{"overloaded", "The server is overloaded."},
		rate:       Failure{"rate_limit_exceeded", "Slow down."},
		invalid:    Failure{"invalid_request_error", "That can't be asked."},
		overflow:   Failure{"invalid_request_error", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."},
		refusals: append(
			common("invalid_request_error", "invalid_api_key", "permission_error", "model_not_found", "too_large", "rate_limit_exceeded", "server_error"),
			refusal{Fail(400, "context_length_exceeded", "the words"), provider.KindOverflow},
			refusal{Fail(429, "insufficient_quota", "You exceeded your current quota."), provider.KindQuota}),
	}
	if wire == provider.WireResponses {
		w.model, w.other, w.anyModelSigned = "gpt-5", "gpt-6", true
		w.overflow = Failure{"context_length_exceeded", "Your input exceeds the context window of this model."}
	}
	return w
}

func messagesWords() vendorWords {
	return vendorWords{
		model: "claude-opus-5", other: "claude-sonnet-5", anyModelSigned: true,
		overloaded: Failure{"overloaded_error", "Overloaded"},
		rate:       Failure{"rate_limit_error", "Slow down."},
		invalid:    Failure{"invalid_request_error", "That can't be asked."},
		overflow:   Failure{"invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"},
		refusals: append(
			common("invalid_request_error", "authentication_error", "permission_error", "not_found_error", "request_too_large", "rate_limit_error", "api_error"),
			refusal{Fail(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"), provider.KindOverflow},
			refusal{Fail(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), provider.KindOverflow},
			refusal{Fail(400, "invalid_request_error", "Your credit balance is too low to access the API."), provider.KindQuota}),
	}
}

func geminiWords() vendorWords {
	return vendorWords{
		model: "gemini-3-pro", other: "gemini-3-flash", anyModelSigned: true,
		overloaded: Failure{"UNAVAILABLE", "The model is overloaded."},
		rate:       Failure{"RESOURCE_EXHAUSTED", "Slow down."},
		invalid:    Failure{"INVALID_ARGUMENT", "That can't be asked."},
		overflow:   Failure{"INVALID_ARGUMENT", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."},
		refusals: append(
			common("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "INTERNAL"),
			refusal{Fail(400, "INVALID_ARGUMENT", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."), provider.KindOverflow},
			refusal{Fail(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), provider.KindAuth},
			refusal{Fail(503, "UNAVAILABLE", "The model is overloaded."), provider.KindOverloaded}),
	}
}

// models: what one model signed goes to no other, and back to its own; what a
// broken stream brought of it goes nowhere.
func (c conformance) models(t *testing.T) {
	call := Step{Reasoning: "Secret.", Calls: []Call{{Name: "ls"}}}
	broken := Step{Reasoning: "Half.", NoFinish: true, NoDone: true}
	m, s := c.scripted(t, call, call, Text("b"), broken, Text("a"))
	req := c.request()
	for n, model := range []string{c.words.model, c.words.other, c.words.other, c.words.model, c.words.model} {
		req.Model = model
		a, err := provider.Collect(t.Context(), m, req)
		if e, cut := errors.AsType[*provider.Error](err); n == 3 && cut && e.Kind == provider.KindCut {
			continue
		}
		if err != nil || n == 3 {
			t.Fatalf("request %d to %s = %v, want it answered, and only the fourth cut", n+1, model, err)
		}
		req.Messages = append(req.Messages, round(fmt.Sprint("a", n), a)...)
		if n == 2 {
			req.Messages = append(req.Messages, said("u2", "go on"))
		}
	}
	if last := string(s.Requests()[4].Body); strings.Contains(last, "Half.") {
		t.Errorf("last request = %s, want nothing of the broken answer", last)
	}
	if second, last := string(s.Requests()[1].Body), string(s.Requests()[4].Body); c.words.anyModelSigned && c.wire != provider.WireGemini &&
		(strings.Contains(second, "Secret.") || strings.Count(last, "Secret.") != 1) {
		t.Errorf("requests = %s\nand %s\nwant the first model's reasoning in the second alone", second, last)
	}
}

// trial is a script, how it is asked and how that must end.
type trial struct {
	name     string
	steps    []Step
	retry    provider.RetryOptions
	deadline time.Duration // 0 is none
	cancel   time.Duration // when the context is cancelled; 0 is never
	requests int
	elapsed  time.Duration
	kind     provider.Kind // "" is the answer "one two"
	words    string        // in the error
}

// fine is the answer that a trial ends with.
func fine() Step { return Step{Text: "one two", Deltas: 2} }

// broken is an answer that ends without its end.
func broken() Step { return Step{Text: "one", NoFinish: true, NoDone: true} }

// times is n of the same.
func times(n int, s Step) []Step {
	all := make([]Step, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// patience: with [provider.Retry] around it, how often is asked, after how
// long, and what is left in the end.
func (c conformance) patience(t *testing.T) {
	for _, group := range [][]trial{c.waits(), c.silences(), c.cuts(), c.errorsInside(), c.finals()} {
		for _, tt := range group {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.try(t, tt) })
			})
		}
	}
}

func (c conformance) try(t *testing.T, tt trial) {
	s := NewPipe(t, Options{Wire: c.wire, Steps: tt.steps})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if tt.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, tt.deadline)
		defer cancel()
	}
	if tt.cancel > 0 {
		defer time.AfterFunc(tt.cancel, cancel).Stop()
	}
	start := time.Now()
	a, shown, err := watch(ctx, provider.Retry(c.open(t, s), tt.retry), c.request())
	elapsed := time.Since(start)
	if n := len(s.Requests()); n != tt.requests || elapsed != tt.elapsed {
		t.Errorf("%d requests in %v, want %d in %v", n, elapsed, tt.requests, tt.elapsed)
	}
	if tt.kind == "" {
		if err != nil || textOf(a) != "one two" || shown != "one two" {
			t.Errorf("answer = %q, shown %q, %v; want \"one two\", once", textOf(a), shown, err)
		}
		return
	}
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != tt.kind || !strings.Contains(e.Error(), tt.words) || e.Attempt != tt.requests {
		t.Errorf("error = %v, want %s with %q at attempt %d", err, tt.kind, tt.words, tt.requests)
	}
}

// watch is [provider.Collect] with what a reader was shown that still holds.
func watch(ctx context.Context, m provider.Model, req provider.Request) (a provider.Answer, shown string, err error) {
	for chunk, err := range m.Stream(ctx, req) {
		if err != nil {
			return a, shown, err
		}
		switch chunk := chunk.(type) {
		case provider.Sent, provider.Retrying:
			shown = ""
		case provider.TextDelta:
			shown += chunk.Text
		case provider.Done:
			a = chunk.Answer
		case provider.ReasoningDelta, provider.CallDelta:
		}
	}
	return a, shown, nil
}

func textOf(a provider.Answer) string {
	text := ""
	for _, it := range a.Items {
		if it.Type == reducer.ItemText {
			text += it.Text.Inline
		}
	}
	return text
}

// once is a budget of one retry, after half a second.
func once() provider.RetryOptions { return provider.RetryOptions{Budget: 1} }

// waits: FR-059, what a server asks for is kept, and nothing outlasts its
// limit.
func (c conformance) waits() []trial {
	limited := func(after string) Step {
		return Step{Status: http.StatusTooManyRequests, Failure: &c.words.rate, Header: map[string]string{"Retry-After": after}}
	}
	// A bubble's clock starts at this instant.
	date := time.Date(2000, 1, 1, 0, 0, 3, 0, time.UTC).Format(http.TimeFormat)
	none := Step{Status: http.StatusTooManyRequests, Failure: &c.words.rate}
	return []trial{
		{name: "FR059 seconds", steps: []Step{limited("3"), fine()}, requests: 2, elapsed: 3 * time.Second},
		{name: "FR059 a date", steps: []Step{limited(date), fine()}, requests: 2, elapsed: 3 * time.Second},
		{name: "FR059 no number", steps: []Step{limited("abc"), fine()}, requests: 2, elapsed: time.Second / 2},
		{name: "FR059 negative", steps: []Step{limited("-5"), fine()}, requests: 2, elapsed: time.Second / 2},
		{name: "FR059 none", steps: []Step{none, fine()}, requests: 2, elapsed: time.Second / 2},
		{name: "FR059 beyond the cap", steps: []Step{limited("300"), fine()}, requests: 2, elapsed: time.Minute},
		{
			name: "FR059 beyond the deadline", steps: []Step{limited("3600")}, deadline: 10 * time.Second,
			requests: 1, kind: provider.KindRate, words: "1h0m0s",
		},
		{
			name: "FR059 cancelled while waiting", steps: []Step{limited("30")}, cancel: time.Second,
			requests: 1, elapsed: time.Second, kind: provider.KindCancelled, words: "while waiting",
		},
		{
			name: "FR059 again and again", steps: times(6, Step{Status: 500}), requests: 6,
			elapsed: 12500 * time.Millisecond, kind: provider.KindServer, words: "scripted failure",
		},
	}
}

// silences: FR-060, a server that says nothing, before or after its first
// word, with or without comments, is given up on.
func (c conformance) silences() []trial {
	mid := Step{Text: "one", NoFinish: true, NoDone: true, Hang: HangBody}
	mid.CutFrames = c.events(mid)
	comments := mid
	comments.Hang, comments.Every = HangComments, time.Second
	const idle, headers = 120 * time.Second, 180 * time.Second
	// Between events, too, the interval of the comments passes.
	before := time.Duration(comments.CutFrames-1) * comments.Every
	return []trial{
		{
			name: "FR060 no headers", steps: times(2, Step{Hang: HangHeaders}), retry: once(), requests: 2,
			elapsed: 2*headers + time.Second/2, kind: provider.KindTimeout, words: "stalled",
		},
		{
			name: "FR060 no data", steps: times(2, Step{Hang: HangBody}), retry: once(), requests: 2,
			elapsed: 2*idle + time.Second/2, kind: provider.KindTimeout, words: "stalled",
		},
		{
			name: "FR060 in mid-stream", steps: times(2, mid), retry: once(), requests: 2,
			elapsed: 2*idle + time.Second/2, kind: provider.KindTimeout, words: "stalled",
		},
		{
			name: "FR060 comments in mid-stream", steps: times(2, comments), retry: once(), requests: 2,
			elapsed: 2*(idle+before) + time.Second/2, kind: provider.KindTimeout, words: "stalled",
		},
		{
			name: "FR060 a deadline cuts through", steps: []Step{mid}, deadline: 5 * time.Second, requests: 1,
			elapsed: 5 * time.Second, kind: provider.KindCancelled, words: "deadline",
		},
		{name: "FR060 then it answers", steps: []Step{mid, fine()}, requests: 2, elapsed: idle + time.Second/2},
	}
}

// cuts: FR-061, a stream without its end is no answer, wherever it ends.
func (c conformance) cuts() []trial {
	whole := Step{Text: "one two", Deltas: 2, Calls: []Call{{Name: "ls", Args: `{"path":"."}`, Pieces: 2}}, NoFinish: true, NoDone: true}
	all := []trial{{
		name: "FR061 never an end", steps: times(6, whole), requests: 6,
		elapsed: 12500 * time.Millisecond, kind: provider.KindCut,
	}}
	for n := 1; n <= c.events(whole); n++ {
		cut := whole
		cut.CutFrames = n
		all = append(all, trial{
			name: fmt.Sprintf("FR061 cut after event %d", n), steps: []Step{cut, fine()}, requests: 2, elapsed: time.Second / 2,
		})
	}
	for _, n := range []int{1, 60, 150} {
		cut := broken()
		cut.CutBytes = n
		all = append(all, trial{
			name: fmt.Sprintf("FR061 broken after byte %d", n), steps: []Step{cut, fine()}, requests: 2, elapsed: time.Second / 2,
		})
	}
	return all
}

// errorsInside: FR-062, an error inside a stream is what the same status would
// be, before the first word and after it.
func (c conformance) errorsInside() []trial {
	var all []trial
	for _, text := range []string{"", "one two"} {
		step := func(f Failure) Step { return Step{Text: text, Deltas: 2, Failure: &f} }
		where := "at first"
		if text != "" {
			where = "after words"
		}
		all = append(all,
			trial{name: "FR062 overloaded " + where, steps: []Step{step(c.words.overloaded), fine()}, requests: 2, elapsed: time.Second / 2},
			trial{
				name: "FR062 overloaded for good " + where, steps: times(2, step(c.words.overloaded)), retry: once(), requests: 2,
				elapsed: time.Second / 2, kind: provider.KindOverloaded, words: c.words.overloaded.Message,
			},
			trial{name: "FR062 rate limit " + where, steps: []Step{step(c.words.rate), fine()}, requests: 2, elapsed: time.Second / 2},
			trial{
				name: "FR062 invalid " + where, steps: []Step{step(c.words.invalid)}, requests: 1,
				kind: provider.KindInvalid, words: c.words.invalid.Message,
			},
			trial{
				name: "FR062 overflow " + where, steps: []Step{step(c.words.overflow)}, requests: 1,
				kind: provider.KindOverflow, words: c.words.overflow.Message,
			})
	}
	return all
}

// finals: every status by itself is tried again or not, by its kind; so is
// what is no answer of a model.
func (c conformance) finals() []trial {
	var all []trial
	for _, r := range c.words.refusals {
		name := fmt.Sprint("status ", r.step.Status, " ", r.want)
		if e := (&provider.Error{Kind: r.want}); e.Temporary() {
			all = append(all, trial{name: name, steps: []Step{r.step, fine()}, requests: 2, elapsed: time.Second / 2})
			continue
		}
		all = append(all, trial{name: name, steps: []Step{r.step}, requests: 1, kind: r.want})
	}
	page := Step{Body: "<html><title>Log in</title></html>", Header: map[string]string{"Content-Type": "text/html"}}
	return append(all, trial{name: "a login page", steps: []Step{page}, requests: 1, kind: provider.KindBadResponse, words: "Log in"})
}
