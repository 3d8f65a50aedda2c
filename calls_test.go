package basis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// frames are a stream of the given choices' deltas that ends in tool_calls.
func frames(deltas ...string) providertest.Step {
	var all []string
	for _, d := range deltas {
		all = append(all, `{"choices":[{"index":0,"delta":`+d+`}]}`)
	}
	return providertest.Step{Frames: append(all, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")}
}

// toolResults are the results that a request shows, in order.
func toolResults(r providertest.Request) []string {
	var all []string
	for _, m := range r.Messages() {
		if m.Role == "tool" {
			all = append(all, m.Text)
		}
	}
	return all
}

// FR-014: parallel calls that all came with index 0 were glued into one, and the
// session was poisoned. Three calls run, and each goes back as valid JSON.
func TestFR014ParallelCallsWithIndex0(t *testing.T) {
	piece := func(id, path string) string {
		return fmt.Sprintf(`{"tool_calls":[{"index":0,%s"function":{"name":"read","arguments":"{\"path\":\"%s\"}"}}]}`, id, path)
	}
	for name, step := range map[string]providertest.Step{
		"with ids":    frames(piece(`"id":"c1",`, "a"), piece(`"id":"c2",`, "b"), piece(`"id":"c3",`, "c")),
		"without ids": frames(piece("", "a"), piece("", "b"), piece("", "c")),
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, step, providertest.Text("done"))
			ws := newWorkspace(t)
			for _, name := range []string{"a", "b", "c"} {
				write(t, filepath.Join(ws, name), "content of "+name)
			}
			l := tell(t, newHome(t, nil), asking(s, ws, "hi"))
			got := toolResults(s.Requests()[1])
			if len(got) != 3 || !strings.Contains(got[0], "content of a") || !strings.Contains(got[1], "content of b") || !strings.Contains(got[2], "content of c") {
				t.Errorf("results = %q, ended %+v, want those of a, b and c", got, l.end)
			}
			for _, m := range s.Requests()[1].Messages() {
				for _, c := range m.Calls {
					if !json.Valid([]byte(c.Args)) {
						t.Errorf("arguments %q go back, want valid JSON", c.Args)
					}
				}
			}
		})
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FR-015: arguments that came as an object were replaced by an empty one. An
// object is taken, anything else is an error of that call.
func TestFR015ArgumentsAsAnObject(t *testing.T) {
	s := providertest.Script(t,
		frames(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":{"path":"a.txt"}}}]}`),
		frames(`{"tool_calls":[{"index":0,"id":"c2","function":{"name":"read","arguments":[1]}}]}`),
		providertest.Text("done"))
	ws := newWorkspace(t)
	write(t, filepath.Join(ws, "a.txt"), "content")
	l := tell(t, newHome(t, nil), asking(s, ws, "hi"))
	got := toolResults(s.Requests()[2])
	if len(got) != 2 || !strings.Contains(got[0], "content") || !strings.Contains(got[1], "not one valid JSON object") || l.end.Result != "done" {
		t.Errorf("results = %q, ended %+v, want the content and then an error", got, l.end)
	}
}

// FR-016: a call with empty, blank, null or no arguments was dropped or ended the
// turn. It means {}; then the tool says what it needs.
func TestFR016NoArguments(t *testing.T) {
	for name, args := range map[string]string{"empty": `,"arguments":""`, "blank": `,"arguments":"  "`, "null": `,"arguments":null`, "missing": ``} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t,
				frames(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls"`+args+`}}]}`, `{"tool_calls":[{"index":1,"id":"c2","function":{"name":"read"`+args+`}}]}`),
				providertest.Text("done"))
			ws := newWorkspace(t)
			write(t, filepath.Join(ws, "a.txt"), "content")
			l := tell(t, newHome(t, nil), asking(s, ws, "hi"))
			got := toolResults(s.Requests()[1])
			if len(got) != 2 || !strings.Contains(got[0], "a.txt") || !strings.Contains(got[1], "path") || l.end.Result != "done" {
				t.Errorf("results = %q, ended %+v, want a listing and what read needs", got, l.end)
			}
		})
	}
}

