package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

type kind int

const (
	kindOther kind = iota
	kindText
	kindThought
	kindCall
)

// part is one part of an answer as it grows.
type part struct {
	kind  kind
	text  []byte
	id    string
	name  string
	args  []byte // raw JSON
	open  bool   // fragments of the arguments follow
	tree  *value // of the fragments so far
	rest  wirejson.Members
	whole []byte // of a part that only the vendor understands
}

func readPart(raw []byte) *part {
	p := &part{whole: raw}
	thought := false
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch name := string(key); name {
		case "text":
			p.kind = kindText
			text, _ := c.Text()
			p.text = append(p.text, text...)
		case "thought":
			thought = c.Kind() == wirejson.True
		case "functionCall":
			p.kind = kindCall
			p.call(&c)
		default:
			p.rest.Set(name, c.Raw())
		}
	})
	if thought && p.kind == kindText {
		p.kind = kindThought
	}
	p.whole = append([]byte(nil), raw...)
	return p
}

func (p *part) call(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "id":
			p.id = c.String()
		case "name":
			p.name = c.String()
		case "args":
			p.args = append([]byte(nil), c.Raw()...)
		case "willContinue":
			p.open = c.Kind() == wirejson.True
		case "partialArgs":
			p.tree = &value{}
			c.Array(func() { p.tree.fragment(c) })
		}
	})
}

// empty: a text without words and signature says nothing.
func (p *part) empty() bool {
	return (p.kind == kindText || p.kind == kindThought) && len(p.text) == 0 && len(p.rest) == 0
}

// joins reports whether next is more of the same text. What carries a signature
// stands alone.
func (p *part) joins(next *part) bool {
	return p.kind == next.kind && (p.kind == kindText || p.kind == kindThought) && len(p.rest) == 0 && len(next.rest) == 0
}

// more takes the next fragment of a call's arguments.
func (p *part) more(next *part) {
	if next.tree != nil {
		if p.tree == nil {
			p.tree = &value{}
		}
		p.tree.merge(next.tree)
	}
	if next.args != nil {
		p.args = next.args
	}
	p.open = next.open
}

// item is the part as the conversation keeps it.
func (p *part) item() reducer.Item {
	switch p.kind {
	case kindText:
		return reducer.Item{Type: reducer.ItemText, Text: reducer.T(string(p.text)), Extra: p.rest.Object()}
	case kindThought:
		return reducer.Item{Type: reducer.ItemReasoning, Text: reducer.T(string(p.text)), Extra: p.rest.Object()}
	case kindCall:
		return reducer.Item{Type: reducer.ItemCall, ID: p.id, Name: p.name, Args: reducer.T(p.arguments()), Extra: p.rest.Object()}
	case kindOther:
	}
	var all wirejson.Members
	c := wirejson.NewCursor(p.whole)
	c.Object(func(key []byte) { all.Set(string(key), c.Raw()) })
	return reducer.Item{Type: reducer.ItemOther, Extra: all.Object()}
}

// arguments is a call's input; an empty object is "".
func (p *part) arguments() string {
	args := strings.TrimSpace(string(p.args))
	if args == "" && p.tree != nil {
		args = string(p.tree.json())
	}
	if args == "{}" || args == "null" {
		return ""
	}
	return args
}

// value is one value of arguments that arrive in fragments.
type value struct {
	keys   []string // of an object, in order of appearance
	fields map[string]*value
	list   []*value
	text   []byte // of a string
	raw    []byte // of any other scalar
	isText bool
}

// limits of what fragments may build.
const (
	maxIndex = 10_000
	maxSteps = 64
)

// fragment reads {jsonPath, one typed value} and puts it in its place; strings
// append.
func (v *value) fragment(c *wirejson.Cursor) {
	path := ""
	leaf := &value{}
	c.Object(func(key []byte) {
		switch string(key) {
		case "jsonPath":
			path = c.String()
		case "stringValue":
			text, _ := c.Text()
			leaf.isText, leaf.text = true, append([]byte(nil), text...)
		case "numberValue", "boolValue":
			leaf.raw = append([]byte(nil), c.Raw()...)
		case "nullValue":
			leaf.raw = []byte("null")
		}
	})
	at := v
	for _, step := range steps(path) {
		if at = at.step(step); at == nil {
			return
		}
	}
	at.set(leaf)
}

func (v *value) set(leaf *value) {
	if leaf.isText {
		v.isText = true
		v.text = append(v.text, leaf.text...)
		return
	}
	if leaf.raw != nil {
		v.raw = leaf.raw
	}
}

// merge puts all that is in w into v.
func (v *value) merge(w *value) {
	v.set(w)
	for _, k := range w.keys {
		v.step(k).merge(w.fields[k])
	}
	for i, x := range w.list {
		if at := v.step("[" + strconv.Itoa(i)); at != nil && x != nil {
			at.merge(x)
		}
	}
}

// step goes to a member, or to an element if the step begins with a bracket.
func (v *value) step(name string) *value {
	if index, ok := strings.CutPrefix(name, "["); ok {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || n > maxIndex {
			return nil
		}
		for len(v.list) <= n {
			v.list = append(v.list, &value{})
		}
		return v.list[n]
	}
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	if v.fields[name] == nil {
		v.fields[name] = &value{}
		v.keys = append(v.keys, name)
	}
	return v.fields[name]
}

// steps takes a path such as $.a.b[0]["c d"] apart.
func steps(path string) []string {
	var all []string
	path = strings.TrimPrefix(path, "$")
	for path != "" && len(all) < maxSteps {
		switch {
		case strings.HasPrefix(path, "["):
			inside, rest, _ := strings.Cut(path[1:], "]")
			path = rest
			if name := strings.Trim(inside, `"'`); name != inside {
				all = append(all, name)
				continue
			}
			all = append(all, "["+inside)
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			if end == 0 {
				return all
			}
			all = append(all, path[:end])
			path = path[end:]
		}
	}
	return all
}

// json is the value in JSON.
func (v *value) json() []byte {
	switch {
	case len(v.keys) > 0:
		out := []byte{'{'}
		for i, k := range v.keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(wirejson.AppendString(out, k), ':')
			out = append(out, v.fields[k].json()...)
		}
		return append(out, '}')
	case len(v.list) > 0:
		out := []byte{'['}
		for i, x := range v.list {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, x.json()...)
		}
		return append(out, ']')
	case v.isText:
		return wirejson.AppendString(nil, string(v.text))
	case json.Valid(v.raw):
		return v.raw
	}
	return []byte("{}")
}
