package projections

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// TemporaryPrefix begins the names of files that are not in their place yet. A
// kill leaves them behind.
const TemporaryPrefix = ".tmp-"

// Replace puts a file in its place whole: a reader sees the old content or the
// new and nothing between. Durable means that it stays so over a power cut. The
// file is its owner's alone.
func Replace(path string, data []byte, durable bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), TemporaryPrefix+"*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already if the rename succeeded
	_, err = tmp.Write(data)
	if err == nil && durable {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil || !durable {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the entries of a directory durable, where directories can be synced.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only synced
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// writeJSON writes v as one line that grep can read: nothing in it is escaped
// for the sake of HTML.
func writeJSON(path string, v any, durable bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return Replace(path, b.Bytes(), durable)
}
