package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

func source(model string) reducer.Provenance {
	return reducer.Provenance{Provider: "openai", Model: model, Wire: Wire}
}

func userMsg(key string, texts ...string) provider.Message {
	m := provider.Message{Key: key, Role: provider.RoleUser}
	for _, s := range texts {
		m.Parts = append(m.Parts, reducer.Part{Type: reducer.PartText, Text: reducer.T(s)})
	}
	return m
}

func callItem(id, name, args string) reducer.Item {
	return reducer.Item{Type: reducer.ItemCall, ID: id, Name: name, Args: reducer.T(args)}
}

func textItem(s string) reducer.Item { return reducer.Item{Type: reducer.ItemText, Text: reducer.T(s)} }

// turn is an answer with calls and their results, made by model.
func turn(key, model string, items ...reducer.Item) []provider.Message {
	asked := provider.Message{Key: key, Role: provider.RoleAssistant, Items: items, Source: source(model)}
	results := provider.Message{Key: key + "r", Role: provider.RoleResults}
	for i, item := range items {
		if item.Type == reducer.ItemCall {
			results.Results = append(results.Results, provider.Result{ID: item.ID, Name: item.Name, Text: reducer.T(fmt.Sprintf("result %d of %s", i, key))})
		}
	}
	if len(results.Results) == 0 {
		return []provider.Message{asked}
	}
	return []provider.Message{asked, results}
}

func conversation(model string, parts ...[]provider.Message) provider.Request {
	req := provider.Request{Model: model, Messages: []provider.Message{userMsg("u0", "go")}}
	for _, p := range parts {
		req.Messages = append(req.Messages, p...)
	}
	return req
}

// encodeWith returns the body's bytes after checking digest, size and that a
// strict server takes it.
func encodeWith(t *testing.T, e *encoder, req provider.Request, pr profile) string {
	t.Helper()
	b, err := e.encode(req, params{source: source(req.Model), profile: pr})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(b.Reader())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if want := hex.EncodeToString(sum[:reducer.DigestSize]); b.Info.Digest != want || b.Info.Size != len(data) {
		t.Errorf("info = %+v, want %s and %d bytes", b.Info, want, len(data))
	}
	if err := providertest.CheckRequest(provider.WireChat, data); err != nil {
		t.Errorf("CheckRequest(%s) = %v", data, err)
	}
	return string(data)
}

func encodeOnce(t *testing.T, req provider.Request) string {
	t.Helper()
	return encodeWith(t, &encoder{}, req, profile{})
}

