package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

func text(s string) reducer.Item { return reducer.Item{Type: reducer.ItemText, Text: reducer.T(s)} }

func user(key, s string) provider.Message {
	return provider.Message{Key: key, Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T(s)}}}
}

var own = reducer.Provenance{Provider: "anthropic", Model: "claude-opus-5", Wire: Wire}

// turn is an answer with thinking and a call, and the call's result.
func turn(n int, source reducer.Provenance) []provider.Message {
	key := fmt.Sprintf("r%d", n)
	return []provider.Message{
		{Key: key, Role: provider.RoleAssistant, Source: source, Items: []reducer.Item{
			{Type: reducer.ItemReasoning, Text: reducer.T("hm"), Extra: json.RawMessage(`{"signature":"sig` + key + `"}`)},
			{Type: reducer.ItemReasoning, Extra: json.RawMessage(`{"type":"redacted_thinking","data":"xx"}`)},
			text("looking"),
			{Type: reducer.ItemOther, Extra: json.RawMessage(`{"type":"web_search_tool_result","n":12345678901234567890}`)},
			{Type: reducer.ItemCall, ID: "toolu_" + key, Name: "read", Args: reducer.T(`{"path":"a"}`), Extra: json.RawMessage(`{"caller":{"type":"direct"}}`)},
		}},
		{Key: key + ".results", Role: provider.RoleResults, Results: []provider.Result{{ID: "toolu_" + key, Name: "read", Text: reducer.T("L1: x"), IsError: n%2 == 0}}},
	}
}

func encodeOnce(t *testing.T, e *encoder, req provider.Request) string {
	t.Helper()
	b, err := e.encode(req, reducer.Provenance{Provider: "anthropic", Model: req.Model, Wire: Wire})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(b.Reader())
	if err != nil || !json.Valid(body) || len(body) != b.Info.Size {
		t.Fatalf("body = %s, %v; want %d bytes of JSON", body, err, b.Info.Size)
	}
	return string(body)
}

