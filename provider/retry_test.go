package provider_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// scripted answers with one error after the other, then with text.
type scripted struct {
	errs  []*provider.Error
	calls []time.Time
}

func (m *scripted) Stream(context.Context, provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		m.calls = append(m.calls, time.Now())
		if !yield(provider.Sent{}, nil) || !yield(provider.TextDelta{Text: "half"}, nil) {
			return
		}
		if n := len(m.calls) - 1; n < len(m.errs) {
			e := *m.errs[n]
			yield(nil, &e)
			return
		}
		yield(provider.Done{Answer: provider.Answer{Stop: reducer.StopEndTurn, Items: []reducer.Item{{Type: reducer.ItemText, Text: reducer.T("whole")}}}}, nil)
	}
}

func (m *scripted) gaps() []time.Duration {
	var out []time.Duration
	for i := 1; i < len(m.calls); i++ {
		out = append(out, m.calls[i].Sub(m.calls[i-1]))
	}
	return out
}

func times(n int, e provider.Error) []*provider.Error {
	var out []*provider.Error
	for range n {
		out = append(out, &e)
	}
	return out
}

// PROV-34: 0.5, 1, 2, 4 and 5 seconds, six requests in all.
func TestRetrySchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &scripted{errs: times(9, provider.Error{Kind: provider.KindServer, Status: 500})}
		_, err := provider.Collect(t.Context(), provider.Retry(m, provider.RetryOptions{}), provider.Request{})
		var e *provider.Error
		if !errors.As(err, &e) || e.Attempt != 6 {
			t.Errorf("Retry() = %v, want the error of attempt 6", err)
		}
		want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}
		if got := m.gaps(); !cmp.Equal(got, want) {
			t.Errorf("waits = %v, want %v", got, want)
		}
	})
}

// PROV-33 PROV-38: what is tried again and what is not; a stream that broke
// after its first words is.
func TestRetryByKind(t *testing.T) {
	tests := map[provider.Kind]int{
		provider.KindAuth: 1, provider.KindPermission: 1, provider.KindNotFound: 1, provider.KindInvalid: 1, provider.KindOverflow: 1,
		provider.KindTooLarge: 1, provider.KindExceedsRate: 1, provider.KindQuota: 1, provider.KindContentFilter: 1, provider.KindBadResponse: 1, provider.KindCancelled: 1,
		provider.KindMalformedCall: 2,
		provider.KindRate:          6, provider.KindOverloaded: 6, provider.KindServer: 6, provider.KindTimeout: 6, provider.KindCut: 6, provider.KindNetwork: 6,
	}
	for kind, want := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := &scripted{errs: times(9, provider.Error{Kind: kind})}
			_, err := provider.Collect(t.Context(), provider.Retry(m, provider.RetryOptions{}), provider.Request{})
			if err == nil || len(m.calls) != want {
				t.Errorf("Retry() of %s made %d requests, %v, want %d", kind, len(m.calls), err, want)
			}
		})
	}
}

// PROV-37: each retry is announced before its wait, with the failure.
func TestRetryIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &scripted{errs: times(1, provider.Error{Kind: provider.KindCut, Partial: "half"})}
		var seen []string
		start := time.Now()
		for c, err := range provider.Retry(m, provider.RetryOptions{}).Stream(t.Context(), provider.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch c := c.(type) {
			case provider.Sent:
				seen = append(seen, "sent")
			case provider.TextDelta:
				seen = append(seen, c.Text)
			case provider.Retrying:
				if c.Attempt != 1 || c.Max != 6 || c.Delay != 500*time.Millisecond || c.Err.Kind != provider.KindCut || time.Since(start) != 0 {
					t.Errorf("Retrying = %+v after %v, want attempt 1 of 6 before the wait", c, time.Since(start))
				}
				seen = append(seen, "retrying")
			case provider.Done:
				if c.Answer.Attempt != 2 {
					t.Errorf("Attempt = %d, want 2", c.Answer.Attempt)
				}
				seen = append(seen, c.Answer.Items[0].Text.Inline)
			case provider.ReasoningDelta, provider.CallDelta:
			}
		}
		if got := strings.Join(seen, " "); got != "sent half retrying sent half whole" {
			t.Errorf("chunks = %s, want a retry between two attempts", got)
		}
	})
}

