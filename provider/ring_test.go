package provider

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/reducer"
)

// gateway fails with the errors it is given, in order, and then answers.
type gateway struct {
	fails []*Error
	asked int
	words bool // says something before it fails
}

func (g *gateway) Stream(context.Context, Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		g.asked++
		if !yield(Sent{}, nil) {
			return
		}
		if len(g.fails) > 0 {
			e := g.fails[0]
			g.fails = g.fails[1:]
			if g.words && !yield(TextDelta{Text: "so"}, nil) {
				return
			}
			yield(nil, e)
			return
		}
		yield(Done{Answer: Answer{Stop: reducer.StopEndTurn}}, nil)
	}
}

// circle is a ring under test.
type circle struct {
	t      *testing.T
	ring   *Ring
	model  Model
	now    time.Time
	events []string
}

func newCircle(t *testing.T, o RingOptions, gateways ...*gateway) *circle {
	t.Helper()
	c := &circle{t: t, now: time.Unix(1000, 0)}
	var clients []Model
	for i, g := range gateways {
		clients = append(clients, g)
		o.Labels = append(o.Labels, fmt.Sprint("g", i))
	}
	o.Now = func() time.Time { return c.now }
	o.Observe = func(e RingEvent) {
		switch e := e.(type) {
		case MemberFailed:
			c.events = append(c.events, fmt.Sprintf("member_failed %d (%d)", e.Member.Index, e.Consecutive))
		case Rotated:
			c.events = append(c.events, fmt.Sprintf("rotated %d→%d (%d)", e.From.Index, e.To.Index, e.After))
		case Returned:
			c.events = append(c.events, fmt.Sprintf("returned %d", e.Member.Index))
		case Recovered:
			c.events = append(c.events, fmt.Sprintf("recovered %d", e.Member.Index))
		}
	}
	ring, err := NewRing(o)
	if err != nil {
		t.Fatal(err)
	}
	c.ring, c.model = ring, ring.Model(clients)
	return c
}

// ask sends one request and compares how it ends, "" being an answer, and what
// was observed meanwhile.
func (c *circle) ask(want string, events ...string) {
	c.t.Helper()
	c.events = nil
	_, err := Collect(c.t.Context(), c.model, Request{})
	got := ""
	if err != nil {
		got = err.Error()
	}
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		c.t.Errorf("request ended %q, want %q", got, want)
	}
	if !slices.Equal(c.events, events) {
		c.t.Errorf("observed %q, want %q", c.events, events)
	}
}

func failures(kind Kind, n int) []*Error {
	var all []*Error
	for range n {
		all = append(all, &Error{Kind: kind, Status: 500, Message: string(kind)})
	}
	return all
}

// PROV-40 PROV-42 PROV-43 PROV-44: below the threshold the error goes up; at it
// the same request runs on the next member; after its rest the preferred one is
// tried again, and an answer clears it.
func TestRingRotatesAndReturns(t *testing.T) {
	first, second := &gateway{fails: failures(KindServer, 2)}, &gateway{}
	c := newCircle(t, RingOptions{Threshold: 2}, first, second)
	c.ask("server", "member_failed 0 (1)")
	c.ask("", "member_failed 0 (2)", "rotated 0→1 (2)")
	c.ask("")
	if first.asked != 2 || second.asked != 2 {
		t.Errorf("asked %d and %d times, want 2 and 2", first.asked, second.asked)
	}
	c.now = c.now.Add(time.Minute)
	c.ask("", "returned 0", "recovered 0")
	c.ask("")
}

// On probation one failure is enough.
func TestRingProbation(t *testing.T) {
	first := &gateway{fails: failures(KindOverloaded, 3)}
	c := newCircle(t, RingOptions{Threshold: 2}, first, &gateway{})
	c.ask("overloaded", "member_failed 0 (1)")
	c.ask("", "member_failed 0 (2)", "rotated 0→1 (2)")
	c.now = c.now.Add(time.Hour)
	c.ask("", "returned 0", "member_failed 0 (1)", "rotated 0→1 (1)")
}

// PROV-41: a refusal sends a member away at once; what is the request's own
// fault is nobody's.
func TestRingBlame(t *testing.T) {
	c := newCircle(t, RingOptions{}, &gateway{fails: []*Error{{Kind: KindAuth, Status: 401}}}, &gateway{})
	c.ask("", "member_failed 0 (0)", "rotated 0→1 (0)")
	for _, e := range []*Error{{Kind: KindOverflow, Status: 400}, {Kind: KindInvalid}, {Kind: KindCancelled}} {
		c := newCircle(t, RingOptions{Threshold: 1}, &gateway{fails: []*Error{e}}, &gateway{})
		c.ask(string(e.Kind))
	}
	c = newCircle(t, RingOptions{Threshold: 1}, &gateway{fails: []*Error{{Kind: KindInvalid, Status: 400}}}, &gateway{})
	c.ask("", "member_failed 0 (0)", "rotated 0→1 (0)")
}

// PROV-42: at most once round the ring for one request; then the last error
// goes up. Members that rest are passed over unless all do.
func TestRingOnceRound(t *testing.T) {
	g := []*gateway{{fails: failures(KindNetwork, 9)}, {fails: failures(KindNetwork, 9)}, {fails: failures(KindNetwork, 9)}}
	c := newCircle(t, RingOptions{Threshold: 1}, g...)
	c.ask("network", "member_failed 0 (1)", "rotated 0→1 (1)", "member_failed 1 (1)", "rotated 1→2 (1)", "member_failed 2 (1)", "rotated 2→0 (1)")
	for i, x := range g {
		if x.asked != 1 {
			t.Errorf("member %d was asked %d times, want once", i, x.asked)
		}
	}
	alone := newCircle(t, RingOptions{Threshold: 1}, &gateway{fails: failures(KindServer, 1)})
	alone.ask("server", "member_failed 0 (1)")
	alone.ask("")
}

// PROV-45: a break after words were said is not the ring's to mend.
func TestRingLeavesOpenStreams(t *testing.T) {
	c := newCircle(t, RingOptions{Threshold: 1}, &gateway{fails: failures(KindCut, 1), words: true}, &gateway{})
	c.ask("stream_cut")
}

// A sticky ring stays where it is.
func TestRingSticky(t *testing.T) {
	c := newCircle(t, RingOptions{Threshold: 1, Sticky: true}, &gateway{fails: failures(KindServer, 1)}, &gateway{})
	c.ask("", "member_failed 0 (1)", "rotated 0→1 (1)")
	c.now = c.now.Add(24 * time.Hour)
	c.ask("")
	if _, err := NewRing(RingOptions{}); err == nil {
		t.Error("NewRing without members = nil, want an error")
	}
}

// PROV-43: health is shared: what one agent finds, another one's next request
// knows, and a late failure of a member that was left changes nothing.
func TestRingIsShared(t *testing.T) {
	c := newCircle(t, RingOptions{Threshold: 1}, &gateway{fails: failures(KindServer, 1)}, &gateway{})
	other := c.ring.Model([]Model{&gateway{}, &gateway{}})
	c.ask("", "member_failed 0 (1)", "rotated 0→1 (1)")
	c.events = nil
	if next, again := c.ring.failed(0, &Error{Kind: KindServer, Status: 500}); next != 1 || !again || len(c.events) != 0 {
		t.Errorf("failed(0) = %d, %v with %q observed; want 1, to be asked again, nothing observed", next, again, c.events)
	}
	if _, err := Collect(t.Context(), other, Request{}); err != nil {
		t.Error(err)
	}
}
