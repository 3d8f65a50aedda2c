package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Disk is every way in which this package touches storage. Names are paths in
// the form of the platform. Errors match fs.ErrNotExist, fs.ErrExist,
// ErrLocked and ErrDiskFull where they mean that. An implementation other than
// the real one must make a directory entry durable no earlier than SyncDir and
// a byte no earlier than File.Sync; package journaltest has one that can crash.
type Disk interface {
	// OpenFile opens name as os.OpenFile does, not to be inherited by a child
	// process.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Stat describes what name stands for.
	Stat(name string) (fs.FileInfo, error)
	// SameFile says whether two descriptions are of one file.
	SameFile(a, b fs.FileInfo) bool
	// ReadDir lists a directory in the order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Mkdir makes one directory.
	Mkdir(name string, perm fs.FileMode) error
	// Rename moves a file or a directory; a file at the new name is replaced.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// Lock takes a lock on a file without waiting and fails with ErrLocked if
	// another holder is in the way. An exclusive lock creates the file, a
	// shared one never does.
	Lock(name string, shared bool) (Lock, error)
	// Free returns the bytes that an ordinary user can still write below
	// name, or an error where that is unknown.
	Free(name string) (int64, error)
	// Network says whether name is on a network file system.
	Network(name string) (bool, error)
}

// File is an open file of a Disk.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Writer
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
}

// Lock is a held lock.
type Lock interface {
	// Stat describes the file that is locked, whatever its path says now.
	Stat() (fs.FileInfo, error)
	// Unlock lets go. The file stays.
	Unlock() error
}

// OSDisk returns the real disk.
func OSDisk() Disk { return osDisk{} }

type osDisk struct{}

func (osDisk) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osDisk) SameFile(a, b fs.FileInfo) bool             { return os.SameFile(a, b) }
func (osDisk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osDisk) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osDisk) Rename(from, to string) error               { return os.Rename(from, to) }
func (osDisk) Remove(name string) error                   { return os.Remove(name) }
func (osDisk) SyncDir(name string) error                  { return syncDir(name) }
func (osDisk) Free(name string) (int64, error)            { return freeBytes(name) }
func (osDisk) Network(name string) (bool, error)          { return isNetwork(name) }

func (osDisk) Lock(name string, shared bool) (Lock, error) {
	flag := os.O_RDWR | os.O_CREATE
	if shared {
		flag = os.O_RDONLY
	}
	l := flock.New(name, flock.SetFlag(flag), flock.SetPermissions(fileMode))
	try := l.TryLock
	if shared {
		try = l.TryRLock
	}
	ok, err := try()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrLocked
	}
	return l, nil
}

// Modes of what this package makes.
const (
	fileMode fs.FileMode = 0o600
	dirMode  fs.FileMode = 0o700
)

// mkdir makes a directory and its entry durable unless it is there already.
func mkdir(d Disk, name, parent string) error {
	err := d.Mkdir(name, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.SyncDir(parent); err != nil {
		// Without this a later call would take the entry for durable.
		return errors.Join(err, d.Remove(name))
	}
	return nil
}

// exists says whether name is there; an error is neither yes nor no.
func exists(d Disk, name string) (bool, error) {
	_, err := d.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readAll reads a whole file of at most limit bytes.
func readAll(d Disk, name string, limit int64) (data []byte, err error) {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > limit {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", st.Size(), limit)
	}
	data = make([]byte, st.Size())
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// writeNew writes content to a file that must not exist, and syncs it if asked.
func writeNew(d Disk, name string, content io.Reader, durable bool) (err error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(struct{ io.Writer }{f}, content); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return f.Sync()
}
