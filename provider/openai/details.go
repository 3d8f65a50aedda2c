package openai

import (
	"slices"

	"github.com/basisagent/basis/provider/internal/wirejson"
)

// detail is one element of reasoning_details as it grows: OpenRouter, Vercel
// and others send its text in fragments and its signature at the end.
type detail struct {
	index   int64
	kind    string
	text    []byte
	field   string // text or summary: the member that holds text; "" if none came
	sealed  bool   // it has data that nobody but the vendor reads
	members wirejson.Members
}

// details are the elements in the order in which they began.
type details []*detail

// add joins the fragments in raw, an array, to what there is and returns the
// readable text among them.
func (d *details) add(c *wirejson.Cursor) []byte {
	var text []byte
	c.Array(func() {
		if len(*d) > piecesLimit {
			return
		}
		f := readDetail(c)
		text = append(text, f.text...)
		d.join(f)
	})
	return text
}

func readDetail(c *wirejson.Cursor) *detail {
	f := &detail{}
	c.Object(func(key []byte) {
		name := string(key)
		switch name {
		case "text", "summary":
			if c.Kind() == wirejson.String {
				f.field, f.text = name, copyText(c)
				return
			}
		case "index":
			raw := c.Raw()
			n := wirejson.NewCursor(raw)
			f.index, _ = n.Int()
			f.members.Set(name, raw)
			return
		case "type":
			raw := c.Raw()
			t := wirejson.NewCursor(raw)
			f.kind = t.String()
			f.members.Set(name, raw)
			return
		case "data":
			f.sealed = true
		}
		f.members.Set(name, c.Raw())
	})
	return f
}

// join appends a fragment to the element with its type and index. Sealed data
// always stands alone.
func (d *details) join(f *detail) {
	if !f.sealed {
		for _, e := range *d {
			if e.index == f.index && e.kind == f.kind && !e.sealed && (e.field == f.field || f.field == "" || e.field == "") {
				e.text = append(e.text, f.text...)
				if e.field == "" {
					e.field = f.field
				}
				for _, m := range f.members {
					e.members.Set(m.Key, m.Raw)
				}
				return
			}
		}
	}
	*d = append(*d, f)
}

// array is the elements as a JSON array.
func (d details) array() []byte {
	out := []byte{'['}
	for i, e := range d {
		if i > 0 {
			out = append(out, ',')
		}
		m := e.members
		if e.field != "" {
			m = append(slices.Clip(m), wirejson.Member{Key: e.field, Raw: wirejson.AppendString(nil, string(e.text))})
		}
		object := m.Object()
		if object == nil {
			object = []byte("{}")
		}
		out = append(out, object...)
	}
	return append(out, ']')
}
