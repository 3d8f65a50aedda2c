package basis

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
)

// Ref is a task's handle: the key of its workspace and its own id. It is all
// that is needed to find the task from anywhere (TASK-16).
type Ref struct {
	Key string // 16 lower-case hex digits
	ID  string // 32 lower-case hex digits
}

// String is the handle as users type it.
func (r Ref) String() string { return r.Key + "/" + r.ID }

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
	if !ok || !isHex(key, 16) || !isHex(id, 32) {
		return Ref{}, &RefError{Text: s}
	}
	return Ref{Key: key, ID: id}, nil
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
