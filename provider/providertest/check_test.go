package providertest

import (
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
)

func TestCheckRequest(t *testing.T) {
	body := func(messages string) string {
		return `{"model":"m","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}` + messages + `]}`
	}
	call := func(id, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"ls","arguments":` + quote(args) + `}}`
	}
	calls := func(list ...string) string {
		return `,{"role":"assistant","content":null,"tool_calls":[` + strings.Join(list, ",") + `]}`
	}
	result := func(id string) string { return `,{"role":"tool","tool_call_id":"` + id + `","content":"r"}` }
	tests := []struct {
		name, body string
		want       string // in the error; "" is none
	}{
		{"plain", body(""), ""},
		{"round", body(calls(call("a", "{}"), call("b", `{"x":1}`)) + result("a") + result("b") + `,{"role":"user","content":[{"type":"text","text":"x"}]}`), ""},
		{"not JSON", `{`, "decode"},
		{"two documents", body("") + "{}", "after the body"},
		{"unknown member", `{"model":"m","messages":[],"temperature":1}`, "temperature"},
		{"no messages", `{"model":"m","messages":[]}`, "no messages"},
		{"orphan result", body(result("a")), "result of"},
		{"missing result", body(calls(call("a", "{}"))), "has no result"},
		{"message before the result", body(calls(call("a", "{}")) + `,{"role":"user","content":"x"}`), "no result yet"},
		{"wrong order", body(calls(call("a", "{}"), call("b", "{}")) + result("b") + result("a")), "result of"},
		{"same id twice", body(calls(call("a", "{}"), call("a", "{}"))), "twice"},
		{"empty id", body(calls(call("", "{}"))), "empty"},
		{"broken arguments", body(calls(call("a", `{"x`)) + result("a")), "arguments"},
		{"arguments null", body(calls(call("a", `null`)) + result("a")), "arguments"},
		{"empty assistant", body(`,{"role":"assistant","content":null}`), "neither"},
		{"unknown role", body(`,{"role":"robot","content":"x"}`), "role"},
		{"schema", `{"model":"m","messages":[{"role":"user","content":"u"}],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"array"}}}]}`, "object"},
		{"tool name", `{"model":"m","messages":[{"role":"user","content":"u"}],"tools":[{"type":"function","function":{"name":"a b"}}]}`, "name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckRequest(provider.WireChat, []byte(tt.body))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("CheckRequest(%s) = %v, want %q", tt.body, err, tt.want)
			}
		})
	}
}
