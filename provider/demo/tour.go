package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// tour is what has been seen since the last user message.
type tour struct {
	offered map[string]bool   // tools
	done    map[string]result // by tool, the first call of each
	calls   int               // in the whole conversation, for ids
}

// result is what one call came to.
type result struct {
	args string
	text string
	bad  bool
}

// look reads the conversation.
func look(req provider.Request) (tour, error) {
	t := tour{offered: make(map[string]bool), done: make(map[string]result)}
	for _, tool := range req.Tools {
		t.offered[tool.Name] = true
	}
	var asked []reducer.Item
	for _, m := range req.Messages {
		switch m.Role {
		case provider.RoleUser:
			clear(t.done)
		case provider.RoleAssistant:
			asked = asked[:0]
			for _, item := range m.Items {
				if item.Type == reducer.ItemCall {
					asked = append(asked, item)
				}
			}
			t.calls += len(asked)
		case provider.RoleResults:
			if err := t.take(req, asked, m.Results); err != nil {
				return tour{}, err
			}
		}
	}
	return t, nil
}

func (t *tour) take(req provider.Request, asked []reducer.Item, results []provider.Result) error {
	for i, r := range results {
		if i >= len(asked) {
			break
		}
		if _, ok := t.done[asked[i].Name]; ok {
			continue
		}
		text, err := load(req, r.Text)
		if err != nil {
			return err
		}
		t.done[asked[i].Name] = result{asked[i].Args.Inline, text, r.IsError}
	}
	return nil
}

func load(req provider.Request, t reducer.Text) (string, error) {
	if t.Blob.Digest == "" {
		return t.Inline, nil
	}
	if req.Load == nil {
		return t.String(), nil // head and tail will do
	}
	data, err := req.Load(t.Blob)
	if err != nil {
		return "", fmt.Errorf("load result %s: %w", t.Blob.Digest, err)
	}
	return string(data), nil
}

// wants reports whether a tool is there and has not been called yet.
func (t tour) wants(tool string) bool {
	_, ok := t.done[tool]
	return t.offered[tool] && !ok
}

// next is what the model says and calls now.
func (t tour) next() (text string, calls []reducer.Item) {
	if calls := t.search(); len(calls) > 0 {
		return "I'll look around first.", calls
	}
	if path := t.file(); path != "" && t.wants("read") {
		return "Now a closer look at " + path + ".", []reducer.Item{t.call(0, "read", `{"path":`+strconv.Quote(path)+`,"limit":40}`)}
	}
	if t.wants("spawn") {
		command := "!ls"
		if strings.Contains(t.done["ls"].text, "[dir] .git\n") {
			command = "!git log --oneline -5"
		}
		return "And one harmless command.", []reducer.Item{t.call(0, "spawn", `{"input":"`+command+`"}`)}
	}
	return t.tell(), nil
}

// search is the first round: the listing and a search beside it.
func (t tour) search() []reducer.Item {
	var calls []reducer.Item
	if t.wants("ls") {
		calls = append(calls, t.call(0, "ls", `{"path":"."}`))
	}
	switch {
	case t.wants("grep"):
		calls = append(calls, t.call(len(calls), "grep", `{"pattern":"^(func|def|fn|int) main\\b","path":".","limit":5}`))
	case !t.offered["grep"] && t.wants("glob"):
		calls = append(calls, t.call(len(calls), "glob", `{"pattern":"**/*.md","limit":5}`))
	}
	return calls
}

// call makes the n-th call of this answer.
func (t tour) call(n int, name, args string) reducer.Item {
	return reducer.Item{
		Type: reducer.ItemCall, ID: "demo_" + strconv.Itoa(t.calls+n+1),
		Name: name, Args: reducer.T(args),
	}
}

// file is the README that was seen, else the first source file, else the first
// file at all.
func (t tour) file() string {
	files := t.files()
	for _, f := range files {
		if strings.HasPrefix(strings.ToLower(f), "readme") {
			return f
		}
	}
	for _, f := range files {
		for _, ext := range []string{".go", ".py", ".rs", ".js", ".ts", ".c", ".java", ".rb", ".md", ".txt"} {
			if strings.HasSuffix(f, ext) {
				return f
			}
		}
	}
	for _, f := range files {
		if !strings.HasPrefix(f, ".") {
			return f
		}
	}
	return ""
}

// files are the names that the listing showed; without a listing, those that
// a search found.
func (t tour) files() []string {
	var names []string
	for line := range strings.Lines(t.done["ls"].text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "[file] "); ok {
			names = append(names, name)
		}
	}
	if len(names) > 0 || t.offered["ls"] {
		return names
	}
	for _, line := range t.found() {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	return names
}

// found are the lines of the search, without its heading.
func (t tour) found() []string {
	r, ok := t.done["grep"]
	if !ok {
		r = t.done["glob"]
	}
	if r.bad {
		return nil
	}
	lines := body(r.text)
	if len(lines) == 1 && strings.HasPrefix(lines[0], "(no ") {
		return nil
	}
	return lines
}

// body is a result without its heading and blank lines.
func body(text string) []string {
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		if i > 0 && strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, "\r"))
		}
	}
	return lines
}
