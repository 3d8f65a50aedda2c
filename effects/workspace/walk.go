package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// maxNames is how many names a search for skills or templates looks at in one
// root.
const maxNames = 100_000

// search goes through the directories below a root, each real one once, links
// followed, and gives the files to take by the way that it went. Names are sorted.
type search struct {
	seen map[string]bool // by the real path
	left int
	full bool // it gave up
	take func(path, rel string)
	want func(name string) bool
}

// files looks below root for files that want accepts. What can't be read is passed
// over: a dangling link is nobody's fault.
func files(root string, want func(name string) bool, take func(path, rel string)) (whole bool) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return true
	}
	s := search{seen: map[string]bool{}, left: maxNames, want: want, take: take}
	s.enter(root, real, "")
	return !s.full
}

// enter looks into one directory: path is the way to it, real what it is.
func (s *search) enter(path, real, rel string) {
	if s.seen[real] {
		return
	}
	s.seen[real] = true
	entries, err := os.ReadDir(real)
	if err != nil {
		return
	}
	for _, e := range entries {
		if s.left--; s.left < 0 {
			s.full = true
			return
		}
		name, at := e.Name(), filepath.Join(path, e.Name())
		below := strings.TrimPrefix(rel+"/"+name, "/")
		mode, there := e.Type(), filepath.Join(real, name)
		if mode&os.ModeSymlink != 0 {
			info, err := os.Stat(at)
			if err != nil {
				continue
			}
			if mode = info.Mode().Type(); mode.IsDir() {
				if there, err = filepath.EvalSymlinks(at); err != nil {
					continue
				}
			}
		}
		switch {
		case mode.IsDir():
			s.enter(at, there, below)
		case s.want(name):
			s.take(at, below)
		}
	}
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
