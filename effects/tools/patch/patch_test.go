package patch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TOOL-24: what matches, what is written, and which bytes stay.
func TestApply(t *testing.T) {
	tests := []struct {
		name  string
		text  string
		edits []Edit
		all   bool
		want  string
		count int
	}{
		{"exact", "one two three\n", []Edit{{"two", "2"}}, false, "one 2 three\n", 1},
		{"to nothing", "a\nb\nc\n", []Edit{{"b\n", ""}}, false, "a\nc\n", 1},
		{"all", "x y x", []Edit{{"x", "zz"}}, true, "zz y zz", 2},
		{"against the original", "a b", []Edit{{"a", "b"}, {"b", "a"}}, false, "b a", 2},
		{"out of order", "a b c", []Edit{{"c", "3"}, {"a", "1"}}, false, "1 b 3", 2},
		{"side by side", "ab", []Edit{{"a", "1"}, {"b", "2"}}, false, "12", 2},
		{"no final line break", "a\nb", []Edit{{"a", "A"}}, false, "A\nb", 1},
		{"crlf from the model", "a\nb\n", []Edit{{"a\r\nb", "a\r\nB"}}, false, "a\nB\n", 1},
		{"crlf insertion", "a\r\nb\r\n", []Edit{{"a\n", "a\nx\ny\n"}}, false, "a\r\nx\r\ny\r\nb\r\n", 1},
		{"crlf in one line", "a\r\nb\r\n", []Edit{{"b", "b\nc"}}, false, "a\r\nb\r\nc\r\n", 1},
		{"after the last line break", "a\r\nb", []Edit{{"b", "b\nc"}}, false, "a\r\nb\r\nc", 1},
		{"mixed line ends, one each", "a\r\nb\nc\n", []Edit{{"a\nb\nc", "1\n2\n3"}}, false, "1\r\n2\n3\n", 1},
		{"line break after the match", "a\nb\r\nc\r\n", []Edit{{"a", "a\nx"}}, false, "a\nx\nb\r\nc\r\n", 1},
		{"mark kept", "\uFEFFa\n", []Edit{{"a", "b"}}, false, "\uFEFFb\n", 1},
		{"mark from the model", "\uFEFFa\n", []Edit{{"\uFEFFa", "\uFEFFb"}}, false, "\uFEFFb\n", 1},
		{"lone carriage return", "a\rb\n", []Edit{{"b", "c"}}, false, "a\rc\n", 1},
		{"loose quotes", "x = “hi”\n", []Edit{{"x = \"hi\"", "x = \"ho\""}}, false, "x = \"ho\"\n", 1},
		{"loose trailing space", "if a {  \n\tb\n}\n", []Edit{{"if a {\n\tb\n}", "if a {\n\tc\n}"}}, false, "if a {  \n\tc\n}\n", 1},
		{"loose keeps agreeing lines", "“a”\n—\nc\n", []Edit{{"\"a\"\n-\nc", "\"a\"\n-\nd"}}, false, "“a”\n—\nd\n", 1},
		{"loose with more lines", "“a”\nb\n“z”\n", []Edit{{"\"a\"\nb\n\"z\"\n", "\"a\"\nb\nb2\n\"z\"\n"}}, false, "“a”\nb\nb2\n“z”\n", 1},
		{"loose with fewer lines", "“a”\r\nb\r\nc\r\n", []Edit{{"\"a\"\nb\n", "\"a\"\n"}}, false, "“a”\r\nc\r\n", 1},
		{"loose with nothing left", "“a”\nb\n", []Edit{{"\"a\"\n", ""}}, false, "b\n", 1},
		{"loose compatibility forms", "ﬁn\u00a0x\n", []Edit{{"fin x", "fin y"}}, false, "fin y\n", 1},
		{"loose crlf", "“a”  \r\nb\r\n", []Edit{{"\"a\"\nb", "\"a\"\nB"}}, false, "“a”  \r\nB\r\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Apply([]byte(tt.text), tt.edits, tt.all)
			if err != nil || string(got.Text) != tt.want || got.Count != tt.count {
				t.Errorf("Apply(%q, %q) = %q (%d), %v, want %q (%d)", tt.text, tt.edits, got.Text, got.Count, err, tt.want, tt.count)
			}
		})
	}
}

