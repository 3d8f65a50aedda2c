package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// maxRemarks bounds what a walk says about what it left out.
const maxRemarks = 10

// Kind says what an entry of a walk is, after following links.
type Kind string

// The kinds of entries.
const (
	File  Kind = "file"
	Dir   Kind = "dir"
	Other Kind = "other" // a pipe, device or socket, or a link to nothing
)

// Entry is one thing that a walk met.
type Entry struct {
	Rel   string // from where the walk began, with slashes
	Kind  Kind
	Place Place
}

// WalkOptions bounds a walk. The zero value walks everything.
type WalkOptions struct {
	Depth   int                // how many levels of names are visited; 0 means all
	Entries int                // how many names are looked at; 0 means all
	Enter   func(e Entry) bool // whether to look into a directory; nil means yes
}

// Walk visits everything below a directory: the names of each directory in
// order, and below a name before the next. A link to a file or directory inside
// the fence counts as what it leads to, but a link into the tree that is being
// walked is not entered, because its target is met anyway. Everything that the
// walk could not or would not look at is named in the remarks, each a sentence
// without a full stop.
func (f *Fence) Walk(ctx context.Context, start Place, o WalkOptions, visit func(Entry) error) (remarks []string, err error) {
	w := &walker{fence: f, start: start, options: o, visit: visit, entered: map[string]bool{start.Abs: true}}
	names, err := f.readDir(start)
	if err != nil {
		return nil, err
	}
	err = w.dir(ctx, start, ".", names, 1)
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.all(), err
}

// readDir returns the sorted content of a directory.
func (f *Fence) readDir(p Place) ([]fs.DirEntry, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, f.fault(p, "list it", err)
	}
	defer root.Close()
	fi, err := root.Stat(p.Rel)
	if err != nil {
		return nil, f.fault(p, "list it", err)
	}
	if !fi.IsDir() {
		return nil, &Error{Code: CodeNotDir, Path: p.Shown, Reason: "is not a directory"}
	}
	dir, err := root.Open(p.Rel)
	if err != nil {
		return nil, f.fault(p, "list it", err)
	}
	defer dir.Close()
	names, err := dir.ReadDir(-1)
	if err != nil {
		return nil, f.fault(p, "list it", err)
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return names, nil
}

// walker is one walk on its way.
type walker struct {
	fence   *Fence
	start   Place
	options WalkOptions
	visit   func(Entry) error
	entered map[string]bool // canonical paths of directories
	seen    int
	remarks []string
	more    int // remarks that were not kept
}

// dir visits the names of one directory.
func (w *walker) dir(ctx context.Context, at Place, rel string, names []fs.DirEntry, depth int) error {
	for _, d := range names {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if w.seen++; w.options.Entries > 0 && w.seen > w.options.Entries {
			w.remark("stopped after looking at %d names; use a narrower path", w.options.Entries)
			return fs.SkipAll
		}
		e, enter := w.entry(at, path.Join(rel, d.Name()), d)
		if e.Kind == "" {
			continue
		}
		if err := w.visit(e); err != nil {
			return err
		}
		if !enter || !w.wanted(e, depth) {
			continue
		}
		w.entered[e.Place.Abs] = true
		below, err := w.fence.readDir(e.Place)
		if err != nil {
			w.remark("could not look into %s", reasonOf(err))
			continue
		}
		if err := w.dir(ctx, e.Place, e.Rel, below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether the options let the walk enter a directory.
func (w *walker) wanted(e Entry, depth int) bool {
	if w.options.Depth > 0 && depth >= w.options.Depth {
		return false
	}
	return w.options.Enter == nil || w.options.Enter(e)
}

// entry judges one name, and says whether it may be entered. An entry without a
// kind is left out.
func (w *walker) entry(at Place, rel string, d fs.DirEntry) (e Entry, enter bool) {
	abs := filepath.Join(at.Abs, d.Name())
	if d.Type()&fs.ModeSymlink != 0 {
		return w.link(abs, rel)
	}
	p := Place{Root: at.Root, Rel: filepath.Join(at.Rel, d.Name()), Abs: abs, Shown: w.fence.show(abs)}
	kind := kindOf(d.Type())
	return Entry{Rel: printable(rel), Kind: kind, Place: p}, kind == Dir && !w.entered[abs]
}

// link judges a name that is a link.
func (w *walker) link(abs, rel string) (e Entry, enter bool) {
	target, err := canonical(abs)
	if err != nil {
		w.remark("skipped %s: its link cannot be followed", printable(rel))
		return Entry{}, false
	}
	p, err := w.fence.place(target, Read)
	if err != nil {
		w.remark("skipped %s: a link that leads outside", printable(rel))
		return Entry{}, false
	}
	e = Entry{Rel: printable(rel), Kind: Other, Place: p}
	if fi, err := w.fence.Stat(p); err == nil {
		e.Kind = kindOf(fi.Mode().Type())
	}
	if e.Kind != Dir || within(w.start.Abs, target) || w.entered[target] {
		return e, false
	}
	return e, true
}

// kindOf names the kind of a file that is not a link.
func kindOf(t fs.FileMode) Kind {
	switch {
	case t.IsDir():
		return Dir
	case t.IsRegular():
		return File
	default:
		return Other
	}
}

// remark notes something that was left out.
func (w *walker) remark(format string, args ...any) {
	if len(w.remarks) == maxRemarks {
		w.more++
		return
	}
	w.remarks = append(w.remarks, fmt.Sprintf(format, args...))
}

// all returns the remarks, with a last one that counts what was not kept.
func (w *walker) all() []string {
	if w.more == 0 {
		return w.remarks
	}
	return append(w.remarks, fmt.Sprintf("and %d more remarks of this kind", w.more))
}

// reasonOf is an error's text on one line.
func reasonOf(err error) string { return printable(err.Error()) }
