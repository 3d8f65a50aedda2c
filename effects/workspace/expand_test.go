package workspace

import (
	"strings"
	"testing"
)

// CORE-31: one pass, a bare dollar is itself, a default stands for unset and
// for empty, and an error names the variable and nothing of the text.
func TestExpand(t *testing.T) {
	vars := map[string]string{"T": "", "HOST": "box", "LOOP": "${HOST}", "SPACED": "s"}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	for _, tt := range []struct{ in, want, err string }{
		{"", "", ""},
		{"plain", "plain", ""},
		{"$HOME/x $$ $", "$HOME/x $$ $", ""},
		{"Bearer ${T:-none}", "Bearer none", ""},
		{"[${T}]", "[]", ""},
		{"${HOST}:${HOST}", "box:box", ""},
		{"${ HOST }", "box", ""},
		{"${LOOP}", "${HOST}", ""},
		{"${NOPE:-a${b}", "a${b", ""},
		{"${HOST:-x}", "box", ""},
		{"${NOPE:-}", "", ""},
		{"sekret ${NOPE}", "", "NOPE"},
		{"sekret ${}", "", "names no variable"},
		{"sekret ${HOST", "", "not closed"},
	} {
		got, err := Expand(tt.in, lookup)
		if got != tt.want || (err != nil) != (tt.err != "") {
			t.Errorf("Expand(%q) = %q, %v, want %q, error %q", tt.in, got, err, tt.want, tt.err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "sekret")) {
			t.Errorf("Expand(%q): error %q, want it to name %q and nothing of the text", tt.in, err, tt.err)
		}
	}
}
