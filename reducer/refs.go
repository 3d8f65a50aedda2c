package reducer

import "reflect"

// Refs lists the blobs that an event names, in the order of its members.
func Refs(e Event) []Ref {
	var refs []Ref
	collectRefs(reflect.ValueOf(e), &refs)
	return refs
}

func collectRefs(v reflect.Value, refs *[]Ref) {
	if r, ok := reflect.TypeAssert[Ref](v); ok {
		if r.Digest != "" {
			*refs = append(*refs, r)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				collectRefs(field, refs)
			}
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct {
			for i := range v.Len() {
				collectRefs(v.Index(i), refs)
			}
		}
	default:
	}
}
