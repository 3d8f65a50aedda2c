package basis

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// unfinished is a task that was let go of after its first call, with what the
// model will say next.
func unfinished(t *testing.T) (*Home, Ref, *providertest.Server) {
	t.Helper()
	s := providertest.Script(t, providertest.CallTool("write", `{"path":"a","content":"😀"}`), providertest.Text("done"))
	h := newHome(t, nil)
	spec := asking(s, newWorkspace(t), "hi")
	spec.Options.Approve = reducer.ApprovePrompt
	out, err := h.Run(limited(t), spec, Drive{})
	if !errors.Is(err, ErrUnaskable) {
		t.Fatalf("Run = %v, want ErrUnaskable", err)
	}
	return h, out.Ref, s
}

func (h *Home) journalFile(ref Ref) string {
	return filepath.Join(h.AgentDir(ref), journal.JournalFile)
}

// change rewrites a journal's bytes.
func change(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, edit(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FR-001, JRN-43: a torn last record swallowed the next one. FR-003: a last record that
// only lacked its newline was thrown away, and half a character kept the file
// from opening. What is whole is kept, the next record has a line of its own,
// and the tear is told once.
func TestFR001FR003TornTail(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func([]byte) []byte
		told int
	}{
		"a torn record":    {func(b []byte) []byte { return append(b, `{"seq":9,"type":"mess`...) }, 1},
		"half a character": {func(b []byte) []byte { return append(b, "{\"seq\":9,\"type\":\"x.y\",\"data\":\"\xf0\x9f"...) }, 1},
		"no newline":       {func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, ref, s := unfinished(t)
			before := len(kinds(t, h, ref))
			change(t, h.journalFile(ref), tt.edit)
			told := 0
			out, err := h.Wait(limited(t), ref, Drive{Approver: yes{}, Sink: func(u Update) {
				if e, ok := u.Entry.Event.(reducer.JournalRepaired); ok && e.CutBytes > 0 {
					told++
				}
			}})
			h.ended(t, out, err)
			if told != tt.told {
				t.Errorf("the repair is told %d times, want %d", told, tt.told)
			}
			data, err := os.ReadFile(h.journalFile(ref))
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				if !json.Valid(line) {
					t.Errorf("line %q is no JSON", line)
				}
			}
			if after := kinds(t, h, ref); after[before] != "journal.repaired" {
				t.Errorf("after the tear stands %s, want journal.repaired", after[before])
			}
			if got := s.Requests()[1].Messages(); len(got) != 3 {
				t.Errorf("the next request holds %d messages, want all three", len(got))
			}
			sound(t, h, ref)
		})
	}
}

// FR-002: a block of NUL bytes in the middle made a resume go on from an old
// prefix without a word. It is refused by line, nothing is changed or asked.
func TestFR002DamageIsRefusedByLine(t *testing.T) {
	h, ref, s := unfinished(t)
	change(t, h.journalFile(ref), func(b []byte) []byte {
		lines := bytes.SplitAfter(b, []byte("\n"))
		lines[4] = append(bytes.Repeat([]byte{0}, 300), '\n')
		return bytes.Join(lines, nil)
	})
	before, _ := os.ReadFile(h.journalFile(ref))
	_, err := h.Wait(limited(t), ref, Drive{Approver: yes{}})
	if bad, ok := errors.AsType[*CorruptError](err); !ok || bad.Seq != 5 || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("Wait = %v, want damage at line 5", err)
	}
	if after, _ := os.ReadFile(h.journalFile(ref)); !bytes.Equal(before, after) {
		t.Error("the journal was changed")
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests, want no further one", n)
	}
	if rows, err := h.List(mustState(t, h, ref).Workspace); err != nil || len(rows) != 1 || rows[0].State != "unknown" {
		t.Errorf("List = %+v, %v, want the row kept with state unknown", rows, err) // CLI-95
	}
}

// mustState is the fold of what can be read.
func mustState(t *testing.T, h *Home, ref Ref) reducer.State {
	t.Helper()
	s, _ := h.State(ref)
	return s
}

// CLI-76, JRN-49, JRN-59: a wait judges the bytes of a task that has ended also where it
// can't attach, because a continuation runs: no answer is told from a journal that is
// damaged or that the terminal record does not fit.
func TestWaitTellsDamageWithoutAttaching(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, h *Home, ref Ref){
		"a flipped bit": func(t *testing.T, h *Home, ref Ref) {
			change(t, h.journalFile(ref), func(b []byte) []byte { return bytes.Replace(b, []byte("hello"), []byte("hellp"), 1) })
		},
		"another end": func(t *testing.T, h *Home, ref Ref) {
			change(t, filepath.Join(h.AgentDir(ref), projections.TerminalFile), func(b []byte) []byte {
				head := mustCheck(t, h, ref).Head.Link
				return bytes.Replace(b, []byte(head), []byte(strings.Repeat("0", len(head))), 1)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, providertest.Text("hello"))
			h := newHome(t, nil)
			out, err := h.Run(limited(t), asking(s, newWorkspace(t), "hi"), Drive{})
			h.ended(t, out, err)
			running, err := lockFile(h.conversationLock(out.Ref.Key, out.Ref.ID))
			if err != nil {
				t.Fatal(err)
			}
			defer running.release()
			if out, err := h.Wait(limited(t), out.Ref, Drive{}); h.ended(t, out, err).Result != "hello" {
				t.Errorf("Wait = %v, want the answer although the conversation runs", err)
			}
			spoil(t, h, out.Ref)
			_, err = h.Wait(limited(t), out.Ref, Drive{})
			if _, damaged := errors.AsType[*CorruptError](err); !damaged {
				t.Errorf("Wait = %v, want the damage", err)
			}
			if _, ended, err := h.Ended(out.Ref); ended || err == nil {
				t.Errorf("Ended = %v, %v, want the damage", ended, err)
			}
		})
	}
}

func mustCheck(t *testing.T, h *Home, ref Ref) Report {
	t.Helper()
	rep, err := h.Check(ref)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// JRN-49: records cut off cleanly at the end leave no trace in the journal; the
// copy of the terminal record knows of them.
func TestMissingEndIsDamage(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h := newHome(t, nil)
	out, err := h.Run(limited(t), asking(s, newWorkspace(t), "hi"), Drive{})
	h.ended(t, out, err)
	change(t, h.journalFile(out.Ref), func(b []byte) []byte {
		lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
		return bytes.Join(lines[:len(lines)-1], nil)
	})
	_, err = h.Wait(limited(t), out.Ref, Drive{})
	if bad, ok := errors.AsType[*CorruptError](err); !ok || bad.Rule != journal.RuleAnchor {
		t.Errorf("Wait = %v, want damage by the anchor", err)
	}
	if rep, err := h.Check(out.Ref); err != nil || rep.Err() == nil {
		t.Errorf("Check = %v, %v, want a finding", rep.Err(), err)
	}
	if err := os.Remove(filepath.Join(h.AgentDir(out.Ref), projections.TerminalFile)); err != nil {
		t.Fatal(err)
	}
	out, err = h.Wait(limited(t), out.Ref, Drive{})
	h.ended(t, out, err) // nobody knows better: the end is decided again
}
