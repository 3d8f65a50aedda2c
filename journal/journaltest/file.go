package journaltest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

type lock struct {
	disk   *Disk
	node   *node
	shared bool
	done   bool
}

func (l *lock) Stat() (fs.FileInfo, error) {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	return l.node.info("lock"), nil
}

func (l *lock) Unlock() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	if l.shared {
		l.node.shared--
	} else {
		l.node.exclusive = false
	}
	return nil
}

// info describes a node at one moment.
type info struct {
	name string
	size int64
	node *node
}

func (n *node) info(name string) info { return info{name: name, size: int64(len(n.data)), node: n} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }

// file is an open file.
type file struct {
	disk *Disk
	node *node
	name string
	flag int
	pos  int64
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if o := f.disk.enter("read", f.name, false); o.Err != nil {
		return 0, fail("read", f.name, o.Err)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		f.pos = int64(len(f.node.data))
	}
	n, err := f.write("write", p, f.pos)
	f.pos += int64(n)
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		return 0, fail("write", f.name, errors.ErrUnsupported)
	}
	return f.write("writeat", p, off)
}

func (f *file) write(op string, p []byte, off int64) (int, error) {
	o := f.disk.enter(op, f.name, true)
	if o.Err != nil {
		n := min(max(o.Short, 0), len(p))
		f.node.write(p[:n], off)
		return n, fail(op, f.name, o.Err)
	}
	f.node.write(p, off)
	return len(p), nil
}

func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if o := f.disk.enter("truncate", f.name, true); o.Err != nil {
		return fail("truncate", f.name, o.Err)
	}
	f.node.truncate(size)
	return nil
}

func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	o := f.disk.enter("sync", f.name, true)
	if o.Err != nil {
		if o.Drop {
			f.node.dirty = nil
		}
		return fail("sync", f.name, o.Err)
	}
	f.node.sync()
	return nil
}

func (f *file) Stat() (fs.FileInfo, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if o := f.disk.enter("fstat", f.name, false); o.Err != nil {
		return nil, fail("stat", f.name, o.Err)
	}
	return f.node.info(path.Base(f.name)), nil
}

func (f *file) Close() error { return nil }
