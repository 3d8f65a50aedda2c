package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxNames is how many names a search for skills or templates looks at in one
// root, so that a link to somewhere large does not hold up a start.
const maxNames = 20_000

// passedOver are directories that hold what other programs put there.
var passedOver = []string{".git", "node_modules"} // immutable

// hit is a file or directory that a search has come to.
type hit struct {
	path string // the way that the search went
	rel  string // the same from the root, separated by slashes
	real string // where it is
}

// search goes through the directories below a root, each real one once, and
// follows links when all that is really there has been seen. Names are sorted.
type search struct {
	root   string // its real path
	within string // where a link may lead to a file of any name; "" is everywhere
	want   func(name string) bool
	most   int             // names that it looks at
	seen   map[string]bool // directories, by the real path
	looked int
	hits   []hit
	links  []hit // still to be followed
	faults []error
}

// files looks below root for files that want accepts, and at most names. A link out
// of the directory within ("" is none) counts only if the file there has such a
// name, too: or a repository could pass off any file of the user's as one of its
// own. A fault is a *[FileError] about such a link, a directory that can't be read,
// or there being too many names. A dangling link is nobody's fault.
func files(root, within string, most int, want func(name string) bool) (hits []hit, faults []error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, []error{&FileError{Path: root, Err: cause(err)}}
	}
	s := search{root: real, within: within, want: want, most: most, seen: map[string]bool{}}
	s.enter(hit{path: root, real: real})
	for len(s.links) > 0 && !s.full() {
		link := s.links[0]
		s.links = s.links[1:]
		s.follow(link)
	}
	if s.full() {
		s.faults = append(s.faults, &FileError{Path: root, Err: fmt.Errorf("only the first %d names below it were looked at", most)})
	}
	return s.hits, s.faults
}

func (s *search) full() bool { return s.looked > s.most }

// enter looks into a directory.
func (s *search) enter(dir hit) {
	if s.seen[dir.real] {
		return
	}
	s.seen[dir.real] = true
	entries, err := os.ReadDir(dir.real)
	if err != nil {
		s.faults = append(s.faults, &FileError{Path: dir.path, Err: fmt.Errorf("it cannot be read: %w", cause(err))})
	}
	for _, e := range entries {
		if s.looked++; s.full() {
			return
		}
		name := e.Name()
		h := hit{filepath.Join(dir.path, name), strings.TrimPrefix(dir.rel+"/"+name, "/"), filepath.Join(dir.real, name)}
		if e.Type()&fs.ModeSymlink != 0 {
			s.links = append(s.links, h)
			continue
		}
		s.take(h, name, e.Type())
	}
}

// take enters a directory, and keeps a file that is wanted.
func (s *search) take(h hit, name string, mode fs.FileMode) {
	switch {
	case mode.IsDir() && !slices.Contains(passedOver, name):
		s.enter(h)
	case !mode.IsDir() && s.want(name):
		s.hits = append(s.hits, h)
	}
}

// follow goes where a link leads. A directory that holds the root is a circle, or
// the whole disk.
func (s *search) follow(link hit) {
	real, err := filepath.EvalSymlinks(link.real)
	if err != nil {
		return
	}
	info, err := os.Lstat(real)
	if err != nil || info.IsDir() && holds(real, s.root) {
		return
	}
	if name := filepath.Base(link.path); !info.IsDir() && s.want(name) && !s.want(filepath.Base(real)) && s.within != "" && !holds(s.within, real) {
		s.faults = append(s.faults, &FileError{Path: link.path, Err: errors.New("it is a link out of the workspace to a file of another kind, which is not read")})
		return
	}
	s.take(hit{link.path, link.rel, real}, filepath.Base(link.path), info.Mode().Type())
}

// holds reports whether a path lies in a directory. Both are real.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// linkFence is where links in a directory may lead to files of any name: for one of
// the workspace at root there alone, for one of the user's everywhere, as "".
func linkFence(root, dir string) string {
	if holds(root, dir) {
		return root
	}
	return ""
}

// sameDir reports whether a directory is one of those that were used already, and
// notes it. One that is missing, or is no directory, counts as used.
func sameDir(dir string, used *[]os.FileInfo) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return true
	}
	for _, u := range *used {
		if os.SameFile(u, info) {
			return true
		}
	}
	*used = append(*used, info)
	return false
}
