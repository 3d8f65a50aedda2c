package gemini

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// skipSignature stands on the first call of an answer that another model gave:
// newer models refuse a call of theirs without a signature, and documents of
// the vendor name this one for calls that have none.
const skipSignature = "skip_thought_signature_validator"

// encoder makes request bodies, the unchanged beginning of a conversation once.
type encoder struct {
	prefix wire.Prefix
	source reducer.Provenance
}

// encode makes the body of req. The model is in the address.
func (e *encoder) encode(req provider.Request, source reducer.Provenance) (wire.Body, error) {
	head, err := appendHead(nil, req)
	if err != nil {
		return wire.Body{}, err
	}
	if e.source != source {
		e.prefix, e.source = wire.Prefix{}, source // what is opaque goes to its own maker only
	}
	pieces := make([]wire.Piece, len(req.Messages))
	for i, m := range req.Messages {
		pieces[i] = wire.Piece{Key: m.Key, Append: func(dst []byte) ([]byte, error) { return e.message(dst, req, i) }}
	}
	return e.prefix.Encode(head, pieces, "]}", nil)
}

// appendHead writes everything up to the first content.
func appendHead(dst []byte, req provider.Request) ([]byte, error) {
	dst = append(dst, '{')
	if req.System != "" {
		dst = wirejson.AppendString(append(dst, `"systemInstruction":{"parts":[{"text":`...), req.System)
		dst = append(dst, `}]},`...)
	}
	for i, t := range req.Tools {
		open := `,{"name":`
		if i == 0 {
			open = `"tools":[{"functionDeclarations":[{"name":`
		}
		dst = wirejson.AppendString(append(dst, open...), t.Name)
		if t.Description != "" {
			dst = wirejson.AppendString(append(dst, `,"description":`...), t.Description)
		}
		dst = append(append(append(dst, `,"parametersJsonSchema":`...), t.Schema...), '}')
	}
	if len(req.Tools) > 0 {
		dst = append(dst, `]}],`...)
	}
	dst, err := appendConfig(dst, req)
	return append(dst, `"contents":[`...), err
}

// appendConfig writes the settings of the generation, if there are any.
func appendConfig(dst []byte, req provider.Request) ([]byte, error) {
	var settings []string
	if req.MaxOutput > 0 {
		settings = append(settings, `"maxOutputTokens":`+strconv.Itoa(req.MaxOutput))
	}
	switch {
	case req.Effort == "":
	case !strings.HasPrefix(strings.TrimPrefix(req.Model, "models/"), "gemini-3"):
		return dst, refuseEffort(req, "takes none; leave out --effort")
	case req.Effort != "low" && req.Effort != "medium" && req.Effort != "high":
		return dst, refuseEffort(req, "takes low, medium, high")
	default:
		settings = append(settings, `"thinkingConfig":{"thinkingLevel":"`+req.Effort+`"}`)
	}
	if len(settings) == 0 {
		return dst, nil
	}
	return append(dst, `"generationConfig":{`+strings.Join(settings, ",")+`},`...), nil
}

// refuseEffort: a tier that a model doesn't take is refused by name (PROV-16).
func refuseEffort(req provider.Request, why string) error {
	return &provider.Error{Kind: provider.KindInvalid, Message: fmt.Sprintf("effort %q: model %s %s", req.Effort, req.Model, why)}
}

// message appends the i-th message, if it has anything to say.
func (e *encoder) message(dst []byte, req provider.Request, i int) ([]byte, error) {
	m := req.Messages[i]
	switch m.Role {
	case provider.RoleUser:
		if i > 0 {
			if calls := wire.Calls(req.Messages[i-1].Items); len(calls) > 0 {
				var err error
				if dst, err = appendResults(dst, req, calls, nil); err != nil {
					return dst, err
				}
			}
		}
		return user(dst, req, m)
	case provider.RoleAssistant:
		return e.assistant(dst, req, m)
	case provider.RoleResults:
		if i == 0 {
			return dst, nil
		}
		return appendResults(dst, req, wire.Calls(req.Messages[i-1].Items), m.Results)
	}
	return dst, fmt.Errorf("encode message %d: unknown role %q", i, m.Role)
}

