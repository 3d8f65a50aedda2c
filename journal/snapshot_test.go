package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// JRN-59, JRN-62, JRN-63, JRN-65: from a snapshot at any record on, a reader sees what
// a reader from the start sees.
func TestSnapshotAtEverySeq(t *testing.T) {
	d := journaltest.New()
	dir := journal.Dir{Path: "/a1", Disk: d}
	w := mint(t, memOptions(d), "/a1")
	var snaps []journal.Snapshot
	for i := range 6 {
		recs, err := w.Append(note(i))
		if err != nil {
			t.Fatal(err)
		}
		snaps = append(snaps, w.Snapshot("fold 1", []byte(fmt.Sprint(recs[0].Seq))))
	}
	all := list(t, dir, 0)
	for _, s := range snaps {
		if err := dir.WriteSnapshot(s); err != nil {
			t.Fatalf("WriteSnapshot = %v, want nil", err)
		}
		got, err := dir.ReadSnapshot(w.ID(), "fold 1")
		if err != nil || string(got.State) != fmt.Sprint(s.Seq) || got.Head != s.Head {
			t.Fatalf("ReadSnapshot = %+v, %v, want %+v", got, err, s)
		}
		n := s.Seq
		for r, err := range dir.ReadSince(got) {
			if err != nil || !strings.HasPrefix(all[n], fmt.Sprint(r.Seq, " ")) {
				t.Fatalf("ReadSince(%d) = %d, %v, want %s", s.Seq, r.Seq, err, all[n])
			}
			n++
		}
		if int(n) != len(all) {
			t.Errorf("ReadSince(%d) ends at %d, want %d", s.Seq, n, len(all))
		}
	}
}

// JRN-3, JRN-49, JRN-63: a snapshot that does not fit is worth nothing; one
// that the journal contradicts is damage.
func TestSnapshotIsChecked(t *testing.T) {
	d := journaltest.New()
	dir := journal.Dir{Path: "/a1", Disk: d}
	w := mint(t, memOptions(d), "/a1")
	if _, err := dir.ReadSnapshot(w.ID(), "fold 1"); !errors.Is(err, journal.ErrNoSnapshot) {
		t.Errorf("ReadSnapshot(none) = %v, want ErrNoSnapshot", err)
	}
	s := w.Snapshot("fold 1", []byte(`{"a":1}`))
	if err := dir.WriteSnapshot(s); err != nil {
		t.Fatal(err)
	}
	for _, key := range [][2]string{{"other", "fold 1"}, {w.ID(), "fold 2"}} {
		if _, err := dir.ReadSnapshot(key[0], key[1]); !errors.Is(err, journal.ErrNoSnapshot) {
			t.Errorf("ReadSnapshot(%v) = %v, want ErrNoSnapshot", key, err)
		}
	}
	b := contents(t, d, "/a1/snapshot.json")
	for i := range b {
		flipped := bytes.Clone(b)
		flipped[i] ^= 1
		put(t, d, "/a1/snapshot.json", flipped)
		if _, err := dir.ReadSnapshot(w.ID(), "fold 1"); !errors.Is(err, journal.ErrNoSnapshot) && i < len(b)-1 {
			t.Fatalf("ReadSnapshot(byte %d flipped) = %v, want ErrNoSnapshot", i, err)
		}
	}
	put(t, d, "/a1/snapshot.json", b)
	whole := contents(t, d, "/a1/events.jsonl")
	put(t, d, "/a1/events.jsonl", whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1])
	if _, err := dir.ReadSnapshot(w.ID(), "fold 1"); !isRule(err, journal.RuleAnchor) {
		t.Errorf("ReadSnapshot after a cut = %v, want rule anchor", err)
	}
}

