//go:build unix

package fence

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting for a pipe's other end and from taking a
// terminal as the controlling one.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// dirFlags open a directory and nothing else.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// handle is an open directory. Everything in it is opened by its one name, and
// no link is followed, so nothing that is swapped in leads out of it. An
// os.Root promises the same and takes three times as long, which a search of
// many files shows. The zero value is closed.
type handle struct {
	file *os.File
	fd   int // of file, which owns it
}

// openDir opens a directory by its place.
func openDir(p Place) (handle, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return handle{}, err
	}
	defer root.Close()
	file, err := root.OpenFile(p.Rel, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return handle{}, err
	}
	defer file.Close()
	return handle{fd: int(file.Fd())}.below(".")
}

// below opens a directory in this one.
func (h handle) below(name string) (handle, error) {
	fd, err := openAt(h.fd, name, dirFlags)
	if err != nil {
		return handle{}, err
	}
	return handle{file: os.NewFile(uintptr(fd), name), fd: fd}, nil
}

// names returns what is in the directory, in any order. It can be asked once.
func (h handle) names() ([]fs.DirEntry, error) { return h.file.ReadDir(-1) }

// open opens a regular file in the directory and returns its size.
func (h handle) open(name string) (io.ReadCloser, int64, error) {
	fd, err := openAt(h.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|openFlags)
	if err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		return nil, 0, errors.Join(err, unix.Close(fd))
	}
	return &rawFile{fd}, st.Size, nil
}

// close gives the directory back.
func (h handle) close() {
	if h.file != nil {
		h.file.Close()
	}
}

// openAt opens a name in a directory.
func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, name, flags, 0); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// rawFile is an open regular file. It does without what os.File does for files
// that may have to be waited for.
type rawFile struct{ fd int }

// Read reads what comes next.
func (r *rawFile) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Read(r.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close gives the file back. A second one does nothing.
func (r *rawFile) Close() error {
	if r.fd < 0 {
		return nil
	}
	fd := r.fd
	r.fd = -1
	return unix.Close(fd)
}
