package basis

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
)

// Version is the program's own version.
const Version = "0.1.0"

// Options says where a [Home] is and what the process around it is. The zero
// value is the user's own data root and environment.
type Options struct {
	// Dir is the data root. "" takes BASIS_DATA_DIR, else the platform's place.
	Dir string

	// Getenv reads the environment. Nil is os.Getenv.
	Getenv func(string) string

	// Environ lists the environment that commands may be given parts of. Nil
	// is os.Environ.
	Environ func() []string

	// Now is the clock. Nil is time.Now.
	Now func() time.Time

	// Logger takes what the harness had trouble with and dealt with. Nil
	// discards it.
	Logger *slog.Logger

	// NewID makes ids of 32 lower-case hex digits. Nil is random.
	NewID func() string

	// Gateways are endpoints that speak chat/completions and front the same
	// models, the preferred one first. They answer instead of any other
	// endpoint: a task that names a provider or a base URL besides is refused.
	Gateways []Gateway

	// GatewayPolicy says how they are judged; its labels, observer aside, need
	// not be filled. The zero value is the default.
	GatewayPolicy GatewayPolicy

	// AllowNetworkFS attaches to agents on network file systems, whose locks
	// can be lost.
	AllowNetworkFS bool

	// Depth is how many delegations deep a subagent may be: 0 is DefaultDepth,
	// negative is that nothing may be delegated.
	Depth int

	// Children says what subagents get that their callers haven't. Nil is nothing.
	Children ChildPolicy

	// Interceptors are hooks of the host's own, asked first and in this order,
	// about every call of every task.
	Interceptors []effects.Hook

	// Tools are the host's own, for every task. A name of basis itself, or one
	// that a file declares too, fails the opening.
	Tools []effects.Tool

	// NoDiscovery reads no file of a workspace or of the user: no instructions,
	// settings, skills, templates, memories, hooks or tools. What stands in these
	// options, in a [Spec] and in a [Drive] counts all the same.
	NoDiscovery bool

	// Places are where skills, templates and memories are looked for.
	Places Places

	// MinFree is how many bytes a disk must have left for an attach; 0 is the
	// journal's default, negative turns the check off.
	MinFree int64
}

// Home is a data root: the place of all agents, their journals and locks. It
// holds nothing open.
type Home struct {
	dir  string
	o    Options
	disk journal.Disk   // where journals are; nil is the real one
	ring *provider.Ring // the gateways' health; nil without
	dial dial           // opens a model's client; [resolve.Open]

	patience provider.RetryOptions // how often and how long requests are tried again
}

type dial func(provider.Choice, resolve.Options) (resolve.Model, error)

// HomeError says that no data root could be found or used.
type HomeError struct {
	Dir string
	Err error
}

func (e *HomeError) Error() string {
	if e.Dir == "" {
		return "no place for data: " + e.Err.Error() + "; set BASIS_DATA_DIR to a directory"
	}
	return fmt.Sprintf("the data root %s cannot be used: %v; set BASIS_DATA_DIR to another directory", e.Dir, e.Err)
}

func (e *HomeError) Unwrap() error { return e.Err }

