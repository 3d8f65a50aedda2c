package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

func memOptions(d *journaltest.Disk) journal.Options {
	o := testOptions()
	o.Disk = d
	return o
}

// contents reads a file of a disk.
func contents(t testing.TB, d journal.Disk, name string) []byte {
	t.Helper()
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, st.Size())
	if n, _ := f.ReadAt(b, 0); n != len(b) {
		t.Fatalf("read %d of %d bytes of %s", n, len(b), name)
	}
	return b
}

// put writes a file of a disk, replacing what is there in place.
func put(t testing.TB, d journal.Disk, name string, b []byte) {
	t.Helper()
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Truncate(int64(len(b))), second(f.WriteAt(b, 0)), f.Sync()); err != nil {
		t.Fatal(err)
	}
}

func second(_ int, err error) error { return err }

// on returns a Fault that acts on the first call of one kind.
func on(op string, o journaltest.Outcome) func(journaltest.Call) journaltest.Outcome {
	done := false
	return func(c journaltest.Call) journaltest.Outcome {
		if done || c.Op != op || !strings.HasSuffix(c.Path, journal.JournalFile) {
			return journaltest.Outcome{}
		}
		done = true
		return o
	}
}

// JRN-32, JRN-33: every failure poisons, for good, and says why.
func TestAppendFailurePoisons(t *testing.T) {
	tests := []struct {
		name  string
		op    string
		fault journaltest.Outcome
		want  error
	}{
		{"write fails", "write", journaltest.Outcome{Err: syscall.EIO}, syscall.EIO},
		{"short write", "write", journaltest.Outcome{Err: syscall.EINTR, Short: 17}, syscall.EINTR},
		{"disk full", "write", journaltest.Outcome{Err: syscall.ENOSPC, Short: 40}, journal.ErrDiskFull},
		{"sync fails", "sync", journaltest.Outcome{Err: syscall.EIO, Drop: true}, syscall.EIO},
		{"stat fails", "fstat", journaltest.Outcome{Err: syscall.EIO}, syscall.EIO},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := journaltest.New()
			w := mint(t, memOptions(d), "/a1")
			head := w.Head()
			d.Fault = on(tt.op, tt.fault)
			_, err := w.Append(draft("note.text", `{"n":1}`))
			if !errors.Is(err, tt.want) || !errors.Is(err, journal.ErrFailed) {
				t.Fatalf("Append = %v, want %v and ErrFailed", err, tt.want)
			}
			calls := d.Calls()
			if _, again := w.Append(draft("note.text", `{"n":2}`)); !errors.Is(again, journal.ErrFailed) || !errors.Is(again, tt.want) {
				t.Errorf("second Append = %v, want the first failure", again)
			}
			if d.Calls() != calls || w.Head() != head {
				t.Errorf("a poisoned writer made %d calls and moved to %v, want none and %v", d.Calls()-calls, w.Head(), head)
			}
			if err := w.Close(); err != nil {
				t.Fatalf("Close = %v, want nil", err)
			}
			w2, rec := attach(t, memOptions(d), "/a1")
			if rec.Head.Seq < head.Seq || rec.Verdict == journal.Damaged || w2.Head().Seq <= rec.Head.Seq {
				t.Errorf("Open after the failure = %s at %d, want all acknowledged records", rec.Verdict, rec.Head.Seq)
			}
		})
	}
}

// JRN-44: after a failed sync the system shows bytes that the disk has not.
// Opening again makes all of the last commit certain before anything follows.
func TestOpenRearmsTheLastCommit(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	d.Fault = on("sync", journaltest.Outcome{Err: syscall.EIO, Drop: true})
	long := draft("note.text", `{"text":%q}`, strings.Repeat("x", 2000))
	if _, err := w.Append(long, long); err == nil {
		t.Fatal("Append = nil, want the failed sync")
	}
	w.Close()
	_, rec := attach(t, memOptions(d), "/a1")
	if rec.Head.Seq != 5 {
		t.Fatalf("Open sees %d records, want the 5 that the system shows", rec.Head.Seq)
	}
	for img := range d.Crashes(journaltest.CrashOptions{}) {
		rep, err := journal.Dir{Path: "/a1", Disk: img}.Check(journal.CheckOptions{})
		if err != nil || rep.Err() != nil || rep.Records != 6 {
			t.Fatalf("after the power cut: %d records, %v, %v, want 6", rep.Records, rep.Err(), err)
		}
	}
}

