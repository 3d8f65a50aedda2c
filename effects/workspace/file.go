package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxFile is how long a file of settings, a manifest, a skill or a template may
// be, in bytes.
const MaxFile = 4 << 20

// FileError says what is wrong with a file that an open has to understand. It
// names the file and, where there is one, the key; never a value.
type FileError struct {
	Path string
	Key  string // such as tools.deploy.command; "" is the file as a whole
	Err  error
}

// Error names file, key and cause.
func (e *FileError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Path, e.Key, e.Err)
}

// Unwrap is the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ReadFile is the whole of a regular file without a byte-order mark, and false
// if there is none. What is there and can't be used is a *[FileError].
func ReadFile(path string) (data []byte, found bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, false, nil
	case err != nil:
		return nil, false, &FileError{Path: path, Err: cause(err)}
	case !info.Mode().IsRegular():
		return nil, false, &FileError{Path: path, Err: errors.New("it is not a regular file")}
	}
	if err := checkSize(path, info.Size()); err != nil {
		return nil, false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, &FileError{Path: path, Err: cause(err)}
	}
	defer func() { _ = f.Close() }() // only read
	data = make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // it may have become shorter
		return nil, false, &FileError{Path: path, Err: cause(err)}
	}
	data = data[:n]
	return bytes.TrimPrefix(data, []byte("\uFEFF")), true, nil
}

// readText is the whole of a file that was there a moment ago.
func readText(path string) ([]byte, error) {
	data, found, err := ReadFile(path)
	if err == nil && !found {
		err = &FileError{Path: path, Err: errors.New("it is not there any more")}
	}
	return data, err
}

// checkSize is an error for what is longer than a file may be.
func checkSize(path string, size int64) error {
	if size > MaxFile {
		return &FileError{Path: path, Err: fmt.Errorf("it is %d bytes long, the most is %d", size, MaxFile)}
	}
	return nil
}

// cause is what went wrong with a file, without the name that is said besides.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// DecodeJSON reads one JSON document of a file into v, a pointer. Unless
// tolerant, a member that v does not have is an error. The error is a
// *[FileError] with the kind of the fault and where it is, never a value.
func DecodeJSON(path string, data []byte, v any, tolerant bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if !tolerant {
		d.DisallowUnknownFields()
	}
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errTrailing
	}
	return &FileError{Path: path, Err: fault(err, data, d.InputOffset())}
}

var errTrailing = errors.New("something follows the JSON document")

// fault says what kind of error JSON has and where, without repeating any of it.
func fault(err error, data []byte, offset int64) error {
	kind := "an unknown key or a value of the wrong type"
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		kind, offset = "it is not JSON", e.Offset
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, offset = "a value of the wrong type", e.Offset
		if e.Field != "" {
			kind += " for " + e.Field
		}
	}
	if errors.Is(err, errTrailing) {
		kind = err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		kind, offset = "the JSON document ends too early", int64(len(data))
	}
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Errorf("%s, near line %d column %d", kind, line, max(column, 1))
}
