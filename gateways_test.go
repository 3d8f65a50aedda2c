package basis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
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
