//go:build !unix

package fence

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// openFlags is empty where opening a file by name never waits.
const openFlags = 0

// handle is an open directory, out of which no name in it leads. The zero value
// is closed.
type handle struct{ root *os.Root }

// openDir opens a directory by its place.
func openDir(p Place) (handle, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return handle{}, err
	}
	defer root.Close()
	return handle{root}.below(p.Rel)
}

// below opens a directory in this one.
func (h handle) below(name string) (handle, error) {
	root, err := h.root.OpenRoot(name)
	return handle{root}, err
}

// names returns what is in the directory, in any order.
func (h handle) names() ([]fs.DirEntry, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir(-1)
}

// open opens a regular file in the directory and returns its size.
func (h handle) open(name string) (io.ReadCloser, int64, error) {
	file, err := h.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, fi.Size(), nil
}

// close gives the directory back.
func (h handle) close() {
	if h.root != nil {
		h.root.Close()
	}
}