// JRN-31, JRN-103: a second writer without a lock poisons the first.
func TestAppendIsFenced(t *testing.T) {
	tests := []struct {
		name string
		harm func(*testing.T, *journaltest.Disk)
	}{
		{"grown", func(t *testing.T, d *journaltest.Disk) {
			put(t, d, "/a1/events.jsonl", append(contents(t, d, "/a1/events.jsonl"), "x\n"...))
		}},
		{"cut", func(t *testing.T, d *journaltest.Disk) {
			b := contents(t, d, "/a1/events.jsonl")
			put(t, d, "/a1/events.jsonl", b[:len(b)-1])
		}},
		{"replaced", func(t *testing.T, d *journaltest.Disk) {
			put(t, d, "/copy", contents(t, d, "/a1/events.jsonl"))
			if err := d.Rename("/copy", "/a1/events.jsonl"); err != nil {
				t.Fatal(err)
			}
		}},
		{"removed", func(t *testing.T, d *journaltest.Disk) {
			if err := d.Remove("/a1/events.jsonl"); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := journaltest.New()
			w := mint(t, memOptions(d), "/a1")
			tt.harm(t, d)
			_, err := w.Append(draft("note.text", `{}`))
			if !errors.Is(err, journal.ErrFenced) || !errors.Is(err, journal.ErrFailed) {
				t.Errorf("Append = %v, want ErrFenced and ErrFailed", err)
			}
		})
	}
}

// JRN-103: two writers whose lock was lost never merge: one is poisoned, and
// the file is good.
func TestTwoWritersWithoutLock(t *testing.T) {
	d := journaltest.New()
	first := mint(t, memOptions(d), "/a1")
	if err := d.Remove("/a1/attach.lock"); err != nil {
		t.Fatal(err)
	}
	second, _ := attach(t, memOptions(d), "/a1")
	if _, err := first.Append(draft("note.text", `{"by":1}`)); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("Append of the first writer = %v, want ErrFenced", err)
	}
	if _, err := second.Append(draft("note.text", `{"by":2}`)); err != nil {
		t.Errorf("Append of the second writer = %v, want nil", err)
	}
	rep, err := journal.Dir{Path: "/a1", Disk: d}.Check(journal.CheckOptions{})
	if err != nil || rep.Err() != nil {
		t.Errorf("Check = %v, %v, want no finding", rep.Err(), err)
	}
}