// Open finds the data root. It creates nothing and touches nothing.
func Open(o Options) (*Home, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	dir, err := dataRoot(o.Dir, o.Getenv)
	if err != nil {
		return nil, err
	}
	ring, err := newRing(o)
	if err != nil {
		return nil, err
	}
	return &Home{dir: dir, o: o, ring: ring, dial: resolve.Open, patience: provider.RetryOptions{Jitter: mathrand.Float64, Now: o.Now}}, nil
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// dataRoot is the absolute data root (TASK-1…3). Symbolic links in it are the
// operator's own business.
func dataRoot(dir string, getenv func(string) string) (string, error) {
	for _, d := range []string{dir, getenv("BASIS_DATA_DIR")} {
		if d = strings.TrimSpace(d); d != "" {
			abs, err := filepath.Abs(d)
			if err != nil {
				return "", &HomeError{Dir: d, Err: err}
			}
			return abs, nil
		}
	}
	if x := getenv("XDG_DATA_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "basis"), nil
	}
	home, appdata := getenv("HOME"), getenv("APPDATA")
	switch {
	case runtime.GOOS == "windows" && filepath.IsAbs(appdata):
		return filepath.Join(appdata, "basis"), nil
	case runtime.GOOS == "darwin" && filepath.IsAbs(home):
		return filepath.Join(home, "Library", "Application Support", "basis"), nil
	case runtime.GOOS != "windows" && filepath.IsAbs(home):
		return filepath.Join(home, ".local", "share", "basis"), nil
	}
	return "", &HomeError{Err: errors.New("neither BASIS_DATA_DIR nor XDG_DATA_HOME nor a home directory is known")}
}

// Dir is the data root's absolute path.
func (h *Home) Dir() string { return h.dir }

func (h *Home) workspaceDir(key string) string { return filepath.Join(h.dir, "workspaces", key) }
func (h *Home) agentsDir(key string) string    { return filepath.Join(h.workspaceDir(key), "agents") }

// agentDir is an agent's directory; a subagent's is below its caller's.
func (h *Home) agentDir(r Ref) string {
	dir := filepath.Join(h.agentsDir(r.Key), r.ID)
	if r.Sub == "" {
		return dir
	}
	for n := range strings.SplitSeq(r.Sub, ".") {
		dir = filepath.Join(dir, subagentsDir, n)
	}
	return dir
}

// subagentsDir is where an agent's delegations are, below its own directory.
const subagentsDir = "subagents"

// memoryDir is where the notes of a workspace's tasks are, below its directory.
const memoryDir = "memory"

// AgentDir is where an agent's files are.
func (h *Home) AgentDir(r Ref) string { return h.agentDir(r) }

func (h *Home) conversationLock(key, id string) string {
	return filepath.Join(h.workspaceDir(key), "conversations", id+".lock")
}

// journalOptions are the seams that every journal of this home shares.
func (h *Home) journalOptions(agent string) journal.Options {
	return journal.Options{
		Now: h.o.Now, NewID: h.o.NewID, Program: "basis " + Version, Agent: agent,
		AllowNetworkFS: h.o.AllowNetworkFS, MinFree: h.o.MinFree, Disk: h.disk,
	}
}

// CollisionError says that a workspace's key belongs to another path already.
type CollisionError struct{ Key, Path, Other string }

func (e *CollisionError) Error() string {
	return fmt.Sprintf("workspace key collision: %s is the key of %s and of %s", e.Key, e.Path, e.Other)
}

// ensureWorkspace makes the directories of a workspace and pins its key to its path.
func (h *Home) ensureWorkspace(path string) (key string, err error) {
	key = WorkspaceKey(path)
	ws := h.workspaceDir(key)
	for _, d := range []string{filepath.Dir(ws), ws, h.agentsDir(key), filepath.Join(ws, "conversations"), filepath.Join(ws, memoryDir)} {
		if err := makePrivate(d); err != nil {
			return "", &HomeError{Dir: h.dir, Err: err}
		}
	}
	return key, h.checkMarker(key, path, true)
}

// makePrivate makes a directory for its owner alone, durably, with whatever is
// missing above it. One that is there gets its mode again (TASK-4).
func makePrivate(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makePrivate(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return os.Chmod(dir, 0o700)
	case err != nil:
		return err
	}
	return projections.SyncDir(filepath.Dir(dir))
}

// checkMarker compares the file that says whose key this is, and writes it if
// it is missing and may be written.
func (h *Home) checkMarker(key, path string, write bool) error {
	name := filepath.Join(h.workspaceDir(key), "workspace")
	data, err := os.ReadFile(name)
	switch other := strings.TrimSuffix(string(data), "\n"); {
	case err == nil && other != path:
		return &CollisionError{Key: key, Path: path, Other: other}
	case err == nil || !write:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &HomeError{Dir: h.dir, Err: err}
	}
	if err := projections.Replace(name, []byte(path+"\n"), true); err != nil {
		return &HomeError{Dir: h.dir, Err: err}
	}
	return nil
}
