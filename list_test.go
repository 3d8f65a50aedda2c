package basis

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
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

// CLI-90, CLI-95: the row of an ended task is what folding its journal gives,
// read from the two ends of that if it is large: damage between them is for Check
// to find, and none at an end goes unsaid.
func TestListReadsTheEndsOfAnEndedTask(t *testing.T) {
	h := newHome(t, nil)
	rounds := 0
	s := providertest.NewServer(t, providertest.Options{Answer: func(providertest.Request) providertest.Step {
		if rounds++; rounds > 5 {
			return providertest.Text("done")
		}
		step := calling("ls")
		step.Text = strings.Repeat("word ", 4000)
		return step
	}})
	ws := newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "look"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	h.ended(t, out, err)
	ended, ok := h.endedRow(ref)
	if !ok || ended.State != string(reducer.StateSucceeded) || ended.Prompt != "look" || !reflect.DeepEqual(ended.Usage, projections.UsageOf(out.State.Usage())) {
		t.Errorf("endedRow = %+v, %v, want the end of the task", ended, ok)
	}
	whole, err := os.ReadFile(h.journalFile(ref))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		at   int // where a byte is changed
		want string
	}{
		{"between", len(whole) / 2, "succeeded"},
		{"first record", 30, "unknown"},
		{"last record", len(whole) - 60, "unknown"},
	} {
		change(t, h.journalFile(ref), func([]byte) []byte {
			b := bytes.Clone(whole)
			b[tt.at] ^= 1
			return b
		})
		rows, err := h.List(ws)
		if err != nil || len(rows) != 1 || rows[0].State != tt.want {
			t.Errorf("%s: List = %+v, %v, want the state %s", tt.name, rows, err, tt.want)
		}
		if rep, err := h.Check(ref); err != nil || len(rep.Findings) == 0 {
			t.Errorf("%s: Check = %+v, %v, want the damage found", tt.name, rep, err)
		}
	}
}
