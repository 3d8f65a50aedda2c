package basis

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/reducer"
)

// PROV-19, PROV-21: a task on the Messages wire: what a model thought and
// signed before its calls goes back as it came, out of the journal too.
func TestMessagesWire(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("provider", "anthropic", "testdata", "streams", "interleaved", "body.sse"))
	if err != nil {
		t.Fatal(err)
	}
	last, err := os.ReadFile(filepath.Join("provider", "anthropic", "testdata", "streams", "text", "body.sse"))
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if len(bodies) == 1 {
			_, _ = w.Write(stream)
			return
		}
		_, _ = w.Write(last)
	}))
	defer s.Close()
	env := map[string]string{"ANTHROPIC_BASE_URL": s.URL, "ANTHROPIC_API_KEY": "sk-canary-1"}
	h, err := Open(Options{Dir: t.TempDir(), Getenv: func(name string) string { return env[name] }, Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "y"), []byte("why\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := h.Run(t.Context(), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{Model: "claude-test-1"}}, Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded || out.State.End.Result.String() != "Two words." {
		t.Fatalf("ended %+v, %v; want the second answer", out.State.End, err)
	}
	if len(bodies) != 2 {
		t.Fatalf("%d requests, want 2", len(bodies))
	}
	for _, want := range []string{
		`{"type":"thinking","thinking":"A","signature":"s1"},{"type":"text","text":"t1 "},{"type":"tool_use","id":"toolu_a"`,
		`{"type":"redacted_thinking","data":"zz"}`, `"tool_use_id":"toolu_a","content":"list .`, `"tool_use_id":"toolu_b","content":"read y`,
	} {
		if !strings.Contains(bodies[1], want) {
			t.Errorf("the second request = %s, want %s", bodies[1], want)
		}
	}
	if usage := out.State.Usage(); usage.Total() != 36 {
		t.Errorf("usage = %+v, want 22 in and 14 out", usage)
	}
}
