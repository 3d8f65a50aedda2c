package workspace

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/basisagent/basis/reducer"
)

// Template is a prompt that is kept in a file.
type Template struct {
	Info reducer.TemplateInfo
	Body string
}

// Templates are the templates of a workspace by name, and the roots that exist.
type Templates struct {
	Templates []Template
	Roots     []string
}

// FindTemplates looks for *.md files below directories, the strongest first; those
// that don't exist are empty. What lies in the workspace at root may not link to any
// file outside. A root keeps a name from the weaker ones. An error
// names the file.
func FindTemplates(root string, dirs ...string) (Templates, error) {
	var t Templates
	var used []os.FileInfo
	for _, dir := range dirs {
		if sameDir(dir, &used) {
			continue
		}
		if err := t.look(dir, linkFence(root, dir)); err != nil {
			return Templates{}, err
		}
		t.Roots = append(t.Roots, dir)
	}
	slices.SortFunc(t.Templates, func(a, b Template) int { return strings.Compare(a.Info.Name, b.Info.Name) })
	return t, nil
}

// look takes the templates of one root.
func (t *Templates) look(dir, within string) error {
	stronger := len(t.Templates)
	hits, faults := files(dir, within, maxNames, isTemplate)
	if len(faults) > 0 {
		return faults[0]
	}
	for _, h := range hits {
		one, err := readTemplate(h.path, h.rel)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.Templates, func(o Template) bool { return o.Info.Name == one.Info.Name })
		switch {
		case i < 0:
			t.Templates = append(t.Templates, one)
		case i >= stronger:
			return twice("template", h.path, one.Info.Name, t.Templates[i].Info.Path)
		}
	}
	return nil
}

// isTemplate reports whether a file below a root of templates is one.
func isTemplate(name string) bool { return strings.HasSuffix(name, ".md") }

// templateName is the name of a template by its way from the root.
func templateName(rel string) string {
	return strings.ReplaceAll(strings.TrimSuffix(rel, ".md"), "/", ":")
}

// readTemplate reads one template; rel is its way from the root.
func readTemplate(path, rel string) (Template, error) {
	data, err := readText(path)
	if err != nil {
		return Template{}, err
	}
	return parseTemplate(path, rel, data)
}

// parseTemplate is the template at path.
func parseTemplate(path, rel string, data []byte) (Template, error) {
	name := templateName(rel)
	if !utf8.ValidString(name) {
		return Template{}, &FileError{Path: strconv.Quote(path), Err: errors.New("its name is not UTF-8")}
	}
	if err := checkSize(path, int64(len(data))); err != nil {
		return Template{}, err
	}
	var h struct {
		Description string `yaml:"description"`
		Hint        string `yaml:"argument-hint"`
		Hint2       string `yaml:"argument_hint"`
	}
	front, body, headed, err := header(data)
	if err == nil && headed {
		err = decodeHeader(front, &h)
	}
	if err == nil && !utf8.Valid(data) {
		err = errors.New("it is not UTF-8 text")
	}
	if err != nil {
		return Template{}, &FileError{Path: path, Err: err}
	}
	text := strings.Trim(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n")
	t := Template{Body: text, Info: reducer.TemplateInfo{
		Name: name, Description: cut(oneLine(h.Description), maxDescription), ArgumentHint: oneLine(h.Hint), Path: path, Digest: Digest(string(data)),
	}}
	if t.Info.ArgumentHint == "" {
		t.Info.ArgumentHint = oneLine(h.Hint2)
	}
	if t.Info.Description == "" {
		t.Info.Description = firstWords(text)
	}
	return t, nil
}

// maxFirst is how much of a text stands for a missing description, in characters.
const maxFirst = 80

// firstWords is the first line of a text that is not blank, cut.
func firstWords(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut(oneLine(line), maxFirst)
}

// Invocation splits a prompt that calls a template (CLI-36): its first word is a
// slash and a name. What has a second slash in it, or other letters, is a prompt.
func Invocation(prompt string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(prompt, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	name = rest[:end]
	letter := func(r rune) bool {
		return r == '_' || r == ':' || r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !letter(r) }) {
		return "", "", false
	}
	return name, strings.TrimSpace(rest[end:]), true
}

// Render puts arguments into the body, in one pass (CORE-41): $ARGUMENTS is all of
// them, $1 the first word and so on, $$ a dollar; any other dollar is itself.
// Where the body asks for none they stand below it.
func (t Template) Render(args string) string {
	args = strings.TrimSpace(args)
	words := strings.Fields(args)
	var b strings.Builder
	used := false
	rest := t.Body
	for {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if !found {
			break
		}
		text, left, reference := placeholderIn(after, args, words)
		b.WriteString(text)
		used = used || reference
		rest = left
	}
	text := b.String()
	if used || args == "" {
		return text
	}
	if text = strings.TrimSpace(text); text == "" {
		return args
	}
	return text + "\n\n" + args
}

// placeholderIn is what stands for a dollar and what follows it, and the rest.
func placeholderIn(after, args string, words []string) (text, rest string, reference bool) {
	if rest, ok := strings.CutPrefix(after, "$"); ok {
		return "$", rest, false
	}
	if rest, ok := strings.CutPrefix(after, "ARGUMENTS"); ok {
		return args, rest, true
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(after)
	}
	n, err := strconv.Atoi(after[:end])
	if err != nil || n == 0 {
		return "$" + after[:end], after[end:], false
	}
	if n > len(words) {
		return "", after[end:], true
	}
	return words[n-1], after[end:], true
}
