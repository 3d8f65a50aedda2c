package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/effects/tools/patch"
	"github.com/basisagent/basis/reducer"
)

// changer is a tool that writes one file and can say which before it does.
type changer struct {
	tool
	fence   *fence.Fence
	preview func(a args, p fence.Place) map[string]any
	outcome func(a args, p fence.Place) (before, after string, err error)
}

// Preview says what a call would write. It refuses input that makes no sense
// and places that may not be written.
func (c changer) Preview(in json.RawMessage) (json.RawMessage, error) {
	a, err := c.decode(in)
	if err != nil {
		return nil, err
	}
	p, err := c.fence.Resolve(a.text("path", ""), fence.Write)
	if err != nil {
		return nil, err
	}
	m := c.preview(a, p)
	m["path"] = p.Shown
	return encode(m), nil
}

// judge is Options.Judge.
type judge func(path string, content []byte) error

// unfit is the error for a content that a file must not hold.
func (j judge) unfit(p fence.Place, content []byte) error {
	if err := j(p.Abs, content); err != nil {
		return &problem{CodeUnfit, "nothing was written, because no task could begin here any more: " + err.Error()}
	}
	return nil
}

// newWrite makes the tool write.
func newWrite(f *fence.Fence, j judge) effects.Tool {
	t := newTool(tool{
		spec: writing("write", "Create or overwrite a file; missing directories are made."),
		members: []member{
			pathMember(),
			{name: "content", kind: kindString, required: true},
		},
		line: func(a args) string { return a.text("path", "") },
		run:  func(_ context.Context, c call) effects.Result { return runWrite(f, j, c) },
	})
	c := changer{tool: t, fence: f}
	c.preview = func(a args, p fence.Place) map[string]any {
		_, err := f.Stat(p)
		return map[string]any{"bytes": len(a.text("content", "")), "new": isMissing(err)}
	}
	c.outcome = func(a args, p fence.Place) (before, after string, err error) {
		old, err := look(f, p)
		if err != nil && !isMissing(err) {
			return "", "", err
		}
		if err == nil {
			text, _, err := f.ReadFile(p, maxDiff)
			if err != nil {
				return "", "", err
			}
			before = string(text)
		}
		after, _ = old.dress(a.text("content", ""))
		return before, after, nil
	}
	return c
}

// runWrite writes the whole file. A file that it overwrites keeps its
// byte-order mark and, if all its lines end so, its CRLF.
func runWrite(f *fence.Fence, j judge, c call) effects.Result {
	p, err := f.Resolve(c.text("path", ""), fence.Write)
	if err != nil {
		return failed(err)
	}
	old, err := look(f, p)
	if err != nil && !isMissing(err) {
		return failed(err)
	}
	if old.changedFor(c.files, p) {
		return failed(stale(p))
	}
	content, kept := old.dress(c.text("content", ""))
	if err := j.unfit(p, []byte(content)); err != nil {
		return failed(err)
	}
	if err := f.Replace(p, []byte(content), old.info); err != nil {
		return failed(err)
	}
	return effects.Result{
		Output: fmt.Sprintf("Wrote %d byte(s) to %s%s", len(content), p.Shown, kept),
		Files:  []reducer.FileSeen{{Path: p.Abs, Digest: digestOf([]byte(content))}},
	}
}

