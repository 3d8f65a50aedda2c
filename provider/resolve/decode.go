package resolve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/anthropic"
	"github.com/basisagent/basis/provider/gemini"
	"github.com/basisagent/basis/provider/openai"
	"github.com/basisagent/basis/provider/openai/responses"
	"github.com/basisagent/basis/reducer"
)

// inspectors read a recorded response on each wire.
var inspectors = map[string]func(openai.Response, func(provider.Chunk) bool) (provider.Answer, *provider.Error){
	provider.WireChat:      openai.Inspect,
	provider.WireResponses: responses.Inspect,
	provider.WireMessages:  anthropic.Inspect,
	provider.WireGemini:    gemini.Inspect,
}

// Wires are the names of the wires that are spoken, sorted.
func Wires() []string {
	var names []string
	for name := range inspectors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Decoded is what a recorded response is read as. Calls may be carried out only
// where Stop is tool_use; with any other they are evidence of what arrived.
type Decoded struct {
	Text       string         `json:"text"`
	Reasoning  bool           `json:"reasoning_present"`
	Calls      []DecodedCall  `json:"tool_calls"`
	Stop       reducer.Stop   `json:"stop"`
	StopRaw    *string        `json:"stop_raw"`
	Usage      DecodedUsage   `json:"usage"`
	ErrorClass *provider.Kind `json:"error_class"`
	Error      string         `json:"error,omitempty"`
}

// DecodedCall is one call. Arguments is null, and Raw set, where they are not
// one JSON document.
type DecodedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Raw       string          `json:"arguments_raw,omitempty"`
	ID        string          `json:"id,omitempty"`
}

// DecodedUsage is a usage in which what nobody reported is null.
type DecodedUsage struct {
	Input      reducer.Count `json:"input"`
	Output     reducer.Count `json:"output"`
	CacheRead  reducer.Count `json:"cache_read"`
	CacheWrite reducer.Count `json:"cache_write"`
	Reasoning  reducer.Count `json:"reasoning"`
}

// Decode reads a recorded response as a client of that wire would; a body that
// is compressed with gzip is unpacked first. It fails only for a wire that isn't
// spoken, and with a [*PackedError] for what can't be unpacked.
func Decode(wire string, status int, header map[string][]string, body io.Reader) (Decoded, error) {
	inspect, ok := inspectors[wire]
	if !ok {
		return Decoded{}, fmt.Errorf("no wire %q: use one of %s", wire, strings.Join(Wires(), ", "))
	}
	body, err := unpacked(header, body)
	if err != nil {
		return Decoded{}, err
	}
	a, failure := inspect(openai.Response{Status: status, Header: http.Header(header), Body: body}, func(provider.Chunk) bool { return true })
	d := Decoded{
		Stop: a.Stop, Calls: []DecodedCall{},
		Usage: DecodedUsage{a.Usage.Input, a.Usage.Output, a.Usage.CacheRead, a.Usage.CacheWrite, a.Usage.Reasoning},
	}
	if a.StopRaw != "" {
		d.StopRaw = &a.StopRaw
	}
	for _, it := range a.Items {
		d.add(it)
	}
	if failure != nil {
		d.ErrorClass, d.Error = &failure.Kind, failure.Message
		if d.Stop = reducer.StopError; failure.Kind == provider.KindCut {
			d.Stop = reducer.StopCut
		}
		if d.Text == "" {
			d.Text = failure.Partial
		}
	}
	return d, nil
}

func (d *Decoded) add(it reducer.Item) {
	switch it.Type {
	case reducer.ItemText:
		if !strings.Contains(string(it.Extra), `"refusal"`) {
			d.Text += it.Text.Inline
		}
	case reducer.ItemReasoning:
		d.Reasoning = true
	case reducer.ItemCall:
		c := DecodedCall{Name: it.Name, ID: it.ID, Arguments: json.RawMessage("{}")}
		switch args := it.Args.Inline; {
		case strings.TrimSpace(args) == "":
		case json.Valid([]byte(args)):
			c.Arguments = json.RawMessage(args)
		default:
			c.Arguments, c.Raw = json.RawMessage("null"), args
		}
		d.Calls = append(d.Calls, c)
	case reducer.ItemOther:
	}
}
