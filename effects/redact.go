package effects

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
)

// Secret is a value to be hidden and the name to show instead of it.
type Secret struct {
	Name  string
	Value string `json:"-"`
}

// String hides the value, as does every other way to print a Secret.
func (s Secret) String() string { return "[redacted:" + s.Name + "]" }

// GoString hides the value.
func (s Secret) GoString() string { return s.String() }

// Redactor hides secrets in texts. The zero value hides nothing.
type Redactor struct {
	whole  *strings.Replacer
	values []Secret // by every spelling, the longest first
}

// NewRedactor puts the names of secrets in the place of their values, also where
// these stand in JSON or one line at a time. A value that begins with another one
// is looked for first, so that nothing of it is left.
func NewRedactor(secrets []Secret) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		for _, v := range spellings(s.Value) {
			if len(v) >= minSecret {
				r.values = append(r.values, Secret{Name: s.Name, Value: v})
			}
		}
	}
	slices.SortStableFunc(r.values, func(a, b Secret) int { return len(b.Value) - len(a.Value) })
	var pairs []string
	for _, s := range r.values {
		pairs = append(pairs, s.Value, s.String())
	}
	r.whole = strings.NewReplacer(pairs...)
	return r
}

// cutMarks are the words that stand where something was left out of a text.
// Whatever cuts before it is known what is secret marks its cuts by one of these.
func cutMarks() []string {
	return []string{"…", "\n[truncated: ", " left out here]\n", "\n[This document is "}
}

// Replace hides the secrets in a text, and what is left of one that was cut:
// its beginning before a mark of a cut, its end after one.
func (r *Redactor) Replace(s string) string {
	if len(r.values) == 0 {
		return s
	}
	s = r.whole.Replace(s)
	for _, mark := range cutMarks() {
		if !strings.Contains(s, mark) {
			continue
		}
		pieces := strings.Split(s, mark)
		for i := range pieces {
			if i > 0 {
				pieces[i] = r.afterCut(pieces[i])
			}
			if i < len(pieces)-1 {
				pieces[i] = r.beforeCut(pieces[i])
			}
		}
		s = strings.Join(pieces, mark)
	}
	return s
}

// minPart is the shortest part of a value that is hidden beside a cut.
const minPart = 4

// beforeCut hides the beginning of a value at the end of s.
func (r *Redactor) beforeCut(s string) string {
	name, most := "", minPart-1
	for _, v := range r.values {
		for n := min(len(v.Value)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, v.Value[:n]) {
				name, most = v.String(), n
			}
		}
	}
	if name == "" {
		return s
	}
	return s[:len(s)-most] + name
}

// afterCut hides the end of a value at the beginning of s.
func (r *Redactor) afterCut(s string) string {
	name, most := "", minPart-1
	for _, v := range r.values {
		for n := min(len(v.Value)-1, len(s)); n > most; n-- {
			if strings.HasPrefix(s, v.Value[len(v.Value)-n:]) {
				name, most = v.String(), n
			}
		}
	}
	if name == "" {
		return s
	}
	return name + s[most:]
}

// mask is what a performer keeps back. An opening may change it while a subagent
// that has ended is being reported on.
type mask struct{ now atomic.Pointer[masked] }

type masked struct {
	*Redactor
	sealed bool // the path of what is kept whole is not shown; so before the opening too
}

func (m *mask) set(r *Redactor, sealed bool) { m.now.Store(&masked{r, sealed}) }

// Replace hides the secrets in a text.
func (m *mask) Replace(s string) string { return m.now.Load().Replace(s) }

func (m *mask) sealed() bool { return m.now.Load().sealed }

// spellings are the forms in which a value can turn up: as it is, as a string of
// JSON has it, and a line of it, because progress comes by lines. A line that is
// only the frame of a key is no secret.
func spellings(value string) []string {
	all := []string{value}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= minLine && !strings.HasPrefix(l, "-----") {
				all = append(all, l)
			}
		}
	}
	for _, v := range slices.Clone(all) {
		for _, html := range []bool{true, false} {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(html)
			if e.Encode(v) == nil { // a string always encodes
				all = append(all, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), "\""), "\""))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// minLine is the shortest line of a longer secret that is hidden by itself.
const minLine = 16

// minSecret is the shortest value that is hidden: anything shorter would make
// nonsense of ordinary text.
const minSecret = 6
