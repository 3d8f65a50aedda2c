package basis

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/provider/providertest"
)

// CLI-90, TASK-11: a workspace that was never used has no tasks and stays
// unmade; what is no workspace says so.
func TestListMakesNothing(t *testing.T) {
	h := newHome(t, nil)
	if rows, err := h.List(newWorkspace(t)); err != nil || rows != nil {
		t.Errorf("List = %v, %v, want nothing", rows, err)
	}
	if _, err := h.List("/no/such/place"); err == nil || !strings.Contains(err.Error(), "/no/such/place") {
		t.Errorf("List of nothing = %v, want an error that names it", err)
	}
	if left := files(t, h.Dir()); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// CLI-90, CLI-93, CLI-95, TASK-120: rows say how each task stands, last worked
// in first, and by handle where that is the same.
func TestListStatesAndOrder(t *testing.T) {
	hold := make(chan struct{})
	s := providertest.NewServer(t, providertest.Options{Answer: func(r providertest.Request) providertest.Step {
		switch text := r.Last().Text; text {
		case "run":
			return providertest.Step{Text: "ran", Hold: hold}
		case "fail":
			return providertest.Fail(401, "invalid_api_key", "no")
		}
		return providertest.Text("hello")
	}})
	var mu sync.Mutex
	now := time.UnixMilli(1_700_000_000_000)
	h := openHome(t, Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	ws := newWorkspace(t)
	refs := map[string]Ref{}
	for _, prompt := range []string{"wait", "wait too", "say", "fail", "cancel", "run"} {
		spec := asking(s, ws, prompt)
		spec.Deadline = NoDeadline
		ref, err := h.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		refs[prompt] = ref
		if prompt == "wait" {
			continue // at the same moment as the next
		}
		pass(time.Second)
	}
	if _, err := h.Cancel(refs["cancel"], "test"); err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"say", "fail", "cancel"} {
		pass(time.Second)
		out, err := h.Wait(limited(t), refs[prompt], Drive{})
		h.ended(t, out, err)
	}
	var driver sync.WaitGroup
	pass(time.Second)
	driver.Go(func() {
		out, err := h.Wait(limited(t), refs["run"], Drive{})
		h.ended(t, out, err)
	})
	if err := s.WaitFor(limited(t), 3); err != nil {
		t.Fatal(err)
	}
	rows, err := h.List(ws)
	close(hold)
	driver.Wait()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.Prompt+": "+r.State)
		if want := r.Prompt == "run" || r.Prompt == "say" || r.Prompt == "fail"; r.Continuable != want {
			t.Errorf("%s is continuable: %v, want %v", r.Prompt, r.Continuable, want)
		}
		if (r.Usage != nil) != (r.Prompt == "say") {
			t.Errorf("usage of %s = %+v, want it where something was reported", r.Prompt, r.Usage)
		}
		if r.StartedMS > r.ActivityMS {
			t.Errorf("%s started at %d, after its last activity at %d", r.Prompt, r.StartedMS, r.ActivityMS)
		}
	}
	want := []string{"run: running", "cancel: cancelled", "fail: failed", "say: succeeded", "wait: resumable", "wait too: resumable"}
	if refs["wait"].String() > refs["wait too"].String() {
		want[4], want[5] = want[5], want[4]
	}
	if !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}
