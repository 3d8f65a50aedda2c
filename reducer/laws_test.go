package reducer

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var kindsOfAgents = []AgentKind{KindTask, KindSession, KindSubagent}

// histories plays many random lives and hands each journal to check.
func histories(t *testing.T, n int, check func(t *testing.T, w *world)) {
	t.Helper()
	for _, kind := range kindsOfAgents {
		t.Run(string(kind), func(t *testing.T) {
			for seed := range n {
				check(t, play(t, uint64(seed), kind))
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// verify is the reader's check of a history: decisions are those of next, and
// nothing from outside is recorded while one is due or without admission.
func verify(base State, journal []Event) (int, string) {
	s := base
	for i, e := range journal {
		switch ClassOf(e) {
		case Decision:
			want, due := next(s)
			if !due || !reflect.DeepEqual(e, want) {
				return i, "decided " + Describe(e) + ", the rules say otherwise"
			}
		case Observation:
			if err := Admit(s, e); err != nil {
				return i, err.Error()
			}
		case LifeCycle:
		}
		s = Apply(s, e)
	}
	return -1, ""
}

// JRN-23, JRN-37, TASK-74: whatever crashes, also inside a batch, every life
// ends, every accepted message and cancel counts, and no call with effects is
// run twice.
func TestLivesEnd(t *testing.T) {
	histories(t, 1500, func(t *testing.T, w *world) {
		for call, n := range w.started {
			if n > 1 {
				t.Errorf("call %s was run %d times, want at most 1", call, n)
			}
		}
		if w.cancel && w.kind == KindTask && w.s.End.State != StateCancelled {
			t.Errorf("state = %s after an accepted cancel, want cancelled\n%s", w.s.End.State, w.tail(30))
		}
		if w.kind == KindTask {
			for _, id := range w.accepted {
				if !slices.Contains(w.s.Seen, id) {
					t.Errorf("accepted message %s never arrived", id)
				}
			}
		}
		if w.s.End.State == StateSucceeded && (len(w.s.Queue) > 0 || w.s.childrenOpen()) {
			t.Errorf("succeeded with work left: %d waiting", len(w.s.Queue))
		}
	})
}

// Every recorded decision is the one that the rules give, and everything else
// was admissible, in every prefix.
func TestHistoriesExplainThemselves(t *testing.T) {
	histories(t, 400, func(t *testing.T, w *world) {
		if i, why := verify(w.base, w.journal); i >= 0 {
			t.Errorf("record %d: %s\n%s", i+1, why, w.tail(30))
		}
	})
}

// JRN-15: every prefix of a legal history leads on: after an attach it still ends.
func TestPrefixesAreLegal(t *testing.T) {
	for _, kind := range kindsOfAgents {
		for seed := range uint64(40) {
			w := play(t, seed, kind)
			for cut := 2; cut <= len(w.journal); cut++ {
				v := &world{t: t, rng: w.rng, kind: kind, started: map[string]int{}, quiet: true, gen: w.gen}
				v.journal = slices.Clone(w.journal[:cut])
				v.durable = cut
				if Fold(State{}, v.journal...).Ended() {
					continue
				}
				v.attach()
				for i := 0; !v.s.Ended(); i++ {
					if i > 500 {
						t.Fatalf("%s seed %d cut %d: no end\n%s", kind, seed, cut, v.tail(30))
					}
					v.step()
				}
			}
		}
	}
}

// Decisions are prefix stable.
func TestDecisionsArePrefixStable(t *testing.T) {
	histories(t, 100, func(t *testing.T, w *world) {
		s := w.base
		for _, e := range w.journal {
			s = Apply(s, e)
			if d := Decide(s); len(d) > 1 {
				if rest := Decide(Apply(s, d[0])); !reflect.DeepEqual(rest, d[1:]) {
					t.Errorf("Decide after %s = %v, want %v", Describe(d[0]), rest, d[1:])
				}
			}
		}
	})
}

// JRN-23: the fold of the decoded encoding is the fold, at every split point,
// and a state survives its own encoding (JRN-65).
func TestFoldOfDecodedEncoding(t *testing.T) {
	histories(t, 60, func(t *testing.T, w *world) {
		s := w.base
		for _, e := range w.journal {
			kind, data, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Decode(kind, data)
			if err != nil {
				t.Fatal(err)
			}
			s = Apply(s, back)
		}
		if diff := stateDiff(t, w.s, s); diff != "" {
			t.Errorf("fold(decode(encode(x))) differs:\n%s", diff)
		}
	})
}

func stateDiff(t *testing.T, a, b State) string {
	t.Helper()
	x, err := encodeJSON(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := encodeJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(string(x), string(y))
}

// Two futures of one state don't disturb each other.
func TestStateIsAValue(t *testing.T) {
	histories(t, 60, func(t *testing.T, w *world) {
		s := w.base
		for i, e := range w.journal {
			before, _ := encodeJSON(s)
			other := w.journal[(i*7)%len(w.journal)]
			Apply(s, other)
			n := Apply(s, e)
			Apply(n, other)
			if after, _ := encodeJSON(s); string(after) != string(before) {
				t.Fatalf("Apply(%s) changed the state it was given:\n%s", Describe(e), cmp.Diff(string(before), string(after)))
			}
			s = n
		}
	})
}

// CORE-57, JRN-37: every transcript is one that a provider accepts: a user
// message, then answers, each with calls followed by exactly its results.
func TestTranscriptsAreAcceptable(t *testing.T) {
	histories(t, 400, func(t *testing.T, w *world) {
		var prev Message
		for _, m := range w.s.Transcript.Messages() {
			switch {
			case m.Role == RoleUser && prev.Role == RoleUser, m.Role == RoleUser && prev.Role == RoleResults:
				t.Errorf("%s follows %s", m.Key, prev.Key)
			case m.Role == RoleResults && callsOf(prev) != len(m.Results):
				t.Errorf("%s has %d results for %d calls", m.Key, len(m.Results), callsOf(prev))
			case m.Role != RoleResults && callsOf(prev) != 0:
				t.Errorf("%s has calls without results", prev.Key)
			}
			prev = m
		}
		if prev.Role != RoleAssistant && prev.Role != "" {
			t.Errorf("the transcript ends with a %s message", prev.Role)
		}
	})
}

func callsOf(m Message) int {
	n := 0
	for _, it := range m.Items {
		if it.Type == ItemCall {
			n++
		}
	}
	return n
}
