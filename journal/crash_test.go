package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// A world is what a crash test knows about the outside: what was acknowledged,
// and what was ever asked for, in the order of the journal.
type world struct {
	disk  *journaltest.Disk
	acked []string // one per record, as text
	asked []string
	blobs []string // digests whose Put returned
	gaps  bool     // some that were asked for were refused and later ones not
}

func recordText(r journal.Record) string { return fmt.Sprintf("%s %s", r.Type, r.Data) }

// append asks for drafts and notes what is acknowledged.
func (x *world) append(w *journal.Writer, drafts ...journal.Draft) error {
	for _, d := range drafts {
		x.asked = append(x.asked, fmt.Sprintf("%s %s", d.Type, d.Data))
	}
	recs, err := w.Append(drafts...)
	for _, r := range recs {
		x.acked = append(x.acked, recordText(r))
	}
	return err
}

// A scenario is a run of a program that may be cut off by a crash anywhere.
type scenario struct {
	name string
	// before prepares the disk; nothing fails in it.
	before func(t *testing.T, x *world)
	run    func(x *world) error
}

func note(n int) journal.Draft {
	return draft("note.text", `{"n":%d,"text":%q}`, n, strings.Repeat("word ", 20+n*17%90))
}

func scenarios() []scenario {
	return []scenario{
		{"create", nil, create},
		{"append", minted, appendTwenty},
		{"blob", minted, storeBlobs},
		{"attach", minted, attachTwice},
		{"repair", tornTail, attachAndAppend},
		{"missing newline", missingNewline, attachAndAppend},
		{"disk full", minted, diskFull},
	}
}

func minted(t *testing.T, x *world) {
	w := mint(t, memOptions(x.disk), "/a1")
	if err := x.append(w, note(1), note(2)); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

func tornTail(t *testing.T, x *world) {
	minted(t, x)
	b := contents(t, x.disk, "/a1/events.jsonl")
	put(t, x.disk, "/a1/events.jsonl", append(b, b[len(b)-200:len(b)-40]...))
}

func missingNewline(t *testing.T, x *world) {
	minted(t, x)
	b := contents(t, x.disk, "/a1/events.jsonl")
	put(t, x.disk, "/a1/events.jsonl", b[:len(b)-1])
}

func create(x *world) error {
	w, err := journal.Create("/tmp1", memOptions(x.disk), draft("agent.created", `{}`))
	if err != nil {
		return err
	}
	return w.Publish("/a1")
}

func appendTwenty(x *world) error {
	w, err := x.open()
	if err != nil {
		return err
	}
	for i := range 20 {
		batch := []journal.Draft{note(10 * i)}
		if i%3 == 0 {
			batch = append(batch, note(10*i+1), note(10*i+2))
		}
		if err := x.append(w, batch...); err != nil {
			return err
		}
	}
	return w.Close()
}

func storeBlobs(x *world) error {
	w, err := x.open()
	if err != nil {
		return err
	}
	for _, text := range []string{"first", "second", "first"} {
		ref, err := journal.OpenBlobs("/a1", x.disk).Put([]byte(strings.Repeat(text, 300)), "text/plain")
		if err != nil {
			return err
		}
		x.blobs = append(x.blobs, ref.Digest)
		if err := x.append(w, draft("note.text", `{"blob":%q}`, ref.Digest)); err != nil {
			return err
		}
	}
	return nil
}

func attachTwice(x *world) error {
	for range 2 {
		w, err := x.open()
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

func attachAndAppend(x *world) error {
	w, err := x.open()
	if err != nil {
		return err
	}
	return x.append(w, note(7))
}

// diskFull hits a full disk in the middle, and goes on after making room.
func diskFull(x *world) error {
	w, err := x.open()
	if err != nil {
		return err
	}
	outer := x.disk.Fault
	full := on("write", journaltest.Outcome{Err: syscall.ENOSPC, Short: 700})
	x.disk.Fault = func(c journaltest.Call) journaltest.Outcome {
		if outer != nil {
			if o := outer(c); o.Crash {
				return o
			}
		}
		return full(c)
	}
	err = x.append(w, note(3), note(4))
	x.disk.Fault = outer
	if !errors.Is(err, journal.ErrDiskFull) {
		return err
	}
	x.gaps = true
	if err := w.Close(); err != nil {
		return err
	}
	if w, err = x.open(); err != nil {
		return err
	}
	return x.append(w, draft("agent.detached", `{"reason":"disk_full"}`))
}

// open attaches and counts the first batch as acknowledged.
func (x *world) open() (*journal.Writer, error) {
	x.asked = append(x.asked, "agent.attached {}")
	w, _, err := journal.Open("/a1", memOptions(x.disk), attachDrafts)
	if err == nil {
		x.acked = append(x.acked, "agent.attached {}")
	}
	return w, err
}

// JRN-2, JRN-45, JRN-67, JRN-85, JRN-97, JRN-98: crash at every call that
// changes the disk, look at the disks that may be left, attach to each, and
// crash again inside that.
func TestCrashEverywhere(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			calls := countCalls(t, sc)
			images := 0
			for n := 1; n <= calls+1; n++ {
				for _, short := range []int{0, 1, 700} {
					images += crashAt(t, sc, n, short)
				}
			}
			t.Logf("%d calls, %d disks", calls, images)
		})
	}
}

