package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is a JSON Schema type.
type kind string

// The kinds of members.
const (
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindBoolean kind = "boolean"
	kindArray   kind = "array" // of objects with the member's own members
)

// member is one member of a tool's input.
type member struct {
	name     string
	kind     kind
	doc      string
	required bool
	least    int64    // of an integer
	aliases  []string // what models call it
	items    []member // of an array, which must not be empty
}

// schemaOf is the published schema for members. Member names in it are sorted,
// so the text is always the same.
func schemaOf(members []member) json.RawMessage {
	return encode(schemaObject(members))
}

// schemaObject is the schema of an object with these members.
func schemaObject(members []member) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, m := range members {
		p := map[string]any{"type": m.kind}
		if m.doc != "" {
			p["description"] = m.doc
		}
		if m.least > 0 {
			p["minimum"] = m.least
		}
		if m.kind == kindArray {
			p["items"], p["minItems"] = schemaObject(m.items), 1
		}
		properties[m.name] = p
		if m.required {
			required = append(required, m.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// encode writes a value as compact JSON with sorted names, and < > & as they are.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only values of this package are encoded: strings, numbers, maps
	}
	return bytes.TrimSpace(b.Bytes())
}

// args is a call's input after judgement.
type args struct {
	strings map[string]string
	numbers map[string]int64
	flags   map[string]bool
	lists   map[string][]args
}

// text returns a string, or d if it was not given.
func (a args) text(name, d string) string {
	if s, ok := a.strings[name]; ok {
		return s
	}
	return d
}

// number returns an integer, or d if it was not given.
func (a args) number(name string, d int64) int64 {
	if n, ok := a.numbers[name]; ok {
		return n
	}
	return d
}

// maxShown is how many bytes of broken input an error repeats.
const maxShown = 200

// object parses a JSON object, keeping its members as they are.
func object(in json.RawMessage) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(in)) == 0 {
		return map[string]json.RawMessage{}, nil // a call without arguments
	}
	d := json.NewDecoder(bytes.NewReader(in))
	var m map[string]json.RawMessage
	err := d.Decode(&m)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("should be an object, got %s", wrong.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("not valid JSON (%w); received: %s", err, cutText(string(in), maxShown))
	}
	if m == nil {
		return nil, errors.New("should be an object, got null")
	}
	return m, nil
}

// normalize renames aliases, drops optional nulls, and lets adjust change shapes
// that are particular to one tool. What it cannot read it leaves to decode.
func normalize(in json.RawMessage, members []member, adjust func(map[string]json.RawMessage) error) (json.RawMessage, error) {
	m, err := object(in)
	if err != nil {
		return nil, err
	}
	if adjust != nil {
		if err := adjust(m); err != nil {
			return nil, err
		}
	}
	rename(m, members)
	return encode(m), nil
}

// rename gives members their published names.
func rename(m map[string]json.RawMessage, members []member) {
	for _, w := range members {
		for _, alias := range w.aliases {
			v, there := m[alias]
			if _, taken := m[w.name]; there && !taken {
				m[w.name] = v
				delete(m, alias)
			}
		}
		if !w.required && string(m[w.name]) == "null" {
			delete(m, w.name)
		}
	}
}

// decode judges an object by its members and says everything that is wrong.
func decode(in json.RawMessage, members []member) (args, []string) {
	m, err := object(in)
	if err != nil {
		return args{}, []string{err.Error()}
	}
	return decodeObject("", m, members)
}

// decodeObject judges one object; prefix is the dotted path to it.
func decodeObject(prefix string, m map[string]json.RawMessage, members []member) (args, []string) {
	a := args{map[string]string{}, map[string]int64{}, map[string]bool{}, map[string][]args{}}
	var problems []string
	for _, w := range members {
		raw, there := m[w.name]
		switch {
		case there:
			problems = append(problems, a.set(prefix, w, raw)...)
		case w.required:
			problems = append(problems, fmt.Sprintf("'%s%s' is required", prefix, w.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.ContainsFunc(members, func(w member) bool { return w.name == name }) {
			problems = append(problems, fmt.Sprintf("'%s%s' is not a property of this tool", prefix, cutText(name, maxShown)))
		}
	}
	return a, problems
}

// set judges and keeps the value of one member.
func (a args) set(prefix string, w member, raw json.RawMessage) []string {
	name := prefix + w.name
	switch w.kind {
	case kindString:
		if s, ok := parse[string](raw); ok {
			a.strings[w.name] = s
			return nil
		}
	case kindBoolean:
		if b, ok := parse[bool](raw); ok {
			a.flags[w.name] = b
			return nil
		}
	case kindInteger:
		if n, ok := integer(raw); ok {
			a.numbers[w.name] = n
			if n < w.least {
				return []string{fmt.Sprintf("'%s' should be at least %d, got %d", name, w.least, n)}
			}
			return nil
		}
	case kindArray:
		if list, ok := parse[[]json.RawMessage](raw); ok {
			return a.setList(name, w, list)
		}
	}
	return []string{fmt.Sprintf("'%s' should be %s, got %s", name, w.kind, typeOf(raw))}
}

// setList judges and keeps the objects of an array.
func (a args) setList(name string, w member, list []json.RawMessage) []string {
	if len(list) == 0 {
		return []string{fmt.Sprintf("'%s' should not be empty", name)}
	}
	var problems []string
	for i, raw := range list {
		at := fmt.Sprintf("%s.%d", name, i)
		m, ok := parse[map[string]json.RawMessage](raw)
		if !ok {
			problems = append(problems, fmt.Sprintf("'%s' should be object, got %s", at, typeOf(raw)))
			continue
		}
		item, more := decodeObject(at+".", m, w.items)
		a.lists[w.name] = append(a.lists[w.name], item)
		problems = append(problems, more...)
	}
	return problems
}

// parse reads a value of one type; null is of no type.
func parse[T any](raw json.RawMessage) (T, bool) {
	var v T
	if string(raw) == "null" {
		return v, false
	}
	return v, json.Unmarshal(raw, &v) == nil
}

// integer reads a whole number, however it is written.
func integer(raw json.RawMessage) (int64, bool) {
	if n, ok := parse[int64](raw); ok {
		return n, true
	}
	f, ok := parse[float64](raw)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// typeOf names the JSON type of a value.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// cutText cuts text after a whole character, with a sign that it did.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return prefix(text, limit) + "…"
}

// prefix is the whole characters that fit into limit bytes.
func prefix(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// oneLine is the first line of text, in at most maxSummary characters and without
// control characters.
func oneLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	line = strings.TrimRight(line, " ")
	runes := []rune(line)
	if more || len(runes) > maxSummary {
		return string(runes[:min(len(runes), maxSummary-1)]) + "…"
	}
	return line
}
