package basis

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

// source yields events as a journal would, numbered anew.
func source(events []reducer.Event) iter.Seq2[reducer.Entry, error] {
	return func(yield func(reducer.Entry, error) bool) {
		for i, e := range events {
			if !yield(reducer.Entry{Seq: uint64(i + 1), Event: e}, nil) {
				return
			}
		}
	}
}

func eventsOf(l *life) []reducer.Event {
	var all []reducer.Event
	for _, e := range l.journal() {
		all = append(all, e.Event)
	}
	return all
}

// honest are the histories that the mutations start from: one run in a piece,
// some that were killed and gone on with, and one that was let go of.
func honest(t *testing.T) map[string][]reducer.Event {
	histories := map[string][]reducer.Event{}
	whole := everything(t)
	if err := whole.attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	histories["whole"] = eventsOf(whole)
	for k := 2; k < len(histories["whole"])-4; k += 5 {
		l := everything(t)
		l.disk.left = k
		if err := l.attach(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("attach killed after %d = %v", k, err)
		}
		l.disk.left = -1
		if err := l.attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		histories[fmt.Sprintf("killed after %d", k)] = eventsOf(l)
	}
	return histories
}

func verifies(events []reducer.Event) error {
	_, err := replay.Verify(reducer.State{}, source(events))
	return err
}

// beside reports whether a crash could have written the history without, or
// with a shift of, what stands at i: the end, and what touches an attach.
func beside(events []reducer.Event, i int) bool {
	if i >= len(events)-1 {
		return true
	}
	for _, j := range []int{max(i-1, 0), i, i + 1} {
		if reducer.ClassOf(events[j]) == reducer.LifeCycle {
			return true
		}
	}
	return false
}

// A recorded decision that was changed, dropped, doubled or moved is found,
// but where a crash could have written the same.
func TestVerifyFindsEveryMutation(t *testing.T) {
	mutants, passed := 0, 0
	for name, events := range honest(t) {
		if err := verifies(events); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		try := func(what string, i int, mutant []reducer.Event, mayPass bool) {
			t.Helper()
			mutants++
			_, diverged := errors.AsType[*replay.DivergedError](verifies(mutant))
			if diverged {
				return
			}
			if passed++; !mayPass {
				t.Errorf("%s: %s %s at %d verifies, want it found", name, reducer.Describe(events[i]), what, i)
			}
		}
		for i, e := range events {
			if reducer.ClassOf(e) != reducer.Decision {
				continue
			}
			free := beside(events, i)
			try("dropped", i, slices.Delete(slices.Clone(events), i, i+1), free)
			try("doubled", i, slices.Insert(slices.Clone(events), i, e), false)
			for _, changed := range mutations(t, e) {
				mutant := slices.Clone(events)
				mutant[i] = changed
				try("changed to "+reducer.Describe(changed), i, mutant, false)
			}
			for to := range events {
				if to == i {
					continue
				}
				mutant := slices.Insert(slices.Delete(slices.Clone(events), i, i+1), to, e)
				try(fmt.Sprintf("moved to %d", to), i, mutant, free || beside(events, min(to, i)))
			}
		}
	}
	t.Logf("%d mutants, %d of them honest histories in their own right", mutants, passed)
	if mutants < 1000 {
		t.Errorf("%d mutants, want at least 1000", mutants)
	}
}

// mutations are the event with one member of its payload changed at a time.
func mutations(t *testing.T, e reducer.Event) []reducer.Event {
	t.Helper()
	kind, data, err := reducer.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	var all []reducer.Event
	for key, value := range members {
		switch v := value.(type) {
		case string:
			members[key] = v + "x"
		case float64:
			members[key] = v + 1
		case map[string]any:
			delete(members, key)
		}
		data, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		members[key] = value
		changed, err := reducer.Decode(kind, data)
		if err != nil {
			t.Fatal(err)
		}
		if reducer.ClassOf(changed) == reducer.Decision && !reflect.DeepEqual(changed, e) {
			all = append(all, changed)
		}
	}
	return all
}
