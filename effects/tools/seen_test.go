//go:build unix

package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/reducer"
)

// memory is an agent that remembers what it saw of files.
type memory struct {
	bench
	files []reducer.FileSeen
}

// call runs a tool and takes down what it saw, as the rules do.
func (m *memory) call(t *testing.T, name, input string) effects.Result {
	t.Helper()
	r, err := m.tools[name].Call(t.Context(), effects.Invocation{Call: "r1.c1", Input: json.RawMessage(input), Files: m.files})
	if err != nil {
		t.Fatal(err)
	}
	s := reducer.Apply(reducer.State{Files: m.files}, reducer.CallSettled{Call: "r1.c1", Files: r.Files})
	m.files = s.Files
	return r
}

// TOOL-22, TOOL-24: what another program changed since the whole of it was read
// is not written over, by neither tool, until it is read again.
func TestStaleContentIsNotWrittenOver(t *testing.T) {
	change := map[string]string{
		"edit":  in("path", "f", "old", "one", "new", "1"),
		"write": in("path", "f", "content", "mine\n"),
	}
	for name, input := range change {
		m := &memory{bench: newBench(t, Options{}, "f", "one\ntwo\n", "link", "-> f")}
		m.call(t, "read", in("path", "link"))
		m.put(t, "f", "one\nthree\n")
		wantError(t, name, m.call(t, name, input), string(fence.CodeChanged), "f: has changed on disk", "read it again")
		wantError(t, name+" through a link", m.call(t, name, strings.Replace(input, `"f"`, `"./link"`, 1)), string(fence.CodeChanged))
		if got := m.get(t, "f"); got != "one\nthree\n" {
			t.Fatalf("after a refused %s the file is %q, want it untouched", name, got)
		}
		m.call(t, "read", in("path", "f", "limit", 1))
		wantError(t, name+" after a look at a part", m.call(t, name, input), string(fence.CodeChanged))
		m.call(t, "read", in("path", "f"))
		if r := m.call(t, name, input); r.IsError {
			t.Errorf("%s after reading again = %q, want it done", name, r.Output)
		}
	}
}

