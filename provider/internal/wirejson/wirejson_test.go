package wirejson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

var samples = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0.5e+10`, `""`, `"a\u00e9\n"`, ` {"a" : [1, {"b":null}], "c":"d"} `,
	`"\ud83d\ude00 \ud83d x"`, `"\ud83d\u0041"`, "\"\xff\"", `{"a":1,}`, `[1,]`, `{"a"}`, `{a:1}`, `01`, `1.`, `1e`, `-`, `tru`, `"abc`, `"\x"`, `-0.5e+20010`,
	`"\u12"`, "\"\t\"", `{"a":1}{"b":2}`, `{"a":1`, `[`, `{"a":`, ``, ` `, `nul`, `"\`,
}

// PROV-27: text that is not UTF-8, lone surrogates included, reads as U+FFFD.
func TestTextAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		checkAgainstStandard(t, []byte(s))
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAgainstStandard(t, data) })
}

func checkAgainstStandard(t *testing.T, data []byte) {
	t.Helper()
	var v any
	std := json.NewDecoder(bytes.NewReader(data))
	std.UseNumber() // a number may be larger than any float
	err := std.Decode(&v)
	if !json.Valid(data) {
		v, err = nil, cmp.Or(err, errors.New("more than one value"))
	}
	if got := Valid(data); got != (err == nil) && strings.Count(string(data), "[")+strings.Count(string(data), "{") < maxDepth {
		t.Fatalf("Valid(%q) = %v, want %v", data, got, err == nil)
	}
	c := NewCursor(data)
	want, isString := v.(string)
	if got, ok := c.Text(); err == nil && (ok != isString || string(got) != want) {
		t.Errorf("Text(%q) = %q, %v, want %q, %v", data, got, ok, want, isString)
	}
	if quoted := AppendString(nil, want); !Valid(quoted) {
		t.Errorf("AppendString(%q) = %q, want valid JSON", want, quoted)
	}
	raw := AppendString(nil, string(data))
	var back string
	if err := json.Unmarshal(raw, &back); err != nil || back != strings.ToValidUTF8(string(data), "\uFFFD") && len(back) < len(data) {
		t.Errorf("AppendString(%q) = %q, want the same text back, got %q, %v", data, raw, back, err)
	}
}

func TestShortInputIsToldFromBroken(t *testing.T) {
	for in, want := range map[string]bool{`{"a":`: true, `{"a":"b`: true, `[1`: true, `{"a":"\`: true, `tr`: true, `{"a":!`: false, `{"a" 1}`: false} {
		c := NewCursor([]byte(in))
		c.Skip()
		if c.err == nil || c.err.Short != want {
			t.Errorf("Skip(%q) = %v, want Short %v", in, c.err, want)
		}
	}
}

func TestWalk(t *testing.T) {
	c := NewCursor([]byte(`{"n":12.9,"s":"x\ty","list":[1,"two",{"deep":[[]]}],"raw":{"k": 9007199254740993},"left":[1]}`))
	var n int64
	var s, raw string
	count := 0
	c.Object(func(key []byte) {
		switch string(key) {
		case "n":
			n, _ = c.Int()
		case "s":
			s = c.String()
		case "list":
			c.Array(func() { count++ })
		case "raw":
			raw = string(c.Raw())
		}
	})
	if err := c.End(); err != nil || n != 12 || s != "x\ty" || count != 3 || raw != `{"k": 9007199254740993}` {
		t.Errorf("walk = %d, %q, %d, %q, %v", n, s, count, raw, err)
	}
}