// FR-059: a server's wait was ignored, or a huge one blocked the run.
func TestFR059ServersWait(t *testing.T) {
	tests := []struct {
		name     string
		asked    time.Duration
		deadline time.Duration
		want     time.Duration // 0: no second request
	}{
		{"longer than ours", 3 * time.Second, 0, 3 * time.Second},
		{"shorter than ours", 10 * time.Millisecond, 0, 500 * time.Millisecond},
		{"PROV-35: capped", 300 * time.Second, 0, 60 * time.Second},
		{"within the deadline", 3 * time.Second, 10 * time.Second, 3 * time.Second},
		{"beyond the deadline", 3600 * time.Second, 10 * time.Second, 0},
		{"ours beyond the deadline", 0, 100 * time.Millisecond, 0},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if tt.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				defer cancel()
			}
			m := &scripted{errs: times(1, provider.Error{Kind: provider.KindRate, Status: 429, Message: "slow", RetryAfter: tt.asked})}
			start := time.Now()
			_, err := provider.Collect(ctx, provider.Retry(m, provider.RetryOptions{}), provider.Request{})
			if tt.want > 0 {
				if got := m.gaps(); err != nil || !cmp.Equal(got, []time.Duration{tt.want}) {
					t.Errorf("%s: waits = %v, %v, want %v", tt.name, got, err, tt.want)
				}
				return
			}
			if err == nil || time.Since(start) != 0 || len(m.calls) != 1 || tt.asked > 0 && !strings.Contains(err.Error(), "1h0m0s") {
				t.Errorf("%s: Retry() = %v after %v, want an error at once that names the wait", tt.name, err, time.Since(start))
			}
		})
	}
}

// FR-059: a signal during the wait ends it at once.
func TestFR059WaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("terminated")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		m := &scripted{errs: times(1, provider.Error{Kind: provider.KindRate, RetryAfter: 30 * time.Second})}
		start := time.Now()
		_, err := provider.Collect(ctx, provider.Retry(m, provider.RetryOptions{}), provider.Request{})
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != provider.KindCancelled || !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("Retry() = %v after %v, want cancelled after 1s", err, time.Since(start))
		}
	})
}

// PROV-36
func TestRetryKnobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &scripted{errs: times(9, provider.Error{Kind: provider.KindServer})}
		o := provider.RetryOptions{Budget: 2, Base: time.Second, Max: time.Second, Jitter: func() float64 { return 0.5 }}
		if _, err := provider.Collect(t.Context(), provider.Retry(m, o), provider.Request{}); err == nil {
			t.Error("Retry() = nil, want an error")
		}
		want := []time.Duration{1050 * time.Millisecond, 1050 * time.Millisecond}
		if got := m.gaps(); !cmp.Equal(got, want) {
			t.Errorf("waits = %v, want %v", got, want)
		}
		m = &scripted{errs: times(9, provider.Error{Kind: provider.KindServer})}
		if _, err := provider.Collect(t.Context(), provider.Retry(m, provider.RetryOptions{Budget: -1}), provider.Request{}); err == nil || len(m.calls) != 1 {
			t.Errorf("Retry() without budget made %d requests, %v, want 1 and an error", len(m.calls), err)
		}
	})
}

// A server's own word outweighs the table, but for what time can't mend.
func TestRetryAdvice(t *testing.T) {
	tests := []struct {
		e    provider.Error
		want bool
	}{
		{provider.Error{Kind: provider.KindServer, Advice: provider.AdviceStop}, false},
		{provider.Error{Kind: provider.KindInvalid, Advice: provider.AdviceRetry}, true},
		{provider.Error{Kind: provider.KindOverflow, Advice: provider.AdviceRetry}, false},
		{provider.Error{Kind: provider.KindAuth, Advice: provider.AdviceRetry}, false},
		{provider.Error{Kind: provider.KindQuota, Advice: provider.AdviceRetry}, false},
		{provider.Error{Kind: "new"}, false},
	}
	for _, tt := range tests {
		if got := tt.e.Temporary(); got != tt.want {
			t.Errorf("Temporary(%v, %s) = %v, want %v", tt.e.Kind, tt.e.Advice, got, tt.want)
		}
	}
}
