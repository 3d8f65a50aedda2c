package basis

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// demoHome is a data root whose tasks ask no model.
func demoHome(t *testing.T) (*Home, Spec) {
	t.Helper()
	h, err := Open(Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	return h, Spec{Workspace: t.TempDir(), Prompt: "look around", Options: reducer.Options{Provider: "demo"}}
}

// add appends one record to a task's journal, as another program would.
func add(t *testing.T, h *Home, ref Ref, d journal.Draft) {
	t.Helper()
	w, _, err := journal.Open(h.agentDir(ref), h.journalOptions(ref.ID), func(journal.Recovery) ([]journal.Draft, error) {
		return []journal.Draft{d}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// JRN-20: a journal that a newer program has written is not continued, and the
// refusal names that program; nothing is changed, and it can still be checked.
func TestNewerJournalIsNotContinued(t *testing.T) {
	attached := `{"gen":2,"rules":%d,"program":"basis 9"}`
	for name, d := range map[string]journal.Draft{
		"an unknown type": {Type: "future.happened", Data: []byte(`{}`)},
		"newer rules":     {Type: "agent.attached", Data: fmt.Appendf(nil, attached, reducer.RulesVersion+1)},
	} {
		h, spec := demoHome(t)
		ref, err := h.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		add(t, h, ref, journal.Draft{Type: "agent.attached", Data: fmt.Appendf(nil, attached, reducer.RulesVersion)})
		add(t, h, ref, d)
		file := filepath.Join(h.agentDir(ref), journal.JournalFile)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Wait(t.Context(), ref, Drive{})
		newer, ok := errors.AsType[*NewerError](err)
		if !ok || newer.Program != "basis 9" || !strings.Contains(err.Error(), "basis 9") {
			t.Errorf("%s: Wait = %v, want a *NewerError that names basis 9", name, err)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: the journal was changed, want it left alone", name)
		}
		if rep, err := journal.Check(h.agentDir(ref)); err != nil || rep.Err() != nil {
			t.Errorf("%s: Check = %v, %v, want no finding", name, rep.Err(), err)
		}
	}
}

// JRN-3, JRN-39: the terminal record's copy names the last record and its link,
// and comes back from the journal as it was.
func TestTerminalFileIsACopy(t *testing.T) {
	h, spec := demoHome(t)
	out, err := h.Run(t.Context(), spec, Drive{})
	if err != nil {
		t.Fatalf("Run = %v, want nil", err)
	}
	dir := h.agentDir(out.Ref)
	name := filepath.Join(dir, projections.TerminalFile)
	first, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := journal.Check(dir)
	if err != nil || rep.Err() != nil {
		t.Fatalf("Check = %v, %v, want no finding", rep.Err(), err)
	}
	if !bytes.Contains(first, fmt.Appendf(nil, `"head":%q`, rep.Head.Link)) {
		t.Errorf("%s = %s, want the link of the last record, %s", projections.TerminalFile, first, rep.Head.Link)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context(), out.Ref, Drive{}); err != nil {
		t.Fatalf("Wait = %v, want nil", err)
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%s after its loss = %s, %v, want %s", projections.TerminalFile, again, err, first)
	}
	if again, err := journal.Check(dir); err != nil || again.Head != rep.Head {
		t.Errorf("the journal ends at %v, %v, want it untouched at %v", again.Head, err, rep.Head)
	}
}

func message(text string) reducer.MessageReceived {
	return reducer.MessageReceived{Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T(text)}}}
}

// swept are the ids of what a spool holds, in its order.
func swept(t *testing.T, s *spoolDir) (ids []string, all []arrival) {
	t.Helper()
	all, err := s.sweep()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		switch e := a.events[0].(type) {
		case reducer.MessageReceived:
			ids = append(ids, e.Message[31:]+" "+e.Parts[0].Text.String())
		case reducer.CancelRequested:
			ids = append(ids, "cancel")
		default:
		}
	}
	return ids, all
}

// JRN-107, JRN-108, JRN-109: what processes drop stands in one file each, keeps
// its order whatever its id, is read cancels first, and is removed when it is
// recorded. One that stays behind is known by its id.
func TestSpoolOrder(t *testing.T) {
	dir := t.TempDir()
	s := newSpoolDir(dir)
	drop := func(digit, kind string, body any) {
		t.Helper()
		if err := s.drop(strings.Repeat("0", 31)+digit, kind, body); err != nil {
			t.Fatal(err)
		}
	}
	drop("9", spoolMessage, message("first"))
	drop("1", spoolMessage, message("second"))
	drop("5", spoolCancel, reducer.CancelRequested{Scope: "task", By: "test"})
	drop("3", spoolMessage, message("third"))
	for _, name := range []string{".tmp-1", "note.txt", "1-x.message", "000009-" + strings.Repeat("0", 32) + ".odd"} {
		if err := os.WriteFile(filepath.Join(dir, "inbox", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ids, all := swept(t, s)
	if want := []string{"cancel", "9 first", "1 second", "3 third"}; !slices.Equal(ids, want) {
		t.Fatalf("sweep = %q, want %q", ids, want)
	}
	all[1].recorded()
	if ids, _ := swept(t, newSpoolDir(dir)); !slices.Equal(ids, []string{"cancel", "1 second", "3 third"}) {
		t.Errorf("sweep by another run = %q, want all but what was recorded", ids)
	}
	drop("2", spoolMessage, message("fourth"))
	if ids, _ := swept(t, s); ids[len(ids)-1] != "2 fourth" {
		t.Errorf("sweep = %q, want the newest last", ids)
	}
	files, err := filepath.Glob(filepath.Join(dir, "inbox", "0000*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s = %v, %v, want 0600", f, st.Mode(), err)
		}
	}
}

// What nobody can have dropped neither stops a run nor holds it up: it is no
// file, or says nothing.
func TestSpoolRefusesWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	s := newSpoolDir(dir)
	if err := s.drop(strings.Repeat("0", 31)+"1", spoolMessage, message("first")); err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{"null", "{}", "[]", `{"parts":[{"type":"image"}]}`, `{"parts":[{"type":"text"}]}`, `{"parts":[{"type":"sound"}]}`} {
		name := fmt.Sprintf("%06d-%s.message", i+2, strings.Repeat("0", 32))
		if err := os.WriteFile(filepath.Join(dir, "inbox", name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "inbox", "000008-"+strings.Repeat("0", 32)+".cancel"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "inbox", "000009-"+strings.Repeat("0", 32)+".cancel")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	if ids, _ := swept(t, s); !slices.Equal(ids, []string{"1 first"}) {
		t.Errorf("sweep = %q, want only what was dropped", ids)
	}
}

// JRN-38, JRN-108: a message whose file could not be removed is not recorded a
// second time by whoever attaches next.
func TestMessageIsTakenOnce(t *testing.T) {
	h, spec := demoHome(t)
	ref, err := h.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := newSpoolDir(h.agentDir(ref))
	id := strings.Repeat("ab", 16)
	if err := s.drop(id, spoolMessage, message("more")); err != nil {
		t.Fatal(err)
	}
	files, err := s.list()
	if err != nil || len(files) != 1 {
		t.Fatalf("list = %v, %v, want one file", files, err)
	}
	left := filepath.Join(s.inbox(), files[0].name)
	data, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := h.attach(ref, Drive{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.release(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left, data, 0o600); err != nil { // as if it had stayed
			t.Fatal(err)
		}
	}
	if got := kindsOf(t, h, ref)["message.received"]; got != 1 {
		t.Errorf("message.received stands %d times, want once", got)
	}
}

// JRN-38: attaching again and again adds nothing but agent.attached.
func TestAttachIsIdempotent(t *testing.T) {
	h, spec := demoHome(t)
	ref, err := h.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		a, err := h.attach(ref, Drive{})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.release(); err != nil {
			t.Fatal(err)
		}
	}
	got := kindsOf(t, h, ref)
	if got["agent.attached"] != 4 || len(got) != 3 {
		t.Errorf("records = %v, want the task's own two and four of agent.attached", got)
	}
}

// kindsOf counts a journal's records by type.
func kindsOf(t *testing.T, h *Home, ref Ref) map[string]int {
	t.Helper()
	got := map[string]int{}
	for e, err := range h.Entries(t.Context(), ref) {
		if err != nil {
			t.Fatal(err)
		}
		got[reducer.KindOf(e.Event)]++
	}
	return got
}

// JRN-110: once a task has ended nothing is accepted, and nothing follows its
// last record.
func TestNothingFollowsTheEnd(t *testing.T) {
	h, spec := demoHome(t)
	out, err := h.Run(t.Context(), spec, Drive{})
	if err != nil {
		t.Fatal(err)
	}
	if asked, err := h.Cancel(out.Ref, "test"); asked || err != nil {
		t.Errorf("Cancel after the end = %v, %v, want nothing to cancel", asked, err)
	}
	s := newSpoolDir(h.agentDir(out.Ref))
	if err := s.drop(strings.Repeat("cd", 16), spoolMessage, message("too late")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context(), out.Ref, Drive{}); err != nil {
		t.Fatalf("Wait = %v, want the outcome", err)
	}
	var last reducer.Entry
	for e, err := range h.Entries(t.Context(), out.Ref) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if _, ok := last.Event.(reducer.TaskEnded); !ok {
		t.Errorf("the last record is %s, want task.ended", reducer.Describe(last.Event))
	}
	if files, err := s.list(); err != nil || len(files) != 1 {
		t.Errorf("the spool holds %v, %v, want the late message undelivered", files, err)
	}
}

// What a killed run left half done goes with the next wait, also where the
// task has ended and nobody attaches any more.
func TestLeftoversGo(t *testing.T) {
	h, spec := demoHome(t)
	ref, err := h.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := h.agentDir(ref)
	for _, when := range []string{"before the task is driven", "after its end"} {
		for _, name := range []string{".tmp-1", ".tmp-live-1", liveName} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Wait(t.Context(), ref, Drive{}); err != nil {
			t.Fatal(err)
		}
		if left := leftovers(dir); len(left) > 0 {
			t.Errorf("%s: a wait leaves %v, want nothing", when, left)
		}
	}
}
