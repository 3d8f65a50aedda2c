package providertest

import (
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
)

// verdict is a request and what the checker has to say of it.
type verdict struct {
	name, body string
	want       string // in the error; "" is none
}

// judge checks bodies with a ledger: "own" is the seal of model m (gemini-3-m
// on that wire) on what is named beside it, call c1 was issued with it, and
// "other" is another model's.
func judge(t *testing.T, wire, path, model, on string, all []verdict) {
	t.Helper()
	for _, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger()
			l.seals["own"] = seal{model, on}
			l.seals["other"] = seal{"another", on}
			l.bind("c1", "own")
			err := dialectOf(wire).check(Request{Wire: wire, Path: path, Body: []byte(tt.body)}, l)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("check(%s) = %v, want %q", tt.body, err, tt.want)
			}
		})
	}
}

func TestCheckMessages(t *testing.T) {
	body := func(messages string) string {
		return `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}` + messages + `]}`
	}
	call := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"ls","input":{}}` }
	thinking := func(seal string) string {
		return `{"type":"thinking","thinking":"hm","signature":"` + seal + `"}`
	}
	says := func(role string, blocks ...string) string {
		return `,{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
	}
	result := func(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}` }
	text := `{"type":"text","text":"x"}`
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
	judge(t, provider.WireMessages, "/v1/messages", "m", "hm", []verdict{
		{"plain", body(""), ""},
		{"round", body(says("assistant", thinking("own"), text, call("c1"), call("c2")) + says("user", result("c1"), result("c2"), text, image)), ""},
		{"next user message", body(says("assistant", call("a")) + says("user", result("a")) + says("user", text)), ""},
		{"older thinking dropped", body(says("assistant", call("c1")) + says("user", result("c1")) + says("assistant", text) + says("user", text)), ""},
		{"redacted", body(says("assistant", `{"type":"redacted_thinking","data":"own"}`) + says("user", text)), "stands on"},
		{"not JSON", `{`, "decode"},
		{"unknown member", `{"model":"m","max_tokens":9,"stream":true,"messages":[],"top":1}`, "top"},
		{"unknown block member", body(says("user", `{"type":"text","text":"x","id":1}`)), "id"},
		{"no max_tokens", `{"model":"m","stream":true,"messages":[{"role":"user","content":[]}]}`, "max_tokens"},
		{"orphan result", body(says("user", result("a"))), "result of"},
		{"missing result", body(says("assistant", call("a")) + says("user", text)), "no result yet"},
		{"result after text", body(says("assistant", call("a")) + says("user", text, result("a"))), "no result yet"},
		{"two results", body(says("assistant", call("a")) + says("user", result("a"), result("a"))), "result of"},
		{"wrong order", body(says("assistant", call("a"), call("b")) + says("user", result("b"), result("a"))), "result of"},
		{"answer before the result", body(says("assistant", call("a")) + says("assistant", text)), "no result yet"},
		{"id of an earlier round", body(says("assistant", call("a")) + says("user", result("a")) + says("assistant", call("a")) + says("user", result("a"))), "twice"},
		{"broken input", body(says("assistant", `{"type":"tool_use","id":"a","name":"ls","input":"{}"}`) + says("user", result("a"))), "no JSON object"},
		{"foreign signature", body(says("assistant", thinking("made-up")) + says("user", text)), "never issued"},
		{"another model's signature", body(says("assistant", thinking("other")) + says("user", text)), "of model another"},
		{"altered thinking", body(says("assistant", strings.Replace(thinking("own"), "hm", "ha", 1)) + says("user", text)), "stands on"},
		{"unsigned thinking", body(says("assistant", thinking("")) + says("user", text)), "without a signature"},
		{"thinking dropped", body(says("assistant", call("c1")) + says("user", result("c1"))), "without the thinking"},
		{"thinking after its call", body(says("assistant", call("c1"), thinking("own")) + says("user", result("c1"))), "without the thinking"},
		{"empty text", body(says("user", `{"type":"text","text":" "}`)), "empty text"},
		{"image from the model", body(says("assistant", image) + says("user", text)), "in an assistant message"},
		{"call from the user", body(says("user", call("a"))), "in a user message"},
		{"no content", body(says("user")), "no content"},
		{"ends with an answer", body(says("assistant", text)), "not the user's"},
		{"begins with an answer", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"assistant","content":[` + text + `]}]}`, "role"},
		{"unknown role", body(says("tool", text)), "role"},
		{"five marks", body(strings.Repeat(says("user", `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`), 5)), "5 cache marks"},
		{"schema", `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a","input_schema":{"type":"array"}}],"messages":[{"role":"user","content":[` + text + `]}]}`, "object"},
		{"no schema", `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"a"}],"messages":[{"role":"user","content":[` + text + `]}]}`, "input_schema"},
	})
}

