package journal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func testEntry() entry {
	return entry{
		seq: 42, gen: 3, pos: 1, kind: []byte("tool.call.finished"),
		stamp: []byte("2026-01-31T09:15:02.118Z"), prev: [16]byte{0x7e, 15: 0xfe}, data: []byte(`{"text":"ok\n"}`),
	}
}

// JRN-13
func TestLineRoundTrip(t *testing.T) {
	want := testEntry()
	line := appendLine(nil, want)
	got, rule := parseLine(line[:len(line)-1])
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); rule != RuleNone || diff != "" {
		t.Errorf("parseLine(appendLine(e)) = rule %q, -want +got:\n%s", rule, diff)
	}
	const shape = `{"seq":42,"type":"tool.call.finished","v":1,"ts":"2026-01-31T09:15:02.118Z","gen":3,"pos":1,` +
		`"prev":"7e0000000000000000000000000000fe","data":{"text":"ok\n"},"crc":"`
	if !strings.HasPrefix(string(line), shape) {
		t.Errorf("appendLine = %s, want %s…", line, shape)
	}
	if !json.Valid(line) {
		t.Errorf("appendLine = %s, want JSON", line)
	}
}

// JRN-10, JRN-13, JRN-18: nothing but the exact shape is a line, even with a right
// checksum.
func TestParseLineIsStrict(t *testing.T) {
	tests := []struct{ name, from, to string }{
		{"space", `"seq":42`, `"seq": 42`},
		{"leading zero", `"seq":42`, `"seq":042`},
		{"zero", `"seq":42`, `"seq":0`},
		{"sign", `"seq":42`, `"seq":+42`},
		{"huge", `"seq":42`, `"seq":9999999999999999999`},
		{"one segment", `"tool.call.finished"`, `"tool"`},
		{"five segments", `"tool.call.finished"`, `"a.b.c.d.e"`},
		{"upper case", `"tool.call.finished"`, `"tool.Call"`},
		{"long type", `"tool.call.finished"`, `"a.` + strings.Repeat("b", 63) + `"`},
		{"other version", `"v":1`, `"v":2`},
		{"missing member", `"v":1,`, ``},
		{"extra member", `"gen":3`, `"gen":3,"x":1`},
		{"no such day", `2026-01-31`, `2026-02-30`},
		{"no such hour", `T09`, `T24`},
		{"micro", `.118Z`, `.118000Z`},
		{"generation zero", `"gen":3`, `"gen":0`},
		{"upper case hash", `7e00`, `7E00`},
		{"no object", `{"text":"ok\n"}`, `"text"`},
		{"raw tab", `ok\n`, "ok\t"},
		{"raw NUL", `ok\n`, "ok\x00"},
		{"carriage return", `ok\n`, "ok\r"},
	}
	plain := appendLine(nil, testEntry())
	body, _, _ := bytes.Cut(plain, []byte(pieceCRC))
	for _, tt := range tests {
		changed := strings.Replace(string(body), tt.from, tt.to, 1)
		if changed == string(body) {
			t.Fatalf("%s: %q is not in the line", tt.name, tt.from)
		}
		if _, rule := parseLine(resum(changed)); rule != RuleShape {
			t.Errorf("%s: parseLine = %q, want %q", tt.name, rule, RuleShape)
		}
	}
	if _, rule := parseLine(resum(string(body))); rule != RuleNone {
		t.Errorf("parseLine(unchanged) = %q, want none", rule)
	}
}

// resum puts the right checksum behind the start of a line.
func resum(body string) []byte {
	return append(appendCRC(append([]byte(body), pieceCRC...), crc([]byte(body))), pieceEnd...)
}

