package fence

import (
	"errors"
	"io/fs"
	"syscall"
)

// Code is a short word for what was wrong with a path.
type Code string

// The codes of an Error.
const (
	CodeInvalid    Code = "invalid_path"  // not a path at all, or it climbs above the root of the file system
	CodeOutside    Code = "outside"       // it leads outside the allowed roots
	CodeDenied     Code = "denied"        // the rules or the permissions of the system forbid it
	CodeNotFound   Code = "not_found"     // nothing is there
	CodeDirectory  Code = "is_directory"  // a directory where a file is needed
	CodeNotRegular Code = "not_regular"   // a pipe, device or socket where a file is needed
	CodeNotDir     Code = "not_directory" // a file where a directory is needed
	CodeTooLarge   Code = "too_large"     // more bytes than the caller takes
	CodeChanged    Code = "changed"       // another program wrote the file in the meantime
	CodeIO         Code = "io"            // anything else the system reported
)

// Error says which path could not be used, and why. Its text is meant to be
// read by whoever gave the path.
type Error struct {
	Code   Code
	Path   string // as shown: relative to the base where it lies below it
	Reason string
	Err    error // what the system said, or nil
}

// Error returns the path and the reason in one line.
func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Unwrap returns what the system said.
func (e *Error) Unwrap() error { return e.Err }

// fault turns what the system said about a place into an Error.
func (f *Fence) fault(p Place, op string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := &Error{Path: p.Shown, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code, e.Reason = CodeNotFound, "does not exist"
		if serr := checkDir(p.Root); serr != nil {
			e.Reason = "cannot be reached, because the directory " + p.Root + " does not exist"
		}
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Reason = CodeDenied, "cannot "+op+": permission denied"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist): // the latter from making directories
		e.Code, e.Reason = CodeNotDir, "cannot "+op+": a part of the path is a file, not a directory"
	case f.leftRoot(p):
		e.Code, e.Reason = CodeOutside, "cannot "+op+": a link in the path leads outside"
	default:
		e.Code, e.Reason = CodeIO, "cannot "+op+": "+cause(err)
	}
	return e
}

// leftRoot reports whether the place no longer resolves to what it was, which
// is how a link swapped in after the check shows.
func (f *Fence) leftRoot(p Place) bool {
	now, err := canonical(p.Abs)
	return err == nil && !within(p.Root, now)
}

// cause drops the operation and path that os puts in front of its errors.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
