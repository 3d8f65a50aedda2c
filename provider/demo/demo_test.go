package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// workspace answers the calls of the tour.
func workspace(call reducer.Item) (string, bool) {
	switch call.Name {
	case "ls":
		return "list .\n[dir] .git\n[dir] cmd\n[file] README.md\n[file] main.go\n", false
	case "grep":
		return "search . /x/\nmain.go:3: func main() {\n", false
	case "glob":
		return "glob . /x/\nREADME.md\n", false
	case "read":
		return "read README.md\nL1: # Hello\nL2: \n", false
	case "spawn":
		return "abc123 first commit\n", false
	}
	return "no such tool", true
}

type run struct {
	calls  []string
	answer string
	req    provider.Request
}

// drive runs the model until it answers.
func drive(t *testing.T, tools string, perform func(reducer.Item) (string, bool)) run {
	t.Helper()
	r := run{req: provider.Request{Model: ModelID, Messages: []provider.Message{{Key: "u", Role: provider.RoleUser}}}}
	for name := range strings.FieldsSeq(tools) {
		r.req.Tools = append(r.req.Tools, provider.Tool{Name: name})
	}
	for range 10 {
		a, err := provider.Collect(t.Context(), New(), r.req)
		if err != nil {
			t.Fatal(err)
		}
		results := provider.Message{Role: provider.RoleResults}
		for _, item := range a.Items {
			if item.Type != reducer.ItemCall {
				r.answer = item.Text.Inline
				continue
			}
			if !json.Valid([]byte(item.Args.Inline)) {
				t.Errorf("arguments of %s = %s, want JSON", item.Name, item.Args.Inline)
			}
			r.calls = append(r.calls, item.ID+" "+item.Name)
			text, bad := perform(item)
			results.Results = append(results.Results, provider.Result{ID: item.ID, Name: item.Name, Text: reducer.T(text), IsError: bad})
		}
		if a.Stop != reducer.StopToolUse {
			return r
		}
		r.req.Messages = append(r.req.Messages, provider.Message{Role: provider.RoleAssistant, Items: a.Items, Source: a.Source}, results)
	}
	t.Fatal("the tour does not end")
	return r
}

func TestTour(t *testing.T) {
	r := drive(t, "read ls grep glob write edit spawn", workspace)
	if want := []string{"demo_1 ls", "demo_2 grep", "demo_3 read", "demo_4 spawn"}; !cmp.Equal(r.calls, want) {
		t.Errorf("calls = %v, want %v", r.calls, want)
	}
	for _, want := range []string{"2 folders", "main.go:3", `"Hello"`, "abc123 first commit", "no model was asked"} {
		if !strings.Contains(r.answer, want) {
			t.Errorf("answer = %s, want it to say %s", r.answer, want)
		}
	}
	if again := drive(t, "read ls grep glob write edit spawn", workspace); again.answer != r.answer {
		t.Errorf("second answer = %s, want the same as the first", again.answer)
	}
}

func TestTourWithFewerTools(t *testing.T) {
	for tools, want := range map[string]string{
		"":             "",
		"ls read":      "ls read",
		"read glob":    "glob read",
		"spawn":        "spawn",
		"read":         "",
		"write edit x": "",
	} {
		r := drive(t, tools, workspace)
		var names []string
		for _, c := range r.calls {
			names = append(names, strings.Fields(c)[1])
		}
		if got := strings.Join(names, " "); got != want || r.answer == "" {
			t.Errorf("tour with %q calls %q, want %q and an answer", tools, got, want)
		}
	}
}

func TestTourTellsFailures(t *testing.T) {
	r := drive(t, "read ls grep spawn", func(reducer.Item) (string, bool) { return "denied by policy", true })
	if n := strings.Count(r.answer, "denied by policy"); n != 3 {
		t.Errorf("answer = %s, want three failures told", r.answer)
	}
}

func TestSecondTurnBeginsAnew(t *testing.T) {
	r := drive(t, "ls", workspace)
	r.req.Messages = append(r.req.Messages, provider.Message{Role: provider.RoleUser})
	a, err := provider.Collect(t.Context(), New(), r.req)
	if err != nil || a.Stop != reducer.StopToolUse || a.Items[1].ID != "demo_2" {
		t.Errorf("answer = %+v, %v, want another call with another id", a, err)
	}
}

func TestLargeResultsAreLoaded(t *testing.T) {
	ref := reducer.Ref{Digest: "sha256:x", Size: 99}
	req := provider.Request{
		Tools: []provider.Tool{{Name: "ls"}},
		Messages: []provider.Message{
			{Role: provider.RoleUser},
			{Role: provider.RoleAssistant, Items: []reducer.Item{{Type: reducer.ItemCall, Name: "ls"}}},
			{Role: provider.RoleResults, Results: []provider.Result{{Text: reducer.Text{Blob: ref}}}},
		},
		Load: func(reducer.Ref) ([]byte, error) { return []byte("list .\n[file] big.go\n"), nil },
	}
	a, err := provider.Collect(t.Context(), New(), req)
	if err != nil || !strings.Contains(a.Items[0].Text.Inline, "big.go") {
		t.Errorf("answer = %+v, %v, want the loaded name", a, err)
	}
	req.Load = func(reducer.Ref) ([]byte, error) { return nil, errors.New("gone") }
	if _, err := provider.Collect(t.Context(), New(), req); err == nil {
		t.Error("Stream() = nil, want the loader's error")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := provider.Collect(ctx, New(), provider.Request{})
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.KindCancelled {
		t.Errorf("Stream() = %v, want cancelled", err)
	}
}
