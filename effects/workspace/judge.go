package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Texts are the directories in which an opening of the workspace at Root looks for
// skills, templates and memories.
type Texts struct {
	Root                        string
	Skills, Templates, Memories []string
}

// Judge is an error if a file with that content would keep the workspace from being
// opened (CORE-46): a memory or template that can't be read, or a second one of a
// name in one directory. The path is the real one. What is no text of the workspace
// is no fault, nor is what is wrong with other files.
func (t Texts) Judge(path string, content []byte) error {
	if !strings.EqualFold(filepath.Ext(path), ".md") {
		return nil
	}
	for _, dir := range t.Memories {
		if err := judgeMemory(realPath(dir), path, content); err != nil {
			return err
		}
	}
	for _, dir := range t.Templates {
		if err := t.judgeTemplate(dir, path, content); err != nil {
			return err
		}
	}
	for _, dir := range t.Skills {
		if err := t.judgeSkill(dir, path, content); err != nil {
			return err
		}
	}
	return nil
}

// judgeMemory judges a file of a directory of memories.
func judgeMemory(dir, path string, content []byte) error {
	if filepath.Dir(path) != dir {
		return nil
	}
	m, err := parseMemory(path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // a directory that is not there yet has no other memory
	}
	for _, e := range entries {
		if !isMemory(e) || e.Name() == filepath.Base(path) {
			continue
		}
		if other, err := readMemory(filepath.Join(dir, e.Name())); err == nil && other.Name == m.Name {
			return twice("memory", path, m.Name, other.Path)
		}
	}
	return nil
}

// judgeTemplate judges a file of a root of templates.
func (t Texts) judgeTemplate(dir, path string, content []byte) error {
	others, ways := t.search(dir, path, isTemplate)
	for _, rel := range ways {
		one, err := parseTemplate(path, rel, content)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(others, func(h hit) bool { return templateName(h.rel) == one.Info.Name })
		if i >= 0 {
			return twice("template", path, one.Info.Name, others[i].path)
		}
	}
	return nil
}

// judgeSkill judges a file of a root of skills. One that can't be read is left out
// at an opening, and so no fault.
func (t Texts) judgeSkill(dir, path string, content []byte) error {
	others, ways := t.search(dir, path, isSkill)
	if len(ways) == 0 {
		return nil
	}
	k, err := parseSkill(path, content)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for _, h := range others {
		if other, err := readSkill(h.path); err == nil && other.Name == k.Name {
			return twice("skill", path, k.Name, h.path)
		}
	}
	return nil
}

// search gives the other files below a root that are wanted, and each way from
// there to the file at path, be it there yet or not; none if it is no file of the
// root.
func (t Texts) search(dir, path string, want func(string) bool) (others []hit, ways []string) {
	if !want(filepath.Base(path)) {
		return nil, nil
	}
	hits, _ := files(dir, linkFence(t.Root, dir), maxNames, want)
	for _, h := range hits {
		if h.real == path {
			ways = append(ways, h.rel)
		} else {
			others = append(others, h)
		}
	}
	top := realPath(dir)
	if len(ways) > 0 || !holds(top, path) {
		return others, ways
	}
	rel, err := filepath.Rel(top, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if err != nil || slices.ContainsFunc(parts, func(name string) bool { return slices.Contains(passedOver, name) }) {
		return nil, nil
	}
	return others, []string{strings.Join(parts, "/")}
}

// twice is the fault of a name that another file has.
func twice(what, path, name, other string) error {
	key := "name"
	if what == "template" {
		key = ""
	}
	return &FileError{Path: path, Key: key, Err: fmt.Errorf("the %s %s is also in %s; rename one", what, name, other)}
}

// realPath is a path with its links followed as far as there is anything.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if above := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && above != path {
		return filepath.Join(realPath(above), filepath.Base(path))
	}
	return filepath.Clean(path)
}