// FR-017: a server used one id for every call, and later calls were skipped as
// duplicates. All four run, and each result follows its own call.
func TestFR017OneIDForAllCalls(t *testing.T) {
	step := func(name, args string) providertest.Step {
		return providertest.Step{Calls: []providertest.Call{{ID: "X", Name: name, Args: args}}}
	}
	s := providertest.Script(t,
		step("write", `{"path":"a","content":"alpha"}`), step("write", `{"path":"b","content":"beta"}`),
		step("read", `{"path":"a"}`), step("read", `{"path":"b"}`), providertest.Text("done"))
	l := tell(t, newHome(t, nil), asking(s, newWorkspace(t), "hi"))
	got := toolResults(s.Requests()[4])
	if len(got) != 4 || !strings.Contains(got[2], "alpha") || !strings.Contains(got[3], "beta") || l.end.Result != "done" {
		t.Errorf("results = %q, ended %+v, want four in order", got, l.end)
	}
	messages := s.Requests()[4].Messages()
	for i, m := range messages {
		if len(m.Calls) == 1 && (messages[i+1].Role != "tool" || messages[i+1].CallID != m.Calls[0].ID) {
			t.Errorf("message %d calls %s and is followed by %+v, want its result", i, m.Calls[0].ID, messages[i+1])
		}
	}
}

// FR-018: a call that the output limit had cut was repaired, run, or repeated
// without end. It never runs, the model is told, and the fourth time is the last.
func TestFR018CutCallsDoNotRun(t *testing.T) {
	for name, finish := range map[string]string{"cut off": "length", "unreadable": "tool_calls"} {
		t.Run(name, func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Options{Repeat: true, Steps: []providertest.Step{{
				Calls: []providertest.Call{{Name: "write", Args: `{"path":"x.txt","content":"par`}}, Finish: finish,
			}}})
			ws := newWorkspace(t)
			l := tell(t, newHome(t, nil), asking(s, ws, "hi"))
			l.failedWith(t, "4 times in a row")
			if n := len(s.Requests()); n != 4 {
				t.Errorf("%d requests, want 4", n)
			}
			if _, err := os.Stat(filepath.Join(ws, "x.txt")); !os.IsNotExist(err) {
				t.Errorf("Stat(x.txt) = %v, want it absent", err)
			}
			if got := toolResults(s.Requests()[3]); len(got) != 3 || !regexp.MustCompile("truncated|not one valid JSON object").MatchString(got[2]) {
				t.Errorf("results = %q, want three that say why", got)
			}
		})
	}
}

// FR-029: bytes that are no text, a cut within a character, and surrogates spelt
// out as text were stored, and every later request was refused. Each request is
// valid UTF-8 without a lone surrogate, and the run can be resumed.
func TestFR029OutputsAreText(t *testing.T) {
	s := providertest.Script(t,
		providertest.CallTool("spawn", `{"input":"!head -c 40000 /dev/zero | tr '\\0' x; i=0; while [ $i -lt 1000 ]; do printf '\\360\\237\\230\\200'; i=$((i+1)); done"}`),
		providertest.CallTool("spawn", `{"input":"!i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done; echo end"}`),
		providertest.CallTool("spawn", `{"input":"!printf '%s' '\\ud83c'"}`),
		providertest.CallTool("write", `{"path":"a","content":"x"}`),
		providertest.Text("done"))
	h := newHome(t, nil)
	spec := asking(s, newWorkspace(t), "hi")
	out, err := h.Run(limited(t), spec, Drive{})
	if got := h.ended(t, out, err); got.Result != "done" {
		t.Errorf("Run = %+v, want it done", got)
	}
	lone := regexp.MustCompile(`[^\\](\\\\)*\\ud[89ab]`)
	for _, r := range s.Requests() {
		if !utf8.Valid(r.Body) || !json.Valid(r.Body) || lone.Match(r.Body) {
			t.Errorf("request %d is not clean text", r.N)
		}
	}
	got := toolResults(s.Requests()[4])
	if len(got) != 4 || !strings.Contains(got[0], "😀") || !strings.Contains(got[1], "end") || got[2] != `\ud83c` {
		t.Errorf("results = %.200q, want emoji, all bytes as text, and the six characters", got)
	}
	data, err := os.ReadFile(h.journalFile(out.Ref))
	if err != nil || !utf8.Valid(data) {
		t.Errorf("the journal: %v, valid UTF-8: %v", err, utf8.Valid(data))
	}
	sound(t, h, out.Ref)
}

