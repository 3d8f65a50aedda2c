package basis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// Limits of a task.
const (
	// MaxPrompt is the longest prompt, in bytes.
	MaxPrompt = 256 << 10

	// DefaultDeadline is how long a task may take where nothing is said.
	DefaultDeadline = 30 * time.Minute

	// MaxTaskDepth is how many tasks deep a task may be that another one's
	// command asked for (FR-071).
	MaxTaskDepth = 8

	// NoDeadline asks for a task without one.
	NoDeadline = time.Duration(-1)
)

// Spec is what a task is asked to do, and within which limits.
type Spec struct {
	Workspace string // a directory; "" is the working directory
	Prompt    string
	Images    []string // files: PNG, JPEG, GIF or WebP, each at most MaxImage bytes
	Options   reducer.Options
	Bounds    reducer.Bounds
	Deadline  time.Duration // 0 is DefaultDeadline
	Parent    Ref           // the task that asks for it, if one does
	Detached  bool          // it belongs to nobody, though a task asks for it
	Continue  bool          // go on with the conversation last worked in here
}

// check finds what is wrong with a spec before anything is touched.
func (s Spec) check() error {
	switch {
	case strings.TrimSpace(s.Prompt) == "":
		return ErrEmptyPrompt
	case len(s.Prompt) > MaxPrompt:
		return &OptionError{"prompt", fmt.Sprintf("is %d bytes long, the most is %d; put the long part into a file and name it", len(s.Prompt), MaxPrompt)}
	}
	if provider.DisplayURL(s.Options.BaseURL) != s.Options.BaseURL {
		return &OptionError{"base URL", "must not hold a name, a password or a query, because it is recorded; put the key into BASIS_API_KEY"}
	}
	return nil
}

// Spawn makes a task: durable, and driven by nobody yet. It opens no workspace
// and asks no provider, so a bad model or key shows at the first attach.
func (h *Home) Spawn(spec Spec) (Ref, error) {
	m, err := h.mint(spec)
	if err != nil {
		return Ref{}, err
	}
	defer m.conversation.release()
	h.sweepTemporary(h.agentsDir(m.ref.Key))
	w, err := h.create(h.temporaryDir(m.ref), m.ref, m.created)
	if err != nil {
		m.abandon()
		return Ref{}, err
	}
	return m.ref, w.Close()
}

// minted is a task that is about to exist.
type minted struct {
	ref          Ref
	created      reducer.AgentCreated
	conversation *fileLock
	base         reducer.State // what it begins with
}

// mint checks everything that can be checked and takes the conversation's lock.
func (h *Home) mint(spec Spec) (minted, error) {
	if err := spec.check(); err != nil {
		return minted{}, err
	}
	path, err := directory(spec.Workspace)
	if err != nil {
		return minted{}, err
	}
	images, err := spec.readImages()
	if err != nil {
		return minted{}, err
	}
	deadline, err := h.deadline(spec.Deadline)
	if err != nil {
		return minted{}, err
	}
	if err := h.adopt(spec, WorkspaceKey(path)); err != nil {
		return minted{}, err
	}
	depth, err := h.depthBelow(spec.Parent)
	if err != nil {
		return minted{}, err
	}
	key, err := h.ensureWorkspace(path)
	if err != nil {
		return minted{}, err
	}
	m := minted{ref: Ref{Key: key, ID: h.o.NewID()}}
	m.created = reducer.AgentCreated{
		Kind: reducer.KindTask, ID: m.ref.ID, Conversation: m.ref.ID, Workspace: path,
		Detached: spec.Detached, Depth: depth,
		Options: spec.Options, Bounds: spec.Bounds, DeadlineMS: deadline,
	}
	if err := h.converse(&m, spec); err != nil {
		return minted{}, err
	}
	if m.created.Prompt, err = h.keepPrompt(h.temporaryDir(m.ref), spec.Prompt, images); err != nil {
		m.abandon()
		return minted{}, err
	}
	return m, nil
}

// converse gives the task its conversation, a new one or the one to go on with,
// and takes the conversation's lock.
func (h *Home) converse(m *minted, spec Spec) (err error) {
	if !spec.Continue {
		m.conversation, err = lockFile(h.conversationLock(m.ref.Key, m.ref.ID))
		return err
	}
	last, err := h.lastEnd(m.created.Workspace, spec.Parent)
	if err != nil {
		return err
	}
	m.conversation, m.base = last.lock, last.state
	m.created.Conversation, m.created.Continues = last.conversation, last.from
	return nil
}

// abandon takes back what a mint that failed has left. The lock of a new
// conversation may be removed because nobody else knows the id.
func (m minted) abandon() {
	if m.created.Conversation == m.ref.ID {
		_ = os.Remove(m.conversation.l.Path())
	}
	m.conversation.release()
}

// directory is the canonical path of a workspace that is one.
func directory(workspace string) (string, error) {
	path, err := canonical(workspace)
	if err != nil {
		return "", &OptionError{"workspace", fmt.Sprintf("%s cannot be used: %v", cmp.Or(workspace, "."), inner(err))}
	}
	if !utf8.ValidString(path) {
		return "", &OptionError{"workspace", fmt.Sprintf("%q cannot be used: its path is not UTF-8 text, and would not be the same in the journal", path)}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", &OptionError{"workspace", path + " is not a directory"}
	}
	return path, nil
}

