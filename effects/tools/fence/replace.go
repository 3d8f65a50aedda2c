package fence

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxTempName bounds the name of a temporary file, so that a long name gets
// one that the file system still takes.
const maxTempName = 200

// Replace makes data the whole content of a place, through a temporary file in
// the same directory and a rename. Missing directories are made. An existing
// file keeps its permission bits; a new one gets what the umask leaves of 0666.
// If seen is not nil the file must still be the one it describes. After a
// failure, which is an *Error, the old content stands and nothing temporary is
// left.
func (f *Fence) Replace(p Place, data []byte, seen fs.FileInfo) error {
	dir, err := f.parent(p)
	if err != nil {
		return f.fault(p, "write it", err)
	}
	defer dir.Close()
	name := filepath.Base(p.Rel)
	mode, err := f.replaceable(p, dir, name, seen)
	if err != nil {
		return err
	}
	temp := tempName(name)
	err = writeNew(dir, temp, data, mode)
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp) // best effort: the first error is the one that counts
		return f.fault(p, "write it", err)
	}
	return nil
}

// parent opens the directory that a place lies in, and makes it if need be.
func (f *Fence) parent(p Place) (*os.Root, error) {
	if p.Rel == "." {
		return nil, &Error{Code: CodeDirectory, Path: p.Shown, Reason: "is a directory, not a file"}
	}
	if p.Root != f.base { // a host's own root may not exist yet; the workspace is never made up
		if err := os.MkdirAll(p.Root, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := filepath.Dir(p.Rel)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return root.OpenRoot(dir)
}

// replaceable judges what stands in the place now, and returns its permission
// bits, or 0 if there is nothing.
func (f *Fence) replaceable(p Place, dir *os.Root, name string, seen fs.FileInfo) (fs.FileMode, error) {
	fi, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && seen == nil {
		return 0, nil
	}
	if err != nil {
		return 0, f.fault(p, "write it", err)
	}
	if err := regular(p, fi); err != nil {
		return 0, err
	}
	if fi.Mode()&0o222 == 0 {
		return 0, &Error{Code: CodeDenied, Path: p.Shown, Reason: "is read-only; change its mode first if it really should be written"}
	}
	if seen != nil && (!os.SameFile(fi, seen) || fi.Size() != seen.Size() || !fi.ModTime().Equal(seen.ModTime())) {
		return 0, &Error{Code: CodeChanged, Path: p.Shown, Reason: "was changed by another program in the meantime; read it again"}
	}
	return fi.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky), nil
}

// writeNew makes a file that did not exist and brings its content to the disk.
// A mode of 0 leaves the bits to the umask.
func writeNew(dir *os.Root, name string, data []byte, mode fs.FileMode) (err error) {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := file.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if mode != 0 {
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	return file.Sync()
}

// tempName returns a fresh name beside name, hidden like all of its kind.
func tempName(name string) string {
	if len(name) > maxTempName {
		name = name[:maxTempName]
	}
	return "." + name + "." + rand.Text()[:10]
}