// TOOL-22, TOOL-24: what counts as changed, and for whom.
func TestWhatIsStale(t *testing.T) {
	for name, tt := range map[string]struct {
		before []string // calls of read, as input
		happen func(t *testing.T, m *memory)
		stale  bool
	}{
		"never read":      {nil, func(t *testing.T, m *memory) { m.put(t, "f", "one\nx\n") }, false},
		"a part was read": {[]string{in("path", "f", "offset", 2)}, func(t *testing.T, m *memory) { m.put(t, "f", "one\nx\n") }, false},
		"all in a part":   {[]string{in("path", "f", "limit", 9)}, func(t *testing.T, m *memory) { m.put(t, "f", "one\nx\n") }, true},
		"same content": {[]string{in("path", "f")}, func(t *testing.T, m *memory) {
			m.put(t, "g", "one\ntwo\n")
			if err := os.Rename(filepath.Join(m.dir, "g"), filepath.Join(m.dir, "f")); err != nil {
				t.Fatal(err)
			}
		}, false},
		"own edit": {[]string{in("path", "f")}, func(t *testing.T, m *memory) {
			m.call(t, "edit", in("path", "f", "old", "two", "new", "2"))
		}, false},
		"own write": {nil, func(t *testing.T, m *memory) {
			m.call(t, "write", in("path", "f", "content", "one\n"))
		}, false},
		"changed after an own edit": {[]string{in("path", "f")}, func(t *testing.T, m *memory) {
			m.call(t, "edit", in("path", "f", "old", "two", "new", "2"))
			m.put(t, "f", "one\nx\n")
		}, true},
		"changed after an own write": {nil, func(t *testing.T, m *memory) {
			m.call(t, "write", in("path", "f", "content", "one\n"))
			m.put(t, "f", "one\nx\n")
		}, true},
		"grown beyond what one read shows, and read as far as that": {[]string{in("path", "f")}, func(t *testing.T, m *memory) {
			m.put(t, "f", "one\n"+strings.Repeat("x\n", 3000))
			wantError(t, "write", m.call(t, "write", in("path", "f", "content", "x")), string(fence.CodeChanged))
			m.call(t, "read", in("path", "f"))
		}, false},
		"a long line grew": {[]string{in("path", "f")}, func(t *testing.T, m *memory) {
			m.put(t, "f", "one\n"+strings.Repeat("x", 3000))
			m.call(t, "read", in("path", "f"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{bench: newBench(t, Options{}, "f", "one\ntwo\n")}
			for _, input := range tt.before {
				m.call(t, "read", input)
			}
			tt.happen(t, m)
			for _, c := range [][2]string{{"edit", in("path", "f", "old", "one", "new", "1")}, {"write", in("path", "f", "content", "x")}} {
				got := m.call(t, c[0], c[1])
				if tt.stale != (got.Code == string(fence.CodeChanged)) || got.IsError != tt.stale {
					t.Errorf("%s = %q (%s), want it refused: %v", c[0], got.Output, got.Code, tt.stale)
				}
			}
		})
	}
	m := &memory{bench: newBench(t, Options{}, "f", "one\n")}
	m.call(t, "read", in("path", "f"))
	if err := os.Remove(filepath.Join(m.dir, "f")); err != nil {
		t.Fatal(err)
	}
	want(t, "write of a file that is gone", m.call(t, "write", in("path", "f", "content", "x")), "Wrote 1 byte(s) to f")
}

// What is only read, such as a kept output, is not taken down.
func TestOnlyWritablePlacesAreTakenDown(t *testing.T) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "out.txt"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &memory{bench: newBench(t, Options{ReadRoots: []string{other}}, ".git/config", "x\n", "f", "x\n")}
	for _, path := range []string{filepath.Join(other, "out.txt"), ".git/config", "f"} {
		if r := m.call(t, "read", in("path", path)); r.IsError {
			t.Fatalf("read %s = %q", path, r.Output)
		}
	}
	if len(m.files) != 1 || m.files[0].Path != filepath.Join(m.dir, "f") || m.files[0].Digest != digestOf([]byte("x\n")) {
		t.Errorf("seen = %+v, want f with its digest", m.files)
	}
}

// TOOL-17, TOOL-22, TOOL-24, FR-031, FR-032, FR-034, FR-035: what a change does
// not speak of stays: mode, link, byte-order mark, line ends and, under edit,
// bytes that are no UTF-8.
func TestChangesKeepTheFormOfAFile(t *testing.T) {
	const bom = "\uFEFF"
	tests := []struct {
		name, before, tool, input, after, says string
	}{
		{"edit keeps mark, mixed line ends and odd bytes", bom + "a\r\nb\nc\xe9\r\n", "edit", in("path", "link", "old", "a\nb", "new", "a\nB"), bom + "a\r\nB\nc\xe9\r\n", ""},
		{"edit keeps a file without a last line break", "a\r\nb", "edit", in("path", "link", "old", "a", "new", "x\ny"), "x\r\ny\r\nb", ""},
		{"write keeps mark and CRLF", bom + "a\r\nb\r\n", "write", in("path", "link", "content", "x\ny"), bom + "x\r\ny", " (kept its CRLF line ends and byte-order mark)"},
		{"write keeps a mark", bom + "a\n", "write", in("path", "link", "content", "x\n"), bom + "x\n", " (kept its byte-order mark)"},
		{"write keeps CRLF", "a\r\n", "write", in("path", "link", "content", "x\n"), "x\r\n", " (kept its CRLF line ends)"},
		{"write does not double", bom + "a\r\n", "write", in("path", "link", "content", bom+"x\r\ny\n"), bom + "x\r\ny\n", ""},
		{"write over mixed line ends", "a\r\nb\n", "write", in("path", "link", "content", "x\ny\n"), "x\ny\n", ""},
		{"write over LF", "a\n", "write", in("path", "link", "content", "x\r\n"), "x\r\n", ""},
		{"write over nothing", "", "write", in("path", "link", "content", "x\n"), "x\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Options{}, "d/f", tt.before, "link", "-> d/f")
			path := filepath.Join(b.dir, "d/f")
			if err := os.Chmod(path, 0o751); err != nil {
				t.Fatal(err)
			}
			r := b.call(t, tt.tool, tt.input)
			if got := b.get(t, "d/f"); r.IsError || got != tt.after || !strings.HasSuffix(r.Output, "d/f"+tt.says) {
				t.Errorf("%s: the file is %q, want %q; it says %q", tt.tool, got, tt.after, r.Output)
			}
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o751 {
				t.Errorf("the mode is %v, %v, want 0751", fi.Mode(), err)
			}
			if to, err := os.Readlink(filepath.Join(b.dir, "link")); err != nil || to != "d/f" {
				t.Errorf("the link leads to %q, %v, want d/f", to, err)
			}
		})
	}
}

// A file whose line breaks fall on the edges of what is read at once is judged
// like any other.
func TestLineEndsAcrossPieces(t *testing.T) {
	for text, want := range map[string]bool{"a\r\nb\r\n": true, "a\r\nb\n": false, "\r\n": true, "a\rb": false, "": false, "\n\r\n": false} {
		for cut := range len(text) + 1 {
			l := &lineEnds{}
			for _, p := range []string{text[:cut], "", text[cut:]} {
				_, _ = l.Write([]byte(p))
			}
			if got := l.crlf > 0 && l.crlf == l.all; got != want {
				t.Errorf("%q cut at %d: CRLF %v, want %v", text, cut, got, want)
			}
		}
	}
	whole := &lineEnds{}
	for _, c := range []byte("\uFEFFab") {
		_, _ = whole.Write([]byte{c})
	}
	if !slices.Equal(whole.head, []byte("\uFEFF")) {
		t.Errorf("head = %q, want the mark", whole.head)
	}
}