func newWorld(t *testing.T, sc scenario) *world {
	x := &world{disk: journaltest.New()}
	if sc.before != nil {
		sc.before(t, x)
	}
	return x
}

// countCalls runs a scenario to its end.
func countCalls(t *testing.T, sc scenario) int {
	x := newWorld(t, sc)
	before := x.disk.Calls()
	if err := sc.run(x); err != nil {
		t.Fatalf("%s without a crash = %v, want nil", sc.name, err)
	}
	return x.disk.Calls() - before
}

// crashAt runs a scenario into a crash at its n-th call, of which a write
// still writes short bytes, and returns how many disks it looked at.
func crashAt(t *testing.T, sc scenario, n, short int) int {
	x := newWorld(t, sc)
	last, op := x.disk.Calls()+n, ""
	x.disk.Fault = func(c journaltest.Call) journaltest.Outcome {
		if !c.Mutates || c.N < last {
			return journaltest.Outcome{}
		}
		op = c.Op + " " + c.Path
		return journaltest.Outcome{Crash: true, Short: short}
	}
	_ = sc.run(x) // the crash, or nothing if n is past the end
	if short > 0 && !strings.HasPrefix(op, "write") {
		return 0
	}
	images := 0
	for _, stale := range []bool{false, true} {
		samples := crashSamples()
		if stale {
			samples = max(2, samples/4)
		}
		opts := journaltest.CrashOptions{Seed: uint64(n), Samples: samples, All: samples, Stale: stale}
		for img := range x.disk.Crashes(opts) {
			images++
			c := survivor{t: t, world: x, img: img, stale: stale, where: fmt.Sprintf("%s: crash at call %d (%s)", sc.name, n, op)}
			c.examine(images%11 == 0)
		}
	}
	return images
}

func crashSamples() int {
	if os.Getenv("BASIS_TORTURE") != "" {
		return 2000
	}
	return 8
}

// survivor is a disk after a crash.
type survivor struct {
	t     *testing.T
	world *world
	img   *journaltest.Disk
	stale bool
	where string
}

