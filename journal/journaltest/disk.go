package journaltest

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/basisagent/basis/journal"
)

// ErrCrashed is the answer to every call after a crash.
var ErrCrashed = errors.New("the machine has crashed")

// Call is one call to a Disk or one of its files, before it happens.
type Call struct {
	// N counts the calls that change something, from 1; for a call that only
	// reads it is the number of the last one that did.
	N int
	// Op is the method in lower case, such as "write" or "syncdir".
	Op string
	// Path is what it is about, with slashes.
	Path string
	// Mutates says whether the call changes anything.
	Mutates bool
}

// Outcome is what becomes of a Call. The zero value lets it succeed.
type Outcome struct {
	// Err makes the call fail.
	Err error
	// Short is how many bytes a failing or crashing write still writes.
	Short int
	// Drop makes a failing sync forget the unsynced data: it stays visible
	// and never becomes durable by a later sync.
	Drop bool
	// Crash makes the call and all after it fail with ErrCrashed.
	Crash bool
}

// Disk is a journal.Disk in memory. Make one with New.
type Disk struct {
	// Fault, if not nil, decides about each call. Set it before use or
	// between calls.
	Fault func(Call) Outcome
	// FreeBytes is what Free answers; 0 means plenty.
	FreeBytes int64
	// Remote is what Network answers.
	Remote bool

	mu      sync.Mutex
	root    *node
	nodes   []*node
	pending []dirOp
	calls   int
	crashed bool
}

// node is a file or a directory.
type node struct {
	id    int
	mode  fs.FileMode
	names map[string]*node // of a directory, as seen
	kept  map[string]*node // of a directory, as durable

	data  []byte // of a file, as seen
	disk  []byte // of a file, as durable
	dirty []dataOp

	exclusive bool
	shared    int
}

// dataOp is an unsynced change of a file: a write within one sector, or a
// truncation.
type dataOp struct {
	off   int64
	bytes []byte
	cut   bool  // truncate to off
	size  int64 // of the file afterwards
}

// dirOp is an unsynced change of entries. It becomes durable when the
// directory of its new name is synced.
type dirOp struct {
	from, to         *node // directories; nil where there is no such side
	fromName, toName string
	what             *node
}

// New returns an empty disk whose root and working directory are one.
func New() *Disk {
	d := &Disk{}
	d.root = d.node(fs.ModeDir | 0o700)
	return d
}

func (d *Disk) node(mode fs.FileMode) *node {
	n := &node{id: len(d.nodes), mode: mode}
	if mode.IsDir() {
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	}
	d.nodes = append(d.nodes, n)
	return n
}

// Calls returns how many calls have changed something so far.
func (d *Disk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// enter asks Fault about a call. The mutex is held.
func (d *Disk) enter(op, name string, mutates bool) Outcome {
	if d.crashed {
		return Outcome{Err: ErrCrashed}
	}
	if mutates {
		d.calls++
	}
	if d.Fault == nil {
		return Outcome{}
	}
	o := d.Fault(Call{N: d.calls, Op: op, Path: name, Mutates: mutates})
	if o.Crash {
		d.crashed = true
		o.Err = ErrCrashed
	}
	return o
}

// clean gives a path the one form it has here.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
}

// find walks to a name.
func (d *Disk) find(name string) (*node, error) {
	n := d.root
	if name == "" {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if n = n.names[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// parent walks to the directory that holds a name.
func (d *Disk) parent(name string) (*node, string, error) {
	dir, base := path.Split(name)
	p, err := d.find(strings.TrimSuffix(dir, "/"))
	if err == nil && !p.mode.IsDir() {
		err = fs.ErrNotExist
	}
	return p, base, err
}

func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// OpenFile implements journal.Disk.
func (d *Disk) OpenFile(name string, flag int, perm fs.FileMode) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	n, err := d.find(name)
	creates := errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0
	cuts := err == nil && flag&os.O_TRUNC != 0 && len(n.data) > 0
	if o := d.enter("open", name, creates || cuts); o.Err != nil {
		return nil, fail("open", name, o.Err)
	}
	switch {
	case creates:
		p, base, err := d.parent(name)
		if err != nil {
			return nil, fail("open", name, err)
		}
		n = d.node(perm)
		d.enterName(p, base, n)
	case err != nil:
		return nil, fail("open", name, err)
	case flag&os.O_EXCL != 0:
		return nil, fail("open", name, fs.ErrExist)
	case cuts:
		n.truncate(0)
	}
	return &file{disk: d, node: n, name: name, flag: flag}, nil
}

// enterName gives a new node its name.
func (d *Disk) enterName(dir *node, name string, n *node) {
	dir.names[name] = n
	d.pending = append(d.pending, dirOp{to: dir, toName: name, what: n})
}

// Stat implements journal.Disk.
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	if o := d.enter("stat", name, false); o.Err != nil {
		return nil, fail("stat", name, o.Err)
	}
	n, err := d.find(name)
	if err != nil {
		return nil, fail("stat", name, err)
	}
	return n.info(path.Base(name)), nil
}

// SameFile implements journal.Disk.
func (d *Disk) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(info)
	y, same := b.(info)
	return ok && same && x.node == y.node
}

