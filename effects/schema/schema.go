// Package schema holds the input of tools against the JSON Schemas that they
// publish, by way of gojsonschema.
//
// A schema is judged as a document by itself: a $ref that leaves it is never
// followed, to the network or to a file. One that cannot be used, because it is
// broken, in an unknown dialect, or refers to itself without end, says so when
// it is compiled; what to do without it is the caller's to decide.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/xeipuuv/gojsonschema"
)

// Schema is a compiled schema. Several goroutines may use it.
type Schema struct{ compiled *gojsonschema.Schema }

// Compile reads a schema: one JSON object in the dialect that its $schema names,
// draft 4, 6 or 7, or without one in what these have in common. An error says why it
// can't be used.
func Compile(text json.RawMessage) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil { // of the library, over a schema that it did not expect
			s, err = nil, fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	if err := known(root); err != nil {
		return nil, err
	}
	w := walk{root: root, state: map[string]state{}}
	if err := w.check("", root); err != nil {
		return nil, err
	}
	compiled, err := gojsonschema.NewSchemaLoader().Compile(alone{gojsonschema.NewGoLoader(doc)})
	if err != nil {
		return nil, errors.New(strings.TrimSpace(err.Error()))
	}
	return &Schema{compiled}, nil
}

// decode reads one JSON document, numbers as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON document")
	}
	return doc, numbers(doc)
}

// numbers refuses the few numbers that would take for ever to compare exactly.
func numbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if n, err := strconv.Atoi(exponent); exponent != "" && (err != nil || max(n, -n) > 400) || len(v) > 1000 {
			return fmt.Errorf("the number %s is out of range", cut(v.String()))
		}
	case []any:
		for _, e := range v {
			if err := numbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := numbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// dialects are the values of $schema that are understood.
const dialects = "json-schema.org/draft-04/schema json-schema.org/draft-06/schema json-schema.org/draft-07/schema"

// known refuses a schema in a dialect whose words may mean something else here.
func known(root map[string]any) error {
	named, ok := root["$schema"].(string)
	if !ok {
		return nil
	}
	_, dialect, _ := strings.Cut(strings.TrimSuffix(named, "#"), "://")
	if slices.Contains(strings.Fields(dialects), dialect) {
		return nil
	}
	return fmt.Errorf("its dialect %s is not one of drafts 4, 6 and 7", cut(named))
}

// alone is a document that has no others beside it.
type alone struct{ gojsonschema.JSONLoader }

// LoaderFactory makes loaders for other documents: there are none.
func (alone) LoaderFactory() gojsonschema.JSONLoaderFactory { return nobody{} }

// LoadJSON is the document as it was decoded, big numbers included.
func (a alone) LoadJSON() (any, error) { return a.JsonSource(), nil }

type nobody struct{}

// New is a loader that finds nothing.
func (nobody) New(string) gojsonschema.JSONLoader {
	return nothing{alone{gojsonschema.NewGoLoader(nil)}}
}

type nothing struct{ alone }

var errOutside = errors.New("it refers to another document, which is never fetched")

// LoadJSON says that there is nothing to load.
func (nothing) LoadJSON() (any, error) { return nil, errOutside }

// maxProblems is how many problems are said; more would help nobody.
const maxProblems = 20

// Problems says everything that is wrong with a document, such as "'limit'
// should be integer, got string"; nothing if it fits.
func (s *Schema) Problems(text json.RawMessage) (all []string) {
	doc, err := decode(text)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() {
		if r := recover(); r != nil {
			all = []string{fmt.Sprintf("it cannot be judged by the schema: %v", r)}
		}
	}()
	result, err := s.compiled.Validate(alone{gojsonschema.NewGoLoader(doc)})
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range result.Errors() {
		all = append(all, words(e))
	}
	slices.Sort(all) // the library walks maps
	all = slices.Compact(all)
	if more := len(all) - maxProblems; more > 0 {
		all = append(all[:maxProblems], strconv.Itoa(more)+" more")
	}
	return all
}

// words is one problem.
func words(e gojsonschema.ResultError) string {
	at := strings.TrimPrefix(strings.TrimPrefix(e.Context().String(), "(root)"), ".")
	name := "'" + at + "'"
	if at == "" {
		name = "the input"
	}
	detail := func(key string) string { return fmt.Sprint(e.Details()[key]) }
	switch e.Type() {
	case "required":
		return "'" + below(at, detail("property")) + "' is required"
	case "additional_property_not_allowed":
		return "'" + below(at, detail("property")) + "' is not a property of this tool"
	case "invalid_type":
		return name + " should be " + strings.ReplaceAll(detail("expected"), ",", " or ") + ", got " + detail("given")
	case "enum":
		return name + " should be one of " + detail("allowed")
	}
	return name + ": " + cut(e.Description())
}

func below(at, property string) string {
	if at == "" {
		return property
	}
	return at + "." + property
}

// maxWords is how much of a description is used, which may repeat long values.
const maxWords = 300

func cut(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "") + "…"
}