// JRN-85: the ballast can be kept, given up and restored.
func TestBallast(t *testing.T) {
	d := journaltest.New()
	b := journal.Ballast{Path: "/ballast", Disk: d}
	for range 2 {
		if err := b.Ensure(); err != nil {
			t.Fatalf("Ensure = %v, want nil", err)
		}
	}
	if got := contents(t, d, "/ballast"); len(got) != journal.BallastSize {
		t.Errorf("ballast has %d bytes, want %d", len(got), journal.BallastSize)
	}
	for _, want := range []bool{true, false} {
		if got, err := b.Release(); got != want || err != nil {
			t.Errorf("Release = %v, %v, want %v", got, err, want)
		}
	}
}

// damagedJournal has a flipped byte in record 2 of 5.
func damagedJournal(t *testing.T, d *journaltest.Disk, find string) []byte {
	w := mint(t, memOptions(d), "/a1")
	if _, err := w.Append(note(1), note(2)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b := contents(t, d, "/a1/events.jsonl")
	b[bytes.Index(b, []byte(find))+2] ^= 1
	put(t, d, "/a1/events.jsonl", b)
	return b
}

// JRN-47: a salvaged journal holds the good records, says what is missing, and
// goes on; the damaged one is left alone.
func TestSalvage(t *testing.T) {
	d := journaltest.New()
	b := damagedJournal(t, d, `{"prompt"`)
	o := memOptions(d)
	o.NewID = func() string { return strings.Repeat("9", 32) }
	w, err := journal.Salvage("/a1", "/a2.new", o)
	if err != nil {
		t.Fatalf("Salvage = %v, want nil", err)
	}
	if err := w.Publish("/a2"); err != nil {
		t.Fatal(err)
	}
	if recs, err := w.Append(draft("agent.attached", `{}`)); err != nil || recs[0].Gen != 2 {
		t.Errorf("Append = %v, %v, want the next generation", recs, err)
	}
	rep, err := journal.Dir{Path: "/a2", Disk: d}.Check(journal.CheckOptions{})
	if err != nil || rep.Err() != nil || rep.Records != 3 || rep.Journal != strings.Repeat("9", 32) || rep.Agent != "a1" {
		t.Errorf("Check = %+v, %v, want 3 good records of agent a1", rep, err)
	}
	if lines := list(t, journal.Dir{Path: "/a2", Disk: d}, 1); !strings.Contains(lines[0], `"rule":"proof"`) || !strings.Contains(lines[0], `"kept":3`) {
		t.Errorf("record 2 = %s, want journal.salvaged by proof with 3 kept records", lines[0])
	}
	if n := bytes.Count(contents(t, d, "/a2/salvaged.jsonl"), []byte{'\n'}); n != 3 {
		t.Errorf("side file has %d lines, want 3", n)
	}
	if !bytes.Equal(contents(t, d, "/a1/events.jsonl"), b) {
		t.Error("Salvage changed the damaged journal")
	}
	if _, err := journal.Salvage("/a2", "/a3.new", o); err == nil {
		t.Error("Salvage of a good journal = nil, want an error")
	}
}

// JRN-47: the loss of a damaged last commit can be accepted, nothing more.
func TestAcceptTailLoss(t *testing.T) {
	d := journaltest.New()
	damagedJournal(t, d, `{"n":2`)
	shown := uint64(0)
	w, err := journal.AcceptTailLoss("/a1", memOptions(d), func(r journal.Recovery) error {
		shown = r.Head.Seq
		return nil
	})
	if err != nil || shown != 4 {
		t.Fatalf("AcceptTailLoss = %v after %d, want nil after 4", err, shown)
	}
	w.Close()
	_, rec := attach(t, memOptions(d), "/a1")
	if lines := list(t, journal.Dir{Path: "/a1", Disk: d}, 4); rec.Verdict != journal.Clean || !strings.HasPrefix(lines[0], "5 journal.repaired g2") {
		t.Errorf("after the repair: %s, %q, want clean with journal.repaired", rec.Verdict, lines)
	}
	d = journaltest.New()
	damagedJournal(t, d, `{"prompt"`)
	if _, err := journal.AcceptTailLoss("/a1", memOptions(d), func(journal.Recovery) error { return nil }); !isRule(err, journal.RuleProof) {
		t.Errorf("AcceptTailLoss in the middle = %v, want refusal by proof", err)
	}
}
