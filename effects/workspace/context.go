package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/basisagent/basis/reducer"
)

// Document is one file that tells agents how to work here.
type Document struct {
	Path  string
	Scope string // global, ancestor:<n> counted from the workspace outward, or workspace
	Text  string // valid UTF-8, without the space at its end
}

// MaxDocument is how much of one document is used, in bytes.
const MaxDocument = 256 << 10

// names are the file names of context documents: the second counts only where
// the first does not exist at all.
var names = []string{"AGENTS.md", "CLAUDE.md"}

// Context is what was found, weakest document first, and what was skipped.
type Context struct {
	Documents []Document
	Warnings  []string
}

// FindContext looks in the global directory ("" is none), then in each directory from
// the file system's root down to root, the canonical path of the workspace.
// Each real file is used once, at its weakest place. What can't be read is
// skipped with a warning.
func FindContext(global, root string) Context {
	var c Context
	seen := map[string]bool{}
	if global != "" {
		c.look(global, "global", seen)
	}
	dirs := ancestors(root)
	for i, dir := range dirs {
		scope := "workspace"
		if n := len(dirs) - 1 - i; n > 0 {
			scope = "ancestor:" + strconv.Itoa(n)
		}
		c.look(dir, scope, seen)
	}
	return c
}

// ancestors lists the directories from the file system's root to dir.
func ancestors(dir string) []string {
	var all []string
	for {
		all = append(all, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			slices.Reverse(all)
			return all
		}
		dir = parent
	}
}

// look uses the first name that exists in dir. An empty first file still
// keeps the second one from being used.
func (c *Context) look(dir, scope string, seen map[string]bool) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			c.use(path, scope, seen)
			return
		}
	}
}

func (c *Context) use(path, scope string, seen map[string]bool) {
	var text, warning string
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		if seen[real] {
			return
		}
		seen[real] = true
		if scope != "global" && !holds(filepath.Dir(path), real) && !strings.EqualFold(filepath.Ext(real), ".md") {
			c.Warnings = append(c.Warnings, "context document "+path+": it is a link to a file of another kind elsewhere and was skipped")
			return
		}
		text, warning, err = read(real)
	}
	if err != nil {
		warning = "it could not be read and was skipped: " + err.Error()
	}
	if warning != "" {
		c.Warnings = append(c.Warnings, "context document "+path+": "+warning)
	}
	if text != "" {
		c.Documents = append(c.Documents, Document{Path: path, Scope: scope, Text: text})
	}
}

// read takes a regular file's text, as much of it as the file says it has: what
// a system makes up as it is read, such as the environment of a process, has no
// size and no business here. Something that is no regular file is skipped with
// a warning, without opening it.
func read(path string) (text, warning string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() {
		return "", "it is not a regular file and was skipped", nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return "", "it may not be read and was skipped", nil
	}
	if err != nil {
		return "", "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, min(info.Size(), MaxDocument+1)))
	if err != nil {
		return "", "", err
	}
	text = strings.ToValidUTF8(strings.TrimPrefix(string(data[:min(len(data), MaxDocument)]), "\uFEFF"), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if len(data) > MaxDocument {
		text = strings.TrimRight(text, "\uFFFD")
		text += "\n[This document is " + strconv.FormatInt(info.Size(), 10) + " bytes long; only its beginning is shown here.]"
		warning = fmt.Sprintf("only the first %d of its %d bytes are used", MaxDocument, info.Size())
	}
	return strings.TrimRight(text, " \t\r\n"), warning, nil
}

const preamble = "The following documents come from the workspace and the places above it. " +
	"Where they disagree, a later one takes precedence over an earlier one."

// Render is the documents as one block of system text; "" if there are none.
func (c Context) Render() string {
	if len(c.Documents) == 0 {
		return ""
	}
	blocks := []string{preamble}
	for _, d := range c.Documents {
		blocks = append(blocks, fmt.Sprintf("<context path=%q scope=%q>\n%s\n</context>", d.Path, d.Scope, d.Text))
	}
	return strings.Join(blocks, "\n\n")
}

// Files is what to record of the documents.
func (c Context) Files() []reducer.ContextFile {
	var files []reducer.ContextFile
	for _, d := range c.Documents {
		files = append(files, reducer.ContextFile{Path: d.Path, Scope: d.Scope, Digest: Digest(d.Text)})
	}
	return files
}

// Digest names a text by its content: the first half of its SHA-256 in hex.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:reducer.DigestSize])
}
