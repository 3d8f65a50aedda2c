package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lockRetry is the pause between two tries for a lock. A probe such as Held
// holds it for microseconds.
const lockRetry = 5 * time.Millisecond

// acquire takes attach.lock of dir exclusively, within wait, and makes sure
// that the path still names the file that is locked: a lock on a file that was
// replaced keeps nobody out.
func acquire(o Options, dir string) (Lock, error) {
	name := filepath.Join(dir, LockFile)
	pause := time.NewTicker(lockRetry)
	defer pause.Stop()
	deadline := time.NewTimer(max(o.LockWait, 0))
	defer deadline.Stop()
	for {
		l, err := tryLock(o.Disk, name)
		if err == nil {
			note(o, name)
			return l, nil
		}
		if !errors.Is(err, ErrLocked) {
			return nil, wrap("lock", name, err)
		}
		select {
		case <-deadline.C:
			return nil, fmt.Errorf("lock %s: %w%s", name, err, holder(o.Disk, name))
		case <-pause.C:
		}
	}
}

// tryLock takes the lock once. A file that was replaced meanwhile counts as
// locked by whoever replaced it.
func tryLock(d Disk, name string) (Lock, error) {
	l, err := d.Lock(name, false)
	if err != nil {
		return nil, err
	}
	held, err := l.Stat()
	if err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	named, err := d.Stat(name)
	if err != nil || !d.SameFile(held, named) {
		return nil, errors.Join(ErrLocked, l.Unlock())
	}
	return l, nil
}

// note leaves in the lock file who holds it, for people. Nothing reads it to
// decide anything, so it may fail.
func note(o Options, name string) {
	f, err := o.Disk.OpenFile(name, os.O_WRONLY|os.O_TRUNC, fileMode)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "pid %d on %s, %s\n", os.Getpid(), o.Host, o.Program)
	_ = f.Close() // nothing was promised
}

// holder quotes the note for an error message.
func holder(d Disk, name string) string {
	b, err := readAll(d, name, 1<<10)
	if err != nil || len(b) == 0 {
		return ""
	}
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), ""))
	return " (" + strings.TrimRight(printable, ", ") + ")"
}

// Held says whether a process is attached to the journal in dir. It probes
// with a shared lock held for microseconds, creates nothing, and fails with
// ErrNotFound if there is no lock file.
func Held(dir string) (bool, error) { return Dir{Path: dir}.Held() }

// Held is the function Held on the disk of d.
func (d Dir) Held() (bool, error) {
	name := filepath.Join(d.Path, LockFile)
	l, err := d.disk().Lock(name, true)
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, wrap("probe", name, notFound(err))
	}
	return false, wrap("unlock", name, l.Unlock())
}