// TOOL-24: each reason to refuse has its code, its edit and its lines.
func TestApplyRefuses(t *testing.T) {
	tests := []struct {
		name  string
		text  string
		edits []Edit
		all   bool
		want  Error
		says  string
	}{
		{"empty", "a", []Edit{{"a", "b"}, {"", "x"}}, false, Error{Code: CodeEmpty, Edit: 2}, "edit 2"},
		{"identical", "a", []Edit{{"a", "a"}}, false, Error{Code: CodeNoChange, Edit: 1}, "no change"},
		{"not found", "a", []Edit{{"b", "c"}}, false, Error{Code: CodeNotFound, Edit: 1}, "edit 1"},
		{"not unique", "x\ny\nx\n", []Edit{{"x", "z"}}, false, Error{Code: CodeNotUnique, Edit: 1, Count: 2, Lines: []int{1, 3}}, "2 places (lines 1, 3)"},
		{"not unique by overlap", "aaa", []Edit{{"aa", "b"}}, false, Error{Code: CodeNotUnique, Edit: 1, Count: 2, Lines: []int{1}}, "2 places"},
		{"overlapping", "abc", []Edit{{"bc", "x"}, {"ab", "y"}}, false, Error{Code: CodeOverlapping, Edit: 1, Other: 2}, "edits 1 and 2"},
		{"the same twice", "a", []Edit{{"a", "x"}, {"a", "y"}}, false, Error{Code: CodeOverlapping, Edit: 1, Other: 2}, "edits 1 and 2"},
		{"swapped back", "ab ba", []Edit{{"ab ", "ab  "}, {"b b", "b b"}}, false, Error{Code: CodeNoChange, Edit: 2}, "edit 2"},
		{"loose and ambiguous", "“a”\n”a“\n", []Edit{{"\"a\"", "b"}}, true, Error{Code: CodeNotUnique, Edit: 1, Count: 2, Lines: []int{1, 2}, Loose: true}, "copy the text exactly"},
		{"blank is never loose", "a\n  \n", []Edit{{"\t", "x"}}, false, Error{Code: CodeNotFound, Edit: 1}, "not found"},
		{"loose change of nothing", "a  \nb\n", []Edit{{"a\nb", "a  \nb"}}, false, Error{Code: CodeNoChange}, "leave the file as it is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := []byte(tt.text)
			_, err := Apply(before, tt.edits, tt.all)
			got, ok := errors.AsType[*Error](err)
			if !ok || fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Apply(%q, %q) = %v, want %+v that says %q", tt.text, tt.edits, err, tt.want, tt.says)
			}
			if string(before) != tt.text {
				t.Errorf("Apply changed its input to %q", before)
			}
		})
	}
}

// FR-031: an edit of a plain line destroyed bytes of another encoding elsewhere.
func TestFR031BytesElsewhereStay(t *testing.T) {
	for _, rest := range []string{"# caf\xe9\n", "\xc4\xe3\xba\xc3\n", "nul \x00 here\n"} {
		got, err := Apply([]byte("x = 1\n"+rest), []Edit{{"x = 1", "x = 2"}}, false)
		if want := "x = 2\n" + rest; err != nil || string(got.Text) != want {
			t.Errorf("Apply = %q, %v, want %q", got.Text, err, want)
		}
	}
}

// FR-032: line ends and the byte-order mark were lost, and a change of nothing
// was called a success.
func TestFR032LineEndsAndMarkStay(t *testing.T) {
	text := "\xef\xbb\xbfa\r\nb\r\nc\n"
	got, err := Apply([]byte(text), []Edit{{"a\nb", "a\nB"}}, false)
	if want := "\xef\xbb\xbfa\r\nB\r\nc\n"; err != nil || string(got.Text) != want {
		t.Errorf("Apply = %q, %v, want %q", got.Text, err, want)
	}
	_, err = Apply(got.Text, []Edit{{"a\r\nB", "a\nB"}}, false)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeNoChange {
		t.Errorf("Apply of the same text with other line ends = %v, want %s", err, CodeNoChange)
	}
}

// FR-033: lenient matching changed look-alikes elsewhere, or counted them.
func TestFR033OnlyTheExactPlaceChanges(t *testing.T) {
	text := "g = \"hi\"\ng = “hi”\na — b\u00a0c\n"
	got, err := Apply([]byte(text), []Edit{{"g = \"hi\"", "g = \"ho\""}}, false)
	if want := strings.Replace(text, "\"hi\"", "\"ho\"", 1); err != nil || string(got.Text) != want {
		t.Errorf("Apply = %q, %v, want %q", got.Text, err, want)
	}
	_, err = Apply([]byte("a\nx\nb\nb\nb\nb\nb\nb\nx\n"), []Edit{{"x", "y"}}, false)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeNotUnique || !slices.Equal(e.Lines, []int{2, 9}) {
		t.Errorf("Apply of an ambiguous text = %v, want lines 2 and 9", err)
	}
}

