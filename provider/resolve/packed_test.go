package resolve_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider/resolve"
)

const packable = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"grüße\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// PROV-27: a recording as it came over the wire is unpacked, or named for what
// it is; one that was unpacked already is read as it stands.
func TestDecodePacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(packable)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, coding, body, text, packed string }{
		{name: "plain", body: packable, text: "grüße"},
		{name: "gzip", body: packed.String(), text: "grüße"},
		{name: "gzip by header", coding: "gzip", body: packed.String(), text: "grüße"},
		{name: "unpacked already", coding: "br", body: packable, text: "grüße"},
		{name: "identity", coding: "identity", body: packable, text: "grüße"},
		{name: "a character cut at the peek", coding: "br", body: strings.Repeat(":", 63) + "ü\n\n" + packable, text: "grüße"},
		{name: "brotli", coding: " BR ", body: "\x8b\x01\x80rest", packed: "br"},
		{name: "zstd", body: "\x28\xb5\x2f\xfdrest", packed: "zstd"},
		{name: "no gzip", body: "\x1f\x8b\x00", packed: "gzip"},
	} {
		header := map[string][]string{}
		if tt.coding != "" {
			header["Content-Encoding"] = []string{tt.coding}
		}
		d, err := resolve.Decode("openai-chat", 200, header, strings.NewReader(tt.body))
		e, isPacked := errors.AsType[*resolve.PackedError](err)
		if isPacked != (tt.packed != "") || isPacked && e.Coding != tt.packed || d.Text != tt.text {
			t.Errorf("%s: Decode = %q, %v, want %q or packed with %q", tt.name, d.Text, err, tt.text, tt.packed)
		}
	}
	// One that breaks off is a cut stream like any other.
	d, err := resolve.Decode("openai-chat", 200, nil, bytes.NewReader(packed.Bytes()[:packed.Len()/2]))
	if err != nil || d.ErrorClass == nil {
		t.Errorf("a gzip body that breaks off = %+v, %v, want an error class", d, err)
	}
}
