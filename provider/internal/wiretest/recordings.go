// Package wiretest checks decoders against recorded responses of real servers.
// A recording is a folder with case.json, which says what the response must be
// read as, and one body file.
package wiretest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/reducer"
)

// recording is one recorded response and what it must be read as.
type recording struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Cuts    []int             `json:"transport_chunks"`
	Expect  struct {
		Text        string           `json:"text"`
		Reasoning   bool             `json:"reasoning_present"`
		Chars       int              `json:"reasoning_chars"`
		SHA         *string          `json:"reasoning_text_sha256"`
		Opaque      map[string]int   `json:"opaque"`
		Calls       []recordedCall   `json:"tool_calls"`
		Stop        string           `json:"stop"`
		StopRaw     *string          `json:"stop_raw"`
		Usage       map[string]*int  `json:"usage"`
		Class       *string          `json:"error_class"`
		Refusal     string           `json:"refusal_text"`
		Alternative map[string][]any `json:"alternatives"`
	} `json:"expect"`

	body []byte
}

type recordedCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
	Raw  string          `json:"arguments_raw"`
	ID   string          `json:"id"`
}

// Vendor is what a wire's tests bring.
type Vendor struct {
	// Inspect reads a response and hands its deltas to emit.
	Inspect func(r wire.Response, emit func(provider.Chunk) bool) (provider.Answer, *provider.Error)
	// Opaque counts the pieces of an item that must be sent back unchanged, by
	// the names that the recordings use. Nil counts none.
	Opaque func(item reducer.Item, count map[string]int)
}

// Corpus checks the recordings of a wire in the corpus that BASIS_CORPUS
// names, and says so if there is none.
func Corpus(t *testing.T, name string, v Vendor) {
	t.Helper()
	root := os.Getenv("BASIS_CORPUS")
	if root == "" {
		t.Log("not run: BASIS_CORPUS names no corpus")
		return
	}
	Recordings(t, filepath.Join(root, "providers", name), v)
}

// Recordings decodes every case below dir, whole and cut in every way that a
// network cuts, and compares with what it must be read as.
func Recordings(t *testing.T, dir string, v Vendor) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no case in %s: %v", dir, err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			rec := loadRecording(t, path)
			for name, body := range map[string]io.Reader{
				"whole":        bytes.NewReader(rec.body),
				"byte by byte": iotest.OneByteReader(bytes.NewReader(rec.body)),
				"halves":       iotest.HalfReader(bytes.NewReader(rec.body)),
				"end with it":  iotest.DataErrReader(bytes.NewReader(rec.body)),
				"as recorded":  newCutReader(rec.body, rec.Cuts),
				"at random":    newCutReader(rec.body, randomCuts(len(rec.body))),
			} {
				t.Run(name, func(t *testing.T) { rec.check(t, v, body) })
			}
		})
	}
}

func loadRecording(t *testing.T, path string) recording {
	t.Helper()
	var rec recording
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	bodies, err := filepath.Glob(filepath.Join(filepath.Dir(path), "body.*"))
	if err != nil || len(bodies) != 1 {
		t.Fatalf("bodies beside %s = %v, %v, want one", path, bodies, err)
	}
	if rec.body, err = os.ReadFile(bodies[0]); err != nil {
		t.Fatal(err)
	}
	return rec
}

func randomCuts(n int) []int {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	cuts := []int{}
	for at := 0; at < n; at += 1 + rnd.IntN(97) {
		cuts = append(cuts, at)
	}
	return cuts
}

// cutReader returns data in pieces that end at given offsets.
type cutReader struct {
	data []byte
	cuts []int
	pos  int
}

func newCutReader(data []byte, cuts []int) *cutReader { return &cutReader{data: data, cuts: cuts} }

func (r *cutReader) Read(p []byte) (int, error) {
	if r.pos == len(r.data) {
		return 0, io.EOF
	}
	end := len(r.data)
	for _, c := range r.cuts {
		if c > r.pos && c < end {
			end = c
			break
		}
	}
	n := copy(p, r.data[r.pos:end])
	r.pos += n
	return n, nil
}