// FR-037: dollar signs in the new text were expanded instead of written.
func TestFR037NewTextIsPlain(t *testing.T) {
	repl := "a$&b $1 ${n} $$ $` $' \\1 %s {{.}}"
	for _, all := range []bool{false, true} {
		got, err := Apply([]byte("log(\"x\")\n"), []Edit{{"log(\"x\")", repl}}, all)
		if want := repl + "\n"; err != nil || string(got.Text) != want {
			t.Errorf("Apply = %q, %v, want %q", got.Text, err, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	got, err := Apply([]byte("a\nb\nc\n"), []Edit{{"b\nc", "b\nd"}}, false)
	if err != nil || got.FirstLine != 3 {
		t.Errorf("Apply = first line %d, %v, want 3", got.FirstLine, err)
	}
}

// FR-031, FR-032: whatever is edited, the bytes before and after the matched
// passage are still there, and so is the passage's new text.
func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), []byte("\xff\r\n"), "b\nc", "x\ny\nz")
	f.Add([]byte("\xef\xbb\xbf“a” \r\n"), []byte("\n“a”\n"), "\"a\"", "b")
	f.Add([]byte(""), []byte("é\xe9"), "é", "e")
	f.Fuzz(func(t *testing.T, head, tail []byte, old, repl string) {
		text := slices.Concat(head, []byte(old), tail)
		before := bytes.Clone(text)
		got, err := Apply(text, []Edit{{old, repl}}, false)
		if !bytes.Equal(text, before) {
			t.Fatalf("Apply changed its input")
		}
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("Apply = %v, want a *Error", err)
			}
			return
		}
		checkOutside(t, text, got.Text, old, repl)
	})
}

// checkOutside checks an edit whose old text stands exactly once in text, when
// line ends and the mark are looked through, by a reference that knows nothing
// of positions: the edit made on the plain text is the plain text of the edit.
func checkOutside(t *testing.T, text, got []byte, old, repl string) {
	t.Helper()
	flat := func(b []byte) string { return normal(string(b)) }
	if n := strings.Count(flat(text), normal(old)); n != 1 {
		return // lenient
	}
	want := strings.Replace(flat(text), normal(old), normal(repl), 1)
	lone := strings.ContainsRune(flat(text)+normal(old)+normal(repl), '\r') // may come to stand before a line break
	if flat(got) != want && !lone {
		t.Fatalf("Apply(%q, %q, %q) = %q, want it to read %q", text, old, repl, got, want)
	}
	at := strings.Index(flat(text), normal(old))
	v := newView(text)
	if prefix := text[:v.offset(at)]; !bytes.HasPrefix(got, prefix) {
		t.Fatalf("Apply(%q, %q, %q) = %q, want the bytes %q before it untouched", text, old, repl, got, prefix)
	}
	if suffix := text[v.offset(at+len(normal(old))):]; !bytes.HasSuffix(got, suffix) {
		t.Fatalf("Apply(%q, %q, %q) = %q, want the bytes %q after it untouched", text, old, repl, got, suffix)
	}
}

// FR-033: a lenient match too changes nothing but the lines that it found.
func FuzzLoose(f *testing.F) {
	f.Add("head\r\n", "\ntail\xff", "say \"a\"\nb-c\nd", "say \"a\"\nB\nd")
	f.Add("", "", "\"x\"", "")
	f.Add("\uFEFFa\n", "\r\n“y”", "\"x\"\n-\n", "\"x\"\nz\nz\n-\n")
	f.Fuzz(func(t *testing.T, head, tail, old, repl string) {
		loosen := strings.NewReplacer("\"", "“", "-", "—", "\n", "  \r\n")
		text := []byte(head + loosen.Replace(old) + tail)
		changes, err := newView(text).find(1, Edit{old, repl}, false)
		if err != nil {
			return
		}
		got, err := Apply(text, []Edit{{old, repl}}, false)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeNoChange {
				t.Fatalf("Apply(%q, %q, %q) = %v, want what find found", text, old, repl, err)
			}
			return
		}
		v := newView(text)
		before, after := text[:v.offset(changes[0].span.start)], text[v.offset(changes[0].span.end):]
		if !bytes.HasPrefix(got.Text, before) || !bytes.HasSuffix(got.Text, after) || len(got.Text) < len(before)+len(after) {
			t.Fatalf("Apply(%q, %q, %q) = %q, want %q before and %q after untouched", text, old, repl, got.Text, before, after)
		}
	})
}
