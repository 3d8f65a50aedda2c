package basis

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// newHome is a data root of its own in an environment of its own. It keeps no
// ballast, which would cost a test more than all the rest.
func newHome(t testing.TB, env map[string]string) *Home {
	t.Helper()
	return openHome(t, Options{
		Dir: filepath.Join(t.TempDir(), "data"), MinFree: -1,
		Getenv: func(name string) string { return env[name] },
	})
}

func openHome(t testing.TB, o Options) *Home {
	t.Helper()
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	h.patience.Base, h.patience.Max = time.Millisecond, time.Millisecond
	return h
}

// newWorkspace is an empty directory, by its canonical path.
func newWorkspace(t testing.TB) string {
	t.Helper()
	dir, err := canonical(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// asking is a task for the model of a scripted server.
func asking(s *providertest.Server, workspace, prompt string) Spec {
	return Spec{Workspace: workspace, Prompt: prompt, Options: reducer.Options{BaseURL: s.URL(), Model: "m"}}
}

// files lists everything below dir, directories with a slash.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			name += "/"
		}
		all = append(all, filepath.ToSlash(name))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// TASK-1, TASK-2, TASK-3: the first of the option, BASIS_DATA_DIR and the
// platform's place that says anything, made absolute once; nothing is made.
func TestDataRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]string{"linux": "/h/.local/share/basis", "darwin": "/h/Library/Application Support/basis"}[runtime.GOOS]
	for _, tt := range []struct {
		name, dir string
		env       map[string]string
		want      string
	}{
		{"the option", "/o", map[string]string{"BASIS_DATA_DIR": "/e"}, "/o"},
		{"the variable", "", map[string]string{"BASIS_DATA_DIR": "/e", "XDG_DATA_HOME": "/x"}, "/e"},
		{"a relative one", "", map[string]string{"BASIS_DATA_DIR": "d/../e"}, filepath.Join(cwd, "e")},
		{"an empty one is none", "", map[string]string{"BASIS_DATA_DIR": " ", "XDG_DATA_HOME": "/x"}, "/x/basis"},
		{"a relative XDG is none", "", map[string]string{"XDG_DATA_HOME": "x", "HOME": "/h"}, place},
		{"nothing", "", map[string]string{"HOME": "h"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != "" && runtime.GOOS == "windows" {
				t.Log("the paths of this case are not this system's")
				return
			}
			h, err := Open(Options{Dir: tt.dir, Getenv: func(name string) string { return tt.env[name] }})
			if tt.want == "" {
				if bad, ok := errors.AsType[*HomeError](err); !ok || !strings.Contains(bad.Error(), "BASIS_DATA_DIR") {
					t.Errorf("Open = %v, want an error that names BASIS_DATA_DIR", err)
				}
				return
			}
			if err != nil || h.Dir() != tt.want {
				t.Fatalf("Open = %v, %v, want %s", h, err, tt.want)
			}
			if _, err := os.Stat(h.Dir()); err == nil && tt.dir == "" {
				t.Errorf("Open made %s", h.Dir())
			}
		})
	}
}

// TASK-2: an absolute data root works where the working directory is gone.
func TestWorkingDirectoryGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("this system does not let go of a working directory")
		return
	}
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	h2 := openHome(t, Options{Dir: h.Dir(), Getenv: h.o.Getenv})
	out, err := h2.Run(t.Context(), asking(s, ws, "hi"), Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		t.Errorf("Run = %v, %+v, want it to succeed", err, out.State.End)
	}
}

// TASK-10: keys for known paths.
func TestWorkspaceKey(t *testing.T) {
	for path, want := range map[string]string{
		"": "cbf29ce484222325", "/srv/app": "148a99b954e2c46f", "/home/dev/café": "de86b93b7934ad28",
	} {
		if got := WorkspaceKey(path); got != want {
			t.Errorf("WorkspaceKey(%q) = %s, want %s", path, got, want)
		}
	}
}

