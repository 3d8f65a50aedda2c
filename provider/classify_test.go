package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/provider"
)

func headers(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// PROV-35: every way in which servers say how long to wait.
func TestClassifyWait(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	tests := []struct {
		name   string
		header func(string) string
		body   string
		want   time.Duration
	}{
		{"seconds", headers("retry-after", "3"), "", 3 * time.Second},
		{"date", headers("retry-after", "Tue, 06 May 2031 07:08:12 GMT"), "", 3 * time.Second},
		{"date by the server's clock", headers("retry-after", "Tue, 06 May 2031 09:00:03 GMT", "date", "Tue, 06 May 2031 09:00:00 GMT"), "", 3 * time.Second},
		{"past date", headers("retry-after", "Tue, 06 May 2031 07:00:00 GMT"), "", 0},
		{"garbage", headers("retry-after", "abc"), "", 0},
		{"negative", headers("retry-after", "-5"), "", 0},
		{"an hour", headers("retry-after", "3600"), "", time.Hour},
		{"absurd", headers("retry-after", "1e300"), "", 0},
		{"milliseconds first", headers("retry-after", "2", "retry-after-ms", "1574"), "", 1574 * time.Millisecond},
		{"zero milliseconds", headers("retry-after", "1", "retry-after-ms", "0"), "", time.Second},
		{"retry info", nil, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"34s"}]}}`, 34 * time.Second},
		{"reset of what is used up", headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s", "x-ratelimit-remaining-requests", "9", "x-ratelimit-reset-requests", "9h"), "", 6 * time.Minute},
		{"timestamp of what is used up", headers("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2031-05-06T07:08:19Z"), "", 10 * time.Second},
		{"in the text", nil, `{"error":{"message":"Please try again in 1.574s. Visit us."}}`, 1574 * time.Millisecond},
		{"nothing", nil, `{"error":{"message":"no"}}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := provider.Classify(provider.Failure{Status: 429, Header: tt.header, Body: []byte(tt.body), Now: now})
			if e.RetryAfter != tt.want || e.Kind != provider.KindRate {
				t.Errorf("Classify() = %v, wait %v, want rate_limit, wait %v", e.Kind, e.RetryAfter, tt.want)
			}
		})
	}
}

// PROV-39: an overlong conversation is known by its words, whatever the status.
func TestClassifyOverflow(t *testing.T) {
	for _, body := range []string{
		`{"error":{"code":"context_length_exceeded","message":"x"}}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`,
		`{"error":{"message":"input length and max_tokens exceed context limit: 1 + 2 > 3"}}`,
		`{"error":{"message":"This model's maximum context length is 4096 tokens."}}`,
		`{"object":"error","message":"max_tokens must be at least 1, got -12","code":400}`,
		`{"error":{"message":"Please reduce the length of the messages"}}`,
		`{"code":"c","error":"This model's maximum prompt length is 10 but"}`,
		`{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}`,
		`{"error":{"type":"exceed_context_size_error","message":"x"}}`,
		`{"error":"The number of tokens to keep is greater than the context length"}`,
		`{"message":"prompt too long; exceeded max context length by 7 tokens"}`,
	} {
		for _, status := range []int{0, 400, 413, 500} {
			if e := provider.Classify(provider.Failure{Status: status, Body: []byte(body)}); e.Kind != provider.KindOverflow {
				t.Errorf("Classify(%d, %s) = %v, want context_overflow", status, body, e.Kind)
			}
		}
	}
}

// An error inside a stream has no headers, but its words may say how long.
func TestClassifyWaitInsideStream(t *testing.T) {
	e := provider.Classify(provider.Failure{Body: []byte(`{"error":{"code":"rate_limit_exceeded","message":"Please try again in 2s."}}`)})
	if e.Kind != provider.KindRate || e.RetryAfter != 2*time.Second {
		t.Errorf("Classify() = %v, wait %v, want rate_limit, wait 2s", e.Kind, e.RetryAfter)
	}
}

func TestClassifyMessage(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"error":{"message":"no","metadata":{"raw":"upstream says no"}}}`, "no: upstream says no"},
		{`{"error":"plain"}`, "plain"},
		{`{"detail":"gone"}`, "gone"},
		{`<html><head><title>502 Bad Gateway</title></head></html>`, "an HTML page titled 502 Bad Gateway"},
		{`slow down`, "slow down"},
		{`{"odd":1}`, `{"odd":1}`},
		{``, ``},
		{"\xff\xfe", "\uFFFD"},
	}
	for _, tt := range tests {
		if got := provider.Classify(provider.Failure{Status: 500, Body: []byte(tt.body)}).Message; got != tt.want {
			t.Errorf("Classify(%q).Message = %q, want %q", tt.body, got, tt.want)
		}
	}
	long := `{"error":{"message":"` + strings.Repeat("ü", 5000) + `"}}`
	if got := provider.Classify(provider.Failure{Status: 500, Body: []byte(long)}).Message; len(got) > 2100 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("Classify(long).Message has %d bytes, want it cut at a rune", len(got))
	}
}

func TestClassifyAdvice(t *testing.T) {
	for word, want := range map[string]provider.Advice{"true": provider.AdviceRetry, "false": provider.AdviceStop, "": provider.AdviceNone} {
		e := provider.Classify(provider.Failure{Status: 500, Header: headers("x-should-retry", word)})
		if e.Advice != want {
			t.Errorf("Classify(x-should-retry: %s).Advice = %q, want %q", word, e.Advice, want)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, `{"error":{"code":"x","message":"y","details":[{"retryDelay":"1s"}]}}`)
	f.Add(0, `[{"error":{"error":{"error":{"error":"deep"}}}}]`)
	f.Add(500, "<title>")
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := provider.Classify(provider.Failure{Status: status, Body: []byte(body)})
		if e.Kind == "" || len(e.Message) > 2100 || e.RetryAfter < 0 {
			t.Errorf("Classify(%d, %q) = %+v, want a kind, a short message and no negative wait", status, body, e)
		}
	})
}
