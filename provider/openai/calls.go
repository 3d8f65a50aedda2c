package openai

import (
	"bytes"
	"slices"

	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// call is a tool call as it grows from fragments.
type call struct {
	id       string
	name     string
	index    int64
	hasIndex bool
	position int // in the list that it first stood in
	args     []byte
	shape    objectShape
	extra    wirejson.Members
}

// fragment is one element of delta.tool_calls.
type fragment struct {
	id, name []byte
	index    int64
	hasIndex bool
	position int // in its list
	alone    bool
	args     []byte
	extra    wirejson.Members
}

// readFragment reads the element in front. The slices are copies.
func readFragment(c *wirejson.Cursor) fragment {
	var f fragment
	c.Object(func(key []byte) {
		switch string(key) {
		case "index":
			f.index, f.hasIndex = c.Int()
		case "id":
			f.id = copyText(c)
		case "type":
		case "function":
			f.function(c)
		default:
			f.extra.Set(string(key), c.Raw())
		}
	})
	return f
}

// function reads name and arguments, which may be a string, a piece of one, or
// a whole JSON value.
func (f *fragment) function(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "name":
			f.name = copyText(c)
		case "arguments":
			switch c.Kind() {
			case wirejson.String:
				f.args = copyText(c)
			case wirejson.Object, wirejson.Array, wirejson.Number, wirejson.True, wirejson.False:
				f.args = bytes.ToValidUTF8(c.Raw(), []byte("\uFFFD"))
			case wirejson.Null, wirejson.None:
			}
		}
	})
}

func copyText(c *wirejson.Cursor) []byte {
	text, _ := c.Text()
	return bytes.Clone(text)
}

// callList is the calls of one answer in the order in which they began.
type callList []*call

// add puts a fragment where it belongs and returns that call.
func (l *callList) add(f fragment) *call {
	c := l.find(f)
	if c == nil || c.closedTo(f) {
		c = &call{position: f.position}
		*l = append(*l, c)
	}
	if f.hasIndex && !c.hasIndex {
		c.index, c.hasIndex = f.index, true
	}
	if c.id == "" {
		c.id = string(f.id)
	}
	if c.name == "" {
		c.name = string(f.name)
	}
	c.args = append(c.args, f.args...)
	c.shape.feed(f.args)
	for _, m := range f.extra {
		c.extra.Set(m.Key, m.Raw)
	}
	return c
}

// find is the call that a fragment continues, by id, else by index, else by
// place; nil if it begins a call.
func (l callList) find(f fragment) *call {
	switch {
	case len(f.id) > 0:
		return l.byID(f)
	case f.hasIndex:
		return l.last(func(c *call) bool { return c.hasIndex && c.index == f.index })
	case len(l) == 0:
		return nil
	case !f.alone && len(f.name) == 0:
		return l.last(func(c *call) bool { return c.position == f.position })
	}
	c := l[len(l)-1]
	if len(f.name) > 0 && c.name != "" {
		return nil
	}
	return c
}

func (l callList) byID(f fragment) *call {
	if c := l.last(func(c *call) bool {
		return c.id == string(f.id) && (!f.hasIndex || !c.hasIndex || c.index == f.index)
	}); c != nil {
		return c
	}
	if f.hasIndex {
		c := l.last(func(c *call) bool { return c.hasIndex && c.index == f.index })
		if c != nil && c.id == "" {
			return c
		}
		return nil
	}
	if len(l) > 0 {
		if c := l[len(l)-1]; c.id == "" && c.name == "" {
			return c
		}
	}
	return nil
}

func (l callList) last(is func(*call) bool) *call {
	for _, v := range slices.Backward(l) {
		if is(v) {
			return v
		}
	}
	return nil
}

// closedTo reports whether a fragment that seems to continue the call begins
// another one: servers that give every call the same index, or the same id,
// send whole calls one after the other.
func (c *call) closedTo(f fragment) bool {
	return c.shape.closed() && len(f.name) > 0 && bytes.HasPrefix(bytes.TrimLeft(f.args, " \t\r\n"), []byte("{"))
}

// items are the call as items: one, but where a server without ids ran several
// whole calls of a tool together.
func (c *call) items() []reducer.Item {
	item := reducer.Item{Type: reducer.ItemCall, ID: c.id, Name: c.name, Extra: c.extra.Object()}
	var out []reducer.Item
	for _, args := range c.documents() {
		item.Args = reducer.T(args)
		out = append(out, item)
	}
	return out
}

func (c *call) documents() []string {
	args := string(bytes.TrimSpace(c.args))
	if args != "" {
		args = string(c.args)
	}
	if c.id != "" || wirejson.Valid(c.args) {
		return []string{args}
	}
	var docs []string
	cur := wirejson.NewCursor(c.args)
	for cur.Kind() == wirejson.Object {
		docs = append(docs, string(cur.Raw()))
	}
	if cur.End() != nil || len(docs) < 2 {
		return []string{args}
	}
	return docs
}

// objectShape follows the brackets of a text as it arrives, so that the end of
// a top-level object is known without reading it again.
type objectShape struct {
	depth  int
	seen   bool
	quoted bool
	escape bool
}

func (s *objectShape) feed(text []byte) {
	for _, b := range text {
		switch {
		case s.escape:
			s.escape = false
		case s.quoted && b == '\\':
			s.escape = true
		case b == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case b == '{' || b == '[':
			s.depth++
			s.seen = true
		case b == '}' || b == ']':
			s.depth--
		}
	}
}

// closed reports whether a whole object or array has passed.
func (s *objectShape) closed() bool { return s.seen && s.depth == 0 && !s.quoted }
