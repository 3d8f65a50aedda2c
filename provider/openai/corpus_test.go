package openai

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/basisagent/basis/provider/internal/wiretest"
	"github.com/basisagent/basis/reducer"
)

var vendor = wiretest.Vendor{
	Inspect: Inspect,
	Opaque:  countOpaque,
}

// TestCorpus reads recorded responses of many servers, each whole and cut in
// every way that a network cuts.
//
// PROV-26 PROV-27 PROV-28 PROV-29 PROV-31 PROV-32 PROV-39
func TestCorpus(t *testing.T) { wiretest.Corpus(t, "openai-chat", vendor) }

// TestRecordings does the same with the streams of this repository, each one a
// trap that some server has laid.
//
// PROV-26 PROV-27 PROV-28 PROV-29 PROV-31 PROV-32 PROV-39
func TestRecordings(t *testing.T) {
	wiretest.Recordings(t, filepath.Join("testdata", "streams"), vendor)
}

func countOpaque(item reducer.Item, count map[string]int) {
	if item.Extra == nil {
		return
	}
	var extra struct {
		Details []map[string]any `json:"reasoning_details"`
		Content struct {
			Google map[string]any `json:"google"`
		} `json:"extra_content"`
	}
	if json.Unmarshal(item.Extra, &extra) != nil {
		count["unreadable"]++
	}
	for _, d := range extra.Details {
		if d["signature"] != nil {
			count["reasoning_details.signature"]++
		}
		if d["type"] == "reasoning.encrypted" {
			count["reasoning_details.encrypted"]++
		}
	}
	if extra.Content.Google["thought_signature"] != nil {
		count["thought_signature"]++
	}
}
