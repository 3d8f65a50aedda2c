package fence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may go through, as on Linux.
const maxLinks = 40

// lexical returns the absolute form of path without "." and "..", decided by
// its words alone. Climbing above the root of the file system is an error.
func lexical(base, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = base + string(filepath.Separator) + path
	}
	volume := filepath.VolumeName(path)
	var kept []string
	for _, part := range parts(path[len(volume):]) {
		if part != ".." {
			kept = append(kept, part)
			continue
		}
		if len(kept) == 0 {
			return "", errors.New("climbs above the root of the file system")
		}
		kept = kept[:len(kept)-1]
	}
	sep := string(filepath.Separator)
	return volume + sep + strings.Join(kept, sep), nil
}

// parts returns the names in a path, without empty ones and ".".
func parts(path string) []string {
	var names []string
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		if name != "." {
			names = append(names, name)
		}
	}
	return names
}

// canonical follows the links of an absolute, lexically clean path one by one.
// Names that don't exist are kept, so a file that is yet to be made has a
// canonical path too.
func canonical(path string) (string, error) {
	volume := filepath.VolumeName(path)
	top := volume + string(filepath.Separator)
	at, todo := top, parts(path[len(volume):])
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." { // only from a link's target
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := readLink(next)
		if err != nil {
			return "", err
		}
		if target == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at, target = volume+string(filepath.Separator), target[len(volume):]
		}
		todo = append(parts(target), todo...)
	}
	return at, nil
}

// readLink returns where a link leads, or "" for anything that is not a link,
// also for what does not exist.
func readLink(path string) (string, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if fi.Mode()&fs.ModeSymlink == 0 {
		return "", nil
	}
	return os.Readlink(path)
}
