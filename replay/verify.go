package replay

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/basisagent/basis/reducer"
)

// DivergedError says where a history stops explaining itself.
type DivergedError struct {
	Seq  uint64
	Got  string // what is recorded
	Want string // what the rules say
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("record %d: recorded is %s, the rules say %s", e.Seq, e.Got, e.Want)
}

// Result is what a verification has seen.
type Result struct {
	State     reducer.State
	Records   int
	Decisions int // compared with the rules
	Skipped   int // recorded under another version of the rules
	LastKind  string
}

// Verify folds entries over base and checks every decision that was made under
// this program's rules. The base is the zero State, or for a continuation the
// fold of what it continues. The error is a *[DivergedError], a *[reducer.UnknownKindError] where
// a newer program wrote what this one can't judge, or one of the source.
func Verify(base reducer.State, entries iter.Seq2[reducer.Entry, error]) (Result, error) {
	r := Result{State: base}
	for e, err := range entries {
		if err != nil {
			return r, err
		}
		r.Records++
		r.LastKind = reducer.KindOf(e.Event)
		if err := r.check(e); err != nil {
			return r, err
		}
		r.State = reducer.Apply(r.State, e.Event)
	}
	return r, nil
}

func (r *Result) check(e reducer.Entry) error {
	class := reducer.ClassOf(e.Event)
	if class == reducer.LifeCycle {
		return r.checkLifeCycle(e)
	}
	switch r.State.Rules {
	case reducer.RulesVersion:
	case 0:
		return &DivergedError{Seq: e.Seq, Got: reducer.Describe(e.Event), Want: "that somebody attaches first"}
	default:
		r.Skipped++
		return nil
	}
	if class == reducer.Observation {
		if err := reducer.Admit(r.State, e.Event); err != nil {
			return &DivergedError{Seq: e.Seq, Got: reducer.Describe(e.Event), Want: err.Error()}
		}
		return nil
	}
	r.Decisions++
	want, due := reducer.Next(r.State)
	switch {
	case !due:
		return &DivergedError{Seq: e.Seq, Got: reducer.Describe(e.Event), Want: "that nothing is to be decided"}
	case !reflect.DeepEqual(want, e.Event):
		return &DivergedError{Seq: e.Seq, Got: reducer.Describe(e.Event), Want: reducer.Describe(want)}
	}
	return nil
}

// checkLifeCycle: these may stand anywhere, but nothing follows the end, an
// agent is made once and before all else, each attach raises the generation, and
// a run lets go only when there is nothing to decide.
func (r *Result) checkLifeCycle(e reducer.Entry) error {
	diverged := func(want string) error {
		return &DivergedError{Seq: e.Seq, Got: reducer.Describe(e.Event), Want: want}
	}
	switch event := e.Event.(type) {
	case reducer.Note:
		if !event.Known() {
			return fmt.Errorf("record %d: %w", e.Seq, &reducer.UnknownKindError{Kind: event.Name})
		}
	case reducer.AgentDetached:
		if want, due := reducer.Next(r.State); due && r.State.Rules == reducer.RulesVersion {
			return diverged("that " + reducer.Describe(want) + " comes first")
		}
	case reducer.AgentCreated:
		if r.State.Kind != "" {
			return diverged("that the agent exists already")
		}
	case reducer.AgentAttached:
		switch {
		case r.State.Ended():
			return diverged("that nothing follows the end")
		case r.State.Kind == "":
			return diverged("that the agent is made first")
		case event.Gen <= r.State.Gen:
			return diverged(fmt.Sprintf("a generation above %d", r.State.Gen))
		}
	default:
	}
	return nil
}