// examine attaches and checks what was promised. twice crashes inside the
// attach as well.
func (c survivor) examine(twice bool) {
	if _, err := c.img.Stat("/a1"); err != nil {
		if len(c.world.acked) > 0 {
			c.t.Fatalf("%s: no journal, want %d acknowledged records", c.where, len(c.world.acked))
		}
		return
	}
	if twice {
		c.crashAgain()
	}
	w, rec, err := journal.Open("/a1", memOptions(c.img), attachDrafts)
	if err != nil {
		if _, damaged := errors.AsType[*journal.CorruptError](err); damaged && c.stale {
			c.nothingLost() // JRN-48: a person decides
			return
		}
		c.t.Fatalf("%s: Open = %v, want nil", c.where, err)
	}
	w.Close()
	if rec.Verdict == journal.Torn && len(rec.Torn) == 0 {
		c.t.Fatalf("%s: torn without a copy", c.where)
	}
	c.prefix()
	c.payloads()
	_, again, err := journal.Open("/a1", memOptions(c.img), nil)
	if err != nil || again.Verdict != journal.Clean || again.Head != w.Head() {
		c.t.Fatalf("%s: second Open = %s at %v, %v, want clean at %v", c.where, again.Verdict, again.Head, err, w.Head())
	}
}

// prefix checks that what the journal holds begins with what was acknowledged
// and is no more than what was asked for. Records of repairs, and of attaches
// that the test itself makes at the end, are not counted.
func (c survivor) prefix() {
	var got []string
	for r, err := range (journal.Dir{Path: "/a1", Disk: c.img}).Read(0) {
		if err != nil {
			c.t.Fatalf("%s: Read = %v, want nil", c.where, err)
		}
		if strings.HasPrefix(r.Type, "note.") || r.Type == "agent.detached" {
			got = append(got, recordText(r))
		}
	}
	acked, asked := notes(c.world.acked), notes(c.world.asked)
	if !within(acked, got) {
		c.t.Fatalf("%s: journal holds %q, want all of %q", c.where, got, acked)
	}
	// After a full disk something follows what was only half written.
	if !within(got, asked) || (!c.world.gaps && !slices.Equal(got, asked[:len(got)])) {
		c.t.Fatalf("%s: journal holds %q, want a prefix of %q", c.where, got, asked)
	}
}

// nothingLost checks that the bytes of a damaged journal still hold what was
// acknowledged.
func (c survivor) nothingLost() {
	b := contents(c.t, c.img, "/a1/events.jsonl")
	for _, text := range notes(c.world.acked) {
		_, data, _ := strings.Cut(text, " ")
		if !bytes.Contains(b, []byte(data)) {
			c.t.Fatalf("%s: damaged and without %s", c.where, text)
		}
	}
}

// within says whether the elements of part are in all, in their order.
func within(part, all []string) bool {
	for _, s := range all {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func notes(texts []string) []string {
	var out []string
	for _, s := range texts {
		if strings.HasPrefix(s, "note.") || strings.HasPrefix(s, "agent.detached") {
			out = append(out, s)
		}
	}
	return out
}

// payloads checks that no record names a payload that is gone.
func (c survivor) payloads() {
	for _, digest := range c.world.blobs {
		if _, err := journal.OpenBlobs("/a1", c.img).Get(digest); err != nil {
			c.t.Fatalf("%s: Get(%s) = %v, want the payload", c.where, digest, err)
		}
	}
}

// crashAgain attaches to a copy with a crash at each call of that, and
// examines some of the disks that are left.
func (c survivor) crashAgain() {
	for n := 1; ; n++ {
		second := c.img.Snapshot()
		last := second.Calls() + n
		crashed := false
		second.Fault = func(call journaltest.Call) journaltest.Outcome {
			crashed = crashed || (call.Mutates && call.N >= last)
			return journaltest.Outcome{Crash: crashed}
		}
		w, _, err := journal.Open("/a1", memOptions(second), attachDrafts)
		if err == nil {
			w.Close()
		}
		if !crashed {
			return
		}
		for img := range second.Crashes(journaltest.CrashOptions{Seed: uint64(n), Samples: 4, All: 4, Stale: c.stale}) {
			inner := c
			inner.img, inner.where = img, fmt.Sprintf("%s, then at call %d of the attach", c.where, n)
			inner.examine(false)
		}
	}
}
