package anthropic

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider/internal/wiretest"
	"github.com/basisagent/basis/reducer"
)

var vendor = wiretest.Vendor{
	Inspect: Inspect,
	Opaque:  countOpaque,
}

// TestCorpus reads recorded responses, each whole and cut in every way that a
// network cuts.
//
// PROV-26 PROV-27 PROV-29 PROV-30 PROV-31 PROV-32 PROV-39
func TestCorpus(t *testing.T) { wiretest.Corpus(t, Wire, vendor) }

func countOpaque(item reducer.Item, count map[string]int) {
	var extra struct {
		Type      string `json:"type"`
		Signature string `json:"signature"`
	}
	if item.Extra == nil || json.Unmarshal(item.Extra, &extra) != nil {
		return
	}
	switch {
	case extra.Signature != "":
		count["signature"]++
	case strings.HasSuffix(extra.Type, "_tool_result"):
		count["server_tool_result"]++
	case extra.Type == "redacted_thinking", extra.Type == "compaction", extra.Type == "fallback":
		count[extra.Type]++
	}
}

// TestRecordings does the same with the streams of this repository, each one a
// trap of this wire.
//
// PROV-26 PROV-27 PROV-29 PROV-30 PROV-31 PROV-32 PROV-39
func TestRecordings(t *testing.T) {
	wiretest.Recordings(t, filepath.Join("testdata", "streams"), vendor)
}