// isMissing reports whether an error says that nothing is there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// newEdit makes the tool edit.
func newEdit(f *fence.Fence, j judge) effects.Tool {
	t := newTool(tool{
		spec: writing("edit", "Replace text in a file. Each old_string must be in it exactly once unless replace_all; all edits are matched against the original."),
		members: []member{
			pathMember(),
			{name: "edits", kind: kindArray, required: true, items: editMembers()},
			{name: "replace_all", kind: kindBoolean, aliases: []string{"replaceAll"}},
		},
		adjust: adjustEdits,
		line:   func(a args) string { return a.text("path", "") },
		run:    func(ctx context.Context, c call) effects.Result { return runEdit(ctx, f, j, c) },
	})
	c := changer{tool: t, fence: f}
	c.preview = func(a args, _ fence.Place) map[string]any {
		return map[string]any{"edits": len(a.lists["edits"]), "replace_all": a.flags["replace_all"]}
	}
	c.outcome = func(a args, p fence.Place) (before, after string, err error) {
		text, _, err := f.ReadFile(p, maxDiff)
		if err != nil {
			return "", "", err
		}
		done, err := patch.Apply(text, editsOf(a), a.flags["replace_all"])
		return string(text), string(done.Text), err
	}
	return c
}

// editsOf are the edits of a call.
func editsOf(a args) []patch.Edit {
	var edits []patch.Edit
	for _, e := range a.lists["edits"] {
		edits = append(edits, patch.Edit{Old: e.text("old_string", ""), New: e.text("new_string", "")})
	}
	return edits
}

// editMembers are the members of one edit.
func editMembers() []member {
	return []member{
		{name: "old_string", kind: kindString, required: true, aliases: []string{"oldText", "oldString", "old"}},
		{name: "new_string", kind: kindString, required: true, aliases: []string{"newText", "newString", "new"}},
	}
}

// adjustEdits brings the shapes in which models send edits into the published
// one: a list written as a string, one object instead of a list, and the two
// texts at the top.
func adjustEdits(m map[string]json.RawMessage) error {
	raw := m["edits"]
	if s, ok := parse[string](raw); ok && json.Valid([]byte(s)) {
		raw = json.RawMessage(s)
	}
	if raw == nil {
		if raw = liftEdit(m); raw == nil {
			return nil
		}
	}
	var list []map[string]json.RawMessage
	if one, ok := parse[map[string]json.RawMessage](raw); ok {
		list = append(list, one)
	} else if list, ok = parse[[]map[string]json.RawMessage](raw); !ok {
		return nil // decode says what is wrong with it
	}
	for _, e := range list {
		if e != nil {
			rename(e, editMembers())
		}
	}
	m["edits"] = encode(list)
	return nil
}

// liftEdit takes the texts of one edit out of the top of the input.
func liftEdit(m map[string]json.RawMessage) json.RawMessage {
	rename(m, editMembers())
	e := map[string]json.RawMessage{}
	for _, w := range editMembers() {
		if v, there := m[w.name]; there {
			e[w.name] = v
			delete(m, w.name)
		}
	}
	if len(e) == 0 {
		return nil
	}
	return encode(e)
}

// runEdit makes the edits, all or none.
func runEdit(ctx context.Context, f *fence.Fence, j judge, a call) effects.Result {
	p, err := f.Resolve(a.text("path", ""), fence.Write)
	if err != nil {
		return failed(err)
	}
	text, seen, err := f.ReadFile(p, maxEdit)
	if err != nil {
		return failed(err)
	}
	before := known(a.files, p)
	if before != "" && before != digestOf(text) {
		return failed(stale(p))
	}
	done, err := patch.Apply(text, editsOf(a.args), a.flags["replace_all"])
	if err != nil {
		r := failed(err)
		r.Output = p.Shown + ": " + r.Output
		return r
	}
	if ctx.Err() != nil {
		return stopped()
	}
	if err := j.unfit(p, done.Text); err != nil {
		return failed(err)
	}
	if err := f.Replace(p, done.Text, seen); err != nil {
		return failed(err)
	}
	r := effects.Result{
		Output:  fmt.Sprintf("Replaced %d block(s) in %s", done.Count, p.Shown),
		Summary: oneLine(fmt.Sprintf("edit %s (%d replaced, from line %d)", p.Shown, done.Count, done.FirstLine)),
	}
	if before != "" { // who knew all of it still does
		r.Files = []reducer.FileSeen{{Path: p.Abs, Digest: digestOf(done.Text)}}
	}
	return r
}
