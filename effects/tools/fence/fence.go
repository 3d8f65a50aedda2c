package fence

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

	// Closed is what is neither read nor written, and Kept what is not written,
	// with all that is below it: files and directories, which need not exist yet.
	// A root that lies below one of them is open all the same.
	Closed, Kept []string
}

// Fence knows which files may be reached. Make one with New.
type Fence struct {
	base         string
	read, write  []string // canonical; the base comes first
	closed, kept []string // canonical, in small letters; only what lies below a root
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
	for _, list := range []struct {
		into *[]string
		from []string
	}{
		{&f.read, slices.Concat([]string{base}, o.ReadRoots)},
		{&f.write, slices.Concat([]string{base}, o.WriteRoots)},
		{&f.closed, o.Closed},
		{&f.kept, o.Kept},
	} {
		if *list.into, err = canonicals(base, list.from); err != nil {
			return nil, err
		}
	}
	f.closed, f.kept = f.below(f.closed), f.below(f.kept)
	return f, nil
}

// below is what of paths lies below a root, in small letters: nothing else could
// be reached anyway.
func (f *Fence) below(paths []string) []string {
	var all []string
	for _, p := range paths {
		p = strings.ToLower(p)
		if slices.ContainsFunc(slices.Concat(f.read, f.write), func(root string) bool {
			root = strings.ToLower(root)
			return root != p && within(root, p)
		}) {
			all = append(all, p)
		}
	}
	return all
}

// canonicals returns the canonical forms of paths; relative ones start at base.
func canonicals(base string, paths []string) ([]string, error) {
	var all []string
	for _, r := range paths {
		if !filepath.IsAbs(r) {
			r = filepath.Join(base, r)
		}
		c, err := canonical(filepath.Clean(r))
		if err != nil {
			return nil, fmt.Errorf("resolve %s: %w", r, err)
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
	for _, path := range []string{literal, abs} {
		if reason := f.guarded(path); set == Write && reason != "" {
			return Place{}, &Error{Code: CodeDenied, Path: f.show(abs), Reason: reason}
		}
	}
	return f.place(abs, set)
}

// place finds the root that a canonical path lies under.
func (f *Fence) place(abs string, set Set) (Place, error) {
	allowed := f.roots(set)
	if off(abs, f.closed, allowed) {
		return Place{}, &Error{Code: CodeDenied, Path: f.show(abs), Reason: "basis keeps its records there, which are not for file tools"}
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

// roots are the roots of a set.
func (f *Fence) roots(set Set) []string {
	if set == Write {
		return f.write
	}
	return f.read
}

// off reports whether a canonical path is one of places or lies below one, unless
// an allowed root below the same place has it. Letter case is ignored, as some
// file systems do.
func off(abs string, places, allowed []string) bool {
	if len(places) == 0 {
		return false
	}
	abs = strings.ToLower(abs)
	return slices.ContainsFunc(places, func(p string) bool {
		return within(p, abs) && !slices.ContainsFunc(allowed, func(root string) bool {
			root = strings.ToLower(root)
			return within(p, root) && within(root, abs)
		})
	})
}

// Writable reports whether a place may be written too.
func (f *Fence) Writable(p Place) bool {
	_, err := f.place(p.Abs, Write)
	return err == nil && f.guarded(p.Abs) == ""
}

// guarded is why a path is never written, or "": it is a git repository's hooks or
// configuration below the base, or what says there how the agent is judged and set
// up. Letter case is ignored.
func (f *Fence) guarded(abs string) string {
	const ours = "it has a say in what agents may do here, so file tools never write it; tell the user what should stand there"
	if off(abs, f.kept, f.write) {
		return ours
	}
	if !within(f.base, abs) {
		return ""
	}
	rel, err := filepath.Rel(f.base, abs)
	if err != nil {
		return ""
	}
	parts := strings.Split(strings.ToLower(rel), string(filepath.Separator))
	for i := 1; i < len(parts); i++ {
		switch {
		case parts[i-1] == ".git" && (parts[i] == "hooks" || parts[i] == "config"):
			return "git's hooks and configuration are never written by file tools"
		case parts[i-1] == ".basis" && (parts[i] == "hooks.json" || parts[i] == "tools.json" || parts[i] == "config.json"):
			return ours
		}
	}
	return ""
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
