package basis

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// TASK-50, TASK-51, TASK-53, CORE-10: what is wrong with a task is said before
// anything is made.
func TestMintRefuses(t *testing.T) {
	ws := newWorkspace(t)
	file := filepath.Join(ws, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := Ref{Key: strings.Repeat("0", 16), ID: strings.Repeat("0", 32)}
	for name, tt := range map[string]struct {
		spec  Spec
		words []string
	}{
		"no prompt":             {Spec{Workspace: ws}, []string{"prompt is empty"}},
		"a blank prompt":        {Spec{Workspace: ws, Prompt: " \n\t"}, []string{"prompt is empty"}},
		"a long prompt":         {Spec{Workspace: ws, Prompt: strings.Repeat("x", MaxPrompt+1)}, []string{"262145", "262144"}},
		"no such workspace":     {Spec{Workspace: filepath.Join(ws, "gone"), Prompt: "hi"}, []string{"workspace", "gone", "no such file"}},
		"a file":                {Spec{Workspace: file, Prompt: "hi"}, []string{"workspace", file, "not a directory"}},
		"no time":               {Spec{Workspace: ws, Prompt: "hi", Deadline: -time.Second}, []string{"deadline", "positive"}},
		"too much time":         {Spec{Workspace: ws, Prompt: "hi", Deadline: math.MaxInt64}, nil},
		"a password":            {Spec{Workspace: ws, Prompt: "hi", Options: reducer.Options{BaseURL: "http://me:hunter2@h/v1"}}, []string{"base URL", "BASIS_API_KEY"}},
		"a key":                 {Spec{Workspace: ws, Prompt: "hi", Options: reducer.Options{BaseURL: "http://h/v1?key=hunter2"}}, []string{"base URL", "BASIS_API_KEY"}},
		"half a password":       {Spec{Workspace: ws, Prompt: "hi", Options: reducer.Options{BaseURL: "http://me:hunter2@h:x"}}, []string{"base URL", "BASIS_API_KEY"}},
		"a parent elsewhere":    {Spec{Workspace: ws, Prompt: "hi", Parent: parent}, []string{"belongs to another workspace", "detached"}},
		"a parent that is gone": {Spec{Workspace: ws, Prompt: "hi", Parent: Ref{Key: WorkspaceKey(ws), ID: parent.ID}}, []string{"parent", "no such task"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, nil)
			_, err := h.Spawn(tt.spec)
			_, ran := h.Run(t.Context(), tt.spec, Drive{})
			if tt.words == nil {
				return // whatever the platform's clock can hold
			}
			for _, err := range []error{err, ran} {
				for _, w := range tt.words {
					if err == nil || !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "hunter2") {
						t.Errorf("mint = %v, want it refused with %q", err, w)
					}
				}
			}
			if left := files(t, h.Dir()); len(left) > 0 {
				t.Errorf("left behind: %q, want nothing", left)
			}
		})
	}
}

// TASK-54: a task that is over, or about to be, gets no children.
func TestMintUnderEndedParent(t *testing.T) {
	s := providertest.Script(t, providertest.Text("done"))
	h, ws := newHome(t, nil), newWorkspace(t)
	out, err := h.Run(t.Context(), asking(s, ws, "hi"), Drive{})
	if err != nil {
		t.Fatal(err)
	}
	child := asking(s, ws, "help")
	child.Parent = out.Ref
	if _, err := h.Spawn(child); err == nil || !strings.Contains(err.Error(), "no longer running") {
		t.Errorf("Spawn under a task that has ended = %v, want that it is no longer running", err)
	}
	child.Detached = true
	if _, err := h.Spawn(child); err != nil {
		t.Errorf("Spawn detached = %v, want it made", err)
	}
}

// TASK-56, TASK-57, TASK-40: a new task is its directory and nothing else: no
// process, no request, no terminal record; a wrong model is no matter yet.
func TestSpawnOnlyMakes(t *testing.T) {
	s := providertest.Script(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "hi")
	spec.Options.Provider = "no such provider"
	ref, err := h.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	if h.Held(ref) {
		t.Error("the task is held, want it free")
	}
	want := []string{journal.LockFile, journal.JournalFile}
	if got := files(t, h.AgentDir(ref)); !slices.Equal(got, want) {
		t.Errorf("files = %q, want %q", got, want)
	}
	out, err := h.Wait(t.Context(), ref, Drive{})
	if err != nil || out.State.End.State != reducer.StateFailed || !strings.Contains(out.State.End.Error, "no such provider") {
		t.Errorf("Wait = %v, %+v, want the task failed by its provider", err, out.State.End)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TASK-56: an id that is taken, or a disk that fails, leaves no half of a task.
func TestFailedMintLeavesNothing(t *testing.T) {
	id := strings.Repeat("ab", 16)
	dir := t.TempDir()
	h := openHome(t, Options{Dir: dir, Getenv: func(string) string { return "" }, NewID: func() string { return id }})
	ws := newWorkspace(t)
	ref, err := h.Spawn(Spec{Workspace: ws, Prompt: "first"})
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, err := h.Spawn(Spec{Workspace: ws, Prompt: strings.Repeat("second ", 10000)}); err == nil {
		t.Fatal("Spawn with an id that is taken = nil, want an error")
	}
	after := files(t, dir)
	lock := "workspaces/" + ref.Key + "/conversations/" + id + ".lock"
	if after = slices.DeleteFunc(after, func(n string) bool { return n == lock }); !slices.Equal(slices.DeleteFunc(before, func(n string) bool { return n == lock }), after) {
		t.Errorf("files = %q, want what was there before", after)
	}
	if s, err := h.State(ref); err != nil || len(s.Queue) != 1 || s.Queue[0].Parts[0].Text.String() != "first" {
		t.Errorf("State of the first = %+v, %v, want it as it was", s.Queue, err)
	}
}

// JRN-86: a disk that is nearly full is refused at once, in bytes, and nothing
// is made of the task.
func TestMintOnANearlyFullDisk(t *testing.T) {
	h := openHome(t, Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, MinFree: math.MaxInt64})
	ws := newWorkspace(t)
	_, err := h.Spawn(Spec{Workspace: ws, Prompt: "hi"})
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("Spawn = %v, want that the disk is full and room must be made", err)
	}
	for _, name := range files(t, h.agentsDir(WorkspaceKey(ws))) {
		t.Errorf("left behind: %s", name)
	}
}

