package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// JRN-9: without options a journal has a random id and says where it was made.
func TestDefaultOptions(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range []string{"a1", "a2"} {
		w, err := Create(filepath.Join(t.TempDir(), name), Options{MinFree: -1, Program: "p"})
		if err != nil {
			t.Fatalf("Create = %v, want nil", err)
		}
		defer w.Close()
		ids[w.ID()] = isHex(w.ID(), 32)
		for r, err := range Read(w.Dir(), 0) {
			var c created
			if err != nil || json.Unmarshal(r.Data, &c) != nil || c.Journal != w.ID() || c.Chain != chainName || c.Program != "p" {
				t.Errorf("first record = %s, %v, want id, chain and program", r.Data, err)
			}
		}
		if s := w.Stats(); s.Commits != 1 || s.Records != 1 || s.Size != s.Written || s.Total < s.Last {
			t.Errorf("Stats() = %+v, want one commit of one record", s)
		}
	}
	if len(ids) != 2 {
		t.Errorf("ids = %v, want two different ones", ids)
	}
}

// JRN-90: at its limits a journal takes no more, and stays as it is.
func TestFullJournal(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a1"), Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := Draft{Type: "note.text", Data: []byte("{}")}
	was := w.chain.seq
	w.chain.seq = MaxRecords
	if _, err := w.Append(d); !errors.Is(err, ErrFull) || errors.Is(err, ErrFailed) {
		t.Errorf("Append beyond MaxRecords = %v, want ErrFull and no poison", err)
	}
	w.chain.seq = was
	size := w.size
	w.size = MaxBytes
	if _, err := w.Append(d); !errors.Is(err, ErrFull) {
		t.Errorf("Append beyond MaxBytes = %v, want ErrFull", err)
	}
	w.size = size
	if _, err := w.Append(d); err != nil {
		t.Errorf("Append within the limits = %v, want nil", err)
	}
}

// JRN-8: a journal of another format or chain is not continued, and the error
// names the program that wrote it.
func TestUnknownFormat(t *testing.T) {
	for _, data := range []string{`{"format":2,"chain":"sha256-128","program":"basis 9"}`, `{"format":1,"chain":"sha256","program":"basis 9"}`} {
		dir := t.TempDir()
		recs, c := []Record{}, chain{hash: true}
		line := appendRecord(nil, &recs, &c, Draft{Type: TypeCreated, Data: []byte(data), NextGen: true}, Options{}.withDefaults().Now())
		if err := os.WriteFile(filepath.Join(dir, JournalFile), line, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(dir, Options{MinFree: -1}, nil)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "basis 9") {
			t.Errorf("Open(%s) = %v, want ErrFormat naming the program", data, err)
		}
		rep, err := Check(dir)
		if err != nil || rep.Err() == nil || rep.Findings[0].Rule != RuleFirst {
			t.Errorf("Check(%s) = %v, %v, want a finding about the first record", data, rep.Err(), err)
		}
	}
}

// JRN-78: a follower that has read more than it remembers starts over when
// nothing it remembers is left, and comes out right.
func TestFollowerForgets(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, JournalFile)
	s := makeSample(5*recentHeads, 20, "")
	if err := os.WriteFile(name, s.bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	seen, rewound := uint64(0), []uint64{}
	for c, err := range Tail(t.Context(), dir, 0, TailOptions{}) {
		if err != nil {
			t.Fatalf("Tail = %v, want nil", err)
		}
		if c.Rewound {
			rewound = append(rewound, c.To.Seq)
			seen = c.To.Seq
			continue
		}
		if seen++; c.Record.Seq != seen {
			t.Fatalf("record %d, want %d", c.Record.Seq, seen)
		}
		if seen == 5*recentHeads && len(rewound) == 0 {
			if err := os.WriteFile(name, s.bytes[:s.lines[recentHeads]], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if seen == recentHeads && len(rewound) > 0 {
			break
		}
	}
	if len(rewound) != 1 || rewound[0] != 0 {
		t.Errorf("rewound to %v, want once, to the start", rewound)
	}
}

// JRN-11: a payload that is not UTF-8 is refused rather than repaired.
func TestInvalidUTF8IsRefused(t *testing.T) {
	d := Draft{Type: "note.text", Data: bytes.Join([][]byte{[]byte(`{"a":"`), {0xff}, []byte(`"}`)}, nil)}
	if reason := d.problem(); !strings.Contains(reason, "UTF-8") {
		t.Errorf("problem() = %q, want one about UTF-8", reason)
	}
}

// JRN-59: an audit finds a payload that is no compact JSON object, though its
// checksum and its links are right.
func TestCheckLooksIntoPayloads(t *testing.T) {
	dir := t.TempDir()
	recs, c := []Record{}, chain{hash: true}
	now := Options{}.withDefaults().Now()
	line := appendRecord(nil, &recs, &c, Draft{Type: TypeCreated, Data: []byte(`{"format":1,"chain":"sha256-128"}`), NextGen: true}, now)
	line = appendRecord(line, &recs, &c, Draft{Type: "note.text", Data: []byte(`{"a": 1}`)}, now)
	if err := os.WriteFile(filepath.Join(dir, JournalFile), line, 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := Check(dir)
	if err != nil || len(rep.Findings) != 1 || rep.Findings[0].Rule != RulePayload || rep.Findings[0].Seq != 2 {
		t.Errorf("Check = %v, %v, want one finding about the payload of record 2", rep.Findings, err)
	}
}
