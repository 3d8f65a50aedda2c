// Package reducer is the vocabulary of an agent and the rules by which it
// advances.
//
// An agent's history is a sequence of events. [Apply] folds one event into the
// [State]; the fold of the whole history is all that anybody knows. [Decide]
// looks at a state and says which events follow from it without asking the
// world; [State.Open] lists the effects that are owed to the world; [Admit]
// says whether an event from outside may be recorded now.
//
// Every event is one of three things, and the event alone tells which
// ([ClassOf]): an observation comes from outside, a decision comes from Decide,
// a life-cycle event is written by attaching, detaching and repair.
//
// # What holds
//
//   - Every prefix of a legal history is legal, so a torn batch needs no thought.
//   - Between two observations everything that Decide says is recorded first, so
//     a reader can check each recorded decision. Life-cycle events may stand
//     anywhere.
//   - Decisions are prefix stable: with d = Decide(s), Decide(Apply(s, d[0]))
//     is d[1:]. They are made one at a time, by next.
//   - The fold of the decoded encoding of a history is the fold of the history.
//
// The package is pure: no clock, no randomness, no environment, no goroutine,
// no map order. Time arrives as an event. A State is a value: Apply never
// writes through the old one, so two futures of one state don't disturb each
// other.
package reducer
