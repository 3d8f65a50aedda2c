package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/basisagent/basis/reducer"
)

// Memory is a note of an earlier task, kept in a file of its own.
type Memory struct {
	Name        string
	Description string // one line
	Type        string // user, feedback, project or reference
	Path        string
	Digest      string // of its header
}

// MemoryTypes are what a memory can be about.
func MemoryTypes() []string { return []string{"user", "feedback", "project", "reference"} }

// FindMemories reads the headers of the *.md files in the directories, the
// strongest first; those that don't exist are empty. A stronger root keeps a name
// from weaker ones. An error names the file.
func FindMemories(dirs ...string) ([]Memory, error) {
	var all []Memory
	var used []os.FileInfo
	for _, dir := range dirs {
		if dir == "" || sameDir(dir, &used) {
			continue
		}
		var err error
		if all, err = memoriesIn(dir, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// memoriesIn adds the memories of one directory to those of stronger ones.
func memoriesIn(dir string, all []Memory) ([]Memory, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &FileError{Path: dir, Err: cause(err)}
	}
	stronger := len(all)
	for _, e := range entries {
		if !isMemory(e) {
			continue
		}
		m, err := readMemory(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(o Memory) bool { return o.Name == m.Name })
		if i >= stronger {
			return nil, twice("memory", m.Path, m.Name, all[i].Path)
		}
		if i < 0 {
			all = append(all, m)
		}
	}
	return all, nil
}

// memoryHeader is the header of a memory.
type memoryHeader struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Type        string `yaml:"type"`
}

// maxHeader is how long the header of a memory may be, in bytes.
const maxHeader = 64 << 10

// isMemory reports whether an entry of a directory of memories is one.
func isMemory(e os.DirEntry) bool {
	return e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), ".md")
}

// readMemory reads the header of one memory, and no more of it.
func readMemory(path string) (Memory, error) {
	f, err := os.Open(path)
	if err != nil {
		return Memory{}, &FileError{Path: path, Err: cause(err)}
	}
	defer func() { _ = f.Close() }() // only read
	return parseMemory(path, f)
}

// parseMemory is the memory at path, whose text is read up to the end of its header.
func parseMemory(path string, text io.Reader) (Memory, error) {
	front, err := readHeader(text)
	if err != nil {
		return Memory{}, &FileError{Path: path, Err: cause(err)}
	}
	var h memoryHeader
	if err := decodeHeader(front, &h); err != nil {
		return Memory{}, &FileError{Path: path, Err: err}
	}
	h = memoryHeader{strings.TrimSpace(h.Name), strings.TrimSpace(h.Description), strings.TrimSpace(h.Type)}
	if key, err := h.check(); err != nil {
		return Memory{}, &FileError{Path: path, Key: key, Err: err}
	}
	return Memory{Name: h.Name, Description: h.Description, Type: h.Type, Path: path, Digest: Digest(string(front))}, nil
}

// check judges a header; an error is about the member key.
func (h memoryHeader) check() (key string, err error) {
	if err := named(h.Name); err != nil {
		return "name", err
	}
	if named(h.Description) != nil {
		return "description", errors.New("it is missing, blank, or more than one line")
	}
	if !slices.Contains(MemoryTypes(), h.Type) {
		return "type", errors.New("it is none of " + strings.Join(MemoryTypes(), ", "))
	}
	return "", nil
}

// readHeader reads the header of a text, and little more.
func readHeader(text io.Reader) ([]byte, error) {
	var head bytes.Buffer
	lines := bufio.NewReader(io.LimitReader(text, maxHeader))
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		head.Write(line)
		if err != nil || n > 0 && strings.TrimRight(string(line), "\r\n") == "---" {
			break
		}
	}
	front, _, found, err := header(head.Bytes())
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errors.New("it has no header: name, description and type between two lines ---")
	}
	return front, nil
}

// RenderMemories is the index of memories as a block of system text (CORE-47); "" if
// there are none.
func RenderMemories(all []Memory) string {
	if len(all) == 0 {
		return ""
	}
	lines := []string{"<memories>"}
	for _, m := range all {
		lines = append(lines, fmt.Sprintf("- %s — %s (%s)", m.Name, m.Description, m.Path))
	}
	return strings.Join(append(lines, "</memories>", "",
		"Memories are notes from earlier work. Read a file when its description bears on the task. Save a lasting fact as a new file beside them, "+
			"or edit the one it belongs to. Each begins with a header between two lines ---: name, description (one line) and type ("+
			strings.Join(MemoryTypes(), ", ")+")."), "\n")
}

// ComposeMemory is a memory file that reads back as what it is made of (CORE-49),
// without the space around name and description. What could not be read back is
// refused: it would keep the workspace from being opened.
func ComposeMemory(name, description, kind, body string) ([]byte, error) {
	m := memoryHeader{strings.TrimSpace(name), strings.TrimSpace(description), kind}
	key, err := m.check()
	if err != nil {
		return nil, fmt.Errorf("compose memory: %s: %w", key, err)
	}
	front, err := yaml.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("compose memory %s: %w", name, err)
	}
	if len(front) > maxHeader/2 {
		return nil, fmt.Errorf("compose memory: its header is %d bytes long, the most is %d; shorten the description", len(front), maxHeader/2)
	}
	return []byte("---\n" + string(front) + "---\n" + body), nil
}

// MemoryInfos is what to record of memories.
func MemoryInfos(all []Memory) []reducer.MemoryInfo {
	var infos []reducer.MemoryInfo
	for _, m := range all {
		infos = append(infos, reducer.MemoryInfo{Name: m.Name, Path: m.Path, Digest: m.Digest})
	}
	return infos
}
