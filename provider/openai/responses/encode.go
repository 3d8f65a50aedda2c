package responses

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// efforts are the tiers that the wire knows (PROV-14).
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// encoder makes request bodies, the unchanged beginning of a conversation once.
type encoder struct {
	prefix wire.Prefix
	source reducer.Provenance
}

// encode makes the body of req.
func (e *encoder) encode(req provider.Request, source reducer.Provenance) (wire.Body, error) {
	if req.Effort != "" && !slices.Contains(efforts, req.Effort) {
		return wire.Body{}, &provider.Error{
			Kind:    provider.KindInvalid,
			Message: fmt.Sprintf("effort %q for model %s: use %s", req.Effort, req.Model, strings.Join(efforts, ", ")),
		}
	}
	if e.source != source {
		e.prefix, e.source = wire.Prefix{}, source // what is opaque goes to its own maker only
	}
	ids := assignIDs(req.Messages, source)
	pieces := make([]wire.Piece, len(req.Messages))
	for i, m := range req.Messages {
		pieces[i] = wire.Piece{Key: m.Key, Append: func(dst []byte) ([]byte, error) { return e.message(dst, req, i, ids) }}
	}
	return e.prefix.Encode(appendHead(nil, req), pieces, "]}", nil)
}

// assignIDs gives each call of the conversation an id of its own, by message.
func assignIDs(messages []provider.Message, source reducer.Provenance) [][]string {
	ids := wire.IDs{Seen: map[string]bool{}}
	all := make([][]string, len(messages))
	for i, m := range messages {
		for _, call := range wire.Calls(m.Items) {
			id, _ := ids.Assign(call.ID, m.Source == source)
			all[i] = append(all[i], id)
		}
	}
	return all
}

// appendHead writes everything up to the first item. Nothing is stored at the
// vendor, so a model that reasons is asked for its reasoning in encrypted form.
func appendHead(dst []byte, req provider.Request) []byte {
	dst = wirejson.AppendString(append(dst, `{"model":`...), req.Model)
	dst = append(dst, `,"store":false,"stream":true`...)
	if req.Effort != "" || reasons(req.Model) {
		dst = append(dst, `,"include":["reasoning.encrypted_content"]`...)
	}
	if req.Effort != "" {
		dst = append(wirejson.AppendString(append(dst, `,"reasoning":{"effort":`...), req.Effort), '}')
	}
	if req.MaxOutput > 0 {
		dst = strconv.AppendInt(append(dst, `,"max_output_tokens":`...), int64(req.MaxOutput), 10)
	}
	for i, t := range req.Tools {
		open := `,{"type":"function","name":`
		if i == 0 {
			open = `,"tools":[{"type":"function","name":`
		}
		dst = wirejson.AppendString(append(dst, open...), t.Name)
		if t.Description != "" {
			dst = wirejson.AppendString(append(dst, `,"description":`...), t.Description)
		}
		dst = append(append(append(dst, `,"parameters":`...), t.Schema...), `,"strict":false}`...)
	}
	if len(req.Tools) > 0 {
		dst = append(dst, ']')
	}
	if req.System != "" {
		dst = wirejson.AppendString(append(dst, `,"instructions":`...), req.System)
	}
	return append(dst, `,"input":[`...)
}

// reasoners are the beginnings of the names of models that reason.
var reasoners = []string{"gpt-5", "gpt-6", "o1", "o3", "o4", "codex"}

func reasons(model string) bool {
	return slices.ContainsFunc(reasoners, func(p string) bool { return strings.HasPrefix(model, p) })
}

// message appends the items of the i-th message, if it has anything to say.
func (e *encoder) message(dst []byte, req provider.Request, i int, ids [][]string) ([]byte, error) {
	m := req.Messages[i]
	switch m.Role {
	case provider.RoleUser:
		if i > 0 {
			dst = standIns(dst, wire.Calls(req.Messages[i-1].Items), ids[i-1])
		}
		return user(dst, req, m)
	case provider.RoleAssistant:
		return e.assistant(dst, req, m, ids[i])
	case provider.RoleResults:
		if i == 0 || len(ids[i-1]) == 0 {
			return dst, nil // results without calls say nothing that a server takes
		}
		return results(dst, req, i, ids[i-1])
	}
	return dst, fmt.Errorf("encode message %d: unknown role %q", i, m.Role)
}

