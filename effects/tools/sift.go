package tools

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/effects/tools/ignore"
)

// noIgnoreMember is the member that takes the ignore rules out of a search.
func noIgnoreMember() member {
	return member{name: "no_ignore", kind: kindBoolean, aliases: []string{"noIgnore"}, doc: "also what .gitignore leaves out"}
}

// sift is what one search looks at: the files that fit a glob, without git's own
// directory and without what the ignore rules leave out.
type sift struct {
	fence    *fence.Fence
	start    fence.Place
	glob     *glob  // nil fits every file
	all      bool   // no rules
	excludes string // the user's excludes file, or empty
	left     atomic.Int64
}

// search visits the files below where the search begins, and other names if any
// is given to visit; a file is visited as itself, whatever the rules and the
// glob say.
func (s *sift) search(ctx context.Context, prepare func(fence.Entry) any, visit func(fence.Entry) error) ([]string, error) {
	e, err := s.fence.Entry(s.start)
	if err != nil {
		return nil, err
	}
	if e.Kind != fence.Dir {
		if prepare != nil {
			e.Found = prepare(e)
		}
		if err = visit(e); errors.Is(err, fs.SkipAll) {
			err = nil
		}
		return nil, err
	}
	o := fence.WalkOptions{Entries: maxEntries, Filter: &sieve{sift: s}, Prepare: prepare}
	if s.glob != nil {
		o.Depth = s.glob.depth
	}
	return s.fence.Walk(ctx, s.start, o, func(e fence.Entry) error {
		if e.Kind != fence.File || !s.glob.match(e) {
			return nil
		}
		return visit(e)
	})
}

// leftOut says what the rules left out, where nothing else was found.
func (s *sift) leftOut(l *listing) {
	if n := s.left.Load(); n > 0 && l.lines == 0 {
		l.remark("%d ignored names were left out; no_ignore searches them too", n)
	}
}

// read is an ignore.Read.
func (s *sift) read(path string) []byte { return fence.Peek(path, maxIgnore) }

// sieve is the filter of a search for one directory.
type sieve struct {
	*sift
	rules *ignore.Rules // nil before the first directory and where there are none
}

// Enter gathers the rules that hold in a directory.
func (s *sieve) Enter(d *fence.Directory) fence.Filter {
	if s.all {
		return s
	}
	rules := s.rules
	switch {
	case rules == nil:
		rules = ignore.Find(d.Path(), s.start.Root, s.excludes, s.read)
	case d.Has(ignore.RepoName):
		rules = rules.In(d.Name()).Repository(d.Path(), s.read)
	default:
		rules = rules.In(d.Name())
	}
	return &sieve{s.sift, rules.With(d.ReadFile(ignore.FileName, maxIgnore))}
}

// Skip reports whether a name is left out.
func (s *sieve) Skip(e fence.Entry) bool {
	switch {
	case e.Name == ignore.RepoName, !s.glob.leads(e), e.Kind == fence.File && !s.glob.match(e):
		return true
	case s.rules == nil || !s.rules.Ignored(e.Name, e.Kind == fence.Dir):
		return false
	}
	s.left.Add(1)
	return true
}

// glob is a compiled pattern for paths from where a search begins. Nil matches
// every path.
type glob struct {
	pattern string
	suffix  string // what names that match end in, if that is all; else ""
	names   bool   // the last name is matched, at any depth
	lead    string // what every path that matches begins with: whole directories, or ""
	depth   int    // how many names a path that matches has at most; 0 is any number
}

// special are the characters that don't stand for themselves in a glob.
const special = `*?[{\`

// newGlobPattern compiles a pattern.
func newGlobPattern(pattern string) (*glob, error) {
	g := &glob{pattern: strings.TrimPrefix(pattern, "./")}
	if g.pattern == "" || !doublestar.ValidatePattern(g.pattern) {
		return nil, invalidGlob(pattern)
	}
	if g.names = !strings.Contains(g.pattern, "/"); g.names {
		if rest := g.pattern[1:]; g.pattern[0] == '*' && rest != "" && !strings.ContainsAny(rest, special) {
			g.suffix = rest
		}
		return g, nil
	}
	literal := g.pattern
	if i := strings.IndexAny(literal, special); i >= 0 {
		literal = literal[:i]
	}
	g.lead = literal[:strings.LastIndexByte(literal, '/')+1]
	if !strings.Contains(g.pattern, "**") && !strings.ContainsAny(g.pattern, `{\[`) {
		g.depth = strings.Count(g.pattern, "/") + 1
	}
	return g, nil
}

// match reports whether an entry fits.
func (g *glob) match(e fence.Entry) bool {
	switch {
	case g == nil:
		return true
	case g.suffix != "":
		return strings.HasSuffix(e.Name, g.suffix)
	case g.names:
		return doublestar.MatchUnvalidated(g.pattern, e.Name)
	}
	return doublestar.MatchUnvalidated(g.pattern, e.Path())
}

// leads reports whether an entry, or what is below it, may fit.
func (g *glob) leads(e fence.Entry) bool {
	if g == nil || g.lead == "" {
		return true
	}
	path := e.Path()
	return strings.HasPrefix(path, g.lead) || strings.HasPrefix(g.lead, path+"/")
}
