package basis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

// onWire is a vendor, and a model of it that signs what it thinks if any does.
type onWire struct{ name, model, key, wire string }

func wires() []onWire {
	return []onWire{
		{"openrouter", "test-model", "OPENROUTER_API_KEY", provider.WireChat},
		{"openai", "gpt-5", "OPENAI_API_KEY", provider.WireResponses},
		{"anthropic", "claude-opus-5", "ANTHROPIC_API_KEY", provider.WireMessages},
		{"gemini", "gemini-3-pro", "GEMINI_API_KEY", provider.WireGemini},
	}
}

func (v onWire) canary() string { return "canary-" + v.name + "-0123456789" }

// talk is a task of three turns with one vendor: what its server answers, and
// where its files are.
type talk struct {
	t      *testing.T
	on     onWire
	home   *Home
	ref    Ref
	server *providertest.Server
	sent   [2]bool // the messages that begin the second and the third turn

	asked func(n int) // called for each request with the answers in it; nil is fine
}

func newTalk(t *testing.T, on onWire) *talk {
	t.Helper()
	w := &talk{t: t, on: on}
	w.server = providertest.NewServer(t, providertest.Options{Wire: on.wire, Answer: w.answer, Models: []string{on.model}})
	env := map[string]string{on.key: on.canary()}
	h, err := Open(Options{
		Dir: t.TempDir(), Getenv: func(name string) string { return env[name] }, MinFree: -1,
		Environ: func() []string { return []string{on.key + "=" + on.canary()} },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.dial = func(c provider.Choice, o resolve.Options) (resolve.Model, error) {
		if c.Wire != on.wire || c.Key.Reveal() != on.canary() {
			t.Errorf("choice = %v on %s, want the preset's wire and key", c, c.Wire)
		}
		c.BaseURL = w.server.URL()
		return resolve.Open(c, o)
	}
	w.home = h
	ws := t.TempDir()
	for name, text := range map[string]string{"a": "alpha\n", "b": "beta\n"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.ref, err = h.Spawn(Spec{Workspace: ws, Prompt: "begin", Options: reducer.Options{Provider: on.name, Model: on.model, Effort: "high"}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is the step for a request: it depends on nothing but how many answers
// the conversation has, so that a request that is sent again gets the same.
func (w *talk) answer(r providertest.Request) providertest.Step {
	n := 0
	for _, m := range r.Messages() {
		if m.Role == "assistant" {
			n++
		}
	}
	if w.asked != nil {
		w.asked(n)
	}
	read := func(name string) providertest.Call {
		return providertest.Call{Name: "read", Args: `{"path":"` + name + `"}`, Pieces: 3}
	}
	var s providertest.Step
	switch n {
	case 0:
		s = providertest.Step{Reasoning: "Two files.\n\nBoth at once.", Text: "Reading.", Calls: []providertest.Call{read("a"), read("b")}}
	case 1:
		w.send(0)
		s = providertest.Step{Text: "One."}
	case 2:
		s = providertest.Step{Sealed: true, Calls: []providertest.Call{read("b"), read("a"), {Name: "ls"}}}
	case 3:
		s = providertest.Step{Reasoning: "Once more.", Calls: []providertest.Call{read("a")}}
	case 4:
		w.send(1)
		s = providertest.Step{Reasoning: "Enough.", Text: "Two."}
	case 5:
		s = providertest.Step{Reasoning: "Last.", Calls: []providertest.Call{read("missing"), read("b")}}
	default:
		s = providertest.Step{Text: "Three.", Deltas: 2}
	}
	s.Usage = &providertest.Usage{Prompt: 100 + n, Completion: 10, Cached: n, Reasoning: 3}
	return s
}

// send leaves a message that begins another turn, once.
func (w *talk) send(n int) {
	if w.sent[n] {
		return
	}
	w.sent[n] = true
	spool := newSpoolDir(w.home.AgentDir(w.ref))
	unlock, err := spool.lock()
	if err != nil {
		w.t.Error(err)
		return
	}
	defer unlock()
	parts := []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go on")}}
	if err := spool.drop(w.home.o.NewID(), spoolMessage, reducer.MessageReceived{Parts: parts}); err != nil {
		w.t.Error(err)
	}
}

// finish drives the task to its end and checks what is left: the same answer,
// a journal that explains itself, and no key anywhere.
func (w *talk) finish(name string) {
	w.t.Helper()
	out, err := w.home.Wait(w.t.Context(), w.ref, Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded || out.State.End.Result.String() != "Three." {
		w.t.Fatalf("%s: ended %+v, %v; want \"Three.\"", name, out.State.End, err)
	}
	r, err := replay.Verify(reducer.State{}, w.home.Entries(w.t.Context(), w.ref))
	if err != nil || r.State.Turns != 3 {
		w.t.Errorf("%s: replay = %d turns, %v; want three", name, r.State.Turns, err)
	}
	requests := w.server.Requests()
	if last := requests[len(requests)-1].Messages(); len(last) != 17 {
		w.t.Errorf("%s: the last request has %d messages, want 17", name, len(last))
	}
	w.noKey(name)
}

// noKey looks for the key in every file below the data root.
func (w *talk) noKey(name string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.home.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(w.on.canary())) {
			w.t.Errorf("%s: %s holds the key", name, path)
		}
		return err
	})
	if err != nil || files == 0 {
		w.t.Errorf("%s: %d files below the data root, %v", name, files, err)
	}
}

// PROV-18, PROV-19, PROV-47, FR-064: three turns with reasoning, parallel calls
// and one that fails, on each wire; its server refuses whatever a strict vendor
// would.
func TestThreeTurnsOnEachWire(t *testing.T) {
	for _, on := range wires() {
		t.Run(on.wire, func(t *testing.T) {
			w := newTalk(t, on)
			w.finish("whole")
			if n := len(w.server.Requests()); n != 7 {
				t.Errorf("%d requests, want 7", n)
			}
			s, err := w.home.State(w.ref)
			u := s.Usage()
			if err != nil || u.Input.Or(0) != 721 || u.Output.Or(0) != 70 || u.CacheRead.Or(0) != 21 || u.Reasoning.Or(0) != 21 {
				t.Errorf("usage = %+v, %v; want 721 in, 70 out, 21 cached, 21 reasoned", u, err)
			}
		})
	}
}

// JRN-85, PROV-19, FR-064: killed by a disk that takes no more at every write,
// and by a stop at every request, the conversation goes on in another run and
// comes to the same answer; nothing that it sends is refused.
func TestKilledOnEachWire(t *testing.T) {
	for _, on := range wires() {
		t.Run(on.wire, func(t *testing.T) {
			for k := 1; ; k++ {
				w := newTalk(t, on)
				disk := &dyingDisk{Disk: journal.OSDisk(), left: k}
				w.home.disk = disk
				_, err := w.home.Wait(t.Context(), w.ref, Drive{})
				if disk.left > 0 { // it ended before
					if k < 15 {
						t.Errorf("it ended within %d writes, want at least 15 places to be killed at", k)
					}
					break
				}
				if !errors.Is(err, errCrash) && !errors.Is(err, journal.ErrFailed) {
					t.Fatalf("Wait with a disk of %d writes = %v, want the disk's failure", k, err)
				}
				w.home.disk = nil
				w.finish(fmt.Sprintf("killed at write %d", k))
			}
			for k := range 7 {
				w := newTalk(t, on)
				ctx, cancel := context.WithCancelCause(t.Context())
				w.asked = func(n int) {
					if n == k {
						cancel(&Stop{Reason: "signal", Detail: "interrupt"})
					}
				}
				if _, err := w.home.Wait(ctx, w.ref, Drive{}); err == nil {
					t.Errorf("Wait stopped at request %d = nil, want a *Stop", k)
				}
				cancel(nil)
				w.asked = nil
				w.finish(fmt.Sprintf("stopped at request %d", k))
			}
		})
	}
}

// dyingDisk takes a number of writes to journals, half of the last, then none.
type dyingDisk struct {
	journal.Disk
	left int

	mu sync.Mutex // the agents of a tree write side by side
}

func (d *dyingDisk) OpenFile(name string, flag int, perm fs.FileMode) (journal.File, error) {
	f, err := d.Disk.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != journal.JournalFile {
		return f, err
	}
	return &dyingFile{f, d}, nil
}

type dyingFile struct {
	journal.File
	disk *dyingDisk
}

func (f *dyingFile) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.left == 0 {
		return 0, errCrash
	}
	if f.disk.left--; f.disk.left == 0 { // the last one is torn
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errCrash
	}
	return f.File.Write(p)
}

// PROV-47: a server that repeats the key it refused: the task's files, its
// error and its terminal record hold none of it.
func TestRefusedKeyIsNowhere(t *testing.T) {
	for _, on := range wires() {
		t.Run(on.wire, func(t *testing.T) {
			w := newTalk(t, on)
			refusing := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{
				providertest.Fail(401, "invalid_api_key", "Incorrect key "+on.canary()),
			}})
			w.home.dial = func(c provider.Choice, o resolve.Options) (resolve.Model, error) {
				c.BaseURL = refusing.URL()
				return resolve.Open(c, o)
			}
			var told []string
			out, err := w.home.Wait(t.Context(), w.ref, Drive{
				Warn: func(line string) { told = append(told, line) },
				Sink: func(u Update) {
					data, _ := json.Marshal(u)
					told = append(told, string(data))
				},
			})
			if err != nil || out.State.End.State != reducer.StateFailed {
				t.Fatalf("ended %+v, %v; want failed", out.State.End, err)
			}
			told = append(told, fmt.Sprintf("%+v", out), fmt.Sprintf("%+v", w.home.Terminal(out)))
			if !strings.Contains(strings.Join(told, "\n"), "Incorrect key") {
				t.Errorf("told %q, want the server's words", told)
			}
			if slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, on.canary()) }) {
				t.Errorf("told %q, want no key", told)
			}
			sent := refusing.Requests()[0].Header
			if !strings.Contains(fmt.Sprint(sent), on.canary()) {
				t.Errorf("headers = %v, want the key in one", sent)
			}
			w.noKey("refused")
		})
	}
}

