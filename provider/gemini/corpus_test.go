package gemini

import (
	"bytes"
	"path/filepath"
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
// PROV-26 PROV-27 PROV-29 PROV-31 PROV-32 PROV-39
func TestCorpus(t *testing.T) { wiretest.Corpus(t, Wire, vendor) }

func countOpaque(item reducer.Item, count map[string]int) {
	if n := bytes.Count(item.Extra, []byte(`"thoughtSignature":"`)); n > 0 {
		count["thoughtSignature"] += n
	}
}

// TestRecordings does the same with the streams of this repository, each one a
// trap of this wire.
func TestRecordings(t *testing.T) {
	wiretest.Recordings(t, filepath.Join("testdata", "streams"), vendor)
}
