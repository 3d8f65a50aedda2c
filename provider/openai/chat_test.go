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

func newChat(t *testing.T, o openai.Options) *openai.Chat {
	t.Helper()
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdleConnections)
	return m
}

func user(key, text string) provider.Message {
	return provider.Message{Key: key, Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T(text)}}}
}

func answered(key string, a provider.Answer) provider.Message {
	return provider.Message{Key: key, Role: provider.RoleAssistant, Items: a.Items, Source: a.Source}
}

func resultsOf(key string, a provider.Answer, text string) provider.Message {
	m := provider.Message{Key: key, Role: provider.RoleResults}
	for _, item := range a.Items {
		if item.Type == reducer.ItemCall {
			m.Results = append(m.Results, provider.Result{ID: item.ID, Name: item.Name, Text: reducer.T(text)})
		}
	}
	return m
}

func hello() provider.Request {
	return provider.Request{Model: "test-model", System: "Be brief.", Messages: []provider.Message{user("u1", "hello")}}
}

func collect(t *testing.T, m provider.Model, req provider.Request) provider.Answer {
	t.Helper()
	a, err := provider.Collect(t.Context(), m, req)
	if err != nil {
		t.Fatalf("Stream() = %v, want an answer", err)
	}
	return a
}

func fails(ctx context.Context, t *testing.T, m provider.Model, req provider.Request) *provider.Error {
	t.Helper()
	_, err := provider.Collect(ctx, m, req)
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("Stream() = %v, want a *provider.Error", err)
	}
	return e
}

// PROV-24: a tool round on the wire, from question to answer.
func TestToolRound(t *testing.T) {
	server := providertest.Script(t,
		providertest.Step{Text: "Let me look.", Deltas: 3, Calls: []providertest.Call{{Name: "read", Args: `{"path":"a"}`, Pieces: 4}, {Name: "ls"}}, Usage: &providertest.Usage{Prompt: 9, Completion: 4, Cached: 3}},
		providertest.Text("It says hi."))
	m := newChat(t, openai.Options{BaseURL: server.URL(), Key: provider.NewSecret("sk-test")})
	req := hello()
	a := collect(t, m, req)
	if a.Stop != reducer.StopToolUse || len(a.Items) != 3 || a.Items[1].Args.Inline != `{"path":"a"}` {
		t.Fatalf("answer = %+v, want text and two calls", a)
	}
	req.Messages = append(req.Messages, answered("a1", a), resultsOf("r1", a, "hi"))
	if a = collect(t, m, req); a.Items[0].Text.Inline != "It says hi." || a.Stop != reducer.StopEndTurn {
		t.Errorf("answer = %+v, want the text", a)
	}
	last := server.Requests()[1]
	var roles []string
	for _, msg := range last.Messages() {
		roles = append(roles, msg.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool" {
		t.Errorf("roles = %s, want the results right after their calls", got)
	}
	if got := last.Header.Get("Authorization"); got != "Bearer sk-test" {
		t.Errorf("Authorization = %q, want the key", got)
	}
	if a.Request.Size != len(last.Body) {
		t.Errorf("request size = %d, want %d", a.Request.Size, len(last.Body))
	}
}

// PROV-6: without a key there is no header, and the server's own words surface.
func TestNoKeyNoHeader(t *testing.T) {
	server := providertest.Script(t, providertest.Fail(401, "unauthorized", "who are you?"))
	e := fails(t.Context(), t, newChat(t, openai.Options{BaseURL: server.URL()}), hello())
	if e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "who are you?") {
		t.Errorf("error = %v, want auth with the server's words", e)
	}
	if h, ok := server.Requests()[0].Header["Authorization"]; ok {
		t.Errorf("Authorization = %q, want none", h)
	}
}

func TestCancelCutsThrough(t *testing.T) {
	server := providertest.Script(t, providertest.Step{Text: "one two", Deltas: 2, Hang: providertest.HangBody, CutFrames: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("the user said stop")
	for c, err := range newChat(t, openai.Options{BaseURL: server.URL()}).Stream(ctx, hello()) {
		if _, ok := c.(provider.TextDelta); ok {
			cancel(cause)
		}
		var e *provider.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != provider.KindCancelled || !errors.Is(err, cause) || e.Partial != "one") {
			t.Errorf("error = %#v, want cancelled by the cause after \"one\"", err)
		}
	}
}

// FR-060
func TestFR060SilenceIsNoticed(t *testing.T) {
	for name, step := range map[string]providertest.Step{
		"no headers":    {Hang: providertest.HangHeaders},
		"no data":       {Hang: providertest.HangBody},
		"only comments": {Text: "word", Hang: providertest.HangComments, CutFrames: 2, Every: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.Script(t, step)
			m := newChat(t, openai.Options{BaseURL: server.URL(), IdleTimeout: 50 * time.Millisecond, HeaderTimeout: 50 * time.Millisecond})
			if e := fails(t.Context(), t, m, hello()); e.Kind != provider.KindTimeout || !strings.Contains(e.Error(), "stalled") {
				t.Errorf("error = %v, want a timeout that says stalled", e)
			}
		})
	}
}
