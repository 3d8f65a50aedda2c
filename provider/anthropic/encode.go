package anthropic

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

// mark tells the server to keep what stands before it in its cache. One stands
// on the last tool, one on the system text and one on the last message: the
// order of what is cached is tools, system, messages.
const mark = `"cache_control":{"type":"ephemeral"}`

// encoder makes request bodies, the unchanged beginning of a conversation once.
type encoder struct {
	prefix wire.Prefix
	source reducer.Provenance
	seals  wire.Seals
}

// refuse gives up what the vendor can't read; false if there was nothing.
func (e *encoder) refuse(req provider.Request, source reducer.Provenance) bool {
	if !e.seals.Refuse(req.Messages, source) {
		return false
	}
	e.prefix = wire.Prefix{}
	return true
}

// encode makes the body of req. The mark on the last message stands behind the
// bytes that are kept, so the next request begins with the same ones.
func (e *encoder) encode(req provider.Request, source reducer.Provenance) (wire.Body, error) {
	head, err := appendHead(nil, req)
	if err != nil {
		return wire.Body{}, err
	}
	if e.source != source {
		e.prefix, e.source = wire.Prefix{}, source // what is opaque goes to its own maker only
	}
	assigned := assignIDs(req.Messages, source)
	pieces := make([]wire.Piece, len(req.Messages))
	for i, m := range req.Messages {
		pieces[i] = wire.Piece{Key: m.Key, Append: func(dst []byte) ([]byte, error) {
			return e.message(dst, req, i, assigned)
		}}
	}
	return e.prefix.Encode(head, pieces, "]}", markLast(req.Messages))
}

// markLast puts the mark into the last block of a user's message. Answers can
// end with blocks that take none.
func markLast(messages []provider.Message) func(front []byte) (keep int, back string) {
	if n := len(messages); n == 0 || messages[n-1].Role == provider.RoleAssistant {
		return nil
	}
	return func(front []byte) (keep int, back string) {
		const end = `}]}`
		if at := len(front) - len(end); at >= 0 && string(front[at:]) == end {
			return at, "," + mark + end
		}
		return len(front), ""
	}
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

// appendHead writes everything up to the first message.
func appendHead(dst []byte, req provider.Request) ([]byte, error) {
	f := familyOf(req.Model)
	if req.Effort != "" && !slices.Contains(strings.Fields(f.efforts), req.Effort) {
		return nil, &provider.Error{Kind: provider.KindInvalid, Message: effortRefusal(req, f)}
	}
	limit := req.MaxOutput
	if limit <= 0 {
		limit = f.output
	}
	dst = wirejson.AppendString(append(dst, `{"model":`...), req.Model)
	dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(limit), 10)
	dst = append(dst, `,"stream":true`...)
	if req.Effort != "" {
		if f.thinking {
			dst = append(dst, `,"thinking":{"type":"adaptive"}`...)
		}
		dst = append(wirejson.AppendString(append(dst, `,"output_config":{"effort":`...), req.Effort), '}')
	}
	dst = appendTools(dst, req.Tools)
	if req.System != "" {
		dst = wirejson.AppendString(append(dst, `,"system":[{"type":"text","text":`...), req.System)
		dst = append(append(append(dst, ','), mark...), `}]`...)
	}
	return append(dst, `,"messages":[`...), nil
}

func effortRefusal(req provider.Request, f family) string {
	if f.efforts == "" {
		return fmt.Sprintf("effort %q: model %s takes none; leave out --effort", req.Effort, req.Model)
	}
	return fmt.Sprintf("effort %q: model %s takes %s", req.Effort, req.Model, strings.Join(strings.Fields(f.efforts), ", "))
}