// PROV-18, PROV-20, PROV-21: the request in the vendor's words.
func TestEncode(t *testing.T) {
	req := provider.Request{
		Model: "claude-opus-5", System: "Be brief.", Effort: "xhigh",
		Tools:    []provider.Tool{{Name: "ls", Description: "List.", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: append([]provider.Message{user("t1", "go")}, turn(1, own)...),
	}
	got := encodeOnce(t, &encoder{}, req)
	want := `{"model":"claude-opus-5","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"},` +
		`"tools":[{"name":"ls","description":"List.","input_schema":{"type":"object"}},{"name":"read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sigr1"},{"type":"redacted_thinking","data":"xx"},{"type":"text","text":"looking"},` +
		`{"type":"web_search_tool_result","n":12345678901234567890},{"type":"tool_use","id":"toolu_r1","name":"read","input":{"path":"a"},"caller":{"type":"direct"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_r1","content":"L1: x","cache_control":{"type":"ephemeral"}}]}]}`
	if got != want {
		t.Errorf("encode = %s\nwant     %s", got, want)
	}
}

// PROV-19, FR-064: signed thinking went to another model and the session was
// refused for good. What is opaque goes back to its maker alone.
func TestFR064ForeignThinking(t *testing.T) {
	for name, source := range map[string]reducer.Provenance{
		"another model": {Provider: "anthropic", Model: "claude-sonnet-5", Wire: Wire},
		"another wire":  {Provider: "openai", Model: "claude-opus-5", Wire: "openai-chat"},
	} {
		req := provider.Request{Model: "claude-opus-5", Messages: append([]provider.Message{user("t1", "go")}, turn(1, source)...)}
		got := encodeOnce(t, &encoder{}, req)
		for _, foreign := range []string{"sigr1", "redacted", "web_search", "caller", "thinking"} {
			if strings.Contains(got, foreign) {
				t.Errorf("%s: body = %s, want nothing of %s", name, got, foreign)
			}
		}
		if !strings.Contains(got, `"tool_use","id":"toolu_r1"`) || !strings.Contains(got, "looking") {
			t.Errorf("%s: body = %s, want the text and the call", name, got)
		}
	}
}

// PROV-20: consecutive requests begin with the same bytes, the mark on the last
// message apart, so that the server's cache is hit; each costs what is new.
func TestRequestsGrow(t *testing.T) {
	var e encoder
	req := provider.Request{Model: "claude-opus-5", System: "s", Messages: []provider.Message{user("t1", "go")}}
	unmarked := func(s string) string { return strings.TrimSuffix(strings.ReplaceAll(s, ","+mark, ""), "]}") }
	before := unmarked(encodeOnce(t, &e, req))
	for n := range 20 {
		req.Messages = append(req.Messages, turn(n, own)...)
		now := encodeOnce(t, &e, req)
		if !strings.HasPrefix(unmarked(now), before) {
			t.Fatalf("request %d does not begin with the one before", n)
		}
		if fresh := encodeOnce(t, &encoder{}, req); fresh != now {
			t.Fatalf("request %d = %s\nfrom nothing %s", n, now, fresh)
		}
		if got := strings.Count(now, mark); got != 2 {
			t.Errorf("request %d has %d marks, want one on the system text and one on the last message", n, got)
		}
		before = unmarked(now)
	}
}

// PROV-13, PROV-15: a tier that a model doesn't take is refused by name.
func TestEffort(t *testing.T) {
	for _, c := range []struct{ model, effort, refused string }{
		{"claude-opus-5", "max", ""},
		{"claude-opus-4-5-20251101", "high", ""},
		{"claude-opus-4-5", "max", "takes low, medium, high"},
		{"claude-3-5-haiku-20241022", "low", "takes none"},
		{"someone-else", "low", "takes none"},
	} {
		_, err := appendHead(nil, provider.Request{Model: c.model, Effort: c.effort})
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("effort %s for %s = %v, want it sent", c.effort, c.model, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("effort %s for %s = %v, want a refusal with %q", c.effort, c.model, err, c.refused)
		}
	}
}

// A lost result, broken arguments, repeated ids, images: still a conversation
// that the server takes.
func TestEncodeMends(t *testing.T) {
	messages := append([]provider.Message{user("t1", "go")}, turn(1, own)...)
	messages = append(messages[:2:2], user("t2", "and?"))
	if got := encodeOnce(t, &encoder{}, provider.Request{Model: "m", Messages: messages}); !strings.Contains(got, `"tool_use_id":"toolu_r1","content":"This call was interrupted`) {
		t.Errorf("body = %s, want a stand-in for the lost result", got)
	}
	call := reducer.Item{Type: reducer.ItemCall, ID: "x", Name: "a b", Args: reducer.T("not json")}
	messages = []provider.Message{
		{Key: "t1", Role: provider.RoleUser, Parts: []reducer.Part{{Type: reducer.PartImage, Image: reducer.Ref{Digest: "d", Media: "image/png"}}}},
		{Key: "r1", Role: provider.RoleAssistant, Items: []reducer.Item{text(" "), call, call}},
		{Key: "r1.results", Role: provider.RoleResults, Results: []provider.Result{{ID: "x", Text: reducer.T("1")}, {ID: "x", Text: reducer.T("2")}}},
	}
	got := encodeOnce(t, &encoder{}, provider.Request{Model: "m", Messages: messages, Load: func(reducer.Ref) ([]byte, error) { return []byte("png"), nil }})
	for _, want := range []string{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}`,
		`"id":"x","name":"a_b","input":{}`, `"id":"x_2"`, `"tool_use_id":"x","content":"1"`, `"tool_use_id":"x_2","content":"2"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("body = %s, want %s", got, want)
		}
	}
	if strings.Contains(got, `"text":" "`) {
		t.Errorf("body = %s, want no empty text", got)
	}
}