// inner is what went wrong with a file, without the name that is said besides.
func inner(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// deadline is when a task must be done, in Unix milliseconds; 0 is never.
func (h *Home) deadline(d time.Duration) (int64, error) {
	switch {
	case d == NoDeadline:
		return 0, nil
	case d == 0:
		d = DefaultDeadline
	case d < 0:
		return 0, &OptionError{"deadline", "must be positive"}
	}
	now := h.o.Now().UnixMilli()
	if d.Milliseconds() > math.MaxInt64/2-now {
		return 0, &OptionError{"deadline", "is too far away"}
	}
	return now + d.Milliseconds(), nil
}

// adopt makes the new task a child of the one that asks for it.
func (h *Home) adopt(spec Spec, key string) error {
	if spec.Parent.IsZero() || spec.Detached {
		return nil
	}
	if spec.Parent.Key != key {
		return &OptionError{"workspace", "belongs to another workspace than the parent task's; spawn it detached"}
	}
	parent, err := h.State(spec.Parent)
	if err != nil {
		return &OptionError{"parent", fmt.Sprintf("task %s cannot be read: %v", spec.Parent, err)}
	}
	if parent.Ended() || parent.InboxClosed || parent.Cancelled || parent.Failed ||
		(parent.DeadlineMS != 0 && parent.DeadlineMS <= h.o.Now().UnixMilli()) {
		return &OptionError{"parent", fmt.Sprintf("task %s is no longer running", spec.Parent)}
	}
	return &OptionError{"parent", "task cannot have tasks of its own in this version; spawn it detached"}
}

// depthBelow is how deep a task is that a command of another one asks for, be it
// detached: tasks that start tasks must end somewhere. A task that can't be read
// here, because it stands in another data root, counts as the first.
func (h *Home) depthBelow(parent Ref) (int, error) {
	if parent.IsZero() {
		return 0, nil
	}
	s, err := h.State(parent)
	if err != nil {
		s = reducer.State{}
	}
	if s.Depth >= MaxTaskDepth {
		return 0, &OptionError{"depth", fmt.Sprintf("is over: this task is %d tasks deep, which is the most; do the work in it", s.Depth)}
	}
	return s.Depth + 1, nil
}

// create writes the first commit of an agent and makes its directory visible
// whole. The writer holds its attach.lock.
func (h *Home) create(tmp string, ref Ref, events ...reducer.Event) (*journal.Writer, error) {
	drafts, err := projections.Drafts(events...)
	var w *journal.Writer
	if err == nil {
		w, err = journal.Create(tmp, h.journalOptions(ref.ID), drafts...)
	}
	if err == nil {
		err = w.Publish(h.agentDir(ref))
	}
	if err != nil {
		_ = os.RemoveAll(tmp) // an agent that is not visible has never been
		if w != nil {
			err = errors.Join(err, w.Close())
		}
		return nil, fmt.Errorf("create task: %w", err)
	}
	return w, nil
}

// temporaryDir is where an agent's directory is made before it becomes visible.
func (h *Home) temporaryDir(r Ref) string {
	return filepath.Join(h.agentsDir(r.Key), temporaryPrefix+r.ID)
}

// keepPrompt is a prompt as a record carries it: a long text and every image go
// to blobs first, so that no record names what a crash could take (JRN-67).
func (h *Home) keepPrompt(tmp, prompt string, images []image) ([]reducer.Part, error) {
	part := reducer.Part{Type: reducer.PartText, Text: reducer.T(prompt)}
	if len(prompt) <= reducer.InlineLimit && len(images) == 0 {
		return []reducer.Part{part}, nil
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, &HomeError{Dir: h.dir, Err: err}
	}
	parts, err := keepImages(tmp, images)
	if err == nil && len(prompt) > reducer.InlineLimit {
		part.Text = reducer.Text{}
		part.Text.Blob, err = blobsIn(tmp).Put([]byte(prompt), "text/plain")
	}
	if err != nil {
		_ = os.RemoveAll(tmp)
		return nil, err
	}
	return append([]reducer.Part{part}, parts...), nil
}

const (
	temporaryPrefix = ".new-"
	temporaryAge    = time.Hour
)

// sweepTemporary removes what was being made in a directory by processes that
// were killed: agents and journals of rules.
func (h *Home) sweepTemporary(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, temporaryPrefix+"*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && h.o.Now().Sub(info.ModTime()) > temporaryAge {
			_ = os.RemoveAll(name)
		}
	}
}

// State folds a task's journal as it stands. It takes no lock.
func (h *Home) State(r Ref) (reducer.State, error) {
	s, err := h.Base(r)
	if err != nil {
		return s, err
	}
	return h.foldOnto(s, r)
}

// foldOnto folds a task's own journal onto what came before it.
func (h *Home) foldOnto(s reducer.State, r Ref) (reducer.State, error) {
	for e, err := range h.Entries(context.Background(), r) {
		if err != nil {
			return s, err
		}
		s = reducer.Apply(s, e.Event)
	}
	return s, nil
}

// created is what the task was made for.
func (h *Home) created(r Ref) (reducer.AgentCreated, error) {
	c, err := createdIn(h.agentDir(r))
	if err != nil {
		return c, &TaskError{Ref: r, Err: err}
	}
	return c, nil
}

// exists reports whether the agent's directory is there.
func (h *Home) exists(r Ref) error {
	_, err := os.Stat(h.agentDir(r))
	if errors.Is(err, fs.ErrNotExist) {
		return &TaskError{Ref: r, Err: ErrNoTask}
	}
	return err
}
