package wirejson

import (
	"bytes"
	"encoding/json"
)

// Members are members of a JSON object that are kept as they came, in the
// order in which they first came.
type Members []Member

// Member is one of them.
type Member struct {
	Key string
	Raw []byte // its value, as it came
}

// Set keeps a copy of raw; null neither sets nor erases.
func (m *Members) Set(key string, raw []byte) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Raw = bytes.Clone(raw)
			return
		}
	}
	*m = append(*m, Member{key, bytes.Clone(raw)})
}

// Object is the members as a compact JSON object of valid UTF-8, nil if there
// are none.
func (m Members) Object() json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	var out bytes.Buffer
	for i, x := range m {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		out.WriteString(sep)
		out.Write(append(AppendString(nil, x.Key), ':'))
		if json.Compact(&out, x.Raw) != nil {
			return nil // cannot be: a cursor has checked it
		}
	}
	out.WriteByte('}')
	return bytes.ToValidUTF8(out.Bytes(), []byte("\uFFFD"))
}
