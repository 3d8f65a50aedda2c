package reducer

import (
	"encoding/json"
	"strings"
	"testing"
)

func subjectOf(t *testing.T, doc string) string {
	t.Helper()
	s, err := Subject(json.RawMessage(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func command(t *testing.T, body string) string {
	t.Helper()
	return subjectOf(t, `{"mode":"command","body":`+string(quotedJSON(body))+`,"cwd":"/w","target":"local"}`)
}

// TOOL-56: however a document is written, its subject is the same; documents that
// differ have different ones.
func TestSubject(t *testing.T) {
	same := []string{`{"b":1,"a":"x/y"}`, "{ \"a\" : \"x\\/y\",\n\"b\":1 }", `{"\u0061":"\u0078/y","b":1}`}
	for _, doc := range same {
		if got := subjectOf(t, doc); got != `{"a":"x/y","b":1}` {
			t.Errorf("Subject(%s) = %s", doc, got)
		}
	}
	if got := subjectOf(t, `{"n":12345678901234567890,"s":"a*b?<é"}`); got != `{"n":12345678901234567890,"s":"a\u002ab\u003f<é"}` {
		t.Errorf("Subject = %s, want the number whole, the letter as it is and the wildcards escaped", got)
	}
	if subjectOf(t, `"*"`) == subjectOf(t, `"\\u002a"`) {
		t.Error("a star and its spelling have one subject")
	}
	for _, doc := range []string{"", "{", "nonsense", `{"a":1,"a":2}`, `[{"a":1,"\u0061":2}]`} {
		if s, err := Subject(json.RawMessage(doc)); err == nil {
			t.Errorf("Subject(%q) = %q, want an error", doc, s)
		}
	}
}

// TOOL-56: patterns are held against the whole of the subject.
func TestMatchPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"bc", "abc", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"**", "a/b", true},
		{"a*", "a/b/c", true},
		{"*c", "a/b/c", true},
		{"a*c", "acbc", true},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxc", false},
		{"a?c", "abc", true},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{"[a]", "a", false},
		{"a.c", "abc", false},
		{strings.Repeat("*a", 30), strings.Repeat("a", 200) + "b", false},
	} {
		if got := matchPattern(tt.pattern, tt.text); got != tt.want {
			t.Errorf("matchPattern(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// FR-022: rules that compared the start of a command were walked around by
// chaining, line breaks and substitution. A rule for a command is for all of it;
// one that leaves a part open allows one plain command only.
func TestFR022CommandsAreNotPrefixes(t *testing.T) {
	exact := Rule{Grant: Grant{Tool: "spawn", Allow: true, Pattern: `{"body":"git status","cwd":"*","mode":"command","target":"local"}`}}
	open := Rule{Grant: Grant{Tool: "spawn", Allow: true, Pattern: `*"body":"git status*"mode":"command"*`}}
	for _, body := range []string{
		"git status && touch P", "git status\ntouch P", "git status $(touch P)", "git status | sh", "git status;touch P", "git status & touch P",
		"git status `touch P`", "git status > P", "git status \"\"", "git status ${IFS}", "git statusx\rtouch P", "git status #'", "git status \\\ntouch P",
	} {
		for _, r := range []Rule{exact, open} {
			if _, ok := Judge([]Rule{r}, "spawn", command(t, body)); ok {
				t.Errorf("%s allows %q", r.Pattern, body)
			}
		}
	}
	for _, r := range []Rule{exact, open} {
		if _, ok := Judge([]Rule{r}, "spawn", command(t, "git status")); !ok {
			t.Errorf("%s does not allow git status", r.Pattern)
		}
	}
	if _, ok := Judge([]Rule{exact}, "spawn", command(t, "git statusx")); ok {
		t.Error("git statusx is taken for git status")
	}
	if _, ok := Judge([]Rule{open}, "spawn", command(t, "git status --short")); !ok {
		t.Error("a plain command within the open part is not allowed")
	}
	any := Rule{Grant: Grant{Tool: "spawn", Allow: true, Pattern: "*"}}
	for _, body := range []string{"python3 x", "/bin/sh x", "env x", "sudo ls", "X=1 ls", "xargs rm", "find . -delete", ""} {
		if _, ok := Judge([]Rule{any}, "spawn", command(t, body)); ok {
			t.Errorf("an open pattern allows %q", body)
		}
	}
	deny := Rule{Grant: Grant{Tool: "spawn", Pattern: `*"body":"*rm *`}}
	if r, ok := Judge([]Rule{any, deny}, "spawn", command(t, "ls; rm -rf x")); !ok || r.Allow {
		t.Error("a denial by a part of the command does not hold")
	}
	star := Rule{Grant: Grant{Tool: "spawn", Allow: true, Pattern: `{"body":"ls \u002a.go","cwd":"*","mode":"command","target":"local"}`}}
	if _, ok := Judge([]Rule{star}, "spawn", command(t, "ls *.go")); !ok {
		t.Error("a command with a star can't be named")
	}
	if _, ok := Judge([]Rule{star}, "spawn", command(t, "ls ;rm x.go")); ok {
		t.Error("a star that was spelt out stands for anything")
	}
}

// TOOL-56, TOOL-57: a pattern outranks the whole tool, then a denial an allowance,
// then the narrower scope.
func TestJudge(t *testing.T) {
	rule := func(scope, pattern string, allow bool) Rule {
		return Rule{Grant: Grant{Tool: "edit", Pattern: pattern, Allow: allow}, Scope: scope}
	}
	for _, tt := range []struct {
		rules []Rule
		want  int // which of them; -1 is none
	}{
		{nil, -1},
		{[]Rule{{Grant: Grant{Tool: "write"}}}, -1},
		{[]Rule{rule("global", "", false), rule("global", "*a*", true)}, 1},
		{[]Rule{rule("process", "", true), rule("global", "", false)}, 1},
		{[]Rule{rule("global", "*", true), rule("project", "*a*", true)}, 1},
		{[]Rule{rule("process", "*", true), rule("global", "*a*", false)}, 1},
		{[]Rule{rule("process", "*zz*", true), rule("global", "", false)}, 1},
	} {
		got, ok := Judge(tt.rules, "edit", `{"path":"a"}`)
		if ok != (tt.want >= 0) || ok && got != tt.rules[tt.want] {
			t.Errorf("Judge(%v) = %v, %v, want number %d", tt.rules, got, ok, tt.want)
		}
	}
}