// PROV-19, CLI-55: a conversation that one vendor led, killed and resumed in
// the middle, goes on with every other one in a new task. What only the first
// understands (its signatures, its sealed reasoning, its ids) is not sent to
// another, and nothing that is sent is refused by a strict server.
func TestContinueOnAnotherWire(t *testing.T) {
	for _, from := range wires() {
		for _, to := range wires() {
			t.Run(from.wire+" to "+to.wire, func(t *testing.T) {
				w := newTalk(t, from)
				ctx, cancel := context.WithCancelCause(t.Context())
				w.asked = func(n int) {
					if n == 3 {
						cancel(&Stop{Reason: "signal", Detail: "interrupt"})
					}
				}
				if _, err := w.home.Wait(ctx, w.ref, Drive{}); err == nil {
					t.Error("Wait that was stopped = nil, want a *Stop")
				}
				w.asked = nil
				w.finish("before")
				old, err := w.home.State(w.ref)
				if err != nil {
					t.Fatal(err)
				}
				w.goOn(to, old)
			})
		}
	}
}

// goOn continues the conversation on another wire: two rounds with parallel
// calls, then an answer.
func (w *talk) goOn(to onWire, old reducer.State) {
	w.t.Helper()
	others := map[string]string{ // another model of each vendor
		provider.WireChat: "test-model-b", provider.WireResponses: "gpt-5.1", provider.WireMessages: "claude-sonnet-5", provider.WireGemini: "gemini-3-flash",
	}
	asked := 0
	server := providertest.NewServer(w.t, providertest.Options{Wire: to.wire, Answer: func(providertest.Request) providertest.Step {
		asked++
		if asked == 1 {
			return providertest.Step{Reasoning: "Anew.", Text: "Reading.", Calls: []providertest.Call{
				{ID: "other_1", Name: "read", Args: `{"path":"./a"}`}, {ID: "other_2", Name: "read", Args: `{"path":"./b"}`},
			}}
		}
		return providertest.Step{Reasoning: "Done.", Text: "Four."}
	}})
	w.home.o.Getenv = func(name string) string {
		if name == to.key {
			return to.canary()
		}
		return ""
	}
	w.home.dial = func(c provider.Choice, o resolve.Options) (resolve.Model, error) {
		c.BaseURL = server.URL()
		return resolve.Open(c, o)
	}
	out, err := w.home.Run(w.t.Context(), Spec{
		Workspace: old.Workspace, Prompt: "go on elsewhere", Continue: true,
		Options: reducer.Options{Provider: to.name, Model: others[to.wire], Effort: "high"},
	}, Drive{})
	if err != nil || out.State.End.Result.String() != "Four." {
		w.t.Fatalf("continuation ended %+v, %v; want \"Four.\"", out.State.End, err)
	}
	s := sound(w.t, w.home, out.Ref)
	if s.Turns != old.Turns+1 || s.Rounds != old.Rounds+2 || s.Transcript.Len() != old.Transcript.Len()+4 {
		w.t.Errorf("%d turns, %d rounds, %d messages after %d, %d and %d; want the conversation to count on",
			s.Turns, s.Rounds, s.Transcript.Len(), old.Turns, old.Rounds, old.Transcript.Len())
	}
	if first := server.Requests()[0].Messages(); len(first) != 19 {
		w.t.Errorf("the first request has %d messages, want the 18 of before and the new prompt: %+v", len(first), first)
	}
}
