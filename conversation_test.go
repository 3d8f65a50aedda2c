package basis

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// continuing is a spec that goes on with the conversation last worked in.
func continuing(s Spec, prompt string) Spec {
	s.Prompt, s.Images, s.Continue = prompt, nil, true
	return s
}

// TASK-20, JRN-66, CLI-55: a chain of three tasks is one conversation: each
// has its own prompt and budget, the model is sent all that was said, long
// texts and images of older tasks are read where they are, and a copy that is
// lost is made good.
func TestContinue(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Lenient: true, Steps: []providertest.Step{
		providertest.Text("a picture"), providertest.Text("still that"), providertest.Text("and again"),
	}})
	h, ws := newHome(t, nil), newWorkspace(t)
	picture := filepath.Join(ws, "a.png")
	if err := os.WriteFile(picture, []byte(tinyPNG), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("look at this ", 20_000)
	spec := Spec{Workspace: ws, Prompt: long, Images: []string{picture}, Options: reducer.Options{BaseURL: s.URL(), Model: "m"}}
	first, err := h.Run(limited(t), spec, Drive{})
	h.ended(t, first, err)
	second, err := h.Run(limited(t), continuing(spec, "second"), Drive{})
	if got := h.ended(t, second, err); got.Result != "still that" || *got.Usage.Input != *projections.UsageOf(first.State.Usage()).Input {
		t.Errorf("second = %+v, want its own answer and usage", got)
	}
	third, err := h.Run(limited(t), continuing(spec, "third"), Drive{})
	if got := h.ended(t, third, err); got.Result != "and again" {
		t.Errorf("third = %+v, want its own answer", got)
	}
	body := string(s.Requests()[2].Body)
	at := 0
	for _, want := range []string{long, "data:image/png;base64,", "a picture", "second", "still that", "third"} {
		i := strings.Index(body[at:], want)
		if i < 0 {
			t.Fatalf("the third request does not hold %.20q after byte %d", want, at)
		}
		at += i
	}
	for i, out := range []Outcome{first, second, third} {
		if got := sound(t, h, out.Ref); got.Turns != i+1 || got.Conversation != first.Ref.ID {
			t.Errorf("task %d: %d turns of conversation %s, want %d of %s", i+1, got.Turns, got.Conversation, i+1, first.Ref.ID)
		}
	}
	meta := filepath.Join(h.AgentDir(third.Ref), projections.MetaFile)
	for range 2 {
		var m struct {
			ID, Prompt string
			AgentID    string `json:"agent_id"`
		}
		data, err := os.ReadFile(meta)
		if err != nil || json.Unmarshal(data, &m) != nil || m.Prompt != "third" || m.AgentID != first.Ref.ID {
			t.Errorf("meta.json = %s, %v, want the task's own prompt and the conversation", data, err)
		}
		if err := os.Remove(meta); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(limited(t), third.Ref, Drive{}); err != nil {
			t.Fatal(err)
		}
	}
}

// CLI-55: a continuation that was killed at any write goes on to the same end:
// it is made whole or not at all, and never twice.
func TestContinueSurvivesAKill(t *testing.T) {
	for k := 1; ; k++ {
		s := providertest.NewServer(t, providertest.Options{Answer: func(r providertest.Request) providertest.Step {
			if strings.Contains(string(r.Body), "second") {
				return providertest.Text("two")
			}
			return providertest.Text("one")
		}})
		h, ws := newHome(t, nil), newWorkspace(t)
		spec := Spec{Workspace: ws, Prompt: "first", Options: reducer.Options{BaseURL: s.URL(), Model: "m"}}
		out, err := h.Run(limited(t), spec, Drive{})
		h.ended(t, out, err)
		disk := &dyingDisk{Disk: journal.OSDisk(), left: k}
		h.disk = disk
		out, err = h.Run(limited(t), continuing(spec, "second"), Drive{})
		if h.disk = nil; disk.left > 0 {
			h.ended(t, out, err)
			break // it ended before
		}
		rows, err := h.List(ws)
		if err != nil || len(rows) > 2 {
			t.Fatalf("killed at write %d: %d tasks, %v, want two at most", k, len(rows), err)
		}
		if len(rows) == 1 {
			out, err = h.Run(limited(t), continuing(spec, "second"), Drive{})
		} else {
			out, err = h.Wait(limited(t), rows[0].Ref, Drive{})
		}
		if got := h.ended(t, out, err); got.Result != "two" || sound(t, h, out.Ref).Turns != 2 {
			t.Errorf("killed at write %d: %+v, want the second turn's answer", k, got)
		}
	}
}