// standIns answers calls whose results are lost.
func standIns(dst []byte, calls []reducer.Item, ids []string) []byte {
	for n, id := range ids {
		dst = appendOutput(dst, calls[n], id, wire.Unanswered)
	}
	return dst
}

func user(dst []byte, req provider.Request, m provider.Message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"type":"message","role":"user","content":[`...)
	begun := len(dst)
	for _, part := range m.Parts {
		if part.Type == reducer.PartImage {
			data, err := wire.LoadBlob(req, part.Image)
			if err != nil {
				return dst, err
			}
			dst = append(append(dst, `{"type":"input_image","image_url":"data:`...), part.Image.Media...)
			dst = base64.StdEncoding.AppendEncode(append(dst, ";base64,"...), data)
			dst = append(dst, `"},`...)
			continue
		}
		text, err := wire.Load(req, part.Text)
		if err != nil {
			return dst, err
		}
		dst = append(wirejson.AppendString(append(dst, `{"type":"input_text","text":`...), text), "},"...)
	}
	if len(dst) == begun {
		return dst[:start], nil
	}
	return append(dst[:len(dst)-1], "]},"...), nil
}

// assistant writes an answer's items again. What only its maker can read goes
// back to its maker alone.
func (e *encoder) assistant(dst []byte, req provider.Request, m provider.Message, ids []string) ([]byte, error) {
	own := m.Source == e.source
	for n := 0; n < len(m.Items); n++ {
		it := m.Items[n]
		var err error
		switch it.Type {
		case reducer.ItemText:
			last := n
			for own && last+1 < len(m.Items) && sameMessage(it, m.Items[last+1]) {
				last++
			}
			dst, err = appendMessage(dst, req, m.Items[n:last+1], own)
			n = last
		case reducer.ItemCall:
			dst, err = appendCall(dst, req, it, ids[0], own)
			ids = ids[1:]
		case reducer.ItemReasoning:
			if own {
				dst, err = appendReasoning(dst, req, it)
			}
		case reducer.ItemOther:
			if own && pick(it.Extra, "type") != nil {
				dst = append(append(dst, without(it.Extra, "id")...), ',')
			}
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// sameMessage reports whether two texts are parts of one message.
func sameMessage(a, b reducer.Item) bool {
	id := pick(a.Extra, "id")
	return b.Type == reducer.ItemText && id != nil && string(id) == string(pick(b.Extra, "id"))
}

// appendMessage writes the parts of one message. Empty parts are left out.
func appendMessage(dst []byte, req provider.Request, parts []reducer.Item, own bool) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"type":"message","role":"assistant"`...)
	if phase := pick(parts[0].Extra, "phase"); own && phase != nil {
		dst = append(append(dst, `,"phase":`...), phase...)
	}
	dst = append(dst, `,"content":[`...)
	begun := len(dst)
	for _, p := range parts {
		text, err := wire.Load(req, p.Text)
		if err != nil {
			return dst, err
		}
		if text == "" {
			continue
		}
		if own && isRefusal(p.Extra) {
			dst = append(wirejson.AppendString(append(dst, `{"type":"refusal","refusal":`...), text), "},"...)
			continue
		}
		dst = wirejson.AppendString(append(dst, `{"type":"output_text","text":`...), text)
		if notes := pick(p.Extra, "annotations"); own && notes != nil {
			dst = append(append(dst, `,"annotations":`...), notes...)
		}
		dst = append(dst, "},"...)
	}
	if len(dst) == begun {
		return dst[:start], nil
	}
	return append(dst[:len(dst)-1], "]},"...), nil
}

// appendReasoning writes a reasoning item that the vendor can read. One that
// was never encrypted is known to nobody once it isn't stored.
func appendReasoning(dst []byte, req provider.Request, it reducer.Item) ([]byte, error) {
	sealed := pick(it.Extra, "encrypted_content")
	if sealed == nil {
		return dst, nil
	}
	dst = append(dst, `{"type":"reasoning","summary":`...)
	text, err := wire.Load(req, it.Text)
	if err != nil {
		return dst, err
	}
	dst = appendSummary(dst, text, it.Extra)
	return append(append(append(dst, `,"encrypted_content":`...), sealed...), "},"...), nil
}

// appendSummary writes the summary of a reasoning item as it came.
func appendSummary(dst []byte, text string, extra []byte) []byte {
	if pick(extra, "field") != nil { // the words are no summary
		if summary := pick(extra, "summary"); summary != nil {
			return append(dst, summary...)
		}
		return append(dst, `[]`...)
	}
	if text == "" {
		return append(dst, `[]`...)
	}
	for i, part := range split(text, pick(extra, "parts")) {
		open := `,{"type":"summary_text","text":`
		if i == 0 {
			open = `[{"type":"summary_text","text":`
		}
		dst = append(wirejson.AppendString(append(dst, open...), part), '}')
	}
	return append(dst, ']')
}

func appendCall(dst []byte, req provider.Request, it reducer.Item, id string, own bool) ([]byte, error) {
	args, err := wire.Load(req, it.Args)
	if err != nil {
		return dst, err
	}
	if kind := callKind(it); own && kind != "function_call" {
		dst = wirejson.AppendString(append(dst, `{"type":`...), kind)
		dst = wirejson.AppendString(append(dst, `,"call_id":`...), id)
		if it.Name != kind {
			dst = wirejson.AppendString(append(dst, `,"name":`...), it.Name)
		}
		dst = append(wirejson.AppendString(append(dst, ','), clientCalls[kind]), ':')
		if !wirejson.Valid([]byte(args)) {
			args = "null"
		}
		return append(append(dst, args...), "},"...), nil
	}
	dst = wirejson.AppendString(append(dst, `{"type":"function_call","call_id":`...), id)
	dst = wirejson.AppendString(append(dst, `,"name":`...), wire.ToolName(it.Name))
	dst = wirejson.AppendString(append(dst, `,"arguments":`...), wire.Arguments(args))
	if space := pick(it.Extra, "namespace"); own && space != nil {
		dst = append(append(dst, `,"namespace":`...), space...)
	}
	return append(dst, "},"...), nil
}

// callKind is the type of the item that a call came in.
func callKind(it reducer.Item) string {
	c := wirejson.NewCursor(pick(it.Extra, "type"))
	if kind := c.String(); clientCalls[kind] != "" {
		return kind
	}
	return "function_call"
}

// results writes the result of each call, in call order.
func results(dst []byte, req provider.Request, i int, ids []string) ([]byte, error) {
	calls := wire.Calls(req.Messages[i-1].Items)
	for n, r := range wire.Match(calls, req.Messages[i].Results) {
		text := wire.Unanswered
		if r != nil {
			var err error
			if text, err = wire.Load(req, r.Text); err != nil {
				return dst, err
			}
			if r.IsError {
				text = "Tool error: " + text
			}
		}
		dst = appendOutput(dst, calls[n], ids[n], text)
	}
	return dst, nil
}

// appendOutput writes a result under the type that belongs to its call's.
func appendOutput(dst []byte, call reducer.Item, id, text string) []byte {
	dst = wirejson.AppendString(append(dst, `{"type":`...), callKind(call)+"_output")
	dst = wirejson.AppendString(append(dst, `,"call_id":`...), id)
	return append(wirejson.AppendString(append(dst, `,"output":`...), text), "},"...)
}

// pick is one member of a JSON object, nil if it isn't there.
func pick(object []byte, name string) []byte {
	var value []byte
	c := wirejson.NewCursor(object)
	c.Object(func(key []byte) {
		if string(key) == name {
			value = c.Raw()
		}
	})
	return value
}

// without is an object less one member.
func without(object []byte, name string) []byte {
	return whole(object, name)
}