func user(dst []byte, req provider.Request, m provider.Message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"role":"user","parts":[`...)
	begun := len(dst)
	for _, part := range m.Parts {
		if part.Type == reducer.PartImage {
			data, err := wire.LoadBlob(req, part.Image)
			if err != nil {
				return dst, err
			}
			dst = wirejson.AppendString(append(dst, `{"inlineData":{"mimeType":`...), part.Image.Media)
			dst = base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), data)
			dst = append(dst, `"}},`...)
			continue
		}
		text, err := wire.Load(req, part.Text)
		switch {
		case err != nil:
			return dst, err
		case text == "":
			continue // a part that says nothing is refused
		}
		dst = append(wirejson.AppendString(append(dst, `{"text":`...), text), "},"...)
	}
	return closeContent(dst, start, begun), nil
}

// closeContent ends a content that began at start, or takes it back if it has
// no parts.
func closeContent(dst []byte, start, begun int) []byte {
	if len(dst) == begun {
		return dst[:start]
	}
	return append(dst[:len(dst)-1], "]},"...)
}

// assistant writes an answer part by part, with what each part carried. What
// only its maker can read goes back to its maker alone.
func (e *encoder) assistant(dst []byte, req provider.Request, m provider.Message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"role":"model","parts":[`...)
	begun := len(dst)
	own, first := m.Source == e.source, true
	for _, it := range m.Items {
		extra := it.Extra
		if !own {
			extra = nil
		}
		var err error
		switch it.Type {
		case reducer.ItemText:
			dst, err = appendText(dst, req, it, extra, "")
		case reducer.ItemReasoning:
			if own {
				dst, err = appendText(dst, req, it, extra, `"thought":true,`)
			}
		case reducer.ItemCall:
			if first && !own {
				extra = []byte(`{"thoughtSignature":"` + skipSignature + `"}`)
			}
			first = false
			dst, err = appendCall(dst, req, it, extra)
		case reducer.ItemOther:
			if own && len(it.Extra) > len("{}") {
				dst = append(append(dst, it.Extra...), ',')
			}
		}
		if err != nil {
			return dst, err
		}
	}
	return closeContent(dst, start, begun), nil
}

func appendText(dst []byte, req provider.Request, it reducer.Item, extra []byte, flag string) ([]byte, error) {
	text, err := wire.Load(req, it.Text)
	if err != nil || (text == "" && len(extra) == 0) {
		return dst, err
	}
	dst = wirejson.AppendString(append(append(append(dst, '{'), flag...), `"text":`...), text)
	return append(wire.AppendMembers(dst, extra), "},"...), nil
}

func appendCall(dst []byte, req provider.Request, it reducer.Item, extra []byte) ([]byte, error) {
	args, err := wire.Load(req, it.Args)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"functionCall":{`...)
	if it.ID != "" {
		dst = append(wirejson.AppendString(append(dst, `"id":`...), it.ID), ',')
	}
	dst = wirejson.AppendString(append(dst, `"name":`...), wire.ToolName(it.Name))
	dst = append(append(append(dst, `,"args":`...), wire.Arguments(args)...), '}')
	return append(wire.AppendMembers(dst, extra), "},"...), nil
}

// appendResults writes one response per call, in the number and the order of
// the calls.
func appendResults(dst []byte, req provider.Request, calls []reducer.Item, results []provider.Result) ([]byte, error) {
	if len(calls) == 0 {
		return dst, nil // results without calls say nothing that a server takes
	}
	dst = append(dst, `{"role":"user","parts":[`...)
	for n, r := range wire.Match(calls, results) {
		text, word := wire.Unanswered, "error"
		if r != nil {
			var err error
			if text, err = wire.Load(req, r.Text); err != nil {
				return dst, err
			}
			if !r.IsError {
				word = "output"
			}
		}
		dst = append(dst, `{"functionResponse":{`...)
		if calls[n].ID != "" {
			dst = append(wirejson.AppendString(append(dst, `"id":`...), calls[n].ID), ',')
		}
		dst = wirejson.AppendString(append(dst, `"name":`...), wire.ToolName(calls[n].Name))
		dst = append(wirejson.AppendString(append(dst, `,"response":{`...), word), ':')
		dst = append(wirejson.AppendString(dst, text), `}}},`...)
	}
	return append(dst[:len(dst)-1], "]},"...), nil
}
