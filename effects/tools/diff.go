package tools

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/basisagent/basis/effects/tools/fence"
)

// maxDiff is how long a file may be, before or after, for its change to be
// shown by line, in bytes.
const maxDiff = 1 << 20

// Diff shows by line how a call would change its file as it is now; "" where that
// can't be told.
func (c changer) Diff(in json.RawMessage) string {
	a, err := c.decode(in)
	if err != nil {
		return ""
	}
	p, err := c.fence.Resolve(a.text("path", ""), fence.Write)
	if err != nil {
		return ""
	}
	before, after, err := c.outcome(a, p)
	if err != nil || len(before) > maxDiff || len(after) > maxDiff {
		return ""
	}
	diff := udiff.Unified("a", "b", strings.ToValidUTF8(before, "\uFFFD"), strings.ToValidUTF8(after, "\uFFFD"))
	for range 2 { // the names of the files are said elsewhere
		_, diff, _ = strings.Cut(diff, "\n")
	}
	return diff
}