// JRN-49: what a task continues is pinned by its link: a journal that was changed, cut
// or taken away is not gone on from, and neither is a circle.
func TestContinueWhatHasChanged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, h *Home, first Ref){
		"gone": func(t *testing.T, h *Home, first Ref) {
			if err := os.RemoveAll(h.AgentDir(first)); err != nil {
				t.Fatal(err)
			}
		},
		"cut": func(t *testing.T, h *Home, first Ref) {
			edit(t, h, first, func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] })
		},
		"another": func(t *testing.T, h *Home, first Ref) {
			out, err := h.Run(limited(t), Spec{Workspace: t.TempDir(), Prompt: "other", Options: reducer.Options{Provider: "demo"}}, Drive{})
			h.ended(t, out, err)
			other, err := os.ReadFile(filepath.Join(h.AgentDir(out.Ref), journal.JournalFile))
			if err != nil {
				t.Fatal(err)
			}
			edit(t, h, first, func(string) string { return string(other) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, providertest.Text("one"))
			h, ws := newHome(t, nil), newWorkspace(t)
			spec := asking(s, ws, "first")
			first, err := h.Run(limited(t), spec, Drive{})
			h.ended(t, first, err)
			second, err := h.Spawn(continuing(spec, "second"))
			if err != nil {
				t.Fatal(err)
			}
			change(t, h, first.Ref)
			out, err := h.Wait(limited(t), second, Drive{Started: func(Ref, reducer.State) { t.Error("it is driven") }})
			if about, ok := errors.AsType[*TaskError](err); !ok || about.Ref != second || out.State.Ended() {
				t.Errorf("Wait = %v, want an error about %s", err, second)
			}
			if _, err := h.Base(second); err == nil {
				t.Error("Base = nil, want what is wrong")
			}
		})
	}
}

// edit rewrites a task's journal.
func edit(t *testing.T, h *Home, ref Ref, change func(string) string) {
	t.Helper()
	name := filepath.Join(h.AgentDir(ref), journal.JournalFile)
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(change(string(data))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// CLI-59: many shells continue one conversation at once: one task comes of
// it, the others are told which. Several rounds, because what one of them saw
// before it had the lock may be old by then.
func TestContinueOnce(t *testing.T) {
	s := providertest.Script(t, providertest.Text("one"))
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "first")
	first, err := h.Run(limited(t), spec, Drive{})
	h.ended(t, first, err)
	for range 25 {
		won := continueAtOnce(t, h, spec)
		if len(won) != 1 {
			t.Fatalf("%d continuations, want 1", len(won))
		}
		_, err = h.Spawn(continuing(spec, "third"))
		if e, ok := errors.AsType[*ContinueError](err); !ok || e.Ref != won[0] {
			t.Errorf("Spawn = %v, want an error that names %s", err, won[0])
		}
		if err := os.RemoveAll(h.AgentDir(won[0])); err != nil {
			t.Fatal(err)
		}
	}
}

// continueAtOnce continues one conversation from many sides, and gives the
// tasks that came of it.
func continueAtOnce(t *testing.T, h *Home, spec Spec) []Ref {
	t.Helper()
	type made struct {
		ref Ref
		err error
	}
	results := make(chan made)
	for range 8 {
		go func() {
			ref, err := h.Spawn(continuing(spec, "second"))
			results <- made{ref, err}
		}()
	}
	var won []Ref
	for range 8 {
		r := <-results
		if r.err == nil {
			won = append(won, r.ref)
			continue
		}
		if _, ok := errors.AsType[*ContinueError](r.err); !ok {
			t.Errorf("Spawn = %v, want a *ContinueError", r.err)
		}
	}
	return won
}

// CLI-55, CLI-95: a stranger's journal of which nothing can be read does not
// stand in the way of the directory's conversation.
func TestContinueBesideDamage(t *testing.T) {
	s := providertest.Script(t, providertest.Text("one"), providertest.Text("two"))
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, "first")
	var strangers []Ref
	for range 2 {
		ref, err := h.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, ref)
	}
	first, err := h.Run(limited(t), spec, Drive{})
	h.ended(t, first, err)
	edit(t, h, strangers[0], func(string) string { return "no journal\n" })
	if err := os.Remove(filepath.Join(h.AgentDir(strangers[1]), journal.JournalFile)); err != nil {
		t.Fatal(err)
	}
	second, err := h.Run(limited(t), continuing(spec, "second"), Drive{})
	if got := h.ended(t, second, err); got.Result != "two" {
		t.Errorf("second = %+v, want its answer", got)
	}
}

// CLI-55: the agents before one are looked up once, not for each of the long
// texts that a conversation may name: it would grow with the square of both.
func TestOlderBlobsLookUpOnce(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Lenient: true, Steps: []providertest.Step{providertest.Text("one"), providertest.Text("two")}})
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := asking(s, ws, strings.Repeat("long ", reducer.InlineLimit))
	first, err := h.Run(limited(t), spec, Drive{})
	h.ended(t, first, err)
	second, err := h.Run(limited(t), continuing(spec, "second"), Drive{})
	h.ended(t, second, err)
	created, err := h.created(first.Ref)
	if err != nil {
		t.Fatal(err)
	}
	load, text := h.Load(second.Ref), created.Prompt[0].Text.Blob
	if _, err := load(text); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(h.AgentDir(second.Ref), journal.JournalFile)); err != nil {
		t.Fatal(err)
	}
	if data, err := load(text); err != nil || string(data) != spec.Prompt {
		t.Errorf("the older task's text = %d bytes, %v; want it without another look at the journals", len(data), err)
	}
}

