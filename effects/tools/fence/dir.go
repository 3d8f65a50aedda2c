package fence

import (
	"cmp"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Directory is one that a walk is in.
type Directory struct {
	walk   *walker
	place  Place
	rel    string // from where the walk began: "" or "a/b/"
	name   string // in the directory above, "" where the walk began
	linked bool   // it was reached by a link, or lies below one that was
	depth  int    // of its names; 1 where the walk began
	filter Filter // of its names, or nil
	handle handle
	names  []fs.DirEntry // until they are filtered
	left   int           // how many names the filter left out
	items  []item
	tasks  []*task // in the order of their turns
	begun  int     // how many of them were offered
	err    error   // why it could not be listed
}

// item is an entry with what a walk needs before it can go on with it.
type item struct {
	Entry
	task  *task      // what must be done first, or nil
	below *Directory // what the walk enters, or nil
}

// Name is the last part of the directory's path, or empty where the walk began.
func (d *Directory) Name() string { return d.name }

// Path is the canonical path of the directory.
func (d *Directory) Path() string { return d.place.Abs }

// Has reports whether a name is in the directory. It may be asked by Filter.Enter.
func (d *Directory) Has(name string) bool { return d.find(name) != nil }

// find is what the directory says of a name, or nil.
func (d *Directory) find(name string) fs.DirEntry {
	for _, e := range d.names {
		if e.Name() == name {
			return e
		}
	}
	return nil
}

// ReadFile returns the content of a regular file in the directory. It is nil if
// there is none of that name, if it cannot be read, or if it has more than limit
// bytes. A link is not followed. It may be asked by Filter.Enter.
func (d *Directory) ReadFile(name string, limit int64) []byte {
	if e := d.find(name); e == nil || !e.Type().IsRegular() {
		return nil
	}
	file, size, err := d.handle.open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || max(size, int64(len(data))) > limit {
		return nil
	}
	return data
}

// at is the place of a name in the directory.
func (d *Directory) at(name string) Place {
	abs := filepath.Join(d.place.Abs, name)
	return Place{Root: d.place.Root, Rel: filepath.Join(d.place.Rel, name), Abs: abs, Shown: d.walk.fence.show(abs)}
}

// child is the directory that an entry stands for, yet to be opened.
func (d *Directory) child(e Entry) *Directory {
	return &Directory{
		walk: d.walk, place: e.Place(), rel: d.rel + e.Name + "/", name: e.Name,
		linked: d.linked || e.to != nil, depth: d.depth + 1, filter: d.filter,
	}
}

// open opens and lists the directory. What it is in is above, or nil if it is to
// be reached by its place.
func (d *Directory) open(above *Directory) {
	if above != nil {
		d.handle, d.err = above.handle.below(d.name)
	} else {
		d.handle, d.err = openDir(d.place)
	}
	if d.err == nil {
		d.names, d.err = d.handle.names()
	}
	if d.err != nil {
		d.err = d.walk.fence.fault(d.place, "list it", d.err)
		return
	}
	d.pick()
	if first := d.plan(); first != nil {
		first.do() // so that a small directory is one task
	}
}

// pick keeps the names that the filter lets pass, in order.
func (d *Directory) pick() {
	if d.filter != nil {
		d.filter = d.filter.Enter(d)
	}
	d.items = make([]item, 0, len(d.names))
	for _, n := range d.names {
		e := Entry{Name: n.Name(), Kind: kindOf(n.Type()), in: d, link: n.Type()&fs.ModeSymlink != 0}
		if d.filter != nil && d.filter.Skip(e) {
			d.left++
			continue
		}
		d.items = append(d.items, item{Entry: e})
	}
	d.names = nil
	slices.SortFunc(d.items, func(a, b item) int { return cmp.Compare(a.Name, b.Name) })
}

// plan makes the tasks of the directory: one for each directory in it, and one
// for every few files. It returns the first of the latter, or nil.
func (d *Directory) plan() (first *task) {
	var files *task
	free := 0 // how many more files that one takes
	for i := range d.items {
		it := &d.items[i]
		switch {
		case it.link: // is followed when its turn comes
		case it.Kind == Dir && d.walk.wanted(it.Entry, d.depth):
			below := d.child(it.Entry)
			it.below, it.task = below, d.task(func() { below.open(d) })
		case it.Kind == File && d.walk.options.Prepare != nil:
			if free == 0 {
				files, free = d.task(func() { d.prepare(i) }), together
				if first == nil {
					first = files
				}
			}
			it.task = files
			free--
		}
	}
	return first
}

// task adds a task.
func (d *Directory) task(run func()) *task {
	t := &task{run: run, turn: len(d.tasks), done: make(chan struct{})}
	d.tasks = append(d.tasks, t)
	return t
}

// prepare prepares the files that share a task with the one at first.
func (d *Directory) prepare(first int) {
	left := together
	for i := first; i < len(d.items) && left > 0; i++ {
		if it := &d.items[i]; it.task == d.items[first].task {
			it.Found = d.walk.options.Prepare(it.Entry)
			left--
		}
	}
}

// offer offers the helpers what comes after a turn.
func (d *Directory) offer(turn int) {
	for d.begun < min(turn+ahead, len(d.tasks)) && d.walk.helpers.offer(d.tasks[d.begun]) {
		d.begun++
	}
}

// close gives the directory back, and what was opened in it ahead of a turn that
// never came.
func (d *Directory) close() {
	for _, t := range d.tasks {
		t.drop()
	}
	for _, it := range d.items {
		if it.below != nil {
			it.below.handle.close()
		}
	}
	d.handle.close()
	d.handle, d.items, d.tasks = handle{}, nil, nil
}
