package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/basisagent/basis/provider"
)

// CheckRequest reports what a strict server of a wire would refuse in a
// request's body: unknown members, calls without results, results without calls
// or out of order, arguments that are no JSON object, ids used twice in one
// answer, names of a wrong form, empty texts where the vendor has none, images
// where only a user may have them. What only the server that issued it can
// judge, such as a signature, is judged by a [Handler] alone.
func CheckRequest(wire string, body []byte) error {
	d := dialectOf(wire)
	if d == nil {
		return fmt.Errorf("unknown wire %q", wire)
	}
	return d.check(Request{Wire: wire, Body: body}, nil)
}

// strict decodes a whole document, every member of which v must know.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("decode %s: %w", excerpt(data), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the body's end")
	}
	return nil
}

// excerpt is enough of a document to find it.
func excerpt(data []byte) string {
	if len(data) > 120 {
		return string(data[:120]) + "…"
	}
	return string(data)
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTool judges a tool's name and schema; a tool may have none.
func checkTool(name string, schema []byte) error {
	var root struct {
		Type string `json:"type"`
	}
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("tool name %q", name)
	case len(schema) > 0 && (json.Unmarshal(schema, &root) != nil || root.Type != "object"):
		return fmt.Errorf("tool %s: its schema is not of type object", name)
	}
	return nil
}

// checkCall judges a call's name and arguments.
func checkCall(name string, args []byte) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("call name %q", name)
	case !isObject(args):
		return fmt.Errorf("arguments are no JSON object: %q", args)
	}
	return nil
}

func isObject(raw []byte) bool {
	var m map[string]any
	return json.Unmarshal(raw, &m) == nil && m != nil
}

func isString(raw json.RawMessage) bool {
	var s *string
	return json.Unmarshal(raw, &s) == nil && s != nil
}

// typeOf is the type member of an object, "" if it has none.
func typeOf(raw []byte) string {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head)
	return head.Type
}

// debts are calls whose results must come next, in order.
type debts struct{ ids []string }

// add takes a call of the answer that is being read.
func (d *debts) add(id string) error {
	if id == "" || slices.Contains(d.ids, id) {
		return fmt.Errorf("call id %q is empty or used twice", id)
	}
	d.ids = append(d.ids, id)
	return nil
}

// pay takes a result.
func (d *debts) pay(id string) error {
	if len(d.ids) == 0 || d.ids[0] != id {
		return fmt.Errorf("result of %q, want one of %q", id, d.ids)
	}
	d.ids = d.ids[1:]
	return nil
}

// settled refuses what comes while a call has no result.
func (d *debts) settled(before string) error {
	if len(d.ids) > 0 {
		return fmt.Errorf("%s, but call %q has no result yet", before, d.ids[0])
	}
	return nil
}

// Wires are the names of all wires that a server speaks.
func Wires() []string {
	return []string{provider.WireChat, provider.WireMessages, provider.WireResponses, provider.WireGemini}
}
