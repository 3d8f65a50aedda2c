package provider_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
)

// PROV-47: a credential shows in no verb, no log line and no JSON.
func TestSecretNeverShows(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	type holder struct {
		Key  provider.Secret
		Keys []provider.Secret
		Map  map[string]provider.Secret
	}
	h := holder{provider.NewSecret(" " + key + "\n"), []provider.Secret{provider.NewSecret(key)}, map[string]provider.Secret{"k": provider.NewSecret(key)}}
	var shown strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s", "%T"} {
		fmt.Fprintf(&shown, verb+"\n", h)
		fmt.Fprintf(&shown, verb+"\n", &h)
		fmt.Fprintf(&shown, verb+"\n", h.Key)
		fmt.Fprintf(&shown, verb+"\n", &h.Key)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(data)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("x", slog.Any("h", h), slog.Any("k", h.Key))
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("x", slog.Any("h", h), slog.Any("k", h.Key))
	for _, leak := range []string{key, "very", fmt.Sprintf("%x", key), strings.ToUpper(fmt.Sprintf("%x", key))} {
		if strings.Contains(shown.String(), leak) {
			t.Errorf("formatted secret contains %q:\n%s", leak, shown.String())
		}
	}
	if got := h.Key.Reveal(); got != key {
		t.Errorf("Reveal() = %q, want %q", got, key)
	}
	if got := h.Key.Redact("bad key " + key + "!"); got != "bad key [redacted]!" {
		t.Errorf("Redact() = %q, want the key replaced", got)
	}
	for n := 4; n <= len(key); n++ {
		if got := h.Key.Redact("bad key " + key[:n] + "…"); got != "bad key [redacted]…" {
			t.Errorf("cut after %d bytes: %q, want nothing of the key", n, got)
		}
	}
	if got := provider.NewSecret("e").Redact("refused"); got != "refused" {
		t.Errorf("Redact() = %q, want a placeholder's letters kept", got)
	}
	if got := (provider.Secret{}).String(); got != "" {
		t.Errorf("String() of no secret = %q, want none", got)
	}
}
