package reducer

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// JRN-16: a type says what it is about and what has happened to that.
func TestNamesAreInThePastTense(t *testing.T) {
	shape := regexp.MustCompile(`^[a-z]+\.[a-z]+ed$`)
	for name := range kinds {
		if !shape.MatchString(name) {
			t.Errorf("%s is not a subject and a verb in the past tense", name)
		}
	}
}

// JRN-14: a payload is plain JSON, in which nothing is escaped for HTML.
func TestEncodeDoesNotEscape(t *testing.T) {
	_, data, err := Encode(CallRefused{Call: "r1.c1", Text: "a<b>&c\u2028"})
	if want := `{"call":"r1.c1","code":"","text":"a<b>&c\u2028"}`; err != nil || string(data) != want {
		t.Errorf("Encode = %s, %v, want %s", data, err, want)
	}
}

// JRN-19: every event type, and every member of its payload, is documented.
func TestEventsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			rows[name] = rest
		}
	}
	for name, typ := range kinds {
		row, ok := rows[name]
		if !ok {
			t.Errorf("docs/events.md has no row for %s", name)
			continue
		}
		for field := range typ.Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(row, "`"+member+"`") {
				t.Errorf("docs/events.md: the row of %s does not name %s", name, member)
			}
		}
		class, _, _ := strings.Cut(row, " |")
		if got := string(ClassOf(reflect.New(typ).Elem().Interface().(Event))); !strings.Contains(class, got) {
			t.Errorf("docs/events.md: %s has class %s, the program says %s", name, class, got)
		}
	}
}

// JRN-17, JRN-18, JRN-20: unknown notes and members are kept and skipped, any other unknown
// type is told apart from a broken payload.
func TestDecodeUnknown(t *testing.T) {
	if e, err := Decode("note.weather", []byte(`{"a":1}`)); err != nil || e.(Note).Name != "note.weather" {
		t.Errorf("Decode(note.weather) = %v, %v; want a note", e, err)
	}
	if e, err := Decode("x.y.z", []byte(`{}`)); err != nil || ClassOf(e) != LifeCycle {
		t.Errorf("Decode(x.y.z) = %v, %v; want a life-cycle event", e, err)
	}
	if e, err := Decode("turn.started", []byte(`{"turn":"t1","later":true}`)); err != nil || e != (TurnStarted{Turn: "t1"}) {
		t.Errorf("Decode(turn.started) = %v, %v; want the known members", e, err)
	}
	_, err := Decode("turn.begun", []byte(`{}`))
	if unknown, ok := errors.AsType[*UnknownKindError](err); !ok || unknown.Kind != "turn.begun" {
		t.Errorf("Decode(turn.begun) = %v, want an *UnknownKindError", err)
	}
	if _, err := Decode("turn.started", []byte(`{"turn":3}`)); err == nil {
		t.Error("Decode of a wrong member type = nil, want an error")
	}
}

// Every variant survives its encoding with every member filled.
func TestEncodeDecodeAllKinds(t *testing.T) {
	for name, typ := range kinds {
		v := reflect.New(typ).Elem()
		fill(v, 3)
		e := v.Interface().(Event)
		kind, data, err := Encode(e)
		if err != nil || kind != name {
			t.Fatalf("Encode(%s) = %s, %v", name, kind, err)
		}
		back, err := Decode(kind, data)
		if err != nil {
			t.Fatalf("Decode(%s): %v", name, err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Errorf("Decode(Encode(x)) = %+v, want %+v", back, e)
		}
	}
}

// fill sets every member of a value to something.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case Text:
		v.Set(reflect.ValueOf(T("t<&>")))
		return
	case Count:
		v.Set(reflect.ValueOf(Known(0)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("s")
	case reflect.Int, reflect.Int64:
		v.SetInt(4)
	case reflect.Uint64:
		v.SetUint(5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"n":12345678901234567890}`))
			return
		}
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth)
		}
	default:
	}
}

// FuzzDecode: bytes from a journal never crash the decoder or the fold.
func FuzzDecode(f *testing.F) {
	f.Add("turn.started", []byte(`{"turn":"t1"}`))
	f.Add("model.answered", []byte(`{"round":"r1","items":[{"type":"call"}],"calls":[{"id":"r1.c1"},{"id":"r1.c2"}]}`))
	f.Add("call.settled", []byte(`{"call":"r1.c1","outcome":"done","output":{"blob":"sha256:0"}}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		e, err := Decode(kind, data)
		if err != nil {
			return
		}
		s := Fold(State{}, AgentCreated{Kind: KindTask, Prompt: []Part{{Type: PartText}}}, AgentAttached{Gen: 2, Rules: 1})
		for range 3 {
			s = Apply(s, e)
			for i, d := range Decide(s) {
				if i > 1000 {
					t.Fatalf("Decide has no end after %s", Describe(e))
				}
				s = Apply(s, d)
			}
			s.Open()
		}
	})
}

// A text is the string that encoding/json reads, whichever way it was escaped.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`""`, `"plain"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u00e4\ud83d\ude00 \ud83d"`, `"é 😀"`, "\"a\xffb\"", `null`, `"\`, `"\"`, `"a\n`, `1`, `{"blob":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			return
		}
		var want string
		var got Text
		failed := json.Unmarshal(data, &want)
		if err := json.Unmarshal(data, &got); (err == nil) != (failed == nil) || got.Inline != want && err == nil {
			t.Errorf("Text of %q = %q, %v, want %q, %v", data, got.Inline, err, want, failed)
		}
		_ = got.UnmarshalJSON(data) // of whatever it is called with: no panic
	})
}
