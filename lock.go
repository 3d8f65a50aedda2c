package basis

import (
	"fmt"

	"github.com/gofrs/flock"
)

// fileLock is a lock file that is held; its file is never removed.
type fileLock struct{ l *flock.Flock }

// lockFile takes a lock without waiting. It fails with [ErrAttached] if another
// holder has it.
func lockFile(path string) (*fileLock, error) {
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !ok:
		return nil, ErrAttached
	}
	return &fileLock{l}, nil
}

// release lets go of the lock; a nil lock is none.
func (f *fileLock) release() {
	if f != nil {
		_ = f.l.Close() // the kernel drops it with the descriptor
	}
}