// PROV-18 PROV-20 PROV-24: the bytes of a request, in full.
func TestEncodeGolden(t *testing.T) {
	req := provider.Request{
		Model: "m", System: "Be <brief> & \"kind\".", Effort: "high", MaxOutput: 100,
		Tools: []provider.Tool{{Name: "ls", Description: "List.", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
		Messages: []provider.Message{
			userMsg("u", "look\n", "here"),
			{
				Key: "a", Role: provider.RoleAssistant, Source: source("m"),
				Items: []reducer.Item{{Type: reducer.ItemReasoning, Text: reducer.T("secret thoughts")}, textItem("Yes."), callItem("c1", "ls", `{ "path":"." }`), callItem("c2", "now", "")},
			},
			{Key: "r", Role: provider.RoleResults, Results: []provider.Result{{ID: "c1", Text: reducer.T("a\tb")}, {ID: "c2", Text: reducer.T(""), IsError: true}}},
			{Key: "e", Role: provider.RoleAssistant, Items: []reducer.Item{{Type: reducer.ItemReasoning, Text: reducer.T("only thoughts")}}},
		},
	}
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"reasoning_effort":"high",` +
		`"tools":[{"type":"function","function":{"name":"ls","description":"List.","parameters":{"type":"object"}}},{"type":"function","function":{"name":"now"}}],` +
		`"messages":[{"role":"system","content":"Be <brief> & \"kind\"."},{"role":"user","content":"look\n\n\nhere"},` +
		`{"role":"assistant","content":"Yes.","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{ \"path\":\".\" }"}},` +
		`{"id":"c2","type":"function","function":{"name":"now","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"a\tb"},{"role":"tool","tool_call_id":"c2","content":""}]}`
	if diff := cmp.Diff(want, encodeOnce(t, req)); diff != "" {
		t.Errorf("body differs (-want +got):\n%s", diff)
	}
}

// PROV-13: without effort and limit no such member is sent.
func TestEncodeLeavesOut(t *testing.T) {
	if got, want := encodeOnce(t, conversation("m")), `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}`; got != want {
		t.Errorf("body = %s, want %s", got, want)
	}
}

// PROV-24: images make parts of a content, as data URLs.
func TestEncodeImage(t *testing.T) {
	req := conversation("m")
	req.Messages[0].Parts = append(req.Messages[0].Parts, reducer.Part{Type: reducer.PartImage, Image: reducer.Ref{Digest: "sha256:1", Media: "image/png"}})
	req.Load = func(r reducer.Ref) ([]byte, error) { return []byte("PNG!"), nil }
	if got, want := encodeOnce(t, req), `{"role":"user","content":[{"type":"text","text":"go"},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5HIQ=="}}]}`; !strings.Contains(got, want) {
		t.Errorf("body = %s, want %s", got, want)
	}
	for _, load := range []func(reducer.Ref) ([]byte, error){nil, func(reducer.Ref) ([]byte, error) { return nil, errors.New("gone") }} {
		req.Load = load
		if _, err := (&encoder{}).encode(req, params{}); err == nil {
			t.Error("encode() = nil, want the loader's error")
		}
	}
}

// FR-014: broken arguments were sent back and poisoned the session for good.
// FR-015: arguments go back as a string.
func TestFR014FR015ArgumentsGoBackAsObjects(t *testing.T) {
	for args, want := range map[string]string{
		`{"a":1}`: `"{\"a\":1}"`, "": `"{}"`, "  ": `"{}"`, `{"a":`: `"{}"`, `[1]`: `"{}"`, `{"a":1}{"b":2}`: `"{}"`, `null`: `"{}"`,
		`{"n":9007199254740993}`: `"{\"n\":9007199254740993}"`,
	} {
		got := encodeOnce(t, conversation("m", turn("a", "m", callItem("c", "ls", args))))
		if !strings.Contains(got, `"arguments":`+want) {
			t.Errorf("body = %s, want arguments %s for %q", got, want, args)
		}
	}
}

// FR-017: one id for every call; each result must follow its own call.
func TestFR017RepeatedIDs(t *testing.T) {
	req := conversation("m",
		turn("a1", "m", callItem("X", "write", "{}")), turn("a2", "m", callItem("X", "write", "{}")),
		turn("a3", "m", callItem("X", "read", "{}"), callItem("X", "read", "{}"), callItem("", "ls", "{}"), callItem("", "ls", "{}")))
	got := providertest.Request{Wire: provider.WireChat, Body: []byte(encodeOnce(t, req))}
	seen := map[string]string{}
	for _, m := range got.Messages() {
		for _, c := range m.Calls {
			if seen[c.ID] != "" {
				t.Errorf("id %q is used twice", c.ID)
			}
			seen[c.ID] = c.Name
		}
		if m.Role == "tool" && seen[m.CallID] == "" {
			t.Errorf("result of %q, which no call before it has", m.CallID)
		}
	}
	if len(seen) != 6 || seen["X"] != "write" {
		t.Errorf("ids = %v, want six, the first as sent", seen)
	}
}

// FR-064 PROV-19: opaque reasoning goes back to its maker alone, unaltered.
func TestFR064OpaqueGoesToItsMakerOnly(t *testing.T) {
	details := `[{"type":"reasoning.text","text":"t","signature":"c2ln", "big":9007199254740993}]`
	thought := reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T("t"), Extra: json.RawMessage(`{"field":"reasoning","reasoning_details":` + details + `}`)}
	call := callItem("c", "ls", "{}")
	call.Extra = json.RawMessage(`{"extra_content":{"google":{"thought_signature":"c2ln"}}}`)
	made := turn("a", "m1", thought, call)
	own := encodeOnce(t, conversation("m1", made))
	if !strings.Contains(own, `"reasoning_details":`+details) || !strings.Contains(own, `"extra_content":{"google":{"thought_signature":"c2ln"}}`) {
		t.Errorf("body = %s, want the opaque members as they came", own)
	}
	e := &encoder{}
	if got := encodeWith(t, e, conversation("m1", made), profile{}); got != own {
		t.Errorf("body = %s, want %s", got, own)
	}
	for _, foreign := range []string{
		encodeOnce(t, conversation("m2", made)),
		encodeWith(t, e, conversation("m2", made), profile{}), // after the maker's own
		encodeOnce(t, provider.Request{Model: "m1", Messages: append(conversation("m1").Messages, provider.Message{
			Key: "a", Role: provider.RoleAssistant, Items: []reducer.Item{thought, textItem("x")}, Source: reducer.Provenance{Provider: "other", Model: "m1", Wire: Wire},
		})}),
	} {
		if strings.Contains(foreign, "c2ln") || strings.Contains(foreign, "reasoning") {
			t.Errorf("body = %s, want nothing of another maker", foreign)
		}
	}
	if got := encodeWith(t, e, conversation("m1", made), profile{}); got != own {
		t.Errorf("body = %s, want the maker's own again", got)
	}
}

// Some vendors want their readable reasoning back while their calls are being
// answered, and refuse it afterwards.
func TestReasoningWithinTheLoop(t *testing.T) {
	thought := reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T("hmm"), Extra: json.RawMessage(`{"field":"reasoning_content"}`)}
	pr := profileFor("openai", "https://api.deepseek.com/", "deepseek-chat")
	e := &encoder{}
	req := conversation("m", turn("a", "m", thought, callItem("c", "ls", "{}")))
	if got := encodeWith(t, e, req, pr); !strings.Contains(got, `"reasoning_content":"hmm"`) {
		t.Errorf("body = %s, want the reasoning", got)
	}
	req.Messages = append(req.Messages, userMsg("u1", "next"))
	if got := encodeWith(t, e, req, pr); strings.Contains(got, "hmm") || got != encodeWith(t, &encoder{}, req, pr) {
		t.Errorf("body = %s, want no reasoning after the loop", got)
	}
	if got := encodeOnce(t, conversation("m", turn("a", "m", thought, callItem("c", "ls", "{}")))); strings.Contains(got, "hmm") {
		t.Errorf("body = %s, want no reasoning for other vendors", got)
	}
}

// Ids of another vendor are rewritten to what the target takes, with their results.
func TestForeignIDs(t *testing.T) {
	long := strings.Repeat("x", 60)
	req := conversation("m2", turn("a", "m1", callItem("functions.ls:0", "ls", "{}"), callItem(long, "ls", "{}"), callItem("toolu_1", "ls", "{}")))
	got := encodeOnce(t, req)
	if strings.Contains(got, "functions.ls:0") || strings.Contains(got, long) || strings.Count(got, `"toolu_1"`) != 2 {
		t.Errorf("body = %s, want only the fitting id as it came", got)
	}
	got = encodeWith(t, &encoder{}, req, profileFor("mistral"))
	for _, m := range (providertest.Request{Wire: provider.WireChat, Body: []byte(got)}).Messages() {
		for _, c := range m.Calls {
			if len(c.ID) != 9 || strings.Trim(c.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
				t.Errorf("id %q, want nine letters or digits", c.ID)
			}
		}
	}
	if own := encodeOnce(t, conversation("m", turn("a", "m", callItem("functions.ls:0", "ls", "{}")))); strings.Count(own, `"functions.ls:0"`) != 2 {
		t.Errorf("body = %s, want the maker's own id", own)
	}
}

// PROV-24: a conversation that lacks a result, or has one too many, is still taken.
func TestEncodeMendsResults(t *testing.T) {
	a := turn("a", "m", callItem("c1", "ls", "{}"), callItem("c2", "ls", "{}"))
	a[1].Results = a[1].Results[1:]
	got := encodeOnce(t, conversation("m", a))
	if !strings.Contains(got, `"tool_call_id":"c1","content":"`+wire.Unanswered) || !strings.Contains(got, `"tool_call_id":"c2","content":"result 1 of a"`) {
		t.Errorf("body = %s, want a stand-in for the first and the second's own", got)
	}
	encodeOnce(t, conversation("m", a[:1], []provider.Message{userMsg("u1", "next")}))
	encodeOnce(t, conversation("m", a[1:]))
	encodeOnce(t, conversation("m", turn("b", "m", callItem("c", "no such tool!", "{}"), callItem("d", "", "{}"))))
}

// The encoder's memory never shows: whatever was sent before, the bytes are
// those of a new encoder.
func TestEncodeIncrementally(t *testing.T) {
	e := &encoder{}
	grown := conversation("m")
	check := func(req provider.Request) {
		t.Helper()
		if got, want := encodeWith(t, e, req, profile{}), encodeOnce(t, req); got != want {
			t.Errorf("body = %s, want %s", got, want)
		}
	}
	var before []string
	for i := range 20 {
		check(grown)
		b, _ := e.encode(grown, params{source: source("m")})
		before = append(before, string(b.Front))
		if i > 0 && !strings.HasPrefix(string(b.Front), before[i-1]) {
			t.Fatalf("body %d does not begin with the one before it", i)
		}
		id := fmt.Sprint("c", i)
		if i%5 == 0 {
			id = "same"
		}
		grown.Messages = append(grown.Messages, turn(fmt.Sprint("a", i), "m", textItem("t"), callItem(id, "ls", "{}"))...)
	}
	check(grown)
	shorter := grown
	shorter.Messages = append([]provider.Message{userMsg("sum", "summary")}, grown.Messages[11:]...)
	check(shorter)
	check(grown)
	other := grown
	other.System = "now with system text"
	check(other)
	other.Model = "m2"
	check(other)
	other.Messages = nil
	b, err := e.encode(other, params{source: source("m2")})
	if err != nil || !json.Valid(append(append([]byte(nil), b.Front...), b.Back...)) {
		t.Errorf("body without messages = %s%s, %v, want JSON", b.Front, b.Back, err)
	}
	check(grown)
}

// Messages without a key are never taken for known.
func TestEncodeWithoutKeys(t *testing.T) {
	e := &encoder{}
	req := provider.Request{Model: "m", Messages: []provider.Message{userMsg("", "one")}}
	first := encodeWith(t, e, req, profile{})
	req.Messages = []provider.Message{userMsg("", "two")}
	if got := encodeWith(t, e, req, profile{}); got == first {
		t.Errorf("body = %s, want the second text", got)
	}
}

// A thousand known messages cost comparing keys, not encoding.
func TestEncodeKnownMessagesOnce(t *testing.T) {
	req := conversation("m")
	for i := range 500 {
		req.Messages = append(req.Messages, turn(fmt.Sprint("a", i), "m", textItem(strings.Repeat("x", 500)), callItem(fmt.Sprint("c", i), "ls", "{}"))...)
	}
	e := &encoder{}
	encodeWith(t, e, req, profile{})
	loads := 0
	req.Load = func(reducer.Ref) ([]byte, error) { loads++; return []byte("big"), nil }
	last := turn("last", "m", callItem("cl", "ls", "{}"))
	last[1].Results[0].Text = reducer.Text{Blob: reducer.Ref{Digest: "sha256:1", Size: 3}}
	req.Messages = append(req.Messages, last...)
	encodeWith(t, e, req, profile{})
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := e.encode(req, params{source: source("m")}); err != nil {
			t.Fatal(err)
		}
	})
	if loads != 1 || allocs > 20 {
		t.Errorf("encoding %d known messages: %d loads, %v allocations, want 1 load and at most 20", len(req.Messages), loads, allocs)
	}
}
