package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// view is what a consumer of changes knows.
type view struct {
	lines   []string
	rewinds int
	err     error
}

func (v *view) take(c journal.Change, err error) {
	switch {
	case err != nil:
		v.err = err
	case c.Rewound:
		v.rewinds++
		v.lines = v.lines[:c.To.Seq]
	case c.Record.Seq != uint64(len(v.lines))+1:
		v.err = fmt.Errorf("record %d after %d", c.Record.Seq, len(v.lines))
	default:
		v.lines = append(v.lines, fmt.Sprint(c.Record.Seq, " ", c.Record.Type, " ", string(c.Record.Data)))
	}
}

// JRN-76, JRN-77, JRN-78, JRN-81, JRN-104: a follower beside a writer that
// crashes, is cut, repaired and replaced sees the final journal once, in order.
func TestTailModel(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) { tailRun(t, seed) })
	}
}

func tailRun(t *testing.T, seed uint64) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	ctx, cancel := context.WithCancel(t.Context())
	var v view
	var work sync.WaitGroup
	dir := journal.Dir{Path: "/a1", Disk: d}
	work.Go(func() {
		for c, err := range dir.Tail(ctx, 0, journal.TailOptions{}) {
			v.take(c, err)
		}
	})
	rng := rand.New(rand.NewPCG(seed, 1))
	n := 0
	for range 60 {
		time.Sleep(time.Duration(rng.IntN(80)) * time.Millisecond)
		switch rng.IntN(8) {
		case 0:
			w = crashAndAttach(t, d, w, rng)
		case 1:
			replaceFile(t, d, w)
			w, _ = attach(t, memOptions(d), "/a1")
		default:
			n++
			if _, err := w.Append(note(2*n), note(2*n+1)); err != nil {
				t.Fatalf("seed %d: Append = %v, want nil", seed, err)
			}
		}
	}
	time.Sleep(time.Second)
	cancel()
	work.Wait()
	var want view
	for r, err := range dir.Read(0) {
		want.take(journal.Change{Record: r}, err)
	}
	if v.err != nil || want.err != nil || strings.Join(v.lines, "\n") != strings.Join(want.lines, "\n") {
		t.Errorf("seed %d: follower = %d lines, %v after %d rewinds, want %d lines of the journal, %v",
			seed, len(v.lines), v.err, v.rewinds, len(want.lines), want.err)
	}
	w.Close()
}

// crashAndAttach takes the last record, which counts as not acknowledged,
// partly away, lets followers look at it, and attaches again.
func crashAndAttach(t *testing.T, d *journaltest.Disk, w *journal.Writer, rng *rand.Rand) *journal.Writer {
	w.Close()
	b := contents(t, d, "/a1/events.jsonl")
	start := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
	put(t, d, "/a1/events.jsonl", b[:start+rng.IntN(len(b)-start)])
	time.Sleep(time.Duration(rng.IntN(3)) * 100 * time.Millisecond)
	w, _ = attach(t, memOptions(d), "/a1")
	return w
}

// replaceFile puts a copy in the journal's place.
func replaceFile(t *testing.T, d *journaltest.Disk, w *journal.Writer) {
	w.Close()
	put(t, d, "/a1/copy", contents(t, d, "/a1/events.jsonl"))
	if err := d.Rename("/a1/copy", "/a1/events.jsonl"); err != nil {
		t.Fatal(err)
	}
}

// JRN-77: damage with more behind it is reported after two seconds; an
// unfinished last line never is.
func TestTailReportsDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		mint(t, memOptions(d), "/a1").Close()
		good := contents(t, d, "/a1/events.jsonl")
		put(t, d, "/a1/events.jsonl", append(bytes.Clone(good), `{"seq":4,"ty`...))
		var v view
		var polling error
		began := time.Now()
		var damage sync.WaitGroup
		damage.Go(func() {
			time.Sleep(time.Minute)
			put(t, d, "/a1/events.jsonl", append(bytes.Clone(good), "bad line\nand more"...))
		})
		o := journal.TailOptions{Polling: func(err error) { polling = err }}
		for c, err := range (journal.Dir{Path: "/a1", Disk: d}).Tail(t.Context(), 0, o) {
			v.take(c, err)
		}
		damage.Wait()
		bad, ok := errors.AsType[*journal.CorruptError](v.err)
		if took := time.Since(began); !ok || bad.Seq != 4 || len(v.lines) != 3 || took < time.Minute+2*time.Second {
			t.Errorf("Tail = %d lines, %v after %v, want damage at line 4 two seconds after it happened", len(v.lines), v.err, took)
		}
		if polling == nil {
			t.Error("Polling was not called on a disk without notifications")
		}
	})
}