// TASK-56: what a mint that was killed has left is swept when it is old, and
// never taken for a task; what is new may be somebody's at this moment.
func TestTemporaryDirectoriesAreSwept(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	if _, err := h.Spawn(Spec{Workspace: ws, Prompt: "hi"}); err != nil {
		t.Fatal(err)
	}
	agents := h.agentsDir(WorkspaceKey(ws))
	old := filepath.Join(agents, temporaryPrefix+strings.Repeat("0", 32))
	young := filepath.Join(agents, temporaryPrefix+strings.Repeat("1", 32))
	for _, dir := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(dir, "blobs"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	rules := filepath.Join(filepath.Dir(agents), temporaryPrefix+"rules-"+strings.Repeat("2", 32))
	if err := os.Mkdir(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * temporaryAge)
	for _, dir := range []string{old, rules} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Remember(ws, "project", reducer.Grant{Tool: "spawn"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(rules); !os.IsNotExist(err) {
		t.Errorf("Stat(rules) = %v, want it swept", err)
	}
	if _, err := h.Spawn(Spec{Workspace: ws, Prompt: "hi"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("Stat(old) = %v, want it swept", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("Stat(young) = %v, want it left alone", err)
	}
	if rows, err := h.List(ws); err != nil || len(rows) != 2 {
		t.Errorf("List = %d rows, %v, want the two tasks", len(rows), err)
	}
}

// JRN-66, JRN-67: a prompt over 32 KiB is a blob, there before the record that
// names it, and the model reads all of it.
func TestLongPrompt(t *testing.T) {
	s := providertest.Script(t, providertest.Text("read"))
	h, ws := newHome(t, nil), newWorkspace(t)
	prompt := "begin " + strings.Repeat("ä", 20<<10) + " end"
	out, err := h.Run(t.Context(), asking(s, ws, prompt), Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		t.Fatalf("Run = %v, %+v, want it to succeed", err, out.State.End)
	}
	if got := s.Requests()[0].Last().Text; got != prompt {
		t.Errorf("the model read %d bytes, want all %d", len(got), len(prompt))
	}
	created, err := h.created(out.Ref)
	if err != nil {
		t.Fatal(err)
	}
	blob := created.Prompt[0].Text.Blob
	data, err := h.Load(out.Ref)(blob)
	if err != nil || string(data) != prompt || blob.Size != int64(len(prompt)) {
		t.Errorf("Load = %d bytes, %v, want the prompt", len(data), err)
	}
	if rep, err := h.Check(out.Ref); err != nil || rep.Err() != nil {
		t.Errorf("Check = %v, %v, want nothing found", rep.Err(), err)
	}
}

// JRN-50: a task whose directory can't be made visible is no task, and nothing
// of it stays open or locked.
func TestPublishFails(t *testing.T) {
	h, ws := newHome(t, nil), newWorkspace(t)
	h.o.NewID = func() string { return id("7") }
	spec := Spec{Workspace: ws, Prompt: "hi", Options: reducer.Options{Provider: "demo"}}
	if _, err := h.Spawn(spec); err != nil {
		t.Fatal(err)
	}
	before := files(t, h.Dir())
	for range 3 {
		if _, err := h.Spawn(spec); err == nil {
			t.Fatal("Spawn of an id that is there = nil, want an error")
		}
	}
	after := slices.DeleteFunc(files(t, h.Dir()), func(name string) bool { return strings.HasSuffix(name, ".lock") })
	before = slices.DeleteFunc(before, func(name string) bool { return strings.HasSuffix(name, ".lock") })
	if !slices.Equal(after, before) {
		t.Errorf("left = %q, want %q", after, before)
	}
	if open := openFiles(t); strings.Contains(open, temporaryPrefix) {
		t.Errorf("open files = %s, want none of a task that is not there", open)
	}
}
