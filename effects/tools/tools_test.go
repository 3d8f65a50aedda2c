//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/proc"
	"github.com/basisagent/basis/reducer"
)

// bench is a workspace with its tools.
type bench struct {
	dir   string // the workspace, canonical
	tools map[string]effects.Tool
}

// newBench makes a workspace with these files, given as path and content. A
// path that ends in a slash is a directory; content "-> x" makes a link to x.
func newBench(t *testing.T, o Options, files ...string) bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "ws")
	o.Root, o.Env = dir, proc.Environ(os.Environ())
	b := bench{dir: dir, tools: map[string]effects.Tool{}}
	b.put(t, "./", "")
	for i := 0; i < len(files); i += 2 {
		b.put(t, files[i], files[i+1])
	}
	all, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		b.tools[tool.Spec().Name] = tool
	}
	return b
}

// put makes one file, directory or link.
func (b bench) put(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	dir := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		dir = path
	}
	err := os.MkdirAll(dir, 0o755)
	if to, ok := strings.CutPrefix(content, "-> "); err == nil && ok {
		err = os.Symlink(to, path)
	} else if err == nil && dir != path {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get is the content of a file.
func (b bench) get(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// call runs a tool.
func (b bench) call(t *testing.T, name, input string) effects.Result {
	t.Helper()
	r, err := b.tools[name].Call(t.Context(), effects.Invocation{Call: "r1.c1", Input: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("%s(%s) = %v, want a result", name, input, err)
	}
	if r.IsError == (r.Code == "") {
		t.Errorf("%s(%s) = code %q with IsError %v, want a code for each error", name, input, r.Code, r.IsError)
	}
	return r
}

// in is a JSON object of pairs.
func in(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return string(encode(m))
}

// want checks one result.
func want(t *testing.T, what string, got effects.Result, output string) {
	t.Helper()
	if got.IsError || got.Output != output {
		t.Errorf("%s = %q (%s), want %q", what, got.Output, got.Code, output)
	}
}

// wantError checks that a result is an error with a code that says something.
func wantError(t *testing.T, what string, got effects.Result, code string, says ...string) {
	t.Helper()
	if !got.IsError || got.Code != code {
		t.Errorf("%s = %q (%s), want an error with code %s", what, got.Output, got.Code, code)
	}
	for _, s := range says {
		if !strings.Contains(got.Output, s) {
			t.Errorf("%s = %q, want it to say %q", what, got.Output, s)
		}
	}
}

// TOOL-1, TOOL-3: the roster in its order, with classes and lanes.
func TestRoster(t *testing.T) {
	all, err := New(Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	size := 0
	for _, tool := range all {
		s := tool.Spec()
		got = append(got, strings.Join([]string{s.Name, string(s.Class), string(s.Lane)}, " "))
		size += len(s.Name) + len(s.Description) + len(s.Schema)
		if !json.Valid(s.Schema) || strings.ContainsAny(string(s.Schema), "\n") {
			t.Errorf("the schema of %s is %s, want compact JSON", s.Name, s.Schema)
		}
	}
	want := []string{
		"read none parallel", "ls none parallel", "grep none parallel", "glob none parallel",
		"write local_state exclusive", "edit local_state exclusive", "spawn process exclusive",
	}
	if !slices.Equal(got, want) {
		t.Errorf("New = %q, want %q", got, want)
	}
	// TOOL-26: spawn takes one string, and says what a leading ! means.
	last := all[len(all)-1].Spec()
	if want := `{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"}`; string(last.Schema) != want || !strings.Contains(last.Description, "input is !") {
		t.Errorf("spawn is %q with %s, want the sign explained and %s", last.Description, last.Schema, want)
	}
	if size > 3500 {
		t.Errorf("all tools take %d bytes of each request, want at most 3500", size)
	}
	if _, err := New(Options{Root: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("New without a directory = nil, want an error")
	}
}

// TOOL-9, TOOL-10: all that is wrong with an input is said at once, with the
// schema that it should fit.
func TestInvalidInput(t *testing.T) {
	b := newBench(t, Options{}, "a", "text\n")
	tests := []struct {
		tool, input string
		says        []string
	}{
		{"read", `{}`, []string{"'path' is required", `"required":["path"]`}},
		{"read", ``, []string{"'path' is required"}},
		{"read", `{"path":7,"offset":"1","typo":1}`, []string{"'path' should be string, got number; 'offset' should be integer, got string; 'typo' is not a property of this tool"}},
		{"read", `{"path":"a","offset":0}`, []string{"'offset' should be at least 1, got 0"}},
		{"read", `{"path":"a","limit":1.5}`, []string{"'limit' should be integer, got number"}},
		{"read", `{"path":null}`, []string{"'path' should be string, got null"}},
		{"read", `{"path":"a"`, []string{"not valid JSON", `received: {"path":"a"`, "fits this schema"}},
		{"read", `{"path":"a"} {}`, []string{"something follows"}},
		{"read", `["a"]`, []string{"should be an object, got array"}},
		{"read", `null`, []string{"should be an object, got null"}},
		{"read", `{"Path":"a"}`, []string{"'path' is required; 'Path' is not a property"}},
		{"grep", `{"pattern":"x","literal":"yes"}`, []string{"'literal' should be boolean, got string"}},
		{"edit", `{"path":"a","edits":[]}`, []string{"'edits' should not be empty"}},
		{"edit", `{"path":"a","edits":[{"old_string":"x","more":1},"y"]}`, []string{"'edits.0.new_string' is required; 'edits.0.more' is not a property", "'edits.1' should be object, got string"}},
		{"write", `{"path":"a"}`, []string{"'content' is required"}},
		{"spawn", `{"input":7}`, []string{"'input' should be string, got number"}},
	}
	for _, tt := range tests {
		wantError(t, tt.tool+"("+tt.input+")", b.call(t, tt.tool, tt.input), CodeInvalid, tt.says...)
	}
	long := strings.Repeat("x", 10_000)
	if got := b.call(t, "read", `{"path":"`+long); len(got.Output) > 1000 {
		t.Errorf("an error repeats %d bytes of broken input, want few", len(got.Output))
	}
	if got := b.get(t, "a"); got != "text\n" {
		t.Errorf("after all that the file is %q", got)
	}
}

// TOOL-18, TOOL-20, TOOL-23: other names and shapes are put right first.
func TestNormalize(t *testing.T) {
	edits := `"edits":[{"new_string":"y","old_string":"x"}]`
	tests := []struct{ tool, input, want string }{
		{"read", `{"file_path":"a","offset":3.0}`, `{"offset":3.0,"path":"a"}`},
		{"read", `{"filePath":"a","limit":null}`, `{"path":"a"}`},
		{"read", `{"path":"a","file_path":"b"}`, `{"file_path":"b","path":"a"}`},
		{"grep", `{"pattern":"<&>","ignoreCase":true}`, `{"ignore_case":true,"pattern":"<&>"}`},
		{"edit", `{"filePath":"a","edits":[{"oldText":"x","new":"y"}],"replaceAll":true}`, `{` + edits + `,"path":"a","replace_all":true}`},
		{"edit", `{"path":"a","edits":"[{\"old\":\"x\",\"newText\":\"y\"}]"}`, `{` + edits + `,"path":"a"}`},
		{"edit", `{"path":"a","edits":{"old_string":"x","new_string":"y"}}`, `{` + edits + `,"path":"a"}`},
		{"edit", `{"path":"a","old_string":"x","new_string":"y"}`, `{` + edits + `,"path":"a"}`},
		{"edit", `{"path":"a","old":"x","newText":"y"}`, `{` + edits + `,"path":"a"}`},
		{"edit", `{"path":"a","edits":7}`, `{"edits":7,"path":"a"}`},
		{"edit", `{"path":"a"}`, `{"path":"a"}`},
	}
	b := newBench(t, Options{})
	for _, tt := range tests {
		got, err := b.tools[tt.tool].(effects.Normalizer).Normalize(json.RawMessage(tt.input))
		if err != nil || string(got) != tt.want {
			t.Errorf("Normalize(%s) = %s, %v, want %s", tt.input, got, err, tt.want)
		}
		again, err := b.tools[tt.tool].(effects.Normalizer).Normalize(got)
		if err != nil || string(again) != tt.want {
			t.Errorf("Normalize of its own result = %s, %v, want no change from %s", again, err, tt.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	b := newBench(t, Options{})
	tests := []struct{ tool, input, want string }{
		{"read", `{"file_path":"src/a.go"}`, "read src/a.go"},
		{"ls", `{}`, "ls ."},
		{"grep", `{"pattern":"TODO","path":"src"}`, "grep /TODO/ in src"},
		{"glob", `{"pattern":"*.go"}`, "glob *.go in ."},
		{"write", `{"path":"a","content":"x"}`, "write a"},
		{"edit", `{"path":"a","old":"x","new":"y"}`, "edit a"},
		{"spawn", `{"input":" !go test ./...\nmore"}`, "spawn !go test ./...…"},
		{"spawn", `{"input":"!` + strings.Repeat("x", 200) + `"}`, "spawn !" + strings.Repeat("x", 112) + "…"},
		{"spawn", `{"input":"!printf '\u001b[31m'"}`, "spawn !printf ' [31m'"},
		{"spawn", `{`, "spawn"},
	}
	for _, tt := range tests {
		if got := b.tools[tt.tool].(effects.Summarizer).Summarize(json.RawMessage(tt.input)); got != tt.want {
			t.Errorf("Summarize(%s) = %q, want %q", tt.input, got, tt.want)
		}
	}
}

// TOOL-29, TOOL-30: what an approver sees, and what is refused before anyone is
// asked.
func TestPreview(t *testing.T) {
	b := newBench(t, Options{}, "a", "x", "out", "-> /etc")
	tests := []struct{ tool, input, want string }{
		{"write", `{"path":"./a","content":"four"}`, `{"bytes":4,"new":false,"path":"a"}`},
		{"write", `{"path":"n","content":""}`, `{"bytes":0,"new":true,"path":"n"}`},
		{"edit", `{"path":"a","old":"x","new":"y"}`, `{"edits":1,"path":"a","replace_all":false}`},
		{"spawn", `{"input":" ! go vet && echo <ok> "}`, `{"body":"go vet && echo <ok>","cwd":"` + b.dir + `","mode":"command","target":"local"}`},
	}
	for _, tt := range tests {
		got, err := b.tools[tt.tool].(effects.Previewer).Preview(json.RawMessage(tt.input))
		if err != nil || string(got) != tt.want {
			t.Errorf("Preview(%s) = %s, %v, want %s", tt.input, got, err, tt.want)
		}
	}
	for tool, inputs := range map[string][]string{
		"write": {`{}`, `{"path":"out/x","content":""}`, `{"path":".git/config","content":""}`},
		"edit":  {`{"path":"a"}`, `{"path":"../a","old":"x","new":"y"}`},
		"spawn": {`{}`, `{"input":"!"}`, `{"input":"!@mac ls"}`, `{"input":"look for bugs"}`},
	} {
		for _, input := range inputs {
			if got, err := b.tools[tool].(effects.Previewer).Preview(json.RawMessage(input)); err == nil {
				t.Errorf("Preview of %s(%s) = %s, want it refused", tool, input, got)
			}
		}
	}
	class, lane := b.tools["spawn"].(effects.Classifier).Classify(json.RawMessage(`{"input":"!ls"}`))
	if class != reducer.ClassProcess || lane != reducer.LaneExclusive {
		t.Errorf("Classify = %s, %s, want %s, %s", class, lane, reducer.ClassProcess, reducer.LaneExclusive)
	}
}

// A search stops when its context ends, and says that it did.
func TestCancelledSearch(t *testing.T) {
	b := newBench(t, Options{}, "a", "x\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, input := range map[string]string{"grep": `{"pattern":"x"}`, "glob": `{"pattern":"*"}`, "ls": `{}`} {
		r, err := b.tools[name].Call(ctx, effects.Invocation{Input: json.RawMessage(input)})
		if err != nil || r.Code != CodeCancelled {
			t.Errorf("%s with an ended context = %q (%s), %v, want %s", name, r.Output, r.Code, err, CodeCancelled)
		}
	}
}

// TOOL-29: a change is shown by line, of the file as it is; where that can't be
// told, nothing is shown.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one\r\ntwo\r\n", "bytes": "\xff\xfe", "big": strings.Repeat("x\n", maxDiff)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := New(Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, in, want string }{
		{"write", `{"path":"a.txt","content":"one\nzwei\n"}`, "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+zwei\r\n"},
		{"write", `{"path":"a.txt","content":"one\r\ntwo\r\n"}`, ""},
		{"write", `{"path":"new","content":"x"}`, "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{"write", `{"path":"big","content":"x"}`, ""},
		{"write", `{"path":"../out","content":"x"}`, ""},
		{"write", `{"path":".","content":"x"}`, ""},
		{"write", `{"path":7}`, ""},
		{"edit", `{"path":"a.txt","edits":[{"old_string":"two","new_string":"2"}]}`, "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"},
		{"edit", `{"path":"a.txt","edits":[{"old_string":"nowhere","new_string":"2"}]}`, ""},
		{"edit", `{"path":"gone","edits":[{"old_string":"two","new_string":"2"}]}`, ""},
	} {
		for _, k := range set {
			if k.Spec().Name != tt.tool {
				continue
			}
			if got := k.(effects.Differ).Diff(json.RawMessage(tt.in)); got != tt.want {
				t.Errorf("%s %s: Diff = %q, want %q", tt.tool, tt.in, got, tt.want)
			}
		}
	}
}
