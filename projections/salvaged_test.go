package projections_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// JRN-47: a salvaged journal can be folded, and its last event says what of
// the damaged one is missing.
func TestSalvagedJournalFolds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	o := journal.Options{MinFree: -1}
	drafts, err := projections.Drafts(
		reducer.AgentCreated{Kind: reducer.KindTask, ID: "a", Conversation: "a"},
		reducer.AgentAttached{Gen: 2, Rules: reducer.RulesVersion, Program: "p"},
	)
	if err != nil {
		t.Fatal(err)
	}
	w, err := journal.Create(dir, o, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(journal.Draft{Type: "note.text", Data: []byte(`{"n":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, journal.JournalFile)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte(`"rules":`))
	b[at+1] = 'R'
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	saved, err := journal.Salvage(dir, dir+".new", o)
	if err != nil {
		t.Fatalf("Salvage = %v, want nil", err)
	}
	defer saved.Close()
	var last reducer.Event
	for e, err := range projections.Entries(journal.Read(dir+".new", 0)) {
		if err != nil {
			t.Fatalf("Entries = %v, want every record decoded", err)
		}
		last = e.Event
	}
	s, ok := last.(reducer.JournalSalvaged)
	if !ok || s.Head.Seq != 2 || s.Rule != string(journal.RuleProof) || s.Kept != 1 || s.Length == 0 || s.From == "" {
		t.Errorf("last event = %+v, want journal.salvaged after record 2, by proof, with 1 record kept", last)
	}
}