// JRN-80: a follower may start at any number.
func TestTailFromTheMiddle(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	if _, err := w.Append(note(1), note(2)); err != nil {
		t.Fatal(err)
	}
	for c, err := range (journal.Dir{Path: "/a1", Disk: d}).Tail(t.Context(), 4, journal.TailOptions{}) {
		if err != nil || c.Record.Seq != 5 {
			t.Errorf("first change = %v, %v, want record 5", c.Record.Seq, err)
		}
		break
	}
}

func TestTailMissingAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		dir := journal.Dir{Path: "/a1", Disk: d}
		for _, err := range dir.Tail(t.Context(), 0, journal.TailOptions{}) {
			if !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("Tail(missing) = %v, want ErrNotFound", err)
			}
		}
		mint(t, memOptions(d), "/a1").Close()
		n := 0
		for c, err := range dir.Tail(t.Context(), 0, journal.TailOptions{}) {
			if err == nil {
				if n++; c.Record.Seq == 3 {
					_ = d.Remove("/a1/events.jsonl")
				}
				continue
			}
			if !errors.Is(err, journal.ErrNotFound) || n != 3 {
				t.Errorf("Tail = %v after %d records, want ErrNotFound after 3", err, n)
			}
		}
	})
}

// JRN-75, JRN-76: on the real disk a shared notifier wakes followers, also of
// a file that was replaced. The tick is off, so that only hints can do it.
func TestTailNotified(t *testing.T) {
	n, err := journal.NewNotifier()
	if err != nil {
		t.Logf("no notifications here, nothing to test: %v", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "a1")
	w := mint(t, testOptions(), dir)
	o := journal.TailOptions{Notifier: n, Tick: time.Hour}
	seen := 0
	for c, err := range journal.Tail(t.Context(), dir, 0, o) {
		if err != nil {
			t.Fatalf("Tail = %v, want nil", err)
		}
		seen++
		if c.Record.Seq == 10 {
			break
		}
		if c.Record.Seq == 7 {
			w.Close()
			swapFile(t, filepath.Join(dir, journal.JournalFile))
			w, _ = attach(t, testOptions(), dir)
		} else if c.Record.Seq >= 3 {
			if _, err := w.Append(note(int(c.Record.Seq))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen != 10 {
		t.Errorf("Tail yields %d changes, want 10", seen)
	}
	if err := n.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}

// swapFile replaces a file by a copy of itself.
func swapFile(t *testing.T, name string) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(name+".new", b, 0o600), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
}

// JRN-40: a reader can make durable what it has read before it acts on it.
func TestReaderSync(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	d.Fault = on("sync", journaltest.Outcome{Err: errors.New("crash of the writer")})
	if _, err := w.Append(note(1)); err == nil {
		t.Fatal("Append = nil, want the failed sync")
	}
	dir := journal.Dir{Path: "/a1", Disk: d}
	if err := dir.Sync(); err != nil {
		t.Fatalf("Sync = %v, want nil", err)
	}
	for img := range d.Crashes(journaltest.CrashOptions{}) {
		if got := list(t, journal.Dir{Path: "/a1", Disk: img}, 3); len(got) != 1 {
			t.Errorf("after the power cut: %q, want the record that was synced", got)
		}
	}
	if err := (journal.Dir{Path: "/none", Disk: d}).Sync(); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Sync(missing) = %v, want ErrNotFound", err)
	}
}
