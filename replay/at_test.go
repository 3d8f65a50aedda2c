package replay_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

func TestParsePoint(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want replay.Point
		ok   bool
	}{
		{"17", replay.Point{Seq: 17}, true},
		{"t3", replay.Point{Turn: "t3"}, true},
		{"t03", replay.Point{Turn: "t3"}, true},
		{"0", replay.Point{}, false},
		{"t0", replay.Point{}, false},
		{"-1", replay.Point{}, false},
		{"t", replay.Point{}, false},
		{"", replay.Point{}, false},
		{"r3", replay.Point{}, false},
		{"99999999999999999999", replay.Point{}, false},
	} {
		got, err := replay.ParsePoint(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParsePoint(%q) = %+v, %v, want %+v, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

// kept are the entries of a journal of testdata.
func kept(t *testing.T, name string) iter.Seq2[reducer.Entry, error] {
	return projections.Entries(journal.Read(unpack(t, "testdata/v2/"+name+".jsonl"), 0))
}

// A fold up to each record is the fold of that prefix; a turn is its end; what
// isn't there is said by name.
func TestAt(t *testing.T) {
	want := reducer.State{}
	for e, err := range kept(t, "message") {
		if err != nil {
			t.Fatal(err)
		}
		want = reducer.Apply(want, e.Event)
		got, seq, err := replay.At(reducer.State{}, kept(t, "message"), replay.Point{Seq: e.Seq})
		if err != nil || seq != e.Seq || got.Rounds != want.Rounds || got.Turn.ID != want.Turn.ID || got.Transcript.Len() != want.Transcript.Len() {
			t.Errorf("At(%d) = record %d, %v, turn %q, want that prefix", e.Seq, seq, err, got.Turn.ID)
		}
	}
	end, last, err := replay.At(reducer.State{}, kept(t, "message"), replay.Point{})
	if err != nil || !end.Ended() {
		t.Errorf("At(the end) = record %d, %v, ended %v, want the end", last, err, end.Ended())
	}
	turn, seq, err := replay.At(reducer.State{}, kept(t, "message"), replay.Point{Turn: "t1"})
	if err != nil || turn.Turns != 1 || turn.Last.Result.String() != "first answer" || seq >= last {
		t.Errorf("At(t1) = record %d, %v, result %q, want the end of the first turn", seq, err, turn.Last.Result)
	}
	for _, p := range []replay.Point{{Seq: last + 1}, {Turn: "t9"}} {
		_, _, err := replay.At(reducer.State{}, kept(t, "message"), p)
		if missing, ok := errors.AsType[*replay.NoPointError](err); !ok || missing.Point != p || missing.Records != last {
			t.Errorf("At(%+v) = %v, want that the history ends at %d", p, err, last)
		}
	}
}