func TestCheckResponses(t *testing.T) {
	const head = `{"model":"m","store":false,"stream":true`
	body := func(items ...string) string {
		user := `{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}`
		return head + `,"input":[` + strings.Join(append([]string{user}, items...), ",") + `]}`
	}
	call := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"ls","arguments":"{}"}`
	}
	output := func(id string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":"r"}`
	}
	reasoning := func(seal string) string {
		return `{"type":"reasoning","summary":[],"encrypted_content":"` + seal + `"}`
	}
	says := func(role, part string) string {
		return `{"type":"message","role":"` + role + `","content":[` + part + `]}`
	}
	asked, said := says("user", `{"type":"input_text","text":"x"}`), says("assistant", `{"type":"output_text","text":"x"}`)
	judge(t, provider.WireResponses, "/v1/responses", "m", "[]", []verdict{
		{"plain", body(), ""},
		{"round", body(reasoning("own"), said, call("c1"), call("c2"), output("c1"), output("c2"), asked), ""},
		{"image", body(says("user", `{"type":"input_image","image_url":"data:image/png;base64,AA"}`)), ""},
		{"unknown member", head + `,"input":[],"top":1}`, "top"},
		{"stored", `{"model":"m","stream":true,"input":[` + asked + `]}`, "nothing is stored"},
		{"item id", body(`{"id":"fc_1",` + call("a")[1:]), "id"},
		{"orphan output", body(output("a")), "result of"},
		{"missing output", body(call("a")), "no result yet"},
		{"user before the output", body(call("a"), asked), "no result yet"},
		{"answer between outputs", body(call("a"), call("b"), output("a"), said, output("b")), "no result yet"},
		{"two outputs", body(call("a"), output("a"), output("a")), "result of"},
		{"wrong order", body(call("a"), call("b"), output("b"), output("a")), "result of"},
		{"same id twice", body(call("a"), output("a"), call("a"), output("a")), "twice"},
		{"broken arguments", body(strings.Replace(call("a"), `"{}"`, `"{"`, 1), output("a")), "no JSON object"},
		{"foreign reasoning", body(reasoning("made-up"), said), "never issued"},
		{"another model's reasoning", body(reasoning("other"), said), "of model another"},
		{"altered summary", body(strings.Replace(reasoning("own"), "[]", "[1]", 1), said), "stands on"},
		{"unsealed reasoning", body(reasoning(""), said), "nobody can read"},
		{"reasoning at the end", body(reasoning("own")), "without the item"},
		{"reasoning without follower", body(reasoning("own"), asked), "lacks the item"},
		{"call without its reasoning", body(call("c1"), output("c1")), "without its reasoning"},
		{"reasoning of a turn before", body(reasoning("own"), said, asked, call("c1"), output("c1")), "without its reasoning"},
		{"empty answer", body(says("assistant", `{"type":"output_text","text":""}`)), "empty"},
		{"image from the model", body(says("assistant", `{"type":"input_image","image_url":"data:image/png;base64,AA"}`)), "input_image"},
		{"unknown item", body(`{"type":"robot"}`), "robot"},
		{"strict tool", head + `,"tools":[{"type":"function","name":"a","parameters":{"type":"object"},"strict":true}],"input":[` + asked + `]}`, "strict"},
		{"schema", head + `,"tools":[{"type":"function","name":"a","parameters":{"type":"array"}}],"input":[` + asked + `]}`, "object"},
	})
}

