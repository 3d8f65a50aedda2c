package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// testOptions are options under which a journal's bytes are the same on every
// machine: the clock advances by one millisecond a call.
func testOptions() journal.Options {
	now := time.Date(2026, 1, 31, 9, 15, 2, 0, time.UTC)
	return journal.Options{
		Now: func() time.Time {
			now = now.Add(time.Millisecond)
			return now
		},
		NewID:   func() string { return "00112233445566778899aabbccddeeff" },
		Program: "basis test", Agent: "a1", Host: "host", Boot: "boot",
		LockWait: -1,
		MinFree:  -1,
	}
}

func draft(kind, format string, args ...any) journal.Draft {
	return journal.Draft{Type: kind, Data: fmt.Appendf(nil, format, args...)}
}

// mint makes a published journal with three records and leaves it attached.
func mint(t testing.TB, o journal.Options, dir string) *journal.Writer {
	t.Helper()
	attached := draft("agent.attached", `{"gen":2}`)
	attached.NextGen = true
	w, err := journal.Create(dir+".new", o, draft("agent.created", `{"prompt":"hi"}`), attached)
	if err != nil {
		t.Fatalf("Create = %v, want nil", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if err := w.Publish(dir); err != nil {
		t.Fatalf("Publish = %v, want nil", err)
	}
	return w
}

// attach opens a journal with one draft, or fails the test.
func attach(t testing.TB, o journal.Options, dir string) (*journal.Writer, journal.Recovery) {
	t.Helper()
	w, rec, err := journal.Open(dir, o, attachDrafts)
	if err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, rec
}

func attachDrafts(journal.Recovery) ([]journal.Draft, error) {
	return []journal.Draft{draft("agent.attached", `{}`)}, nil
}

// list renders the records after a number, one per line.
func list(t testing.TB, d journal.Dir, after uint64) []string {
	t.Helper()
	var out []string
	for r, err := range d.Read(after) {
		if err != nil {
			t.Fatalf("Read(%d) = %v after %q, want nil", after, err, out)
		}
		out = append(out, fmt.Sprintf("%d %s g%d p%d %s", r.Seq, r.Type, r.Gen, r.Pos, r.Data))
	}
	return out
}

func TestCreateAppendOpenRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	w := mint(t, testOptions(), dir)
	recs, err := w.Append(draft("turn.started", `{"turn":"t1"}`), draft("note.text", `{"text":"é\n"}`))
	if err != nil {
		t.Fatalf("Append = %v, want nil", err)
	}
	if got := w.Head(); got != recs[1].Head() || got.Seq != 5 {
		t.Errorf("Head() = %v, want %v", got, recs[1].Head())
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close = %v, want nil", err)
	}
	w2, rec := attach(t, testOptions(), dir)
	if rec.Verdict != journal.Clean || rec.Head != recs[1].Head() || rec.Gen != 2 {
		t.Errorf("Recovery = %+v, want clean at %v, gen 2", rec, recs[1].Head())
	}
	if w2.Gen() != 3 {
		t.Errorf("Gen() = %d, want 3", w2.Gen())
	}
	got := list(t, journal.Dir{Path: dir}, 1)
	want := []string{
		`2 agent.created g1 p1 {"prompt":"hi"}`,
		`3 agent.attached g2 p2 {"gen":2}`,
		`4 turn.started g2 p0 {"turn":"t1"}`,
		`5 note.text g2 p1 {"text":"é\n"}`,
		`6 agent.attached g3 p0 {}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Read(1) = %q, want %q", got, want)
	}
}

// FR-001: an unterminated last record swallowed the next append.
func TestFR001UnterminatedTailIsRepairedBeforeTheNextAppend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	w := mint(t, testOptions(), dir)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, journal.JournalFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(slices.Clip(whole), `{"type":"mess`...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, rec := attach(t, testOptions(), dir)
	if rec.Verdict != journal.Torn || len(rec.Torn) != 1 {
		t.Fatalf("Recovery = %+v, want torn with one copy", rec)
	}
	// JRN-43
	kept, err := os.ReadFile(filepath.Join(dir, rec.Torn[0]))
	if err != nil || string(kept) != `{"type":"mess` {
		t.Errorf("kept copy = %q, %v, want the torn bytes", kept, err)
	}
	got := list(t, journal.Dir{Path: dir}, 3)
	if len(got) != 2 || !strings.HasPrefix(got[0], "4 journal.repaired g2 p0") || !strings.HasPrefix(got[1], "5 agent.attached g3 p1") {
		t.Errorf("records after the repair = %q, want journal.repaired of gen 2, then agent.attached of gen 3", got)
	}
}

func TestOpenMissing(t *testing.T) {
	_, _, err := journal.Open(filepath.Join(t.TempDir(), "none"), testOptions(), nil)
	if !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("Open(missing) = %v, want ErrNotFound", err)
	}
	for _, err := range journal.Read(t.TempDir(), 0) {
		if !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("Read(missing) = %v, want ErrNotFound", err)
		}
	}
}

// JRN-29, JRN-30: a commit is one write and one sync, and the file holds the
// lines and nothing else.
func TestCommitIsOneWriteAndOneSync(t *testing.T) {
	d := journaltest.New()
	w := mint(t, memOptions(d), "/a1")
	var ops []string
	d.Fault = func(c journaltest.Call) journaltest.Outcome {
		if c.Mutates {
			ops = append(ops, c.Op)
		}
		return journaltest.Outcome{}
	}
	for range 3 {
		ops = nil
		if _, err := w.Append(note(1), note(2), note(3)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ops, " "); got != "write sync" {
			t.Errorf("Append of three drafts = %q, want one write and one sync", got)
		}
	}
	b := contents(t, d, "/a1/events.jsonl")
	if lines := bytes.Count(b, []byte("\n")); lines != 12 || w.Stats().Size != int64(len(b)) || bytes.IndexByte(b, 0) >= 0 {
		t.Errorf("the file has %d lines and %d bytes, want 12 and %d", lines, len(b), w.Stats().Size)
	}
}

// JRN-1
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	mint(t, testOptions(), dir)
	for name, want := range map[string]fs.FileMode{"": 0o700, journal.JournalFile: 0o600, journal.LockFile: 0o600} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("mode of %q = %v, %v, want %v", name, st.Mode().Perm(), err, want)
		}
	}
}