func appendTools(dst []byte, tools []provider.Tool) []byte {
	for i, t := range tools {
		open := `,{"name":`
		if i == 0 {
			open = `,"tools":[{"name":`
		}
		dst = wirejson.AppendString(append(dst, open...), t.Name)
		if t.Description != "" {
			dst = wirejson.AppendString(append(dst, `,"description":`...), t.Description)
		}
		dst = append(append(dst, `,"input_schema":`...), t.Schema...)
		if i == len(tools)-1 {
			dst = append(append(dst, ','), mark...)
		}
		dst = append(dst, '}')
	}
	if len(tools) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// message appends the i-th message, if it has anything to say.
func (e *encoder) message(dst []byte, req provider.Request, i int, ids [][]string) ([]byte, error) {
	m := req.Messages[i]
	switch m.Role {
	case provider.RoleUser:
		return e.user(dst, req, i, ids)
	case provider.RoleAssistant:
		return e.assistant(dst, req, m, ids[i])
	case provider.RoleResults:
		if i == 0 || len(ids[i-1]) == 0 {
			return dst, nil // results without calls say nothing that a server takes
		}
		return e.results(dst, req, i, ids)
	}
	return dst, fmt.Errorf("encode message %d: unknown role %q", i, m.Role)
}

// user writes a prompt. Calls before it that have no results get stand-ins.
func (e *encoder) user(dst []byte, req provider.Request, i int, ids [][]string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"role":"user","content":[`...)
	begun := len(dst)
	if i > 0 {
		for _, id := range ids[i-1] {
			dst = appendResult(dst, id, wire.Unanswered, true)
		}
	}
	for _, part := range req.Messages[i].Parts {
		var err error
		if dst, err = appendPart(dst, req, part); err != nil {
			return dst, err
		}
	}
	return closeMessage(dst, start, begun), nil
}

func appendPart(dst []byte, req provider.Request, part reducer.Part) ([]byte, error) {
	if part.Type == reducer.PartImage {
		data, err := wire.LoadBlob(req, part.Image)
		if err != nil {
			return dst, err
		}
		dst = wirejson.AppendString(append(dst, `{"type":"image","source":{"type":"base64","media_type":`...), part.Image.Media)
		dst = base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), data)
		return append(dst, `"}},`...), nil
	}
	text, err := wire.Load(req, part.Text)
	if err != nil || strings.TrimSpace(text) == "" {
		return dst, err
	}
	return append(wirejson.AppendString(append(dst, `{"type":"text","text":`...), text), "},"...), nil
}

// closeMessage ends a message that began at start, or takes it back if it has
// no content.
func closeMessage(dst []byte, start, begun int) []byte {
	if len(dst) == begun {
		return dst[:start]
	}
	return append(dst[:len(dst)-1], "]},"...)
}

// assistant writes an answer again. What only its maker can read goes back to
// its maker alone; empty texts are left out, which the server refuses.
func (e *encoder) assistant(dst []byte, req provider.Request, m provider.Message, ids []string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"role":"assistant","content":[`...)
	begun := len(dst)
	own := e.seals.Valid(m, e.source)
	for _, it := range m.Items {
		var err error
		switch it.Type {
		case reducer.ItemText:
			dst, err = appendText(dst, req, it, own)
		case reducer.ItemCall:
			dst, err = appendCall(dst, req, it, ids[0], own)
			ids = ids[1:]
		case reducer.ItemReasoning:
			if own {
				dst, err = appendThinking(dst, req, it)
			}
		case reducer.ItemOther:
			if own && len(it.Extra) > 0 {
				dst = append(append(dst, it.Extra...), ',')
			}
		}
		if err != nil {
			return dst, err
		}
	}
	return closeMessage(dst, start, begun), nil
}

func appendText(dst []byte, req provider.Request, it reducer.Item, own bool) ([]byte, error) {
	text, err := wire.Load(req, it.Text)
	if err != nil || strings.TrimSpace(text) == "" {
		return dst, err
	}
	dst = wirejson.AppendString(append(dst, `{"type":"text","text":`...), text)
	if own {
		dst = wire.AppendMembers(dst, it.Extra)
	}
	return append(dst, "},"...), nil
}

func appendCall(dst []byte, req provider.Request, it reducer.Item, id string, own bool) ([]byte, error) {
	args, err := wire.Load(req, it.Args)
	if err != nil {
		return dst, err
	}
	dst = wirejson.AppendString(append(dst, `{"type":"tool_use","id":`...), id)
	dst = wirejson.AppendString(append(dst, `,"name":`...), wire.ToolName(it.Name))
	dst = append(append(dst, `,"input":`...), wire.Arguments(args)...)
	if own {
		dst = wire.AppendMembers(dst, it.Extra)
	}
	return append(dst, "},"...), nil
}

// appendThinking writes a thinking block with its signature; a redacted one is
// whole in its extra. One without a signature never goes back.
func appendThinking(dst []byte, req provider.Request, it reducer.Item) ([]byte, error) {
	if hasMember(it.Extra, "type") {
		return append(append(dst, it.Extra...), ','), nil
	}
	if !hasMember(it.Extra, "signature") {
		return dst, nil
	}
	text, err := wire.Load(req, it.Text)
	if err != nil {
		return dst, err
	}
	dst = wirejson.AppendString(append(dst, `{"type":"thinking","thinking":`...), text)
	return append(wire.AppendMembers(dst, it.Extra), "},"...), nil
}

func hasMember(object []byte, name string) bool {
	found := false
	c := wirejson.NewCursor(object)
	c.Object(func(key []byte) { found = found || string(key) == name })
	return found
}

// results writes the results of all calls of the answer before, in call order,
// in one message.
func (e *encoder) results(dst []byte, req provider.Request, i int, ids [][]string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"role":"user","content":[`...)
	begun := len(dst)
	found := wire.Match(wire.Calls(req.Messages[i-1].Items), req.Messages[i].Results)
	for n, id := range ids[i-1] {
		if found[n] == nil {
			dst = appendResult(dst, id, wire.Unanswered, true)
			continue
		}
		text, err := wire.Load(req, found[n].Text)
		if err != nil {
			return dst, err
		}
		dst = appendResult(dst, id, text, found[n].IsError)
	}
	return closeMessage(dst, start, begun), nil
}

func appendResult(dst []byte, id, text string, isError bool) []byte {
	dst = wirejson.AppendString(append(dst, `{"type":"tool_result","tool_use_id":`...), id)
	dst = wirejson.AppendString(append(dst, `,"content":`...), text)
	if isError {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, "},"...)
}
