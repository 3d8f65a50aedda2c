package responses

import (
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
)

// PROV-19, PROV-22: a sealed summary goes back in the parts in which it came,
// and beside raw reasoning too.
func TestSummaryGoesBackAsItCame(t *testing.T) {
	for _, tt := range []struct{ came, want string }{
		{`"summary":[]`, `"summary":[]`},
		{`"summary":[{"type":"summary_text","text":"é"}]`, `"summary":[{"type":"summary_text","text":"é"}]`},
		{
			`"summary":[{"type":"summary_text","text":"é"},{"type":"summary_text","text":""},{"type":"summary_text","text":"two"}]`,
			`"summary":[{"type":"summary_text","text":"é"},{"type":"summary_text","text":""},{"type":"summary_text","text":"two"}]`,
		},
		{`"summary":[],"content":[{"type":"reasoning_text","text":"raw"}]`, `"summary":[]`},
		{
			`"summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"raw"}]`,
			`"summary":[{"type":"summary_text","text":"s"}]`,
		},
	} {
		m := provider.Message{Key: "r1", Role: provider.RoleAssistant, Source: own}
		m.Items = append(m.Items, items([]byte(`{"id":"rs_1","type":"reasoning",`+tt.came+`,"encrypted_content":"eee"}`))...)
		got := encodeOnce(t, &encoder{}, provider.Request{Model: own.Model, Messages: []provider.Message{user1("u", "go"), m}})
		if want := `{"type":"reasoning",` + tt.want + `,"encrypted_content":"eee"}`; !strings.Contains(got, want) {
			t.Errorf("encode of %s = %s, want %s", tt.came, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ text, lengths, want string }{
		{"abc", `[1,2]`, "a|bc"}, {"abc", `[3,0]`, "abc|"}, {"abc", `[1]`, "abc"}, {"abc", `[9]`, "abc"}, {"abc", `[-1,4]`, "abc"}, {"abc", ``, "abc"}, {"abc", `{`, "abc"},
	} {
		if got := strings.Join(split(tt.text, []byte(tt.lengths)), "|"); got != tt.want {
			t.Errorf("split(%q, %s) = %q, want %q", tt.text, tt.lengths, got, tt.want)
		}
	}
}
