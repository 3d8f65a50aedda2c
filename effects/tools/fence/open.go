package fence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Stat returns what is known of a place. A failure is an *Error.
func (f *Fence) Stat(p Place) (fs.FileInfo, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, f.fault(p, "look at it", err)
	}
	defer root.Close()
	fi, err := root.Stat(p.Rel)
	if err != nil {
		return nil, f.fault(p, "look at it", err)
	}
	return fi, nil
}

// Open opens a regular file for reading; the caller closes it. It never waits:
// a pipe or device is refused by its kind before it is opened, and once more
// afterwards in case it was swapped in. A failure is an *Error.
func (f *Fence) Open(p Place) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, nil, f.fault(p, "open it", err)
	}
	defer root.Close()
	fi, err := root.Stat(p.Rel)
	if err != nil {
		return nil, nil, f.fault(p, "open it", err)
	}
	if err := regular(p, fi); err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(p.Rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, f.fault(p, "open it", err)
	}
	if fi, err = file.Stat(); err == nil {
		err = regular(p, fi)
	}
	if err != nil {
		file.Close()
		return nil, nil, f.fault(p, "open it", err)
	}
	return file, fi, nil
}

// ReadFile returns the whole content of a regular file of at most limit bytes.
// A failure is an *Error.
func (f *Fence) ReadFile(p Place, limit int64) ([]byte, fs.FileInfo, error) {
	file, fi, err := f.Open(p)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if fi.Size() > limit {
		return nil, nil, tooLarge(p, fi.Size(), limit)
	}
	data := make([]byte, 0, fi.Size()+1)
	for {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, fi, nil
		}
		if err != nil {
			return nil, nil, f.fault(p, "read it", err)
		}
		if int64(len(data)) > limit {
			return nil, nil, tooLarge(p, int64(len(data)), limit)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// Peek returns the content of a regular file of at most limit bytes, wherever it
// is. It is for what the program itself needs to know, and never for a path that
// a model gave. It is nil if there is no such file or it cannot be read.
func Peek(path string, limit int64) []byte {
	file, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(data)) > limit {
		return nil
	}
	return data
}

// tooLarge is the error for a file of size bytes where limit are taken.
func tooLarge(p Place, size, limit int64) error {
	return &Error{
		Code: CodeTooLarge, Path: p.Shown,
		Reason: fmt.Sprintf("has %d bytes, more than the %d that this tool takes", size, limit),
	}
}

// regular refuses everything that is not a regular file.
func regular(p Place, fi fs.FileInfo) error {
	switch {
	case fi.Mode().IsRegular():
		return nil
	case fi.IsDir():
		return &Error{Code: CodeDirectory, Path: p.Shown, Reason: "is a directory, not a file"}
	default:
		return notRegular(p)
	}
}

// errNotRegular is what a handle says of what is not a regular file.
var errNotRegular = errors.New("not a regular file")

// notRegular is the error for a pipe, device or socket.
func notRegular(p Place) error {
	return &Error{Code: CodeNotRegular, Path: p.Shown, Reason: "is a pipe, device or socket, not a regular file"}
}