// ReadDir implements journal.Disk.
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	if o := d.enter("readdir", name, false); o.Err != nil {
		return nil, fail("readdir", name, o.Err)
	}
	n, err := d.find(name)
	if err != nil {
		return nil, fail("readdir", name, err)
	}
	var out []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(n.names)) {
		out = append(out, fs.FileInfoToDirEntry(n.names[base].info(base)))
	}
	return out, nil
}

// Mkdir implements journal.Disk.
func (d *Disk) Mkdir(name string, perm fs.FileMode) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	if o := d.enter("mkdir", name, true); o.Err != nil {
		return fail("mkdir", name, o.Err)
	}
	p, base, err := d.parent(name)
	if err != nil {
		return fail("mkdir", name, err)
	}
	if p.names[base] != nil {
		return fail("mkdir", name, fs.ErrExist)
	}
	d.enterName(p, base, d.node(fs.ModeDir|perm))
	return nil
}

// Rename implements journal.Disk.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, to = clean(from), clean(to)
	if o := d.enter("rename", to, true); o.Err != nil {
		return fail("rename", from, o.Err)
	}
	p, base, err := d.parent(from)
	if err != nil {
		return fail("rename", from, err)
	}
	q, newBase, err := d.parent(to)
	n := p.names[base]
	if err != nil || n == nil {
		return fail("rename", from, fs.ErrNotExist)
	}
	if old := q.names[newBase]; old != nil && old.mode.IsDir() && len(old.names) > 0 {
		return fail("rename", to, fs.ErrExist)
	}
	delete(p.names, base)
	q.names[newBase] = n
	d.pending = append(d.pending, dirOp{from: p, fromName: base, to: q, toName: newBase, what: n})
	return nil
}

// Remove implements journal.Disk.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	p, base, err := d.parent(name)
	if err == nil && p.names[base] == nil {
		err = fs.ErrNotExist
	}
	if o := d.enter("remove", name, err == nil); o.Err != nil {
		return fail("remove", name, o.Err)
	}
	if err != nil {
		return fail("remove", name, err)
	}
	if len(p.names[base].names) > 0 {
		return fail("remove", name, fs.ErrExist)
	}
	d.pending = append(d.pending, dirOp{from: p, fromName: base, what: p.names[base]})
	delete(p.names, base)
	return nil
}

// SyncDir implements journal.Disk.
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	if o := d.enter("syncdir", name, true); o.Err != nil {
		return fail("syncdir", name, o.Err)
	}
	n, err := d.find(name)
	if err != nil {
		return fail("syncdir", name, err)
	}
	var left []dirOp
	for _, op := range d.pending {
		if op.to == n || (op.to == nil && op.from == n) {
			op.apply()
		} else {
			left = append(left, op)
		}
	}
	d.pending = left
	return nil
}

// apply makes the change durable.
func (op dirOp) apply() {
	if op.from != nil && op.from.kept[op.fromName] == op.what {
		delete(op.from.kept, op.fromName)
	}
	if op.to != nil {
		op.to.kept[op.toName] = op.what
	}
}

// Free implements journal.Disk.
func (d *Disk) Free(string) (int64, error) {
	if d.FreeBytes > 0 {
		return d.FreeBytes, nil
	}
	return math.MaxInt64, nil
}

// Network implements journal.Disk.
func (d *Disk) Network(string) (bool, error) { return d.Remote, nil }

// Lock implements journal.Disk.
func (d *Disk) Lock(name string, shared bool) (journal.Lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = clean(name)
	n, err := d.find(name)
	creates := errors.Is(err, fs.ErrNotExist) && !shared
	if o := d.enter("lock", name, creates); o.Err != nil {
		return nil, fail("lock", name, o.Err)
	}
	switch {
	case creates:
		p, base, err := d.parent(name)
		if err != nil {
			return nil, fail("lock", name, err)
		}
		n = d.node(0o600)
		d.enterName(p, base, n)
	case err != nil:
		return nil, fail("lock", name, err)
	}
	if n.exclusive || (n.shared > 0 && !shared) {
		return nil, journal.ErrLocked
	}
	if shared {
		n.shared++
	} else {
		n.exclusive = true
	}
	return &lock{disk: d, node: n, shared: shared}, nil
}
