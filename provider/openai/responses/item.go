package responses

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// clientCalls are the item types that the client has to carry out, and the
// member that holds the input of each.
var clientCalls = map[string]string{
	"function_call":        "arguments",
	"custom_tool_call":     "input",
	"local_shell_call":     "action",
	"shell_call":           "action",
	"apply_patch_call":     "operation",
	"computer_call":        "action",
	"mcp_approval_request": "arguments",
	"tool_search_call":     "arguments",
}

// head is what tells an output item apart.
type head struct {
	kind   string
	id     string
	callID string
	name   string
	server bool // carried out at the vendor
}

func readHead(raw []byte) head {
	var h head
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch string(key) {
		case "type":
			h.kind = c.String()
		case "id":
			h.id = c.String()
		case "call_id":
			h.callID = c.String()
		case "name":
			h.name = c.String()
		case "execution":
			h.server = c.String() == "server"
		}
	})
	return h
}

func (h head) isCall() bool {
	_, ok := clientCalls[h.kind]
	return ok && !h.server
}

// callName is the tool of a call that begins, "" for anything else.
func callName(raw []byte) string {
	h := readHead(raw)
	if !h.isCall() {
		return ""
	}
	if h.name == "" {
		return h.kind
	}
	return h.name
}

// items are the pieces of one output item as the conversation keeps them.
func items(raw []byte) []reducer.Item {
	if len(raw) == 0 {
		return nil
	}
	switch h := readHead(raw); {
	case h.kind == "message":
		return messageItems(raw)
	case h.kind == "reasoning":
		return []reducer.Item{reasoningItem(raw)}
	case h.isCall():
		return []reducer.Item{callItem(raw, h)}
	}
	return []reducer.Item{{Type: reducer.ItemOther, Extra: whole(raw, "")}}
}

// whole is an item without one member and without what is no state: the
// probabilities of its tokens.
func whole(raw []byte, without string) []byte {
	var m wirejson.Members
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		if name := string(key); name != without && name != "logprobs" {
			m.Set(name, c.Raw())
		}
	})
	return m.Object()
}

// messageItems are the parts of a message, each with what the message says of
// itself, so that its parts find together again.
func messageItems(raw []byte) []reducer.Item {
	var of wirejson.Members
	var parts [][]byte
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch name := string(key); name {
		case "content":
			c.Array(func() { parts = append(parts, c.Raw()) })
		case "type", "role", "status":
		default:
			of.Set(name, c.Raw())
		}
	})
	var all []reducer.Item
	for _, p := range parts {
		all = append(all, partItem(p, of))
	}
	return all
}

func partItem(raw []byte, of wirejson.Members) reducer.Item {
	var kind string
	var text []byte
	var rest wirejson.Members
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch name := string(key); name {
		case "type":
			kind = c.String()
		case "text", "refusal":
			if t, ok := c.Text(); ok {
				text = append(text, t...)
			}
		case "logprobs":
		default:
			if value := c.Raw(); string(value) != "[]" {
				rest.Set(name, value)
			}
		}
	})
	extra := append(wirejson.Members(nil), of...)
	if kind != "output_text" {
		extra.Set("part", wirejson.AppendString(nil, kind))
	}
	extra = append(extra, rest...)
	if kind != "output_text" && kind != "refusal" {
		return reducer.Item{Type: reducer.ItemOther, Extra: wirejson.Members{{Key: "part", Raw: raw}}.Object()}
	}
	return reducer.Item{Type: reducer.ItemText, Text: reducer.T(string(text)), Extra: extra.Object()}
}

func isRefusal(extra []byte) bool { return bytes.Contains(extra, []byte(`"part":"refusal"`)) }

// reasoningItem keeps the readable words, and beside them what only the vendor
// reads. Words that came as raw reasoning and not as a summary say so, and a
// summary in several parts says how long each is: it goes back as it came.
func reasoningItem(raw []byte) reducer.Item {
	var rest wirejson.Members
	var summary, content []string
	var summaryRaw []byte
	texts := func(c *wirejson.Cursor) (all []string) {
		c.Array(func() {
			c.Object(func(key []byte) {
				if string(key) == "text" {
					all = append(all, c.String())
				}
			})
		})
		return all
	}
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch name := string(key); name {
		case "type":
		case "summary":
			summaryRaw = c.Raw()
			s := wirejson.NewCursor(summaryRaw)
			summary = texts(&s)
		case "content":
			content = texts(&c)
		default:
			rest.Set(name, c.Raw())
		}
	})
	words := summary
	switch {
	case len(content) > 0:
		words = content
		rest.Set("field", []byte(`"content"`))
		if len(summary) > 0 {
			rest.Set("summary", summaryRaw)
		}
	case len(summary) > 1:
		rest.Set("parts", lengths(summary))
	}
	return reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T(strings.Join(words, "")), Extra: rest.Object()}
}

// lengths are those of texts in bytes, as a JSON array.
func lengths(texts []string) []byte {
	out := []byte{'['}
	for i, t := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(len(t)), 10)
	}
	return append(out, ']')
}

// split takes a text apart at the lengths of its parts; one that doesn't fit
// them is whole.
func split(text string, lengths []byte) []string {
	var parts []string
	rest := text
	c := wirejson.NewCursor(lengths)
	c.Array(func() {
		n, ok := c.Int()
		if ok && n >= 0 && n <= int64(len(rest)) {
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
	})
	if c.End() != nil || rest != "" || len(parts) == 0 {
		return []string{text}
	}
	return parts
}

// callItem keeps a call: a function's arguments as their text, any other input
// as its JSON.
func callItem(raw []byte, h head) reducer.Item {
	field := clientCalls[h.kind]
	args := ""
	var rest wirejson.Members
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch name := string(key); {
		case name == "call_id", name == "name", name == "type" && h.kind == "function_call":
		case name == field && field == "arguments" && c.Kind() == wirejson.String:
			args = c.String()
		case name == field:
			args = string(c.Raw())
		default:
			rest.Set(name, c.Raw())
		}
	})
	it := reducer.Item{Type: reducer.ItemCall, ID: h.callID, Name: h.name, Args: reducer.T(args), Extra: rest.Object()}
	if it.ID == "" {
		it.ID = h.id
	}
	if it.Name == "" {
		it.Name = h.kind
	}
	return it
}
