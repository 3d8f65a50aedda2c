package journal

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
)

// BallastSize is how much a Ballast keeps, in bytes.
const BallastSize = 4 << 20

// Ballast is a file that keeps room on a disk, to be given up when the disk is
// full so that a journal can record how things ended. After ErrDiskFull: close
// the writer, Release, open the journal again with a negative MinFree.
type Ballast struct {
	// Path is the file; its directory must exist.
	Path string
	// Disk is where it is; nil means the real one.
	Disk Disk
}

func (b Ballast) disk() Disk { return Dir{Disk: b.Disk}.disk() }

// Ensure makes the file if it is missing or too short. Its content does not
// compress, or a file system would keep no room for it.
func (b Ballast) Ensure() error {
	d := b.disk()
	st, err := d.Stat(b.Path)
	if err == nil && st.Size() >= BallastSize {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("keep ballast", b.Path, err)
	}
	temp := b.Path + ".tmp"
	for _, name := range []string{b.Path, temp} {
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wrap("keep ballast", name, err)
		}
	}
	noise := rand.NewChaCha8([32]byte{})
	if err := writeNew(d, temp, io.LimitReader(noise, BallastSize), true); err != nil {
		return errors.Join(wrap("keep ballast", b.Path, err), d.Remove(temp))
	}
	return wrap("keep ballast", b.Path, d.Rename(temp, b.Path))
}

// Release gives the room up and says whether there was any.
func (b Ballast) Release() (bool, error) {
	err := b.disk().Remove(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, wrap("release ballast", b.Path, err)
}