func TestCheckGemini(t *testing.T) {
	body := func(contents ...string) string {
		return `{"contents":[` + strings.Join(append([]string{`{"role":"user","parts":[{"text":"u"}]}`}, contents...), ",") + `]}`
	}
	content := func(role string, parts ...string) string {
		return `{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
	}
	call := func(name, seal string) string {
		if seal != "" {
			seal = `,"thoughtSignature":"` + seal + `"`
		}
		return `{"functionCall":{"name":"` + name + `","args":{ }}` + seal + `}`
	}
	response := func(name string) string {
		return `{"functionResponse":{"name":"` + name + `","response":{"output":"r"}}}`
	}
	text := `{"text":"x"}`
	image := `{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`
	judge(t, provider.WireGemini, "/v1beta/models/gemini-3-m:streamGenerateContent", "gemini-3-m", "ls{}", []verdict{
		{"plain", body(), ""},
		{"round", body(content("model", `{"text":"hm","thought":true}`, text, call("ls", "own"), call("ls", "")), content("user", response("ls"), response("ls"), image)), ""},
		{"another vendor's call", body(content("model", call("cat", skipSignature)), content("user", response("cat"))), ""},
		{"older call unsigned", body(content("model", call("ls", "")), content("user", response("ls")), content("model", text), content("user", text)), ""},
		{"unknown member", `{"contents":[],"top":1}`, "top"},
		{"unknown part member", body(content("user", `{"text":"x","id":1}`)), "id"},
		{"orphan response", body(content("user", response("ls"))), "result of"},
		{"missing response", body(content("model", call("ls", "own")), content("user", text)), "no result yet"},
		{"too few responses", body(content("model", call("ls", "own"), call("ls", "")), content("user", response("ls"))), "no result yet"},
		{"two responses", body(content("model", call("ls", "own")), content("user", response("ls"), response("ls"))), "result of"},
		{"wrong order", body(content("model", call("ls", "own"), call("cat", "")), content("user", response("cat"), response("ls"))), "result of"},
		{"text before the response", body(content("model", call("ls", "own")), content("user", text, response("ls"))), "no result yet"},
		{"response that is no object", body(content("model", call("ls", "own")), content("user", strings.Replace(response("ls"), `{"output":"r"}`, `"r"`, 1))), "decode"},
		{"broken args", body(content("model", strings.Replace(call("ls", "own"), "{ }", "[]", 1)), content("user", response("ls"))), "no JSON object"},
		{"foreign signature", body(content("model", call("ls", "made-up")), content("user", response("ls"))), "never issued"},
		{"another model's signature", body(content("model", call("ls", "other")), content("user", response("ls"))), "of model another"},
		{"signature on another part", body(content("model", call("cat", "own")), content("user", response("cat"))), "stands on"},
		{"signature on a text", body(content("model", `{"text":"x","thoughtSignature":"own"}`), content("user", text)), "stands on"},
		{"unsigned first call", body(content("model", call("ls", "")), content("user", response("ls"))), "without its thought signature"},
		{"empty text", body(content("user", `{"text":""}`)), "says nothing"},
		{"empty text of the model", body(content("model", `{"text":""}`), content("user", text)), "empty text"},
		{"image from the model", body(content("model", image), content("user", text)), "an image"},
		{"call from the user", body(content("user", call("ls", ""))), "not a user's"},
		{"no parts", body(content("user")), "no parts"},
		{"unknown role", body(content("assistant", text)), "role"},
		{"ends with an answer", body(content("model", text)), "not the user's"},
		{"schema", `{"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"array"}}]}],"contents":[` + content("user", text) + `]}`, "object"},
	})
}

// A call that only this model made may not go back with the word that skips its
// signature.
func TestCheckGeminiSkippedSignature(t *testing.T) {
	l := newLedger()
	signature := l.seal("gemini-3-m", `ls{}`)
	for word, want := range map[string]bool{signature: true, skipSignature: false} {
		body := `{"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"` + word +
			`"}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"r"}}}]}]}`
		err := gemini{}.check(Request{Path: "/v1beta/models/gemini-3-m:streamGenerateContent", Body: []byte(body)}, l)
		if (err == nil) != want {
			t.Errorf("check with signature %q = %v, want accepted: %v", word, err, want)
		}
	}
}

// Without a memory of what was issued a signature is not judged, everything
// else is.
func TestCheckRequestWithoutMemory(t *testing.T) {
	ok := `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"u"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"any"}]},{"role":"user","content":[{"type":"text","text":"u"}]}]}`
	if err := CheckRequest(provider.WireMessages, []byte(ok)); err != nil {
		t.Errorf("CheckRequest = %v, want nil", err)
	}
	if err := CheckRequest("telegraph", nil); err == nil {
		t.Error("CheckRequest on an unknown wire = nil, want an error")
	}
}
