package journal_test

import (
	"strings"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// cutIsKept checks that the bytes are in torn/, whole, if they are not in the
// journal any more.
func cutIsKept(t *testing.T, img *journaltest.Disk, n int) {
	t.Helper()
	if strings.Contains(string(contents(t, img, "/a1/events.jsonl")), "torn bytes") {
		return
	}
	copies, err := img.ReadDir("/a1/torn")
	if err != nil {
		t.Fatalf("crash at call %d: the bytes are cut and there is no copy: %v", n, err)
	}
	for _, c := range copies {
		if string(contents(t, img, "/a1/torn/"+c.Name())) == "torn bytes" {
			return
		}
	}
	t.Errorf("crash at call %d: the bytes are cut and no copy holds them", n)
}

// JRN-43, JRN-45: a copy of what was cut is named by the journal even if the
// attach that cut it died before it could say so.
func TestCutBytesAreNamedAfterACrashInTheRepair(t *testing.T) {
	for n := 1; ; n++ {
		d := journaltest.New()
		mint(t, memOptions(d), "/a1").Close()
		whole := contents(t, d, "/a1/events.jsonl")
		put(t, d, "/a1/events.jsonl", append(whole, "torn bytes"...))
		last, crashed := d.Calls()+n, false
		d.Fault = func(c journaltest.Call) journaltest.Outcome {
			crashed = crashed || (c.Mutates && c.N >= last)
			return journaltest.Outcome{Crash: crashed}
		}
		w, _, err := journal.Open("/a1", memOptions(d), attachDrafts)
		if err == nil {
			w.Close()
		}
		if !crashed {
			return
		}
		for img := range d.Crashes(journaltest.CrashOptions{}) {
			cutIsKept(t, img, n)
			w, _ := attach(t, memOptions(img), "/a1")
			w.Close()
			rep, err := journal.Dir{Path: "/a1", Disk: img}.Check(journal.CheckOptions{})
			if err != nil || rep.Err() != nil {
				t.Fatalf("crash at call %d: Check = %v, %v, want no finding", n, rep.Err(), err)
			}
			named := 0
			for _, line := range list(t, journal.Dir{Path: "/a1", Disk: img}, 0) {
				named += strings.Count(line, `"file":"torn/`)
			}
			// One of the bytes, and one of the first batch if that was torn too.
			if named != len(rep.Torn) || named < 1 || named > 2 {
				t.Fatalf("crash at call %d: %d copies, %d named, want the same, one or two", n, len(rep.Torn), named)
			}
		}
	}
}
