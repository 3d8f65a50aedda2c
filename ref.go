package basis

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strconv"
	"strings"
)

// Ref is a task's handle: the key of its workspace and its own id. It is all
// that is needed to find the task from anywhere (TASK-16). With Sub it names a
// subagent of the task.
type Ref struct {
	Key string // 16 lower-case hex digits
	ID  string // 32 lower-case hex digits
	Sub string // "", or a path such as 1.2: the second subagent of the first one
}

// String is the handle as users type it.
func (r Ref) String() string {
	if r.Sub == "" {
		return r.Key + "/" + r.ID
	}
	return r.Key + "/" + r.ID + ":" + r.Sub
}

// Task is the task that a subagent belongs to; a task is its own.
func (r Ref) Task() Ref { return Ref{Key: r.Key, ID: r.ID} }

// child is the n-th subagent of an agent.
func (r Ref) child(n int) Ref {
	r.Sub = strings.TrimPrefix(r.Sub+"."+strconv.Itoa(n), ".")
	return r
}

// depth is how many delegations are between the task and the agent.
func (r Ref) depth() int {
	if r.Sub == "" {
		return 0
	}
	return strings.Count(r.Sub, ".") + 1
}

// IsZero reports whether the handle names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// RefError says that a text is not a handle.
type RefError struct{ Text string }

func (e *RefError) Error() string {
	return fmt.Sprintf("%q is not a task handle; one looks like 148a99b954e2c46f/ and 32 more hex digits", e.Text)
}

// ParseRef reads a handle. Upper case is accepted and lowered. Nothing that
// passes can lead a path out of the data root.
func ParseRef(s string) (Ref, error) {
	key, id, ok := strings.Cut(strings.ToLower(strings.TrimSpace(s)), "/")
	id, sub, nested := strings.Cut(id, ":")
	if !ok || !isHex(key, 16) || !isHex(id, 32) || nested && !isPath(sub) {
		return Ref{}, &RefError{Text: s}
	}
	return Ref{Key: key, ID: id, Sub: sub}, nil
}

// isPath reports whether s is the path of a subagent: numbers from 1 on, with
// dots between them.
func isPath(s string) bool {
	for n := range strings.SplitSeq(s, ".") {
		if i, err := strconv.Atoi(n); err != nil || i < 1 || strconv.Itoa(i) != n {
			return false
		}
	}
	return true
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// WorkspaceKey is the FNV-1a 64 hash, in hex, of a workspace's canonical path (TASK-10).
func WorkspaceKey(path string) string {
	h := fnv.New64a()
	h.Write([]byte(path))
	return fmt.Sprintf("%016x", h.Sum64())
}

// canonical is the absolute path with all links resolved; the directory must exist.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