// JRN-7, JRN-46: damage is refused with the place and the rule, nothing changes, and
// readers get the good prefix.
func TestDamageIsRefused(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	if _, err := w.Append(draft("note.text", `{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b := contents(t, d, "/a1/events.jsonl")
	i := bytes.Index(b, []byte(`"hi"`))
	b[i+1] = 'H'
	put(t, d, "/a1/events.jsonl", b)
	_, _, err := journal.Open("/a1", memOptions(d), attachDrafts)
	bad, ok := errors.AsType[*journal.CorruptError](err)
	if !ok || bad.Seq != 2 || bad.Rule != journal.RuleProof || bad.Offset+bad.Length != int64(len(b)) {
		t.Errorf("Open = %v, want a *CorruptError at line 2 by proof", err)
	}
	if got := contents(t, d, "/a1/events.jsonl"); !bytes.Equal(got, b) {
		t.Error("Open changed a damaged journal")
	}
	n := 0
	for _, err := range (journal.Dir{Path: "/a1", Disk: d}).Read(0) {
		if err == nil {
			n++
			continue
		}
		if _, ok := errors.AsType[*journal.CorruptError](err); !ok || n != 1 {
			t.Errorf("Read = %v after %d records, want a *CorruptError after 1", err, n)
		}
	}
}

// JRN-49, JRN-59: a clean cut of whole records is caught by anchors only.
func TestAnchors(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	head := w.Head()
	w.Close()
	b := contents(t, d, "/a1/events.jsonl")
	put(t, d, "/a1/events.jsonl", b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1])
	dir := journal.Dir{Path: "/a1", Disk: d}
	if rep, err := dir.Check(journal.CheckOptions{}); err != nil || rep.Err() != nil {
		t.Errorf("Check without anchor = %v, %v, want no finding", rep.Err(), err)
	}
	for _, a := range []journal.Anchor{head, {Seq: 1, Link: strings.Repeat("0", 32)}} {
		rep, err := dir.Check(journal.CheckOptions{Anchors: []journal.Anchor{a}})
		if bad, ok := errors.AsType[*journal.CorruptError](rep.Err()); err != nil || !ok || bad.Rule != journal.RuleAnchor {
			t.Errorf("Check(%v) = %v, %v, want rule anchor", a, rep.Err(), err)
		}
		o := memOptions(d)
		o.Anchors = []journal.Anchor{a}
		_, _, err = journal.Open("/a1", o, attachDrafts)
		if bad, ok := errors.AsType[*journal.CorruptError](err); !ok || bad.Rule != journal.RuleAnchor {
			t.Errorf("Open(%v) = %v, want rule anchor", a, err)
		}
	}
}

// JRN-50: the callback sees the records before it decides, and its error
// leaves the file as it was, torn tail and all.
func TestOpenCallback(t *testing.T) {
	d := journaltest.New()
	mint(t, memOptions(d), "/a1").Close()
	torn := append(contents(t, d, "/a1/events.jsonl"), "torn"...)
	put(t, d, "/a1/events.jsonl", torn)
	refusal := errors.New("unknown type")
	var seen []string
	_, _, err := journal.Open("/a1", memOptions(d), func(rec journal.Recovery) ([]journal.Draft, error) {
		for r, err := range rec.Records() {
			if err != nil {
				t.Errorf("Records = %v, want nil", err)
			}
			seen = append(seen, fmt.Sprint(r.Seq, " ", r.Type, " ", r.Link() != r.Prev()))
		}
		return nil, refusal
	})
	if !errors.Is(err, refusal) || !bytes.Equal(contents(t, d, "/a1/events.jsonl"), torn) {
		t.Errorf("Open = %v, want the callback's error and an untouched file", err)
	}
	if want := "1 journal.created true,2 agent.created true,3 agent.attached true"; strings.Join(seen, ",") != want {
		t.Errorf("the callback saw %q, want %q", seen, want)
	}
	w, _, err := journal.Open("/a1", memOptions(d), nil)
	if err != nil {
		t.Fatalf("Open without drafts = %v, want nil", err)
	}
	defer w.Close()
	if w.Gen() != 2 {
		t.Errorf("Gen() = %d before the first Append, want 2", w.Gen())
	}
	if recs, err := w.Append(draft("a.b", `{}`), draft("a.b", `{}`)); err != nil || recs[0].Gen != 3 || recs[1].Gen != 3 {
		t.Errorf("Append = %v, %v, want generation 3", recs, err)
	}
}

// JRN-90, JRN-10, JRN-12, JRN-17: a bad draft is refused, writes nothing and harms nothing.
func TestBadDrafts(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	calls := d.Calls()
	for _, bad := range []journal.Draft{
		{Type: "note", Data: []byte(`{}`)},
		{Type: "journal.repaired", Data: []byte(`{}`)},
		{Type: "note.text", Data: []byte(`{"a": 1}`)},
		{Type: "note.text", Data: []byte("{\"a\":\"\n\"}")},
		{Type: "note.text"},
		{Type: "note.text", Data: []byte(`{"text":"` + strings.Repeat("x", journal.MaxRecord) + `"}`)},
	} {
		_, err := w.Append(draft("note.text", `{}`), bad)
		if e, ok := errors.AsType[*journal.DraftError](err); !ok || e.Index != 1 {
			t.Errorf("Append(%s) = %v, want a *DraftError about draft 1", bad.Type, err)
		}
		if strings.Contains(err.Error(), `"a"`) {
			t.Errorf("Append = %v, want no payload in the error", err)
		}
	}
	if d.Calls() != calls {
		t.Errorf("bad drafts made %d calls, want 0", d.Calls()-calls)
	}
	if _, err := w.Append(draft("note.text", `{}`)); err != nil {
		t.Errorf("Append after bad drafts = %v, want nil", err)
	}
}

// JRN-87: time never goes backwards, whatever the clock does.
func TestClockGoesBack(t *testing.T) {
	d := journaltest.New()
	o := memOptions(d)
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	clock := start
	o.Now = func() time.Time { return clock }
	w := mint(t, o, "/a1")
	for _, now := range []time.Time{start.Add(-time.Hour), start, start.AddDate(9000, 0, 0), {}} {
		clock = now
		recs, err := w.Append(draft("note.text", `{}`))
		if err != nil || recs[0].Time.Before(start) {
			t.Errorf("Append at %v = %v, %v, want no earlier time than before", now, recs, err)
		}
	}
	if rep, err := (journal.Dir{Path: "/a1", Disk: d}).Check(journal.CheckOptions{}); err != nil || rep.Err() != nil {
		t.Errorf("Check = %v, %v, want no finding", rep.Err(), err)
	}
}

// FR-050: long lines broke readers or grew them without limit.
func TestFR050TwentyMegabyteRecordReadsBack(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	text := strings.Repeat("0123456789", 2<<20)
	if _, err := w.Append(draft("note.text", `{"text":%q}`, text), draft("note.text", `{}`)); err != nil {
		t.Fatalf("Append(20 MB) = %v, want nil", err)
	}
	w.Close()
	n := 0
	for r, err := range (journal.Dir{Path: "/a1", Disk: d}).Read(3) {
		if err != nil || (r.Seq == 4 && len(r.Data) != len(text)+len(`{"text":""}`)) {
			t.Fatalf("Read = %d bytes, %v, want the record whole", len(r.Data), err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("Read yields %d records, want 2", n)
	}
	attach(t, memOptions(d), "/a1")
}

// JRN-55, JRN-86: a network file system or a nearly full disk is refused.
func TestOpenRefusesTheDisk(t *testing.T) {
	d := journaltest.New()
	mint(t, memOptions(d), "/a1").Close()
	o := memOptions(d)
	d.Remote = true
	if _, _, err := journal.Open("/a1", o, attachDrafts); !errors.Is(err, journal.ErrNetworkFS) {
		t.Errorf("Open on a network file system = %v, want ErrNetworkFS", err)
	}
	if n := len(list(t, journal.Dir{Path: "/a1", Disk: d}, 0)); n != 3 {
		t.Errorf("Read on a network file system = %d records, want 3", n)
	}
	o.AllowNetworkFS = true
	w, _ := attach(t, o, "/a1")
	w.Close()
	o.MinFree, d.FreeBytes = 0, journal.DefaultMinFree-1
	if _, _, err := journal.Open("/a1", o, attachDrafts); !errors.Is(err, journal.ErrDiskFull) {
		t.Errorf("Open with little room = %v, want ErrDiskFull", err)
	}
	if _, err := journal.Create("/a2", o); !errors.Is(err, journal.ErrDiskFull) {
		t.Errorf("Create with little room = %v, want ErrDiskFull", err)
	}
}

func TestUseAfterClose(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Errorf("Close twice = %v, want nil", err)
	}
	if _, err := w.Append(draft("note.text", `{}`)); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Append after Close = %v, want ErrClosed", err)
	}
	if err := w.Publish("/a2"); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Publish after Close = %v, want ErrClosed", err)
	}
}
