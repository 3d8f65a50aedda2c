package basis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// PROV-40 PROV-44: a task goes on through the next gateway where the first
// refuses, and the observer is told.
func TestGateways(t *testing.T) {
	bad := providertest.Script(t, providertest.Fail(401, "invalid_api_key", "no"))
	good := providertest.Script(t, providertest.Text("through the second"))
	var seen []string
	h, err := Open(Options{
		Dir: t.TempDir(), Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		Gateways:      []Gateway{{URL: bad.URL(), Key: provider.NewSecret("sk-canary-9")}, {URL: good.URL()}},
		GatewayPolicy: GatewayPolicy{Observe: func(e provider.RingEvent) { seen = append(seen, fmt.Sprintf("%T", e)) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ws := t.TempDir()
	out, err := h.Run(t.Context(), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{Model: "m"}}, Drive{})
	if err != nil || out.State.End.Result.String() != "through the second" {
		t.Fatalf("ended %+v, %v; want the second gateway's answer", out.State.End, err)
	}
	if want := []string{"provider.MemberFailed", "provider.Rotated"}; !slices.Equal(seen, want) {
		t.Errorf("observed %q, want %q", seen, want)
	}
	out, err = h.Run(t.Context(), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{Model: "m", Provider: "ollama"}}, Drive{})
	if err != nil || !strings.Contains(out.State.End.Error, "do not go with gateways") {
		t.Errorf("ended %+v, %v; want a refusal of the provider beside gateways", out.State.End, err)
	}
	_, err = Open(Options{Dir: t.TempDir(), Gateways: []Gateway{{URL: "nowhere"}}})
	if _, ok := errors.AsType[*OptionError](err); !ok {
		t.Errorf("Open with gateway nowhere = %v, want an *OptionError", err)
	}
}

// PROV-47: a gateway's key is a secret like any other: no way to print what
// holds it shows it, and a tool's result that has it in it is not recorded so.
func TestGatewayKeyIsHidden(t *testing.T) {
	const key = "sk-canary-99"
	s := providertest.Script(t, providertest.CallTool("read", `{"path":"notes"}`), providertest.Text("done"))
	ws := newWorkspace(t)
	if err := os.WriteFile(filepath.Join(ws, "notes"), []byte("the key is "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHome(t, Options{
		Dir: filepath.Join(t.TempDir(), "data"), MinFree: -1, Getenv: func(string) string { return "" },
		Gateways: []Gateway{{URL: s.URL(), Key: provider.NewSecret(key)}},
	})
	_, m, err := h.endpoint(reducer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := h.dial(provider.Choice{Wire: provider.WireChat, BaseURL: s.URL(), Key: provider.NewSecret(key)}, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []any{h, *h, h.o, h.o.Gateways, h.secrets(), m, client} {
		for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if got := fmt.Sprintf(f, x); strings.Contains(got, "canary") || strings.Contains(got, fmt.Sprintf("%x", key)) {
				t.Errorf("%s of a %T shows the key: %s", f, x, got)
			}
		}
	}
	out, err := h.Run(limited(t), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{Model: "m"}}, Drive{})
	h.ended(t, out, err)
	for _, name := range files(t, h.Dir()) {
		if data, err := os.ReadFile(filepath.Join(h.Dir(), name)); err == nil && strings.Contains(string(data), key) {
			t.Errorf("%s holds the key", name)
		}
	}
	if last := s.Requests()[1]; strings.Contains(string(last.Body), key) {
		t.Errorf("the model was sent the key: %s", last.Body)
	}
}
