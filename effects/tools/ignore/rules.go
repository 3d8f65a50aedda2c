package ignore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileName is the name of the files that hold a directory's patterns.
const FileName = ".gitignore"

// RepoName is the name of a repository's own directory, or of the file that says
// where that is.
const RepoName = ".git"

// Rules are the lists that hold in one directory. The zero value ignores
// nothing.
type Rules struct {
	user  *List    // the user's excludes file
	lists []scoped // each outranks those before it
	way   string   // from where the first lists count to this directory: "" or "a/b/"
}

// scoped is a list with how much of the way belongs to the directories above it.
type scoped struct {
	list *List
	base int
}

// Read returns the content of a regular file at an absolute path, or nil if
// there is none or it cannot be read.
type Read func(path string) []byte

// Find returns what holds in a directory from above it: the rules of the
// repository that it lies in, without the directory's own file. Where it lies in
// no repository, the files from top down count. Both paths are absolute and
// clean; user is the path of the user's excludes file, or empty. Whoever names a
// directory that is ignored means it, so nothing from above holds there.
func Find(dir, top, user string, read Read) *Rules {
	r := &Rules{}
	if user != "" {
		r.user = Parse(read(user))
	}
	at := repository(dir)
	if at != "" {
		r = r.Repository(at, read)
	} else {
		at = top
		r = r.with(r.user)
	}
	rel, err := filepath.Rel(at, dir)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return r
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		r = r.With(fileOf(at, read))
		if r.Ignored(name, true) {
			return &Rules{user: r.user}
		}
		r, at = r.In(name), filepath.Join(at, name)
	}
	return r
}

// In returns what holds in a directory below from above it.
func (r *Rules) In(name string) *Rules {
	return &Rules{user: r.user, lists: r.lists, way: r.way + name + "/"}
}

// With adds the directory's own file, by its text.
func (r *Rules) With(text []byte) *Rules { return r.with(Parse(text)) }

// with adds a list that outranks all others. Nil adds nothing.
func (r *Rules) with(l *List) *Rules {
	if l == nil {
		return r
	}
	lists := append(slices.Clip(r.lists), scoped{l, len(r.way)})
	return &Rules{user: r.user, lists: lists, way: r.way}
}

// Repository returns what holds at the top of a repository: of what is above it
// only the user's file, and its own info/exclude. The path is that of its
// working tree.
func (r *Rules) Repository(dir string, read Read) *Rules {
	top := &Rules{user: r.user}
	return top.with(top.user).With(read(filepath.Join(gitDir(dir, read), "info", "exclude")))
}

// Ignored reports whether a name in the directory is left out. A link to a
// directory is not a directory.
func (r *Rules) Ignored(name string, dir bool) bool {
	path := ""
	for _, l := range slices.Backward(r.lists) {
		if l.list.paths && path == "" {
			path = r.way + name
		}
		switch l.list.match(path[min(l.base, len(path)):], name, dir) {
		case ignored:
			return true
		case kept:
			return false
		case silent:
		}
	}
	return false
}

// fileOf is the text of a directory's own file. A link is not followed, as git
// has it.
func fileOf(dir string, read Read) []byte {
	name := filepath.Join(dir, FileName)
	if fi, err := os.Lstat(name); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	return read(name)
}

// repository is the top of the working tree that a directory lies in, or empty.
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, RepoName)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// gitDir is the directory that holds what all working trees of a repository
// share. A linked working tree and a submodule have a file that leads there.
func gitDir(top string, read Read) string {
	own := filepath.Join(top, RepoName)
	to, ok := strings.CutPrefix(string(read(own)), "gitdir:")
	if !ok {
		return own
	}
	own = follow(top, to)
	if common := read(filepath.Join(own, "commondir")); common != nil {
		own = follow(own, string(common))
	}
	return own
}

// follow is where a path leads that stands in one of git's files below dir.
func follow(dir, to string) string {
	to = filepath.FromSlash(strings.TrimSpace(to))
	if filepath.IsAbs(to) {
		return filepath.Clean(to)
	}
	return filepath.Join(dir, to)
}
