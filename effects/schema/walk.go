package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// state says how far the walk is with a place in a schema.
type state int

const (
	unseen state = iota
	open         // on the way down to here
	done
)

// walk looks for what a validator could not bear: references out of the document
// or to nowhere, and places whose judgement needs their own. A place is named by
// its JSON pointer.
type walk struct {
	root  map[string]any
	state map[string]state
	depth int
}

// maxDepth is how deep a schema may be nested.
const maxDepth = 200

// data are the keywords whose values are no schemas.
var data = []string{"enum", "const", "default", "examples"}

// check looks at everything below a place.
func (w *walk) check(at string, v any) error {
	if w.depth++; w.depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	defer func() { w.depth-- }()
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := w.check(at+"/"+strconv.Itoa(i), e); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := w.object(at, v); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains(data, key) {
				continue
			}
			if err := w.check(at+"/"+escape(key), v[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// object looks at one object that may be a schema.
func (w *walk) object(at string, m map[string]any) error {
	for _, key := range []string{"$id", "id"} {
		if _, named := m[key].(string); named && at != "" {
			return fmt.Errorf("the part %s has a name of its own (%s), which is not supported", at, key)
		}
	}
	return w.judged(at, m)
}

// judged follows everything that is judged at the same value as this place; to
// come back here would be without end.
func (w *walk) judged(at string, v any) error {
	m, ok := v.(map[string]any)
	if !ok || w.state[at] == done {
		return nil
	}
	if w.state[at] == open {
		return fmt.Errorf("the part %q refers to itself without end", at)
	}
	if w.depth++; w.depth > maxDepth {
		return errors.New("its references are nested too deeply")
	}
	defer func() { w.depth-- }()
	w.state[at] = open
	defer func() { w.state[at] = done }()
	if ref, ok := m["$ref"].(string); ok {
		return w.follow(ref)
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if err := w.judged(at+"/"+key, m[key]); err != nil {
			return err
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[key].([]any)
		for i, e := range list {
			if err := w.judged(at+"/"+key+"/"+strconv.Itoa(i), e); err != nil {
				return err
			}
		}
	}
	dependencies, _ := m["dependencies"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(dependencies)) {
		if err := w.judged(at+"/dependencies/"+escape(key), dependencies[key]); err != nil {
			return err
		}
	}
	return nil
}

// follow goes where a reference leads.
func (w *walk) follow(ref string) error {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return errOutside
	}
	at := strings.Split(pointer, "/")[1:]
	var v any = w.root
	for i, token := range at {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		at[i] = escape(token)
		if v, ok = child(v, token); !ok {
			break
		}
	}
	if _, isMap := v.(map[string]any); !ok || !isMap || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return errors.New("a reference in it leads nowhere that can be followed")
	}
	return w.judged(strings.Join(append([]string{""}, at...), "/"), v)
}

func child(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[token]
		return c, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && 0 <= i && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
