package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrLocked says that another process, or another Writer of this one,
	// holds attach.lock: Open within Options.LockWait of it, Create never.
	ErrLocked = errors.New("another process is attached")

	// ErrClosed says that a Writer was used after Close.
	ErrClosed = errors.New("journal writer is closed")

	// ErrFailed says that a Writer is poisoned by an earlier failure of a
	// write, a sync or a fencing check. The error that matches it unwraps to
	// the cause as well. Close the writer and open the journal again.
	ErrFailed = errors.New("journal writer has failed; close it and open the journal again")

	// ErrFenced is the cause of a poisoned writer whose file was changed or
	// replaced by somebody else between two commits.
	ErrFenced = errors.New("the journal was changed by somebody else")

	// ErrNotFound says that a directory holds no journal or, from Held, no
	// lock file.
	ErrNotFound = errors.New("no journal here")

	// ErrDiskFull says that a file system or a quota has no room left, or less
	// than Options.MinFree before an attach.
	ErrDiskFull = errors.New("the disk is full")

	// ErrNetworkFS says that Open met a network file system, whose locks can
	// be lost, without Options.AllowNetworkFS.
	ErrNetworkFS = errors.New("the journal is on a network file system")

	// ErrFull says that a journal has reached MaxRecords or MaxBytes; nothing
	// was written and the writer stays usable for smaller commits.
	ErrFull = errors.New("the journal has reached its size limit")

	// ErrFormat says that a journal was written in a format, or with a chain,
	// that this version does not know.
	ErrFormat = errors.New("unknown journal format")
)

// CorruptError reports bytes that no crash of ours explains. The journal is
// left as it is; records before Offset are good.
type CorruptError struct {
	Path   string // the file
	Seq    uint64 // the record, and so the line, that should stand there
	Offset int64  // where the bad bytes start, in bytes
	Length int64  // how many bytes follow from there to the end
	Rule   Rule   // which rule they break
	Reason string // the same in words
}

// Error names line, offset, length and rule.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at line %d (byte %d, %d bytes to the end): %s [%s]",
		e.Path, e.Seq, e.Offset, e.Length, e.Reason, e.Rule)
}

// DraftError reports a draft that cannot become a record. Nothing was
// written and the writer stays usable.
type DraftError struct {
	Index  int    // place among the drafts, from 0
	Type   string // the draft's type, as given
	Reason string // what is wrong with it
}

// Error names the draft and what is wrong with it, never its payload.
func (e *DraftError) Error() string {
	return fmt.Sprintf("draft %d (%.64q): %s", e.Index, e.Type, e.Reason)
}

// failure is the state of a poisoned writer: what failed, on what, and why.
type failure struct {
	op, path string
	cause    error
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s %s: %v: %v", f.op, f.path, f.cause, ErrFailed)
}

func (f *failure) Unwrap() []error { return []error{ErrFailed, f.cause} }

// wrap names the operation and the thing once and makes a full disk and a
// missing file recognisable.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, path, classify(err))
}

// classify adds ErrDiskFull to errors that mean it, whatever the platform
// calls them.
func classify(err error) error {
	if isDiskFull(err) && !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// notFound turns a missing file into ErrNotFound and leaves the rest alone.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}
