package fence

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Set names one of the two sets of roots.
type Set string

// The sets of roots.
const (
	Read  Set = "read"
	Write Set = "write"
)

// Options says what lies inside a fence.
type Options struct {
	Base       string   // the working directory; it must exist and may be reached by a link
	ReadRoots  []string // what else may be read; need not exist yet
	WriteRoots []string // what else may be written; need not exist yet
}

// Fence knows which files may be reached. Make one with New.
type Fence struct {
	base        string
	read, write []string // canonical; the base comes first
}

// Place is a path that has been judged: it lies inside the fence.
type Place struct {
	Root  string // the canonical root that it lies under
	Rel   string // the way from Root, "." for Root itself, separated as the system does
	Abs   string // the canonical path
	Shown string // for people: relative to the base below it, else absolute; always with slashes
}

// New makes the fence that o describes. It fails if the base is not a directory.
func New(o Options) (*Fence, error) {
	base, err := filepath.Abs(o.Base)
	if err != nil {
		return nil, fmt.Errorf("find working directory %s: %w", o.Base, err)
	}
	if base, err = canonical(base); err != nil {
		return nil, fmt.Errorf("resolve working directory %s: %w", o.Base, err)
	}
	if err := checkDir(base); err != nil {
		return nil, err
	}
	f := &Fence{base: base}
	if f.read, err = roots(base, o.ReadRoots); err != nil {
		return nil, err
	}
	f.write, err = roots(base, o.WriteRoots)
	return f, err
}

// roots returns the canonical forms of base and more.
func roots(base string, more []string) ([]string, error) {
	all := []string{base}
	for _, r := range more {
		if !filepath.IsAbs(r) {
			r = filepath.Join(base, r)
		}
		c, err := canonical(filepath.Clean(r))
		if err != nil {
			return nil, fmt.Errorf("resolve root %s: %w", r, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// checkDir fails, naming it, for what is not a directory.
func checkDir(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("find directory %s: %w", dir, err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// Base returns the canonical working directory.
func (f *Fence) Base() string { return f.base }

// Resolve judges a path: relative ones start at the base. The file need not
// exist. A failure is an *Error.
func (f *Fence) Resolve(path string, set Set) (Place, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return Place{}, &Error{Code: CodeInvalid, Path: printable(path), Reason: "is not a path"}
	}
	literal, err := lexical(f.base, path)
	if err != nil {
		return Place{}, &Error{Code: CodeInvalid, Path: printable(path), Reason: err.Error()}
	}
	abs, err := canonical(literal)
	if err != nil {
		return Place{}, f.fault(Place{Root: f.base, Abs: f.base, Shown: f.show(literal)}, "follow the path", err)
	}
	if set == Write && (f.protected(literal) || f.protected(abs)) {
		return Place{}, &Error{
			Code: CodeDenied, Path: f.show(abs),
			Reason: "git's hooks and configuration are never written by file tools",
		}
	}
	return f.place(abs, set)
}

// place finds the root that a canonical path lies under.
func (f *Fence) place(abs string, set Set) (Place, error) {
	allowed := f.read
	if set == Write {
		allowed = f.write
	}
	for _, root := range allowed {
		if !within(root, abs) {
			continue
		}
		rel, err := filepath.Rel(root, abs)
		if err != nil {
			continue // another volume: not below this root
		}
		return Place{Root: root, Rel: rel, Abs: abs, Shown: f.show(abs)}, nil
	}
	return Place{}, &Error{
		Code: CodeOutside, Path: f.show(abs),
		Reason: "lies outside the " + string(set) + " roots; stay below " + f.base,
	}
}

// Writable reports whether a place may be written too.
func (f *Fence) Writable(p Place) bool {
	_, err := f.place(p.Abs, Write)
	return err == nil && !f.protected(p.Abs)
}

// protected reports whether a path is a git repository's hooks or configuration
// below the base. Letter case is ignored, as some file systems do.
func (f *Fence) protected(abs string) bool {
	if !within(f.base, abs) {
		return false
	}
	rel, err := filepath.Rel(f.base, abs)
	if err != nil {
		return false
	}
	parts := strings.Split(rel, string(filepath.Separator))
	for i := 1; i < len(parts); i++ {
		if !strings.EqualFold(parts[i-1], ".git") {
			continue
		}
		if strings.EqualFold(parts[i], "hooks") || strings.EqualFold(parts[i], "config") {
			return true
		}
	}
	return false
}

// show is the form of an absolute path that people and models read.
func (f *Fence) show(abs string) string {
	if within(f.base, abs) {
		if rel, err := filepath.Rel(f.base, abs); err == nil {
			abs = rel
		}
	}
	return printable(filepath.ToSlash(abs))
}

// printable quotes a name that would break a line of output.
func printable(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// within reports whether path is root or lies below it. Both are canonical.
func within(root, path string) bool {
	if path == root {
		return true
	}
	if !strings.HasSuffix(root, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	return strings.HasPrefix(path, root)
}
