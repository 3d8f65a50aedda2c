package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
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

// Entry is one thing that a walk met. It can be opened until the function that
// it was given to returns.
type Entry struct {
	Name  string // the last part of its path; where a link leads has another
	Kind  Kind
	Found any // what WalkOptions.Prepare returned for a file

	fence *Fence     // of an entry that no walk met
	in    *Directory // where it was met
	to    *Place     // where a link leads, or what no walk met
	link  bool
}

// Entry is a place as a walk that met it would give it. A failure is an *Error.
func (f *Fence) Entry(p Place) (Entry, error) {
	fi, err := f.Stat(p)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Name: filepath.Base(p.Abs), Kind: kindOf(fi.Mode().Type()), fence: f, to: &p}, nil
}

// Path is the way from where the walk began, with slashes.
func (e Entry) Path() string {
	if e.in == nil {
		return e.Name
	}
	return e.in.rel + e.Name
}

// Rel is the path in a form that keeps to one line.
func (e Entry) Rel() string { return printable(e.Path()) }

// Place is where the entry is, after following links.
func (e Entry) Place() Place {
	if e.to != nil {
		return *e.to
	}
	return e.in.at(e.Name)
}

// Open opens a regular file, and returns how many bytes it has. The caller closes
// it. A failure is an *Error.
func (e Entry) Open() (io.ReadCloser, int64, error) {
	if e.to != nil {
		f := e.fence
		if e.in != nil {
			f = e.in.walk.fence
		}
		file, fi, err := f.Open(*e.to)
		if err != nil {
			return nil, 0, err
		}
		return file, fi.Size(), nil
	}
	file, size, err := e.in.handle.open(e.Name)
	if errors.Is(err, errNotRegular) {
		return nil, 0, notRegular(e.Place())
	}
	if err != nil {
		return nil, 0, e.in.walk.fence.fault(e.Place(), "open it", err)
	}
	return file, size, nil
}

// Filter leaves names out of a walk. It may be asked by several goroutines at
// once, and ahead of the walk.
type Filter interface {
	// Enter returns the filter for the names in a directory. The filter of the
	// directory above is asked; where the walk begins it is WalkOptions.Filter.
	Enter(d *Directory) Filter

	// Skip reports whether a name is left out, with all that is below it. No
	// link was followed yet, so it counts as Other.
	Skip(e Entry) bool
}

// WalkOptions bounds a walk. The zero value walks everything.
type WalkOptions struct {
	Depth   int                // how many levels of names are visited; 0 means all
	Entries int                // how many names are looked at; 0 means all
	Enter   func(e Entry) bool // whether to look into a directory; nil means yes
	Filter  Filter             // what is left out; nil is nothing

	// Prepare, if set, is called for each regular file that will be visited, to
	// do what needs no order. Like Enter it may be called by several goroutines
	// at once and ahead of the walk, and in vain if the walk ends early.
	Prepare func(e Entry) any
}

// Walk visits everything below a directory: the names of each directory in
// order, and below a name before the next. A link to a file or directory inside
// the fence counts as what it leads to, but a link into the tree that is being
// walked is not entered, because its target is met anyway. Everything that the
// walk could not or would not look at is named in the remarks, each a sentence
// without a full stop; what the filter left out is not.
func (f *Fence) Walk(ctx context.Context, start Place, o WalkOptions, visit func(Entry) error) (remarks []string, err error) {
	fi, err := f.Stat(start)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &Error{Code: CodeNotDir, Path: start.Shown, Reason: "is not a directory"}
	}
	w := &walker{fence: f, start: start, options: o, visit: visit, entered: map[string]bool{start.Abs: true}}
	defer w.helpers.dismiss()
	d := &Directory{walk: w, place: start, depth: 1, filter: o.Filter}
	if d.open(nil); d.err != nil {
		d.close()
		return nil, d.err
	}
	err = w.dir(ctx, d)
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.all(), err
}

// walker is one walk on its way.
type walker struct {
	fence   *Fence
	start   Place
	options WalkOptions
	visit   func(Entry) error
	helpers helpers
	entered map[string]bool // canonical paths of directories that links lead to, and of what is below them
	seen    int
	remarks []string
	more    int // remarks that were not kept
}

// dir visits what is in one directory, and closes it.
func (w *walker) dir(ctx context.Context, d *Directory) error {
	defer d.close()
	w.seen += d.left
	d.offer(0)
	for i := range d.items {
		it := &d.items[i]
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if w.seen++; w.options.Entries > 0 && w.seen > w.options.Entries {
			w.remark("stopped after looking at %d names; use a narrower path", w.options.Entries)
			return fs.SkipAll
		}
		if it.link {
			w.follow(d, it)
		} else if it.task != nil {
			d.offer(it.task.turn + 1)
			it.task.wait()
		}
		if it.Kind == "" {
			continue
		}
		if err := w.visit(it.Entry); err != nil {
			return err
		}
		if err := w.enter(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// enter visits what is below an item, if the walk enters it.
func (w *walker) enter(ctx context.Context, it *item) error {
	d := it.below
	if d == nil {
		return nil
	}
	if d.linked {
		if w.entered[d.place.Abs] {
			return nil
		}
		w.entered[d.place.Abs] = true
	}
	if it.link {
		d.open(nil)
	}
	if d.err == nil {
		return w.dir(ctx, d)
	}
	d.close()
	w.remark("could not look into %s", reasonOf(d.err))
	return nil
}

// wanted reports whether the options let the walk enter a directory.
func (w *walker) wanted(e Entry, depth int) bool {
	if w.options.Depth > 0 && depth >= w.options.Depth {
		return false
	}
	if len(w.fence.closed) > 0 && off(e.Place().Abs, w.fence.closed, w.fence.read) {
		return false
	}
	return w.options.Enter == nil || w.options.Enter(e)
}

// follow finds out what a link leads to. An item without a kind is left out.
func (w *walker) follow(d *Directory, it *item) {
	it.Kind = ""
	target, err := canonical(filepath.Join(d.place.Abs, it.Name))
	if err != nil {
		w.remark("skipped %s: its link cannot be followed", it.Rel())
		return
	}
	p, err := w.fence.place(target, Read)
	if err != nil {
		w.remark("skipped %s: a link that leads outside", it.Rel()) // or to what is closed
		return
	}
	it.Kind, it.to = Other, &p
	if fi, err := w.fence.Stat(p); err == nil {
		it.Kind = kindOf(fi.Mode().Type())
	}
	switch {
	case it.Kind == File && w.options.Prepare != nil:
		it.Found = w.options.Prepare(it.Entry)
	case it.Kind == Dir && !within(w.start.Abs, target) && w.wanted(it.Entry, d.depth):
		it.below = d.child(it.Entry)
	}
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
