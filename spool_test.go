package basis

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

func id(digit string) string { return strings.Repeat(digit, 32) }

// JRN-107, JRN-108, JRN-109: what is spooled is taken in the order of arrival,
// cancels before all else, each once; what is no spooled file is left alone.
func TestSpool(t *testing.T) {
	s := newSpoolDir(t.TempDir())
	if all, err := s.sweep(); err != nil || all != nil {
		t.Errorf("sweep of nothing = %v, %v, want nothing", all, err)
	}
	said := []reducer.Part{{Type: reducer.PartText, Text: reducer.T("go on")}}
	for _, d := range []string{"f", "a"} {
		if err := s.drop(id(d), spoolMessage, reducer.MessageReceived{Message: "forged", From: "client", Parts: said}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.drop(id("0"), spoolCancel, reducer.CancelRequested{Scope: "turn", By: "me"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000009-" + id("1") + ".messages", "9-" + id("1") + ".message", "000009-" + id("z") + ".message", ".tmp-1", "x", "000009-" + id("1") + ".cancel.bad"} {
		write(t, filepath.Join(s.inbox(), name), "{}")
	}
	broken := "000008-" + id("2") + ".message"
	write(t, filepath.Join(s.inbox(), broken), "{")
	all, err := s.sweep()
	if err != nil {
		t.Fatal(err)
	}
	want := []reducer.Event{
		reducer.CancelRequested{Scope: "task", By: "me"},
		reducer.MessageReceived{Message: id("f"), From: "inbox", Parts: said},
		reducer.MessageReceived{Message: id("a"), From: "inbox", Parts: said},
	}
	for i, a := range all {
		if i >= len(want) || reducer.Describe(a.events[0]) != reducer.Describe(want[i]) {
			t.Errorf("arrival %d = %s, want the cancel and then the messages", i, reducer.Describe(a.events[0]))
		}
		a.recorded()
	}
	if len(all) != len(want) {
		t.Errorf("%d arrivals, want %d", len(all), len(want))
	}
	left := files(t, s.inbox())
	if !slices.Contains(left, broken+".bad") || len(left) != 7 {
		t.Errorf("left = %q, want what was no message, and the broken one set aside", left)
	}
	if all, err := s.sweep(); err != nil || len(all) != 0 {
		t.Errorf("sweep again = %v, %v, want nothing", all, err)
	}
}

// TASK-90, TASK-91: while a sender holds the inbox's lock the run can't close it.
// A message that was dropped by then has its turn; a cancel turns the end into a
// cancelled one.
func TestSenderBeforeTheEnd(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		s := providertest.Script(t, providertest.Text("one"), providertest.Text("two"))
		h := newHome(t, nil)
		ref, err := h.Spawn(asking(s, newWorkspace(t), "hi"))
		if err != nil {
			t.Fatal(err)
		}
		sender := newSpoolDir(h.agentDir(ref))
		unlock, err := sender.lock()
		if err != nil {
			t.Fatal(err)
		}
		var driver sync.WaitGroup
		driver.Go(func() {
			out, err := h.Wait(limited(t), ref, Drive{})
			got := h.ended(t, out, err)
			if cancel && got.State != "cancelled" || !cancel && got.Result != "two" {
				t.Errorf("with a cancel %v: ended %+v", cancel, got)
			}
		})
		for e, err := range h.Follow(limited(t), ref, 0) {
			if _, ended := e.Event.(reducer.TurnEnded); ended || err != nil {
				break
			}
		}
		if cancel {
			err = sender.drop(id("1"), spoolCancel, reducer.CancelRequested{Scope: "task"})
		} else {
			err = sender.drop(id("1"), spoolMessage, reducer.MessageReceived{Parts: []reducer.Part{{Type: reducer.PartText, Text: reducer.T("and?")}}})
		}
		if err != nil {
			t.Error(err)
		}
		unlock()
		driver.Wait()
		if cancel {
			continue // the script's second step is nobody's
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		sound(t, h, ref)
	}
}
