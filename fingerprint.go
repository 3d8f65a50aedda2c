package basis

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// fingerprintVersion is hashed first, so that a change of what is hashed reads
// as a change of the files.
const fingerprintVersion = 1

// Where a fingerprint's list of files comes from.
const (
	fromGit  = 1
	fromWalk = 2
)

// errNoFiles says that a directory has no files, or that their list is broken;
// the two look alike.
var errNoFiles = errors.New("there are no files to look at")

// Fingerprint is a digest of dir's files, 16 lower-case hex digits, that
// differs when a file's path, length or modification time does, or the commit
// that is checked out. Files are those that git lists, else all that are
// there. It reads no contents, so an edit that keeps the length and forges the
// time goes unseen; whatever is uncertain reads as a change. Moving the whole
// directory is none (CLI-120…124).
func Fingerprint(ctx context.Context, dir string) (string, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("fingerprint %s: %w", dir, inner(err))
	case !info.IsDir():
		return "", fmt.Errorf("fingerprint %s: it is not a directory", dir)
	}
	scheme := fromGit
	head, paths, err := gitFiles(ctx, dir)
	if err != nil {
		scheme = fromWalk
		if paths, err = walkedFiles(dir); err != nil {
			return "", fmt.Errorf("fingerprint %s: %w", dir, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) == 0 {
		return "", fmt.Errorf("fingerprint %s: %w", dir, errNoFiles)
	}
	h := digest{fnv.New64a()}
	h.number(fingerprintVersion)
	h.number(int64(scheme))
	h.text(head)
	for _, p := range paths {
		h.file(dir, p)
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// digest hashes values so that two different sequences never look alike.
type digest struct{ hash.Hash64 }

func (d digest) number(n int64) {
	_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // a hash takes everything
}

func (d digest) text(s string) {
	d.number(int64(len(s)))
	_, _ = d.Write([]byte(s)) // as above
}

func (d digest) file(dir, path string) {
	d.text(path)
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		d.number(0)
		return
	}
	d.number(1)
	d.number(info.Size())
	d.number(info.ModTime().UnixNano())
}

// gitFiles asks git for the commit and the files, relative to dir.
func gitFiles(ctx context.Context, dir string) (head string, paths []string, err error) {
	inside, err := git(ctx, dir, "rev-parse", "--is-inside-work-tree")
	if err != nil || strings.TrimSpace(string(inside)) != "true" {
		return "", nil, errors.Join(err, errors.New("not inside a work tree"))
	}
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		if _, unborn := errors.AsType[*exec.ExitError](err); !unborn {
			return "", nil, err
		}
		commit = nil
	}
	list, err := git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return "", nil, err
	}
	for p := range bytes.SplitSeq(list, []byte{0}) {
		if len(p) > 0 {
			paths = append(paths, string(p))
		}
	}
	return strings.TrimSpace(string(commit)), paths, nil
}

// gitPointers are the variables that would make git look elsewhere than at dir.
var gitPointers = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(gitPointers, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd.Output()
}

// walkedFiles are all files and links below dir. A directory that can't be
// read stands for itself; links are not followed.
func walkedFiles(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		switch {
		case relErr != nil:
			return relErr
		case err != nil && path == dir:
			return err
		case err != nil:
			paths = append(paths, filepath.ToSlash(rel))
			return fs.SkipDir
		case d.Name() == ".git" && path != dir:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0 {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return paths, err
}
