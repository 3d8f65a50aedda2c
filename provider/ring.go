package provider

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// RingEvent is something that happens in a [Ring].
//
//sumtype:decl
type RingEvent interface{ ringEvent() }

// Member names one gateway of a ring.
type Member struct {
	Index int
	Label string
}

type (
	// MemberFailed is one failure that is the member's own. Consecutive counts
	// those in a row; 0 where one is enough.
	MemberFailed struct {
		Member      Member
		Kind        Kind
		Consecutive int
		Err         *Error
	}

	// Rotated says that another member is asked from now on. After is how many
	// failures it took; 0 is one that left no doubt.
	Rotated struct {
		From, To Member
		After    int
	}

	// Returned says that a preferred member is tried again after its rest. Its
	// first failure sends it away at once.
	Returned struct{ Member Member }

	// Recovered says that it has answered.
	Recovered struct{ Member Member }
)

func (MemberFailed) ringEvent() {}
func (Rotated) ringEvent()      {}
func (Returned) ringEvent()     {}
func (Recovered) ringEvent()    {}

// RingOptions say how a ring judges its members.
type RingOptions struct {
	Labels    []string      // of the members, the preferred one first; at least one
	Threshold int           // failures in a row after which the ring rotates; 0 is 5
	Cooldown  time.Duration // how long a member that was left rests; 0 is 60 s
	Sticky    bool          // never go back to a preferred member by itself

	Observe func(RingEvent)  // told in order, while the ring is held: it must not call back; nil is fine
	Now     func() time.Time // nil is time.Now
}

// Ring is the health of several gateways in front of the same models, which
// nobody checks. It is shared by all agents of a process; each has clients of
// its own ([Ring.Model]), because a client remembers a conversation.
type Ring struct {
	o RingOptions

	mu        sync.Mutex // agents share the ring
	current   int
	streak    int
	probation bool
	left      []time.Time // when each member was left; zero is never
}

// NewRing makes a ring of which every member is healthy. It fails without members.
func NewRing(o RingOptions) (*Ring, error) {
	if len(o.Labels) == 0 {
		return nil, errors.New("a ring of gateways needs at least one member")
	}
	if o.Threshold <= 0 {
		o.Threshold = 5
	}
	if o.Cooldown <= 0 {
		o.Cooldown = time.Minute
	}
	if o.Observe == nil {
		o.Observe = func(RingEvent) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ring{o: o, left: make([]time.Time, len(o.Labels))}, nil
}

// Model is a model over the ring: each request goes to its current member, and
// where that fails before it has said anything and the ring rotates, to the
// next, at most once round. The clients stand in the order of the labels and
// serve one agent.
func (r *Ring) Model(clients []Model) RingModel { return RingModel{r, clients} }

// RingModel is a [Model] and a [Lister] over a ring.
type RingModel struct {
	ring    *Ring
	clients []Model
}

// Stream sends req to the ring's members.
func (m RingModel) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		at := m.ring.begin()
		var last *Error
		for range m.clients {
			failure, stopped := m.open(ctx, req, at, yield)
			if stopped {
				return
			}
			next, again := m.ring.failed(at, failure)
			if !again || ctx.Err() != nil {
				yield(nil, failure)
				return
			}
			at, last = next, failure
		}
		yield(nil, last)
	}
}

// open runs one request on a member. It gives back a failure that came before
// the answer said anything; everything else it passes on.
func (m RingModel) open(ctx context.Context, req Request, at int, yield func(Chunk, error) bool) (failure *Error, stopped bool) {
	said := false
	for c, err := range m.clients[at].Stream(ctx, req) {
		if e, ok := errors.AsType[*Error](err); ok && !said {
			return e, false
		}
		switch c.(type) {
		case Sent, nil:
		case Done:
			said = true
			m.ring.answered(at)
		default:
			said = true
		}
		if !yield(c, err) || err != nil {
			return nil, true
		}
	}
	return nil, true
}

// Models lists what the current member offers, or where it fails the next.
func (m RingModel) Models(ctx context.Context) ([]ModelInfo, error) {
	at := m.ring.begin()
	var last error = &Error{Kind: KindInvalid, Message: "no gateway of the ring can list its models"}
	for range m.clients {
		lister, ok := m.clients[at].(Lister)
		if !ok {
			return nil, last
		}
		models, err := lister.Models(ctx)
		if err == nil {
			m.ring.answered(at)
			return models, nil
		}
		last = err
		e, _ := errors.AsType[*Error](err)
		next, again := m.ring.failed(at, e)
		if !again || ctx.Err() != nil {
			return nil, last
		}
		at = next
	}
	return nil, last
}

func (r *Ring) member(i int) Member { return Member{Index: i, Label: r.o.Labels[i]} }

// begin is the member to ask: the current one, or one that is preferred and
// has rested, on probation.
func (r *Ring) begin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; !r.o.Sticky && i < r.current; i++ {
		if r.o.Now().Sub(r.left[i]) >= r.o.Cooldown {
			r.current, r.streak, r.probation = i, 0, true
			r.o.Observe(Returned{r.member(i)})
			break
		}
	}
	return r.current
}

// answered clears what is held against a member.
func (r *Ring) answered(at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at != r.current {
		return
	}
	if r.probation {
		r.o.Observe(Recovered{r.member(at)})
	}
	r.streak, r.probation = 0, false
}

// blame says what a failure says about the member that it came from.
type blame int

const (
	blameNone    blame = iota // the request itself: every member would fail
	blameCounted              // it may pass
	blameAtOnce               // it will not pass
)

func blameFor(e *Error) blame {
	switch e.Kind {
	case KindOverflow, KindCancelled, KindTooLarge, KindContentFilter, KindMalformedCall:
		return blameNone
	case KindNetwork, KindTimeout, KindServer, KindOverloaded, KindRate, KindCut, KindBadResponse:
		return blameCounted
	case KindAuth, KindPermission, KindNotFound, KindQuota, KindExceedsRate:
		return blameAtOnce
	case KindInvalid:
		if e.Status == 0 {
			return blameNone // refused before it was sent
		}
		return blameAtOnce
	}
	return blameCounted
}

// failed judges a failure of a member and says which member to ask instead, if
// the ring has rotated. A failure of one that is no longer current says nothing
// new: the request goes to the one that is.
func (r *Ring) failed(at int, e *Error) (next int, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e == nil {
		return at, false
	}
	b := blameFor(e)
	if b == blameNone {
		return at, false
	}
	if at != r.current {
		return r.current, true
	}
	after := 0
	if b == blameCounted {
		r.streak++
		after = r.streak
	}
	r.o.Observe(MemberFailed{Member: r.member(at), Kind: e.Kind, Consecutive: after, Err: e})
	if b == blameCounted && r.streak < r.o.Threshold && !r.probation {
		return at, false
	}
	next = r.next()
	if next == at {
		return at, false
	}
	r.left[at] = r.o.Now()
	r.current, r.streak, r.probation = next, 0, false
	r.o.Observe(Rotated{From: r.member(at), To: r.member(next), After: after})
	return next, true
}

// next is the member after the current one, those that rest left out unless all do.
func (r *Ring) next() int {
	n := len(r.o.Labels)
	for step := 1; step < n; step++ {
		i := (r.current + step) % n
		if r.left[i].IsZero() || r.o.Now().Sub(r.left[i]) >= r.o.Cooldown {
			return i
		}
	}
	return (r.current + 1) % n
}
