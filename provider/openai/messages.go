package openai

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// write encodes the i-th message, if it has anything to say.
func (e *encoder) write(req provider.Request, p params, i int, s *segment) error {
	m := req.Messages[i]
	if m.Role != provider.RoleResults && i > 0 && len(e.segments[i-1].ids) > 0 {
		s.plain = false
		for _, id := range e.segments[i-1].ids {
			e.result(id, wire.Unanswered)
		}
	}
	switch m.Role {
	case provider.RoleUser:
		return e.user(req, m)
	case provider.RoleAssistant:
		return e.assistant(req, p, m, s)
	case provider.RoleResults:
		return e.results(req, i, s)
	}
	return fmt.Errorf("encode message %d: unknown role %q", i, m.Role)
}

// user writes text as a plain string; only images need parts.
func (e *encoder) user(req provider.Request, m provider.Message) error {
	e.buf = append(e.buf, `{"role":"user","content":`...)
	var texts []string
	images := false
	for _, part := range m.Parts {
		images = images || part.Type == reducer.PartImage
		text, err := wire.Load(req, part.Text)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	if !images {
		e.buf = wirejson.AppendString(e.buf, strings.Join(texts, "\n\n"))
		e.buf = append(e.buf, "},"...)
		return nil
	}
	for i, part := range m.Parts {
		open := byte(',')
		if i == 0 {
			open = '['
		}
		e.buf = append(e.buf, open)
		if part.Type == reducer.PartImage {
			if err := e.image(req, part.Image); err != nil {
				return err
			}
			continue
		}
		e.buf = append(e.buf, `{"type":"text","text":`...)
		e.buf = append(wirejson.AppendString(e.buf, texts[i]), '}')
	}
	e.buf = append(e.buf, "]},"...)
	return nil
}

func (e *encoder) image(req provider.Request, ref reducer.Ref) error {
	data, err := wire.LoadBlob(req, ref)
	if err != nil {
		return err
	}
	e.buf = append(e.buf, `{"type":"image_url","image_url":{"url":"data:`...)
	e.buf = append(e.buf, ref.Media...)
	e.buf = append(e.buf, ";base64,"...)
	e.buf = base64.StdEncoding.AppendEncode(e.buf, data)
	e.buf = append(e.buf, `"}}`...)
	return nil
}

// assistant writes an answer again: text, calls, and what its own maker wants
// back. One without text and calls is left out.
func (e *encoder) assistant(req provider.Request, p params, m provider.Message, s *segment) error {
	var texts []string
	calls := 0
	for _, item := range m.Items {
		switch item.Type {
		case reducer.ItemText:
			text, err := wire.Load(req, item.Text)
			if err != nil {
				return err
			}
			if text != "" {
				texts = append(texts, text)
			}
		case reducer.ItemCall:
			calls++
		case reducer.ItemReasoning, reducer.ItemOther:
		}
	}
	if len(texts) == 0 && calls == 0 {
		return nil
	}
	e.buf = append(e.buf, `{"role":"assistant","content":`...)
	if len(texts) > 0 {
		e.buf = wirejson.AppendString(e.buf, strings.Join(texts, "\n\n"))
	} else {
		e.buf = append(e.buf, "null"...)
	}
	if m.Source == p.source {
		if err := e.opaque(req, m.Items, s.variant); err != nil {
			return err
		}
	}
	if err := e.calls(req, p, m, s); err != nil {
		return err
	}
	e.buf = append(e.buf, "},"...)
	return nil
}

// opaque writes the members that go back to their maker: details and
// signatures always, readable reasoning if asked for.
func (e *encoder) opaque(req provider.Request, items []reducer.Item, reasoning bool) error {
	for _, item := range items {
		switch item.Type {
		case reducer.ItemReasoning:
			details := pick(item.Extra, "reasoning_details")
			e.raw("reasoning_details", details)
			field := pick(item.Extra, "field")
			if !reasoning || details != nil || len(field) == 0 || string(field) == `"thinking"` {
				continue
			}
			text, err := wire.Load(req, item.Text)
			if err != nil {
				return err
			}
			e.buf = append(append(append(e.buf, ','), field...), ':')
			e.buf = wirejson.AppendString(e.buf, text)
		case reducer.ItemText, reducer.ItemOther:
			e.raw("extra_content", pick(item.Extra, "extra_content"))
		case reducer.ItemCall:
		}
	}
	return nil
}

func (e *encoder) raw(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	e.buf = append(e.buf, ',')
	e.buf = append(wirejson.AppendString(e.buf, name), ':')
	e.buf = append(e.buf, value...)
}

// pick is one member of a JSON object, nil if it isn't there.
func pick(object []byte, name string) []byte {
	if len(object) == 0 {
		return nil
	}
	var value []byte
	c := wirejson.NewCursor(object)
	c.Object(func(key []byte) {
		if string(key) == name {
			value = c.Raw()
		}
	})
	return value
}

func (e *encoder) calls(req provider.Request, p params, m provider.Message, s *segment) error {
	own := m.Source == p.source
	for _, item := range m.Items {
		if item.Type != reducer.ItemCall {
			continue
		}
		args, err := wire.Load(req, item.Args)
		if err != nil {
			return err
		}
		open := ","
		if len(s.ids) == 0 {
			open = `,"tool_calls":[`
		}
		id, plain := e.ids.Assign(item.ID, own)
		s.ids = append(s.ids, id)
		s.plain = s.plain && plain
		e.buf = append(e.buf, open...)
		e.buf = wirejson.AppendString(append(e.buf, `{"id":`...), id)
		e.buf = append(e.buf, `,"type":"function","function":{"name":`...)
		e.buf = wirejson.AppendString(e.buf, wire.ToolName(item.Name))
		e.buf = wirejson.AppendString(append(e.buf, `,"arguments":`...), wire.Arguments(args))
		e.buf = append(e.buf, '}')
		if own {
			e.buf = wire.AppendMembers(e.buf, item.Extra)
		}
		e.buf = append(e.buf, '}')
	}
	if len(s.ids) > 0 {
		e.buf = append(e.buf, ']')
	}
	return nil
}

// results writes one message per call, in call order. Results are matched by
// place, or by id if some are missing.
func (e *encoder) results(req provider.Request, i int, s *segment) error {
	if i == 0 || len(e.segments[i-1].ids) == 0 {
		s.plain = false
		return nil // results without calls say nothing that a server takes
	}
	s.plain = e.segments[i-1].plain
	found := wire.Match(wire.Calls(req.Messages[i-1].Items), req.Messages[i].Results)
	for n, id := range e.segments[i-1].ids {
		text := wire.Unanswered
		if found[n] != nil {
			var err error
			if text, err = wire.Load(req, found[n].Text); err != nil {
				return err
			}
		}
		e.result(id, text)
	}
	return nil
}

func (e *encoder) result(id, text string) {
	e.buf = wirejson.AppendString(append(e.buf, `{"role":"tool","tool_call_id":`...), id)
	e.buf = wirejson.AppendString(append(e.buf, `,"content":`...), text)
	e.buf = append(e.buf, "},"...)
}
