package provider

import (
	"strconv"
	"strings"
	"time"
)

// imfFixdate is the date form of RFC 9110, section 5.6.7.
const imfFixdate = "Mon, 02 Jan 2006 15:04:05 GMT"

// retryAfter is how long a server asks to wait, 0 if it doesn't: the first of
// retry-after-ms, retry-after, Gemini's RetryInfo, the reset headers of a limit
// that is used up, and "try again in" in the text.
func retryAfter(f Failure, n notice) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(f.Header("retry-after-ms")), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	now := f.Now
	if date, err := time.Parse(imfFixdate, f.Header("date")); err == nil {
		now = date // the server's clock, so that a skew doesn't matter
	}
	if d := afterHeader(f.Header("retry-after"), now); d > 0 {
		return d
	}
	if d := duration(n.delay); d > 0 {
		return d
	}
	if d := resetHeaders(f.Header, now); d > 0 {
		return d
	}
	_, rest, ok := strings.Cut(n.words, "try again in ")
	if !ok {
		return 0
	}
	word, _, _ := strings.Cut(rest, " ")
	return duration(strings.TrimRight(word, "."))
}

// afterHeader reads seconds or a date; what is past or anything else is 0.
func afterHeader(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(s)
	}
	at, err := time.Parse(imfFixdate, value)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// seconds is s as a duration; what is negative or absurd is 0.
func seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	if s != s || s <= 0 || s > year {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// duration reads forms such as 1.574s, 6m0s and 34s.
func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// resetHeaders finds the longest wait among the limits that are used up.
func resetHeaders(header func(string) string, now time.Time) time.Duration {
	var wait time.Duration
	for _, what := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if header("anthropic-ratelimit-"+what+"-remaining") == "0" {
			if at, err := time.Parse(time.RFC3339, header("anthropic-ratelimit-"+what+"-reset")); err == nil {
				wait = max(wait, at.Sub(now))
			}
		}
		if header("x-ratelimit-remaining-"+what) == "0" {
			wait = max(wait, duration(header("x-ratelimit-reset-"+what)))
		}
	}
	return wait
}