// CLI-76: the answer of a task that has ended is told whatever became of the
// tasks that it continues; going on from it is refused.
func TestContinuedAnswerOutlivesTheOlderTask(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, h *Home, first Ref){
		"gone": func(t *testing.T, h *Home, first Ref) {
			if err := os.RemoveAll(h.AgentDir(first)); err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(t *testing.T, h *Home, first Ref) {
			edit(t, h, first, func(s string) string { return strings.Replace(s, "first", "fjrst", 1) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, providertest.Text("one"), providertest.Text("two"))
			h, ws := newHome(t, nil), newWorkspace(t)
			spec := asking(s, ws, "first")
			first, err := h.Run(limited(t), spec, Drive{})
			h.ended(t, first, err)
			second, err := h.Run(limited(t), continuing(spec, "second"), Drive{})
			h.ended(t, second, err)
			spoil(t, h, first.Ref)
			out, err := h.Wait(limited(t), second.Ref, Drive{})
			if got := h.ended(t, out, err); got.Result != "two" {
				t.Errorf("Wait = %+v, want its answer", got)
			}
			if ref, err := h.Spawn(continuing(spec, "third")); err == nil {
				t.Errorf("Spawn = %s, want a refusal", ref)
			}
		})
	}
}

// TASK-64, CLI-80, JRN-49: a task whose conversation is gone can't go on, but it can be
// cancelled, and then it ends: also one that was killed in mid-turn, and no model is asked.
func TestCancelWhatHasLostItsConversation(t *testing.T) {
	for name, begun := range map[string]bool{"never begun": false, "in mid-turn": true} {
		t.Run(name, func(t *testing.T) {
			s := providertest.Script(t, providertest.Text("one"), providertest.CallTool("ls", `{}`), providertest.Step{Hang: providertest.HangHeaders})
			h, ws := newHome(t, nil), newWorkspace(t)
			spec := asking(s, ws, "first")
			first, err := h.Run(limited(t), spec, Drive{})
			h.ended(t, first, err)
			second, err := h.Spawn(continuing(spec, "second"))
			if err != nil {
				t.Fatal(err)
			}
			asked := 1
			if begun {
				ctx, cancel := context.WithCancel(limited(t))
				var driver sync.WaitGroup
				driver.Go(func() { _, _ = h.Wait(ctx, second, Drive{}) })
				if err := s.WaitFor(limited(t), 3); err != nil {
					t.Fatal(err)
				}
				cancel()
				driver.Wait()
				asked = 3
			}
			away := h.AgentDir(first.Ref) + ".away"
			if err := os.Rename(h.AgentDir(first.Ref), away); err != nil {
				t.Fatal(err)
			}
			_, err = h.Wait(limited(t), second, Drive{})
			if _, ok := errors.AsType[*UnfoundedError](err); !ok {
				t.Errorf("Wait = %v, want that the conversation is gone", err)
			}
			if ok, err := h.Cancel(second, "test"); !ok || err != nil {
				t.Fatalf("Cancel = %v, %v, want it accepted", ok, err)
			}
			for range 2 {
				out, err := h.Wait(limited(t), second, Drive{})
				if got := h.ended(t, out, err); got.State != "cancelled" {
					t.Errorf("Wait = %+v, want it cancelled", got)
				}
			}
			if _, ended, err := h.Ended(second); !ended || err != nil || len(s.Requests()) != asked {
				t.Errorf("ended %v after %d requests, want it ended after %d", ended, len(s.Requests()), asked)
			}
			if err := os.Rename(away, h.AgentDir(first.Ref)); err != nil {
				t.Fatal(err)
			}
			sound(t, h, second) // nothing in it is otherwise than with the conversation
		})
	}
}

// JRN-68: a text or image that an older task keeps is part of the conversation:
// without it verify finds something, and the conversation is not gone on with.
func TestContinueWithoutABlob(t *testing.T) {
	s := providertest.NewServer(t, providertest.Options{Lenient: true, Steps: []providertest.Step{providertest.Text("one"), providertest.Text("two")}})
	h, ws := newHome(t, nil), newWorkspace(t)
	spec := Spec{Workspace: ws, Prompt: strings.Repeat("long ", 20_000), Options: reducer.Options{BaseURL: s.URL(), Model: "m"}}
	first, err := h.Run(limited(t), spec, Drive{})
	h.ended(t, first, err)
	second, err := h.Run(limited(t), continuing(spec, "second"), Drive{})
	h.ended(t, second, err)
	sound(t, h, second.Ref)
	if err := os.RemoveAll(filepath.Join(h.AgentDir(first.Ref), journal.BlobDir)); err != nil {
		t.Fatal(err)
	}
	rep, err := h.Check(second.Ref)
	var found *CorruptError
	if err != nil || !errors.As(rep.Err(), &found) || !strings.Contains(found.Path, first.Ref.ID) {
		t.Errorf("Check = %v, %v, want the older task's blob found missing", rep.Err(), err)
	}
	if _, err := h.Spawn(continuing(spec, "third")); !errors.As(err, &found) {
		t.Errorf("Spawn = %v, want what is missing", err)
	}
}