// TASK-15, TASK-16: a handle is lowered, checked before any path is made of it,
// and all that is needed to find a task.
func TestParseRef(t *testing.T) {
	key, id := "148a99b954e2c46f", strings.Repeat("0f", 16)
	for _, in := range []string{key + "/" + id, strings.ToUpper(key + "/" + id), " " + key + "/" + id + "\n"} {
		if r, err := ParseRef(in); err != nil || r.String() != key+"/"+id {
			t.Errorf("ParseRef(%q) = %v, %v, want %s/%s", in, r, err, key, id)
		}
	}
	for _, in := range []string{":1", ":1.2", ":12.3.4"} {
		if r, err := ParseRef(key + "/" + id + in); err != nil || r.String() != key+"/"+id+in || r.Task().String() != key+"/"+id {
			t.Errorf("ParseRef(%q) = %v, %v, want the subagent", in, r, err)
		}
	}
	for _, in := range []string{
		key + "/" + id + ":", key + "/" + id + ":0", key + "/" + id + ":01", key + "/" + id + ":1.", key + "/" + id + ":..", key + "/" + id + ":1/2", key + "/" + id + ":-1",
		"", "x", key, id, key + id, key + "/", "/" + id, "../../x", key + "/../../" + id[6:], key + "/" + id + "/x", key + "/" + id[1:],
		key + "\\" + id, key + "/" + id[:31] + "g", "../" + key + "/" + id, key + "/" + id + "\x00", key + "/." + id[1:],
	} {
		r, err := ParseRef(in)
		if bad, ok := errors.AsType[*RefError](err); !ok || bad.Text != in || !r.IsZero() {
			t.Errorf("ParseRef(%q) = %v, %v, want it refused by name", in, r, err)
		}
	}
}

// TASK-11: two paths with one key are told apart by the file that pins it, also
// where nothing may be made.
func TestKeyCollision(t *testing.T) {
	s := providertest.Script(t)
	h, ws := newHome(t, nil), newWorkspace(t)
	if _, err := h.Spawn(asking(s, ws, "hi")); err != nil {
		t.Fatal(err)
	}
	pin := filepath.Join(h.workspaceDir(WorkspaceKey(ws)), "workspace")
	data, err := os.ReadFile(pin)
	if err != nil || string(data) != ws+"\n" {
		t.Fatalf("the pin = %q, %v, want the path and a newline", data, err)
	}
	if err := os.WriteFile(pin, []byte("/elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, spawned := h.Spawn(asking(s, ws, "hi"))
	_, listed := h.List(ws)
	for what, err := range map[string]error{"Spawn": spawned, "List": listed} {
		c, ok := errors.AsType[*CollisionError](err)
		if !ok || c.Key != WorkspaceKey(ws) || c.Path != ws || c.Other != "/elsewhere" || !strings.Contains(err.Error(), "collision") {
			t.Errorf("%s = %v, want a collision that names the key and both paths", what, err)
		}
	}
}

// JRN-1, TASK-4: everything below the data root is its owner's alone, and a
// directory that was opened up is closed again by the next task.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("this system has no such modes")
		return
	}
	s := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{
		providertest.CallTool("spawn", `{"input":"!head -c 60000 /dev/zero | tr '\\0' x"}`), providertest.Text("one"), providertest.Text("two"),
	}})
	h, ws := newHome(t, nil), newWorkspace(t)
	if _, err := h.Run(t.Context(), asking(s, ws, "hi"), Drive{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.workspaceDir(WorkspaceKey(ws)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), asking(s, ws, "hi"), Drive{}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(h.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TASK-53: the clock and the ids of a home are its options'.
func TestSeams(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id := strings.Repeat("ab", 16)
	h := openHome(t, Options{
		Dir: t.TempDir(), Getenv: func(string) string { return "" },
		Now: func() time.Time { return now }, NewID: func() string { return id },
	})
	ref, err := h.Spawn(Spec{Workspace: newWorkspace(t), Prompt: "hi"})
	if err != nil || ref.ID != id {
		t.Fatalf("Spawn = %v, %v, want the id %s", ref, err, id)
	}
	state, err := h.State(ref)
	if err != nil || state.DeadlineMS != now.Add(DefaultDeadline).UnixMilli() {
		t.Errorf("State = deadline %d, %v, want thirty minutes after the clock's %v", state.DeadlineMS, err, now)
	}
}