func TestStampRoundTrip(t *testing.T) {
	for _, text := range []string{"0001-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "2000-02-29T00:00:00.001Z", "9999-12-31T23:59:59.999Z"} {
		got, ok := parseStamp([]byte(text))
		want, err := time.Parse(time.RFC3339Nano, text)
		if !ok || err != nil || !got.Equal(want) || string(appendStamp(nil, got)) != text {
			t.Errorf("parseStamp(%s) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"2023-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "2026-01-01 00:00:00.000Z"} {
		if _, ok := parseStamp([]byte(text)); ok {
			t.Errorf("parseStamp(%s) = ok, want refusal", text)
		}
	}
}

// JRN-10
func TestHasControl(t *testing.T) {
	for n := range 40 {
		b := bytes.Repeat([]byte{0xff}, n)
		if hasControl(b) {
			t.Errorf("hasControl(%d high bytes) = true, want false", n)
		}
		for i := range n {
			for _, c := range []byte{0x00, 0x1f, 0x0a} {
				b[i] = c
				if !hasControl(b) {
					t.Errorf("hasControl(%#x at %d of %d) = false, want true", c, i, n)
				}
			}
			b[i] = 0x20
			if hasControl(b) {
				t.Errorf("hasControl(space at %d of %d) = true, want false", i, n)
			}
			b[i] = 0xff
		}
	}
}

// JRN-11, JRN-12, JRN-90: what may be embedded.
func TestCheckObject(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	good := []string{`{}`, `{"a":[],"b":{},"c":[1,-0.5e+3,"x\u00e9\\\"",true,false,null]}`, `{"a":{"b":[{"c":0}]}}`, deep(64)}
	for _, text := range good {
		if reason := checkObject([]byte(text)); reason != "" {
			t.Errorf("checkObject(%.60s) = %q, want acceptance", text, reason)
		}
	}
	bad := []string{
		``, `[]`, `"x"`, `{} `, ` {}`, `{"a": 1}`, `{"a":1 }`, "{\n}", `{"a":1}{}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`,
		`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":-}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\t\"}", `{"a":"`,
		`{"a":[1}`, `{"a":tru}`, "{\"a\":\"\xff\"}", deep(65), `{"a":[}`, `{`,
	}
	for _, text := range bad {
		if checkObject([]byte(text)) == "" {
			t.Errorf("checkObject(%.60q) = acceptance, want a reason", text)
		}
	}
}

// JRN-12: a pretty-printed body must not split a record.
func TestCompact(t *testing.T) {
	got, err := Compact([]byte("{\n \"b\" : [ 1 , 2.50 ],\n\t\"a\": \"x y\"\n}\n"))
	if want := `{"b":[1,2.50],"a":"x y"}`; err != nil || string(got) != want {
		t.Errorf("Compact = %s, %v, want %s", got, err, want)
	}
	for _, text := range []string{"[1]", "{", "{\"a\":\"\xff\"}"} {
		if _, err := Compact([]byte(text)); err == nil {
			t.Errorf("Compact(%q) = nil, want an error", text)
		}
	}
}

// FuzzCheckObject compares the hand-made check with encoding/json.
func FuzzCheckObject(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":[1,2,{"b":null}]}`, `{"a":1e5}`, `{"a":"\ud800"}`, `{"a": 1}`, "{\"a\":\"\x7f\"}", `{"a":-0}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		want := len(data) > 0 && data[0] == '{' && json.Compact(&b, data) == nil && bytes.Equal(b.Bytes(), data) && utf8.Valid(data)
		got := checkObject(data) == ""
		if got != want && (!want || !strings.Contains(checkObject(data), "nesting")) {
			t.Errorf("checkObject(%q) = %v, want %v", data, got, want)
		}
	})
}

// FuzzParseLine: what is accepted is written back the same.
func FuzzParseLine(f *testing.F) {
	line := appendLine(nil, testEntry())
	f.Add(line[:len(line)-1])
	f.Fuzz(func(t *testing.T, line []byte) {
		e, rule := parseLine(line)
		if rule != RuleNone {
			return
		}
		if again := appendLine(nil, e); !bytes.Equal(again[:len(again)-1], line) {
			t.Errorf("appendLine(parseLine(%q)) = %q", line, again)
		}
	})
}
