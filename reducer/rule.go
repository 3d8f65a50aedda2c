package reducer

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Rule is an answer that is remembered, and how far it reaches.
type Rule struct {
	Grant
	Scope string `json:"scope"`        // process, project or global
	ID    string `json:"id,omitempty"` // of a stored one, such as p2 or g14
}

// The scopes of rules, the narrowest first.
const (
	ScopeProcess = "process"
	ScopeProject = "project"
	ScopeGlobal  = "global"
)

// Judge finds the rule that decides a call of a tool with a subject (see
// [Subject]). A rule with a pattern outranks one for the whole tool; among
// equals a denial outranks an allowance, then the narrower scope the wider.
func Judge(rules []Rule, tool, subject string) (Rule, bool) {
	best, found := Rule{}, false
	for _, r := range rules {
		if r.Tool == tool && r.holds(subject) && (!found || r.outranks(best)) {
			best, found = r, true
		}
	}
	return best, found
}

func (r Rule) outranks(old Rule) bool {
	if (r.Pattern != "") != (old.Pattern != "") {
		return r.Pattern != ""
	}
	if r.Allow != old.Allow {
		return !r.Allow
	}
	scopes := []string{ScopeProcess, ScopeProject, ScopeGlobal}
	return slices.Index(scopes, r.Scope) < slices.Index(scopes, old.Scope)
}

// holds reports whether the grant is about a call with this subject.
func (g Grant) holds(subject string) bool {
	switch {
	case g.Pattern == "":
		return true
	case !matchPattern(g.Pattern, subject):
		return false
	}
	return !g.Allow || g.safeFor(subject)
}

// safeFor: a pattern that leaves part of a command open allows only what is one
// plain command and runs no interpreter, whatever else it would match. A pattern
// that spells the whole command out allows that command.
func (g Grant) safeFor(subject string) bool {
	var c struct {
		Mode string `json:"mode"`
		Body string `json:"body"`
	}
	if json.Unmarshal([]byte(subject), &c) != nil || c.Mode != "command" {
		return true
	}
	body, err := Subject(quotedJSON(c.Body))
	if err == nil && strings.Contains(g.Pattern, `"body":`+body+",") {
		return true
	}
	return plainCommand(c.Body)
}

func quotedJSON(s string) json.RawMessage {
	data, _ := json.Marshal(s) // a string always encodes
	return data
}

// plainCommand reports whether a shell would run a line as one program with
// arguments that are what they look like, and the program runs no other.
func plainCommand(line string) bool {
	if strings.ContainsAny(line, ";&|<>()$`\\\"'\n\r{}*?[]~#!") {
		return false
	}
	words := strings.Fields(line)
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return false
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	return !slices.Contains(strings.Fields(interpreters), strings.TrimRight(name, "0123456789."))
}

// interpreters are programs whose arguments are programs.
const interpreters = "sh bash dash zsh ksh fish csh tcsh busybox env exec eval source . command builtin nohup nice time timeout setsid stdbuf script " +
	"sudo doas su chroot xargs find parallel watch ssh python pypy ruby perl node nodejs deno bun php lua awk gawk mawk sed tclsh osascript " +
	"powershell pwsh cmd make npm npx pnpm yarn docker podman kubectl git-shell vi vim emacs ed"

// Subject is what the pattern of a rule is held against: a document, compact, with
// sorted members and one spelling of each string. The letters * and ? of its
// strings are written \u002a and \u003f, so that a pattern can name them.
func Subject(doc json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	v, err := oneValue(d)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.NewReplacer("*", `\u002a`, "?", `\u003f`).Replace(strings.TrimSuffix(b.String(), "\n")), nil
}

// oneValue reads a value. An object that has a member twice means one thing to
// one reader and another to the next, so it is refused.
func oneValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := oneValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		members := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			if _, twice := members[key]; twice {
				return nil, errors.New("the member " + strconv.Quote(key) + " stands in it twice")
			}
			if members[key], err = oneValue(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return members, err
	}
	return t, nil
}

// matchPattern holds a whole text against a pattern: * and ** stand for any run
// of characters, ? for one, everything else for itself.
func matchPattern(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j := 0, 0
	star, from := -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
