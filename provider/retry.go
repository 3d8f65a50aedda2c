package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// The schedule of [Retry] where [RetryOptions] has none: 0.5 + 1 + 2 + 4 + 5 s.
const (
	defaultBudget = 5
	defaultBase   = 500 * time.Millisecond
	defaultMax    = 5 * time.Second
	defaultCap    = 60 * time.Second
)

// malformedBudget is how often a call that the server couldn't parse is asked
// for again: mostly the same context fails in the same way.
const malformedBudget = 1

// RetryOptions change how patient [Retry] is. The zero value is the default.
type RetryOptions struct {
	Budget int           // requests after the first; 0 is 5, negative is none
	Base   time.Duration // first delay, doubled each time; 0 is 500 ms
	Max    time.Duration // longest delay of our own; 0 is 5 s
	Cap    time.Duration // longest delay that a server may ask for; 0 is 60 s

	// Jitter returns a number from 0 up to 1; up to a tenth of each delay is
	// added by it, so that many clients don't come back together. Nil adds
	// nothing.
	Jitter func() float64

	Now func() time.Time // nil is time.Now; compared with the context's deadline
}

func (o RetryOptions) withDefaults() RetryOptions {
	if o.Budget == 0 {
		o.Budget = defaultBudget
	}
	o.Budget = max(o.Budget, 0)
	if o.Base <= 0 {
		o.Base = defaultBase
	}
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	if o.Cap <= 0 {
		o.Cap = defaultCap
	}
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Retry is m with patience: a failure that time may mend is followed by a
// [Retrying] chunk, a wait and another request. Nothing of an answer counts
// before its [Done], so a stream that broke in the middle is retried too, and
// what was shown of it is void. The error that is left has its Attempt set.
//
// A server's wait is kept at least, up to a cap. Where the wait would outlast
// the context's deadline the error comes at once and names the wait.
func Retry(m Model, o RetryOptions) Model { return retry{m, o.withDefaults()} }

type retry struct {
	model Model
	opts  RetryOptions
}

// Models lists the models of the one inside, if it can.
func (r retry) Models(ctx context.Context) ([]ModelInfo, error) {
	if l, ok := r.model.(Lister); ok {
		return l.Models(ctx)
	}
	return nil, &Error{Kind: KindInvalid, Message: "this provider can't list its models: name one with --model"}
}

// Stream implements [Model].
func (r retry) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for attempt := 1; ; attempt++ {
			e, stopped := r.once(ctx, req, attempt, yield)
			if stopped {
				return
			}
			delay, again := r.plan(ctx, e, attempt)
			if !again {
				yield(nil, e)
				return
			}
			if !yield(Retrying{Attempt: attempt, Max: r.budget(e.Kind) + 1, Err: e, Delay: delay}, nil) {
				return
			}
			if err := wait(ctx, delay); err != nil {
				yield(nil, &Error{
					Kind: KindCancelled, Err: err, Attempt: attempt,
					Message: fmt.Sprintf("%v, while waiting to try again after: %v", err, e),
				})
				return
			}
		}
	}
}

// once makes one attempt and passes on what it yields, but for its error.
// stopped means that nothing more is to be said.
func (r retry) once(ctx context.Context, req Request, attempt int, yield func(Chunk, error) bool) (e *Error, stopped bool) {
	for c, err := range r.model.Stream(ctx, req) {
		if err != nil {
			if !errors.As(err, &e) {
				e = &Error{Kind: KindServer, Message: err.Error(), Err: err}
			}
			e.Attempt = attempt
			return e, false
		}
		done, ok := c.(Done)
		if ok {
			done.Answer.Attempt = attempt
			c = done
		}
		if !yield(c, nil) || ok {
			return nil, true
		}
	}
	return &Error{Kind: KindCut, Message: "the stream ended without an answer", Attempt: attempt}, false
}

// plan decides whether another attempt follows and after how long. It adds to
// e why none does, where e alone doesn't say.
func (r retry) plan(ctx context.Context, e *Error, attempt int) (time.Duration, bool) {
	if !e.Temporary() || ctx.Err() != nil || attempt > r.budget(e.Kind) {
		return 0, false
	}
	delay := max(r.scheduled(attempt), min(e.RetryAfter, r.opts.Cap))
	delay += time.Duration(r.opts.Jitter() * float64(delay) / 10)
	need := max(delay, e.RetryAfter)
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(r.opts.Now()) < need {
		e.Message = fmt.Sprintf("%s (a retry would have to wait %s, longer than the deadline allows)", e.Message, need.Round(time.Millisecond))
		return 0, false
	}
	return delay, true
}

// budget is how many retries a failure of that kind may have.
func (r retry) budget(k Kind) int {
	if k == KindMalformedCall {
		return min(r.opts.Budget, malformedBudget)
	}
	return r.opts.Budget
}

// scheduled is our own delay after the attempt-th failure, from 1.
func (r retry) scheduled(attempt int) time.Duration {
	delay := r.opts.Base
	for range attempt - 1 {
		if delay >= r.opts.Max {
			break
		}
		delay *= 2
	}
	return min(delay, r.opts.Max)
}

// wait returns nil after d, or the context's cause as soon as it ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
