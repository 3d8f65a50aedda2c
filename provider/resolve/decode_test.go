package resolve_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider/resolve"
)

// PROV-29, PROV-31: the answer for a bug report has the members of a
// recording's expectation, and says the same, for every recording of every wire.
func TestDecodeRecordings(t *testing.T) {
	dirs := map[string]string{
		"openai-chat": "../openai/testdata/streams", "openai-responses": "../openai/responses/testdata/streams",
		"anthropic-messages": "../anthropic/testdata/streams", "gemini": "../gemini/testdata/streams",
	}
	for _, wire := range resolve.Wires() {
		checkDecoded(t, wire, dirs[wire])
		if root := os.Getenv("BASIS_CORPUS"); root != "" {
			checkDecoded(t, wire, filepath.Join(root, "providers", wire))
		} else {
			t.Log("the corpus was not looked at: BASIS_CORPUS names none")
		}
	}
}

func checkDecoded(t *testing.T, wire, dir string) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err != nil || len(cases) < 15 {
		t.Fatalf("%d cases in %s, %v", len(cases), dir, err)
	}
	for _, path := range cases {
		var rec struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Expect  map[string]any    `json:"expect"`
		}
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &rec) != nil {
			t.Fatal(path, err)
		}
		bodies, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "body.*"))
		body, err := os.Open(bodies[0])
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		for k, v := range rec.Headers {
			header.Set(k, v)
		}
		d, err := resolve.Decode(wire, rec.Status, header, body)
		body.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(d)
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{"text", "reasoning_present", "stop", "error_class"} {
			if diff := cmp.Diff(rec.Expect[member], got[member]); diff != "" {
				t.Errorf("%s: %s: %s", path, member, diff)
			}
		}
		if want, have := calls(rec.Expect["tool_calls"]), calls(got["tool_calls"]); want != have {
			t.Errorf("%s: calls = %s, want %s", path, have, want)
		}
	}
}

// calls are the names of calls in order.
func calls(list any) string {
	var names []string
	all, _ := list.([]any)
	for _, c := range all {
		m, _ := c.(map[string]any)
		name, _ := m["name"].(string)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestDecodeUnknownWire(t *testing.T) {
	if _, err := resolve.Decode("telex", 200, nil, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "anthropic-messages") {
		t.Errorf("Decode(telex) = %v, want an error that lists the wires", err)
	}
}
