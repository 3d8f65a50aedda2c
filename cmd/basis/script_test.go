package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/basisagent/basis/golden"
	"github.com/basisagent/basis/provider/providertest"
)

func TestMain(m *testing.M) { golden.Main(m, map[string]func(){"basis": main}) }

// The scripts run this program as a user does, against a scripted model.
func TestScripts(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) { // under nohup; what the scripts start would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		t.Cleanup(func() { signal.Ignore(syscall.SIGHUP) })
	}
	golden.Script(t, filepath.Join("..", "..", "cli", "testdata", "script"), golden.Options{
		Setup: setup, Condition: condition,
		Commands: map[string]golden.Command{
			"model": model, "vendor": vendor, "release": release, "requests": requests, "request": request, "journal": journalOf,
		},
	})
}

// condition: [mount] is true where a script may mount a small disk.
func condition(name string) (bool, error) {
	if name != "mount" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /mnt").Run() == nil, nil
}

// setup gives each script a home of its own, a workspace and no settings.
func setup(e *testscript.Env) error {
	for _, name := range append(vendorVars(),
		"BASIS_API_KEY", "BASIS_TASK_ID", "BASIS_PARENT_TASK_ID", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
		"OPENAI_BASE_URL", "OPENROUTER_API_KEY", "TERM", "T", "J", "EXTRA",
	) {
		e.Setenv(name, "")
	}
	if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		e.Setenv("REAL_GOCACHE", strings.TrimSpace(string(cache)))
	}
	e.Setenv("GORACE", "atexit_sleep_ms=0") // each program would linger for a second
	e.Setenv("BASIS_DATA_DIR", filepath.Join(e.WorkDir, "data"))
	e.Setenv("BASIS_CONFIG_DIR", filepath.Join(e.WorkDir, "config"))
	e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
	e.Cd = filepath.Join(e.WorkDir, "ws")
	e.Values[modelKey{}] = &scripted{holds: map[string]chan struct{}{}}
	return os.MkdirAll(e.Cd, 0o755)
}

type modelKey struct{}

// scripted is the model server of one script.
type scripted struct {
	handler *providertest.Handler
	vendors int // so many were set up
	holds   map[string]chan struct{}
}

func modelOf(ts *testscript.TestScript) *scripted { return ts.Value(modelKey{}).(*scripted) }

// answer is one line of a model's script.
type answer struct {
	Text      string   `json:"text"`
	Big       int      `json:"big"` // so many bytes of text
	Reasoning string   `json:"reasoning"`
	Deltas    int      `json:"deltas"`
	Calls     []asked  `json:"calls"`
	Usage     []int    `json:"usage"` // prompt and completion
	Status    int      `json:"status"`
	Code      string   `json:"code"`
	Frames    []string `json:"frames"`
	Hold      string   `json:"hold"`       // until released
	HoldAfter string   `json:"hold_after"` // in mid-stream
	Cut       int      `json:"cut"`        // events, then the stream ends
	Hang      bool     `json:"hang"`       // silent after the headers
	NoUsage   bool     `json:"no_usage"`
}

type asked struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// model FILE [ID...] starts a server that answers by the lines of a file, in
// order, and lists models of those ids, the oldest first; it sets the base URL
// and the model. In an id \e is an escape and \n a newline.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: model FILE [ID...]")
	}
	m := modelOf(ts)
	o := providertest.Options{Steps: m.steps(ts, args[0])}
	if len(args) > 1 {
		for _, id := range args[1:] {
			o.Models = append(o.Models, strings.NewReplacer(`\e`, "\x1b", `\n`, "\n").Replace(id))
		}
	}
	m.handler = providertest.NewHandler(o)
	ts.Setenv("BASIS_BASE_URL", serve(ts, m.handler))
	ts.Setenv("BASIS_MODEL", "test-model")
}

// steps are the answers that a file has, one a line, with words put in the
// place of others.
func (m *scripted) steps(ts *testscript.TestScript, file string, words ...string) (all []providertest.Step) {
	lines := bufio.NewScanner(strings.NewReader(strings.NewReplacer(words...).Replace(ts.ReadFile(file))))
	for lines.Scan() {
		var a answer
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &a))
		all = append(all, m.step(a))
	}
	return all
}

func (m *scripted) step(a answer) providertest.Step {
	s := providertest.Step{Text: a.Text + strings.Repeat("x", a.Big), Reasoning: a.Reasoning, Deltas: a.Deltas, Frames: a.Frames, CutFrames: a.Cut}
	for _, c := range a.Calls {
		s.Calls = append(s.Calls, providertest.Call{Name: c.Name, Args: string(c.Args)})
	}
	switch {
	case a.NoUsage:
	case len(a.Usage) == 2:
		s.Usage = &providertest.Usage{Prompt: a.Usage[0], Completion: a.Usage[1]}
	default:
		s.Usage = &providertest.Usage{Prompt: 1200, Completion: 34}
	}
	if a.Status != 0 {
		s = providertest.Fail(a.Status, a.Code, a.Text)
	}
	if a.Hang {
		s.Hang = providertest.HangBody
	}
	s.Hold, s.HoldAfter = m.hold(a.Hold), m.hold(a.HoldAfter)
	return s
}

func (m *scripted) hold(name string) <-chan struct{} {
	if name == "" {
		return nil
	}
	if m.holds[name] == nil {
		m.holds[name] = make(chan struct{})
	}
	return m.holds[name]
}

func release(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		close(modelOf(ts).holds[name])
	}
}

// requests N waits for so many and checks that there are no more, and that a
// strict server would have taken each.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	h := modelOf(ts).handler
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ts.Check(h.WaitFor(ctx, n))
	if got := len(h.Requests()); got != n {
		ts.Fatalf("the model was asked %d times, want %d", got, n)
	}
	for _, v := range h.Violations() {
		ts.Fatalf("%v", v)
	}
}

// request N REGEXP looks into the body of the N-th request.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] request N REGEXP")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all := modelOf(ts).handler.Requests()
	if n > len(all) {
		ts.Fatalf("the model was asked %d times, there is no request %d", len(all), n)
	}
	if got := regexp.MustCompile(args[1]).Match(all[n-1].Body); got == neg {
		ts.Fatalf("request %d matches %s: %v, want %v\n%s", n, args[1], got, !neg, all[n-1].Body)
	}
}

// journal sets T to the handle of the only task and J to its journal.
func journalOf(ts *testscript.TestScript, _ bool, _ []string) {
	all, err := filepath.Glob(filepath.Join(ts.Getenv("BASIS_DATA_DIR"), "workspaces", "*", "agents", "*", "events.jsonl"))
	ts.Check(err)
	if len(all) != 1 {
		ts.Fatalf("%d journals, want 1", len(all))
	}
	agent := filepath.Dir(all[0])
	ts.Setenv("J", all[0])
	ts.Setenv("T", filepath.Base(filepath.Dir(filepath.Dir(agent)))+"/"+filepath.Base(agent))
}
