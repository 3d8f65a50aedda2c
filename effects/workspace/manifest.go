package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/basisagent/basis/reducer"
)

// Level says whose a file is.
type Level string

// The levels.
const (
	Local  Level = "workspace" // of the repository
	Global Level = "global"    // of the user
)

// place is one file that may be there, and whose it is.
type place struct {
	path  string
	level Level
}

// places are a file's two places: name below .basis in the workspace at root, and
// name in the global directory ("" is no such place). The same file reached twice
// counts once.
func places(global, root, name string) []place {
	var all []place
	if root != "" {
		all = append(all, place{filepath.Join(root, ".basis", name), Local})
	}
	if global == "" {
		return all
	}
	if root == "" {
		return []place{{filepath.Join(global, name), Global}}
	}
	other := place{filepath.Join(global, name), Global}
	if a, err := os.Stat(all[0].path); err == nil {
		if b, err := os.Stat(other.path); err == nil && os.SameFile(a, b) {
			return all
		}
	}
	return append(all, other)
}

// record is what to record of a file that was used.
func (p place) record(data []byte) reducer.ContextFile {
	return reducer.ContextFile{Path: p.path, Scope: string(p.level), Digest: Digest(string(data))}
}

// schemaVersion is the one version of every file of ours.
const schemaVersion = 1

// versioned judges the member schema of a file.
func versioned(path string, schema *int) error {
	switch {
	case schema == nil:
		return &FileError{Path: path, Key: "schema", Err: fmt.Errorf("it is missing; write \"schema\": %d", schemaVersion)}
	case *schema != schemaVersion:
		return &FileError{Path: path, Key: "schema", Err: fmt.Errorf("%d is not supported, only %d is", *schema, schemaVersion)}
	}
	return nil
}

// argv judges a command: a program and its arguments.
func argv(command []string) error {
	if len(command) == 0 || strings.TrimSpace(command[0]) == "" {
		return errors.New("it names no program; write a list such as [\"./scripts/check\", \"--fast\"]")
	}
	if slices.ContainsFunc(command, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return errors.New("it holds a zero byte")
	}
	return nil
}

// Program is the path of a program that a file of the workspace at root names:
// one with a directory part is looked for from the root, a bare name in PATH.
func Program(root, name string) string {
	if filepath.Base(name) == name || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}

// limit is a time limit in milliseconds as a duration, or the default.
func limit(ms *int64, d time.Duration) (time.Duration, error) {
	switch {
	case ms == nil:
		return d, nil
	case *ms <= 0 || *ms > maxTimeout.Milliseconds():
		return 0, fmt.Errorf("%d is not between 1 and %d", *ms, maxTimeout.Milliseconds())
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// maxTimeout is the longest time limit that a file can give.
const maxTimeout = 24 * time.Hour

// named judges a name that people and models are shown.
func named(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("it is missing or blank")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("it holds a control character")
	}
	return nil
}

// digestOf names what a manifest says of one thing.
func digestOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values that were read from JSON
	}
	return Digest(string(data))
}
