package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/reducer"
)

func decodeString(body string) (provider.Answer, *provider.Error) {
	var answer provider.Answer
	var failure *provider.Error
	DecodeResponse(Response{Body: strings.NewReader(body)}, func(c provider.Chunk, err error) bool {
		if done, ok := c.(provider.Done); ok {
			answer = done.Answer
		}
		errors.As(err, &failure)
		return true
	})
	return answer, failure
}

// Digits, order and spelling of what only the vendor reads stay as they came.
func TestOpaqueMembersStayVerbatim(t *testing.T) {
	a, e := decodeString(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","z":1e2, "extra_content":{"b":9007199254740993,"a":"\u00e9<&>"},"function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	if want := `{"z":1e2,"extra_content":{"b":9007199254740993,"a":"\u00e9<&>"}}`; e != nil || string(a.Items[0].Extra) != want {
		t.Errorf("extra = %s, %v, want %s", a.Items[0].Extra, e, want)
	}
}

func TestServedModel(t *testing.T) {
	a, _ := decodeString(`data: {"model":"","choices":[]}` + "\n\n" + `data: {"model":"real-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	if a.Served != "real-1" || a.Stop != reducer.StopEndTurn {
		t.Errorf("answer = %+v, want the model that answered", a)
	}
}

// A hostile server can't make the decoder slow or large.
func TestDecodeLimits(t *testing.T) {
	var calls, details strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&calls, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{}}]}}]}`+"\n\n", i)
		fmt.Fprintf(&details, `data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"index":%d}]}}]}`+"\n\n", i)
	}
	for _, body := range []string{calls.String(), details.String()} {
		if _, e := decodeString(body); e == nil || e.Kind != provider.KindBadResponse {
			t.Errorf("decode(%.80s…) = %v, want bad_response", body, e)
		}
	}
	r := Response{Body: strings.NewReader(`data: {"choices":[{"index":0,"delta":{"content":"more"}}]}` + "\n\n")}
	a := answer{emit: func(provider.Chunk) bool { return true }, size: wire.AnswerLimit - 2}
	if e := wire.Read(r, &a); e == nil || !errors.Is(e, errAnswerTooLong) {
		t.Errorf("decode beyond the limit = %v, want %v", e, errAnswerTooLong)
	}
}

// A reader that stops early hears nothing more.
func TestDecodeStops(t *testing.T) {
	n := 0
	DecodeResponse(Response{Body: strings.NewReader(strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n", 5))}, func(provider.Chunk, error) bool {
		n++
		return n < 2
	})
	if n != 2 {
		t.Errorf("chunks = %d, want 2", n)
	}
}