// TOOL-11: what a model is not shown of a long result is a file that read opens.
func TestCutResultCanBeRead(t *testing.T) {
	whole := regexp.MustCompile(`full output at (\S+)\]`)
	s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{providertest.CallTool("spawn", `{"input":"!seq 1 2500"}`)}, Answer: func(r providertest.Request) providertest.Step {
		if m := whole.FindStringSubmatch(r.Last().Text); m != nil {
			return providertest.CallTool("read", `{"path":`+string(mustJSON(m[1]))+`,"offset":2499}`)
		}
		return providertest.Text("done")
	}})
	h := newHome(t, nil)
	out, err := h.Run(limited(t), asking(s, newWorkspace(t), "hi"), Drive{})
	if got := h.ended(t, out, err); got.Result != "done" {
		t.Errorf("Run = %+v, want it done", got)
	}
	got := toolResults(s.Requests()[2])
	if len(got) != 2 || !strings.Contains(got[0], "showing 2000 of 2500 lines") || !strings.Contains(got[1], "2500") || strings.Contains(got[1], "denied") {
		t.Errorf("results = %.300q, want the rest read from the file", got[1:])
	}
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// PROV-47, TASK-5, EV-50, JRN-88: a key that a server and a command repeat stands
// in no file below the data root, in no line and in no error.
func TestKeyIsNowhere(t *testing.T) {
	const key = "sk-canary-0123456789abcdef"
	s := providertest.Script(t,
		providertest.CallTool("spawn", `{"input":"!echo key=$BASIS_API_KEY; echo $BASIS_API_KEY > leaked; exit 3"}`),
		providertest.CallTool("read", `{"path":"leaked"}`),
		providertest.CallTool("edit", `{"path":"leaked","old_string":"nosuch","new_string":"x"}`),
		providertest.CallTool("grep", `{"pattern":"canary"}`),
		providertest.Fail(500, "server_error", "upstream said "+key),
		providertest.Fail(401, "invalid_api_key", "bad key "+key))
	h := newHome(t, map[string]string{"BASIS_API_KEY": key})
	h.o.Environ = func() []string { return append(os.Environ(), "BASIS_API_KEY="+key) }
	spec := asking(s, newWorkspace(t), "hi")
	spec.Options.PassEnv = []string{"BASIS_API_KEY"}
	var told bytes.Buffer
	stream := projections.NewStream(projections.StreamOptions{})
	out, err := h.Run(limited(t), spec, Drive{
		Warn: func(line string) { told.WriteString(line) },
		Sink: func(u Update) {
			fmt.Fprintf(&told, "%+v\n", u)
			if u.Live {
				line, _ := stream.Progress(u.Progress)
				if line.Body != nil {
					told.Write(line.JSON(0))
				}
				return
			}
			for _, l := range stream.Entry(u.Entry) {
				told.Write(l.JSON(0))
			}
		},
	})
	end := h.ended(t, out, err)
	fmt.Fprintf(&told, "%+v %+v %v", end, out, err)
	if strings.Contains(told.String(), key) {
		t.Errorf("the key is told: …%s…", around(told.String(), key))
	}
	if !strings.Contains(told.String(), "[redacted:BASIS_API_KEY]") || !strings.Contains(end.Error, "bad key [redacted]") {
		t.Errorf("ended %+v, want a word in the place of the key", end)
	}
	err = filepath.WalkDir(h.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("%s holds the key: …%s…", path, around(string(data), key))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Requests() {
		if r.Header.Get("Authorization") != "Bearer "+key || bytes.Contains(r.Body, []byte(key)) {
			t.Errorf("request %d: want the key in its header alone", r.N)
		}
	}
}

func around(text, word string) string {
	i := strings.Index(text, word)
	return text[max(0, i-80):i]
}

// PROV-20: the first request of a task in an empty directory is small, and each request
// is the one before with something added: what a server has cached stays good.
func TestRequestsGrowByTheirEnds(t *testing.T) {
	const rounds = 20
	var steps []providertest.Step
	for range rounds {
		steps = append(steps, providertest.CallTool("ls", `{}`))
	}
	s := providertest.Script(t, append(steps, providertest.Text("done"))...)
	l := tell(t, newHome(t, nil), asking(s, newWorkspace(t), "hi"))
	if l.end.Result != "done" {
		t.Fatalf("ended %+v, want it done", l.end)
	}
	all := s.Requests()
	if n := len(all[0].Body); n > 6<<10 {
		t.Errorf("the first request has %d bytes, want at most 6 KiB", n)
	}
	tail := -1
	for i := 1; i < len(all); i++ {
		a, b := all[i-1].Body, all[i].Body
		n := 0
		for n < len(a) && a[n] == b[n] {
			n++
		}
		rest := a[n:]
		if !bytes.HasSuffix(b, rest) {
			t.Errorf("request %d does not end as the one before: %.80s", i+1, rest)
		}
		if tail >= 0 && len(rest) != tail {
			t.Errorf("request %d shares all but %d bytes with the one before, want %d as ever", i+1, len(rest), tail)
		}
		tail = len(rest)
	}
}

// FR-004: a command that was running at a kill was run again. FR-005: each resume
// added another result for it. The model reads once that it may have happened,
// also where the server then fails again and again.
func TestFR004FR005KilledInACommand(t *testing.T) {
	s := providertest.Script(t,
		providertest.CallTool("spawn", `{"input":"!echo x >> n.txt; echo began; cat > /dev/null; sleep 300"}`),
		providertest.Fail(503, "overloaded", "busy"), providertest.Fail(503, "overloaded", "busy"), providertest.Fail(503, "overloaded", "busy"),
		providertest.Text("went on"))
	h, ws := newHome(t, nil), newWorkspace(t)
	r := newRunning()
	spec := asking(s, ws, "hi")
	spec.Options.CommandMS = 2000
	ref, err := h.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	image := newHome(t, nil) // what a kill would leave at that moment
	r.drive.Sink = func(u Update) {
		if u.Live && u.Progress.Kind == reducer.ProgressOutput && strings.Contains(u.Progress.Text, "began") {
			copyDir(t, h.Dir(), image.Dir())
			if _, err := h.Cancel(ref, "test"); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := h.Wait(limited(t), ref, r.drive); err != nil {
		t.Fatal(err)
	}
	out, err := image.Wait(limited(t), ref, Drive{})
	if got := image.ended(t, out, err); got.Result != "went on" {
		t.Errorf("Wait after the kill = %+v, want it to go on", got)
	}
	if n, err := os.ReadFile(filepath.Join(ws, "n.txt")); err != nil || string(n) != "x\n" {
		t.Errorf("n.txt = %q, %v, want one line", n, err)
	}
	settled := 0
	for e := range image.Entries(t.Context(), ref) {
		if c, ok := e.Event.(reducer.CallSettled); ok {
			settled++
			if c.Outcome != reducer.OutcomeLost {
				t.Errorf("the call is settled as %s, want lost", c.Outcome)
			}
		}
	}
	if settled != 1 {
		t.Errorf("%d results, want 1", settled)
	}
	for _, req := range s.Requests()[1:] {
		messages := req.Messages()
		if len(messages) != 3 || messages[2].Role != "tool" || !strings.Contains(messages[2].Text, "may or may not have happened") {
			t.Errorf("request %d holds %+v, want the call and one result that it may have happened", req.N, messages)
		}
	}
	sound(t, image, ref)
}

// copyDir copies a data root as it stands, as a kill would leave it.
func copyDir(t *testing.T, from, to string) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file that is gone
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Error(err)
	}
}
