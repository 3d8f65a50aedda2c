package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tell is the answer: what the calls really returned, in a few lines.
func (t tour) tell() string {
	var b strings.Builder
	b.WriteString("A short tour of this folder (no model was asked; the demo provider looked itself):\n")
	for _, say := range []func() string{t.tellListing, t.tellSearch, t.tellFile, t.tellCommand} {
		if line := say(); line != "" {
			b.WriteString("\n- " + line)
		}
	}
	if len(t.done) == 0 {
		b.WriteString("\n- I was offered no tool that I know, so I have seen nothing.")
	}
	b.WriteString("\n\nEach step above is an event in this agent's journal; a real model would now do what you asked for.")
	return b.String()
}

func (t tour) tellListing() string {
	r, ok := t.done["ls"]
	switch {
	case !ok:
		return ""
	case r.bad:
		return "Listing it failed: " + first(r.text)
	}
	var dirs []string
	for line := range strings.Lines(r.text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "[dir] "); ok {
			dirs = append(dirs, name)
		}
	}
	files := t.files()
	return fmt.Sprintf("It holds %s%s and %s%s.", count(len(dirs), "folder"), some(dirs), count(len(files), "file"), some(files))
}

// some is the first few names in brackets.
func some(names []string) string {
	const most = 6
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return " (" + strings.Join(names[:most], ", ") + ", …)"
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (t tour) tellSearch() string {
	name := "grep"
	r, ok := t.done[name]
	if !ok {
		name = "glob"
		r, ok = t.done[name]
	}
	switch {
	case !ok:
		return ""
	case r.bad:
		return "The search failed: " + first(r.text)
	}
	found := t.found()
	switch {
	case len(found) == 0 && name == "grep":
		return "No program starts here: no main function was found."
	case len(found) == 0:
		return "There are no Markdown files."
	case name == "grep":
		return "A program starts at " + clip(found[0]) + "."
	}
	return "Markdown files: " + clip(strings.Join(found, ", ")) + "."
}

func (t tour) tellFile() string {
	r, ok := t.done["read"]
	switch {
	case !ok:
		return ""
	case r.bad:
		return "Reading a file failed: " + first(r.text)
	}
	path := strings.TrimPrefix(first(r.text), "read ")
	for _, line := range body(r.text) {
		_, words, ok := strings.Cut(line, ": ") // after the line number
		if words = strings.Trim(words, "# \t"); ok && words != "" {
			return fmt.Sprintf("%s begins with %q.", path, clip(words))
		}
	}
	return path + " is empty."
}

func (t tour) tellCommand() string {
	r, ok := t.done["spawn"]
	switch {
	case !ok:
		return ""
	case r.bad:
		return "The command did not run: " + first(r.text)
	case strings.Contains(r.args, "git log"):
		return fmt.Sprintf("The last commit is %q.", first(r.text))
	}
	return fmt.Sprintf("The command ran and printed %d lines.", strings.Count(strings.TrimRight(r.text, "\n"), "\n")+1)
}

// first is the first line of a text that has words.
func first(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line)
		}
	}
	return "(nothing)"
}

// clip keeps a line short.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
