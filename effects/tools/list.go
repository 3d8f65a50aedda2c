package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/effects/tools/ignore"
)

// defaultLimit is how many lines ls, grep and glob give unless asked for more.
const defaultLimit = 200

// whereMember is the member that names where to look.
func whereMember() member {
	return member{name: "path", kind: kindString, aliases: []string{"file_path", "filePath"}, doc: "default ."}
}

// limitMember is the member that bounds the lines of a result.
func limitMember() member {
	return member{name: "limit", kind: kindInteger, doc: "lines, default 200"}
}

// listing collects the lines of a result within its bounds, and the remarks
// that come after them.
type listing struct {
	out     strings.Builder
	limit   int64
	lines   int64
	empty   string // what stands for no lines
	remarks []string
}

// add takes a line, or ends the walk if there is no more room.
func (l *listing) add(line string) error {
	if l.lines >= l.limit {
		if l.limit > 0 {
			l.remark("limit of %d lines reached; there is more", l.limit)
		}
		return fs.SkipAll
	}
	if l.out.Len()+len(line) > maxOutput || l.lines >= maxLines {
		l.remark("stopped after %d lines, which is as much as one result holds; use a narrower path or pattern", l.lines)
		return fs.SkipAll
	}
	l.lines++
	l.out.WriteString(line + "\n")
	return nil
}

// remark notes something that the reader should know of the result.
func (l *listing) remark(format string, a ...any) {
	l.remarks = append(l.remarks, fmt.Sprintf(format, a...))
}

// result is the head line, the lines and the remarks.
func (l *listing) result(head string) effects.Result {
	text := []string{head}
	if l.lines == 0 {
		text = append(text, l.empty)
	} else {
		text = append(text, strings.TrimSuffix(l.out.String(), "\n"))
	}
	for _, r := range l.remarks {
		text = append(text, "["+r+"]")
	}
	return effects.Result{Output: strings.Join(text, "\n"), Paged: true}
}

// notGit keeps a walk out of git's own directory.
func notGit(e fence.Entry) bool { return e.Name != ignore.RepoName }

// newList makes the tool ls.
func newList(f *fence.Fence) effects.Tool {
	return newTool(tool{
		spec: reading("ls", "List a directory."),
		members: []member{
			whereMember(),
			{name: "depth", kind: kindInteger, doc: "levels, default 1"},
			limitMember(),
		},
		line: func(a args) string { return a.text("path", ".") },
		run: func(ctx context.Context, a call) effects.Result {
			p, err := f.Resolve(a.text("path", "."), fence.Read)
			if err != nil {
				return failed(err)
			}
			l := &listing{limit: a.number("limit", defaultLimit), empty: "(no entries)"}
			remarks, err := list(ctx, f, p, int(a.number("depth", 1)), func(e fence.Entry) error {
				return l.add("[" + string(e.Kind) + "] " + e.Rel())
			})
			if err != nil {
				return failed(err)
			}
			l.remarks = append(l.remarks, remarks...)
			return l.result("list " + p.Shown)
		},
	})
}

// list visits what is below a place, to a depth. A file is visited as itself.
func list(ctx context.Context, f *fence.Fence, p fence.Place, depth int, visit func(fence.Entry) error) ([]string, error) {
	e, err := f.Entry(p)
	switch {
	case err != nil || depth <= 0:
		return nil, err
	case e.Kind == fence.Dir:
		return f.Walk(ctx, p, fence.WalkOptions{Depth: depth, Entries: maxEntries, Enter: notGit}, visit)
	}
	if err = visit(e); errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return nil, err
}

// newGlob makes the tool glob. The path of the user's excludes file may be empty.
func newGlob(f *fence.Fence, excludes string) effects.Tool {
	return newTool(tool{
		spec: reading("glob", "Find files by name: * stays within a directory, ** does not; a pattern without / matches names at any depth."),
		members: []member{
			{name: "pattern", kind: kindString, required: true},
			whereMember(),
			noIgnoreMember(),
			limitMember(),
		},
		line: func(a args) string { return a.text("pattern", "") + " in " + a.text("path", ".") },
		run: func(ctx context.Context, a call) effects.Result {
			pattern := a.text("pattern", "")
			g, err := newGlobPattern(pattern)
			if err != nil {
				return failed(err)
			}
			p, err := f.Resolve(a.text("path", "."), fence.Read)
			if err != nil {
				return failed(err)
			}
			l := &listing{limit: a.number("limit", defaultLimit), empty: "(no matches)"}
			s := &sift{fence: f, start: p, glob: g, all: a.flags["no_ignore"], excludes: excludes}
			remarks, err := s.search(ctx, nil, func(e fence.Entry) error {
				if e.Kind != fence.File || !g.match(e) {
					return nil
				}
				return l.add(e.Rel())
			})
			if err != nil {
				return failed(err)
			}
			l.remarks = append(l.remarks, remarks...)
			s.leftOut(l)
			return l.result("glob " + p.Shown + " /" + oneLine(pattern) + "/")
		},
	})
}

// invalidGlob is the error for a pattern that does not parse.
func invalidGlob(pattern string) error {
	return &problem{CodePattern, fmt.Sprintf("glob %q is not a valid pattern", pattern)}
}
