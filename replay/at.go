package replay

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/basisagent/basis/reducer"
)

// Point is a place in a history: a record number, or a turn at its end. The
// zero Point is the end of the history.
type Point struct {
	Seq  uint64
	Turn string
}

// ParsePoint reads a record number ("17") or a turn ("t3").
func ParsePoint(s string) (Point, error) {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n > 0 {
		return Point{Seq: n}, nil
	}
	if rest, ok := strings.CutPrefix(s, "t"); ok {
		if n, err := strconv.ParseUint(rest, 10, 32); err == nil && n > 0 {
			return Point{Turn: "t" + strconv.FormatUint(n, 10)}, nil
		}
	}
	return Point{}, fmt.Errorf("%q is neither a record number such as 17 nor a turn such as t3", s)
}

// NoPointError says that a history does not reach the point that was asked for.
type NoPointError struct {
	Point   Point
	Records uint64
}

func (e *NoPointError) Error() string {
	if e.Point.Turn != "" {
		return fmt.Sprintf("turn %s has not ended in this history of %d records", e.Point.Turn, e.Records)
	}
	return fmt.Sprintf("there is no record %d; the history ends at %d", e.Point.Seq, e.Records)
}

// At folds a history over base up to p, that record included, and returns the
// state with the number of its last record.
func At(base reducer.State, entries iter.Seq2[reducer.Entry, error], p Point) (reducer.State, uint64, error) {
	s, last := base, uint64(0)
	for e, err := range entries {
		if err != nil {
			return s, last, err
		}
		s, last = reducer.Apply(s, e.Event), e.Seq
		if p.reached(e) {
			return s, last, nil
		}
	}
	if p != (Point{}) {
		return s, last, &NoPointError{Point: p, Records: last}
	}
	return s, last, nil
}

func (p Point) reached(e reducer.Entry) bool {
	if t, ok := e.Event.(reducer.TurnEnded); ok && p.Turn != "" {
		return t.Turn == p.Turn
	}
	return p.Seq != 0 && e.Seq == p.Seq
}
