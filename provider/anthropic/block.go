package anthropic

import (
	"bytes"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// block is one content block as it grows.
type block struct {
	index int64
	kind  string
	text  []byte           // of text and thinking
	id    string           // of a call
	name  string           // of a call or a server's tool
	args  []byte           // fragments of a call's input
	rest  wirejson.Members // everything else, in the vendor's order
	cites [][]byte
}

// newBlock takes what content_block_start says, or a whole block.
func newBlock(index int64, raw []byte) *block {
	b := &block{index: index}
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		if string(key) == "type" {
			b.kind = c.String()
		}
	})
	c = wirejson.NewCursor(raw)
	c.Object(func(key []byte) { b.member(string(key), &c) })
	return b
}

// member takes one member of the block: those that every wire has by
// themselves, the others as they are.
func (b *block) member(name string, c *wirejson.Cursor) {
	switch {
	case name == "type":
		c.Skip()
	case name == "text" && b.kind == "text", name == "thinking" && b.kind == "thinking":
		text, _ := c.Text()
		b.text = append(b.text, text...)
	case name == "id" && b.kind == "tool_use":
		b.id = c.String()
	case name == "name" && b.kind == "tool_use":
		b.name = c.String()
	case name == "citations":
		c.Array(func() { b.cites = append(b.cites, bytes.Clone(c.Raw())) })
	case name == "signature" && c.Kind() == wirejson.String:
		if raw := c.Raw(); string(raw) != `""` {
			b.rest.Set(name, raw)
		}
	default:
		b.rest.Set(name, c.Raw())
	}
}

// opening is what a block that begins with text shows of itself.
func (b *block) opening() provider.Chunk {
	switch {
	case b.kind == "tool_use":
		return provider.CallDelta{Name: b.name}
	case len(b.text) == 0:
		return nil
	case b.kind == "thinking":
		return provider.ReasoningDelta{Text: string(b.text)}
	case b.kind == "text":
		return provider.TextDelta{Text: string(b.text)}
	}
	return nil
}

// add joins a delta to the block and says what it shows. Unknown deltas show
// nothing.
func (b *block) add(delta []byte) provider.Chunk {
	var kind string
	c := wirejson.NewCursor(delta)
	c.Object(func(key []byte) {
		if string(key) == "type" {
			kind = c.String()
		}
	})
	var shown provider.Chunk
	c = wirejson.NewCursor(delta)
	c.Object(func(key []byte) {
		switch kind + "." + string(key) {
		case "text_delta.text":
			text, _ := c.Text()
			b.text = append(b.text, text...)
			shown = provider.TextDelta{Text: string(text)}
		case "thinking_delta.thinking":
			text, _ := c.Text()
			b.text = append(b.text, text...)
			shown = provider.ReasoningDelta{Text: string(text)}
		case "signature_delta.signature":
			b.rest.Set("signature", c.Raw())
		case "input_json_delta.partial_json":
			piece, _ := c.Text()
			b.args = append(b.args, piece...)
			shown = provider.CallDelta{Name: b.name, Bytes: len(piece)}
		case "citations_delta.citation":
			b.cites = append(b.cites, bytes.Clone(c.Raw()))
		case "compaction_delta.content":
			b.rest.Set("content", c.Raw())
		}
	})
	if b.kind != "tool_use" {
		if _, ok := shown.(provider.CallDelta); ok {
			return nil // a server's own tool
		}
	}
	return shown
}

// item is the block as the conversation keeps it.
func (b *block) item() reducer.Item {
	rest := b.others()
	switch b.kind {
	case "text":
		return reducer.Item{Type: reducer.ItemText, Text: reducer.T(string(b.text)), Extra: rest.Object()}
	case "thinking":
		return reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T(string(b.text)), Extra: rest.Object()}
	case "tool_use":
		return reducer.Item{Type: reducer.ItemCall, ID: b.id, Name: b.name, Args: reducer.T(b.arguments()), Extra: rest.Object()}
	}
	kind := wirejson.Members{{Key: "type", Raw: wirejson.AppendString(nil, b.kind)}}
	t := reducer.ItemOther
	if b.kind == "redacted_thinking" {
		t = reducer.ItemReasoning
	}
	return reducer.Item{Type: t, Extra: append(kind, rest...).Object()}
}

// others are the members that the item does not spell out.
func (b *block) others() wirejson.Members {
	var rest wirejson.Members
	for _, m := range b.rest {
		if m.Key == "input" && b.kind == "tool_use" {
			continue
		}
		rest = append(rest, m)
	}
	if len(b.args) > 0 && b.kind != "tool_use" && wirejson.Valid(b.args) {
		rest.Set("input", b.args)
	}
	if len(b.cites) > 0 {
		rest.Set("citations", append(append([]byte{'['}, bytes.Join(b.cites, []byte{','})...), ']'))
	}
	return rest
}

// arguments is a call's input: the fragments, or where none came what the
// block began with. An empty object is "".
func (b *block) arguments() string {
	args := string(b.args)
	if args == "" {
		for _, m := range b.rest {
			if m.Key == "input" {
				args = string(m.Raw)
			}
		}
	}
	if args == "{}" {
		return ""
	}
	return args
}
