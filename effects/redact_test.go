package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

const hushed = "sk-hush-1234"

// leaky is a tool and a model that repeat a credential wherever they can.
type leaky struct{}

func (leaky) Spec() Spec {
	return Spec{Name: "leak", Schema: json.RawMessage(`{}`), Class: reducer.ClassProcess, Lane: reducer.LaneExclusive}
}

func (leaky) Call(_ context.Context, in Invocation) (Result, error) {
	in.Progress("progress " + hushed)
	return Result{Output: "output " + hushed, Summary: "summary " + hushed}, fmt.Errorf("error %s", hushed)
}

func (leaky) Stream(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		e := &provider.Error{Kind: provider.KindServer, Message: "body " + hushed}
		if yield(provider.Retrying{Attempt: 1, Max: 2, Err: e}, nil) {
			yield(nil, e)
		}
	}
}

// told collects what an effect has to say.
type told struct {
	events   []reducer.Event
	progress []string
}

func (o *told) Report(events ...reducer.Event)          { o.events = append(o.events, events...) }
func (o *told) Progress(p reducer.Progress)             { o.progress = append(o.progress, p.Text) }
func (o *told) Put([]byte, string) (reducer.Ref, error) { return reducer.Ref{}, nil }
func (o *told) Get(reducer.Ref) ([]byte, error)         { return nil, nil }
func (o *told) Path(reducer.Ref) string                 { return "" }

// JRN-88: the value of a known secret is replaced by its name in whatever an
// effect reports or shows, before it becomes an event; what the model or a
// person said is left as it is.
func TestSecretsStayOutOfEvents(t *testing.T) {
	out := &told{}
	opened := reducer.WorkspaceOpened{Provider: "p", Model: "m", Wire: "w", SystemDigest: "s", System: reducer.T("sys")}
	p := NewPerformer(Options{
		Blobs:   out,
		Secrets: []Secret{{Name: "SOME_KEY", Value: hushed}, {Name: "SHORT", Value: "out"}},
		Open: func(context.Context, reducer.State) (Workspace, error) {
			return Workspace{Opened: opened, Model: leaky{}, Tools: []Tool{leaky{}}}, nil
		},
	})
	s := reducer.Fold(reducer.State{}, reducer.AgentCreated{Kind: reducer.KindTask}, reducer.AgentAttached{Gen: 2}, opened)
	s.Turn = reducer.Turn{ID: "t1", Round: "r1", Calls: []reducer.Call{{
		ID: "r1.c1", Name: "leak", Class: reducer.ClassProcess, Lane: reducer.LaneExclusive, Phase: reducer.PhaseStarted,
		Args: reducer.T(`{"typed":"` + hushed + `"}`),
	}}}
	p.Perform(t.Context(), s, reducer.OpenWorkspace{}, out)
	p.Perform(t.Context(), s, reducer.CallModel{Round: "r1"}, out)
	p.Perform(t.Context(), s, reducer.RunCall{Call: "r1.c1"}, out)
	var all strings.Builder
	for _, e := range out.events {
		_, data, err := reducer.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	all.WriteString(strings.Join(out.progress, "\n"))
	for _, word := range []string{"progress", "output", "summary", "error", "body"} {
		if !strings.Contains(all.String(), word+" [redacted:SOME_KEY]") {
			t.Errorf("reported %s, want %q with the name of the secret", all.String(), word)
		}
	}
	if strings.Contains(all.String(), hushed) {
		t.Errorf("reported %s, want no secret", all.String())
	}
	secret := Secret{Name: "SOME_KEY", Value: hushed}
	if shown := fmt.Sprintf("%v %+v %#v", secret, []Secret{secret}, p) + fmt.Sprintf("%+v %#v", p, p); strings.Contains(shown, hushed) {
		t.Errorf("a secret prints as %s", shown)
	}
}

// Of a value that begins with another one nothing is left.
func TestRedactorTakesTheLongest(t *testing.T) {
	r := NewRedactor([]Secret{{Name: "A", Value: "sk-shared"}, {Name: "B", Value: "sk-shared-and-more"}})
	if got, want := r.Replace("sk-shared-and-more sk-shared"), "[redacted:B] [redacted:A]"; got != want {
		t.Errorf("Replace = %q, want %q", got, want)
	}
}

// JRN-88: what is left of a secret at a cut is hidden too, wherever the cut falls
// in it, and nothing else of the text is touched.
func TestRedactorAtCuts(t *testing.T) {
	hide := NewRedactor([]Secret{{Name: "K", Value: hushed}, {Name: "J", Value: `a"quoted"secret`}})
	for n := range len(hushed) + 1 {
		begin, end := hushed[:n], hushed[n:]
		if n >= 4 {
			begin = "[redacted:K]"
		}
		if len(end) >= 4 {
			end = "[redacted:K]"
		}
		for _, mark := range [][2]string{{"…", "…"}, {"\n[truncated: 5 of 900 bytes", " left out here]\n"}, {"… [line of 3000 bytes]", "…"}} {
			text := "x " + hushed[:n] + mark[0] + mark[1] + hushed[n:] + " y"
			if got, want := hide.Replace(text), "x "+begin+mark[0]+mark[1]+end+" y"; got != want {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		`{"a":"a\"quo…`:     `{"a":"[redacted:J]…`,
		"sk-hush-12 no cut": "sk-hush-12 no cut",
		"one … two":         "one … two",
		"…":                 "…",
		hushed + "…":        "[redacted:K]…",
	} {
		if got := hide.Replace(text); got != want {
			t.Errorf("Replace(%q) = %q, want %q", text, got, want)
		}
	}
}

// JRN-88: a secret is known in every form in which it is written down: in JSON,
// and a line at a time, as progress comes.
func TestRedactorKnowsEverySpelling(t *testing.T) {
	hide := NewRedactor([]Secret{
		{Name: "P", Value: `pa"ss&<word>`},
		{Name: "K", Value: "-----BEGIN KEY-----\nhush-hush-hush-hush-1\r\nhush-hush-hush-hush-2\nab\n-----END KEY-----\n"},
	})
	for _, tt := range []struct{ text, want string }{
		{`x pa"ss&<word> y`, `x [redacted:P] y`},
		{`{"a":"pa\"ss&<word>"}`, `{"a":"[redacted:P]"}`},
		{`{"a":"pa\"ss\u0026\u003cword\u003e"}`, `{"a":"[redacted:P]"}`},
		{"stdout: hush-hush-hush-hush-1", "stdout: [redacted:K]"},
		{"stdout: hush-hush-hush-hush-2", "stdout: [redacted:K]"},
		{"-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		{"ab", "ab"},
	} {
		if got := hide.Replace(tt.text); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
