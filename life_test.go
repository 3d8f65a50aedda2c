package basis

import (
	"os"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// The run that docs/life-of-a-prompt.md shows is the run that happens (JRN-15, JRN-26: one batch a step).
func TestLifeOfAPrompt(t *testing.T) {
	data, err := os.ReadFile("docs/life-of-a-prompt.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(data)) {
		if commit, ok := strings.CutPrefix(line, "[ "); ok {
			commit, _, _ = strings.Cut(commit, " ]")
			want = append(want, strings.NewReplacer("°", "", "^", "").Replace(commit))
		}
	}
	l := newLife(t, reducer.AgentCreated{
		Kind: reducer.KindTask, ID: "a", Conversation: "a", Workspace: "/w",
		Prompt:  []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go")}},
		Options: reducer.Options{Approve: reducer.ApprovePrompt},
	}, scriptedModel{rounds: []provider.Answer{
		answer("", call("read", `{}`), call("read", `{}`), call("spawn", `{}`), call("edit", `{"x":"fail"}`)),
		answer("done"),
	}})
	if err := l.attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := [][]string{append(l.disk.commits[0], l.disk.commits[1]...)}
	got = append(got, l.disk.commits[2:]...)
	if len(got) == len(want)-1 { // both reads arrived together
		want = append(want[:3:3], append([]string{"call.settled " + want[4]}, want[5:]...)...)
	}
	for i, w := range want {
		if i >= len(got) || strings.Join(got[i], " ") != w {
			t.Fatalf("commit %d = %q, want %q\n%s", i+1, got[min(i, len(got)-1)], w, l.dump())
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d commits, want %d", len(got), len(want))
	}
}