// check decodes body and compares. Calls of a cut stream are evidence that the
// public answer doesn't have, so the inside is looked at.
func (rec *recording) check(t *testing.T, v Vendor, body io.Reader) {
	t.Helper()
	header := http.Header{}
	for k, v := range rec.Headers {
		header.Set(k, v)
	}
	r := wire.Response{Status: rec.Status, Header: header, Body: body}
	var shown, thought strings.Builder
	got, failure := v.Inspect(r, func(c provider.Chunk) bool {
		switch c := c.(type) {
		case provider.TextDelta:
			shown.WriteString(c.Text)
		case provider.ReasoningDelta:
			thought.WriteString(c.Text)
		case provider.Sent: // voids what came before it
			shown.Reset()
			thought.Reset()
		case provider.CallDelta, provider.Retrying, provider.Done:
		}
		return true
	})
	want := rec.Expect
	if s := want.Text + want.Refusal; shown.String() != s {
		t.Errorf("text deltas = %q, want %q", shown.String(), s)
	}
	rec.checkEnd(t, got, failure)
	rec.checkReasoning(t, v, got, thought.String())
	rec.checkCalls(t, got)
	rec.checkUsage(t, got.Usage)
}

func (rec *recording) checkEnd(t *testing.T, got provider.Answer, failure *provider.Error) {
	t.Helper()
	class, want := "", ""
	if failure != nil {
		class = string(failure.Kind)
	}
	if rec.Expect.Class != nil {
		want = *rec.Expect.Class
	}
	if class != want {
		t.Errorf("error kind = %q (%v), want %q", class, failure, want)
	}
	if failure == nil && string(got.Stop) != rec.Expect.Stop {
		t.Errorf("stop = %q, want %q", got.Stop, rec.Expect.Stop)
	}
	if rec.Expect.StopRaw != nil && got.StopRaw != *rec.Expect.StopRaw {
		t.Errorf("raw stop = %q, want %q", got.StopRaw, *rec.Expect.StopRaw)
	}
}

func (rec *recording) checkReasoning(t *testing.T, v Vendor, got provider.Answer, shown string) {
	t.Helper()
	text, present, opaque := "", false, map[string]int{}
	for _, item := range got.Items {
		if item.Type == reducer.ItemReasoning {
			text, present = text+item.Text.Inline, true
		}
		if v.Opaque != nil {
			v.Opaque(item, opaque)
		}
	}
	if text != shown {
		t.Errorf("reasoning item = %q, but the deltas say %q", text, shown)
	}
	if present != rec.Expect.Reasoning || utf8.RuneCountInString(text) != rec.Expect.Chars {
		t.Errorf("reasoning = %v, %d characters, want %v, %d", present, utf8.RuneCountInString(text), rec.Expect.Reasoning, rec.Expect.Chars)
	}
	sum := sha256.Sum256([]byte(text))
	if want := rec.Expect.SHA; want != nil && hex.EncodeToString(sum[:])[:16] != *want {
		t.Errorf("reasoning %q has another digest than %s", text, *want)
	}
	if !cmp.Equal(opaque, rec.Expect.Opaque) && len(opaque)+len(rec.Expect.Opaque) > 0 {
		t.Errorf("opaque = %v, want %v", opaque, rec.Expect.Opaque)
	}
}

func (rec *recording) checkCalls(t *testing.T, got provider.Answer) {
	t.Helper()
	var calls []recordedCall
	for _, item := range got.Items {
		if item.Type != reducer.ItemCall {
			continue
		}
		c := recordedCall{Name: item.Name, ID: item.ID, Raw: item.Args.Inline}
		switch {
		case c.Raw == "":
			c.Args = json.RawMessage("{}")
		case json.Valid([]byte(c.Raw)):
			c.Args = json.RawMessage(c.Raw)
		}
		calls = append(calls, c)
	}
	same := func(a, b recordedCall) bool {
		if a.Name != b.Name || a.ID != b.ID {
			return false
		}
		if b.Raw != "" {
			return a.Raw == b.Raw
		}
		var x, y any
		return json.Unmarshal(a.Args, &x) == nil && json.Unmarshal(b.Args, &y) == nil && cmp.Equal(x, y)
	}
	if !slices.EqualFunc(calls, rec.Expect.Calls, same) {
		t.Errorf("calls = %+v, want %+v", calls, rec.Expect.Calls)
	}
}

func (rec *recording) checkUsage(t *testing.T, got reducer.Usage) {
	t.Helper()
	for name, count := range map[string]reducer.Count{
		"input": got.Input, "output": got.Output, "cache_read": got.CacheRead, "cache_write": got.CacheWrite, "reasoning": got.Reasoning,
	} {
		n, known := count.Get()
		want := rec.Expect.Usage[name]
		if (want != nil) == known && (want == nil || int64(*want) == n) {
			continue
		}
		if known && slices.Contains(rec.Expect.Alternative["usage."+name], any(float64(n))) {
			continue
		}
		t.Errorf("usage %s = %d (known %v), want %v", name, n, known, show(want))
	}
}

func show(n *int) any {
	if n == nil {
		return "unknown"
	}
	return *n
}
