package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis"
	"github.com/basisagent/basis/projections"
)

// CLI-16: digits and one unit; what is refused shows a form that is taken.
func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"45s": 45 * time.Second, " 30m ": 30 * time.Minute, "12h": 12 * time.Hour, "7d": 7 * 24 * time.Hour,
		"4294967295s": 4294967295 * time.Second, "007m": 7 * time.Minute,
	} {
		if got, err := parseDuration("deadline", s); got != want || err != nil {
			t.Errorf("parseDuration(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", " ", "30", "30x", "30M", "30min", "30 m", "1.5h", "-5m", "soon", "0s", "00d", "100000d", "4294967296s", "99999999999999999999s", "٣m"} {
		_, err := parseDuration("deadline", s)
		usage, ok := errors.AsType[*usageError](err)
		if !ok || !strings.Contains(usage.what+usage.next, "30m") {
			t.Errorf("parseDuration(%q) = %v, want a usage error that shows 30m", s, err)
		}
	}
}

// CLI-16: the largest unit that divides.
func TestSpoken(t *testing.T) {
	for d, want := range map[time.Duration]string{
		120 * time.Second: "2m", 24 * time.Hour: "1d", 90 * time.Second: "90s", time.Hour: "1h", time.Second: "1s", 90 * time.Minute: "90m",
	} {
		if got := spoken(d); got != want {
			t.Errorf("spoken(%v) = %q, want %q", d, got, want)
		}
	}
}

// CLI-102: cut, never rounded up, no .0.
func TestTokens(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 980: "980", 999: "999", 1000: "1k", 1234: "1.2k", 1299: "1.2k", 12_345: "12k", 999_999: "999k", 1_000_000: "1M", 1_290_000: "1.2M", 12_000_000: "12M",
	} {
		if got := tokens(n); got != want {
			t.Errorf("tokens(%d) = %q, want %q", n, got, want)
		}
	}
}

// CLI-92: how long ago, and a clock that ran backwards.
func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1m ago", 59 * time.Minute: "59m ago", time.Hour: "1h ago",
		47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago", 400 * 24 * time.Hour: "400d ago",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %q, want %q", d, got, want)
		}
	}
}

// CLI-11, CLI-12: the first word alone decides what is a prompt.
func TestShorthand(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"basis", "basis"},
		{"basis|fix it", "basis|spawn|fix it"},
		{"basis|--json|--model|gpt-5|hi", "basis|spawn|--json|--model|gpt-5|hi"},
		{"basis|-", "basis|spawn|-"},
		{"basis|run the tests", "basis|spawn|run the tests"},
		{"basis|run|x", "basis|run|x"},
		{"basis|--|run", "basis|spawn|--|run"},
		{"basis|list", "basis|list"},
		{"basis|send|x", "basis|send|x"},
		{"basis|__daemon", "basis|__daemon"},
		{"basis|-h", "basis|help"},
		{"basis|--help|wait", "basis|help|wait"},
		{"basis|-V|x", "basis|version"},
		{"basis|" + completionFlag, "basis|" + completionFlag},
	} {
		got := shorthand(strings.Split(c.args, "|"))
		if !slices.Equal(got, strings.Split(c.want, "|")) {
			t.Errorf("shorthand(%q) = %q, want %q", c.args, got, c.want)
		}
	}
}

// CLI-45, CLI-48, CLI-49, CLI-50: environment and flags to route.
func TestRoute(t *testing.T) {
	for _, c := range []struct {
		inTask, await, only, json bool
		want                      route
	}{
		{want: attach},
		{await: true, want: attach},
		{await: true, json: true, want: attach},
		{json: true, want: streamed},
		{only: true, want: resumable},
		{only: true, json: true, want: resumable},
		{inTask: true, want: resumable},
		{inTask: true, json: true, want: resumable},
		{inTask: true, only: true, want: resumable},
		{inTask: true, await: true, want: attach},
		{inTask: true, await: true, json: true, want: attach},
	} {
		if got := routeOf(c.inTask, c.await, c.only, c.json); got != c.want {
			t.Errorf("routeOf(%v, %v, %v, %v) = %v, want %v", c.inTask, c.await, c.only, c.json, got, c.want)
		}
	}
}

// CLI-2: a bound gives 3 whatever else is recorded, also one this version does
// not know; then success gives 0 and all else 1.
func TestExitOfTerminal(t *testing.T) {
	for _, c := range []struct {
		t    projections.Terminal
		want int
	}{
		{projections.Terminal{State: "succeeded"}, 0},
		{projections.Terminal{State: "succeeded", StoppedBy: "token_budget"}, 3},
		{projections.Terminal{State: "failed", StoppedBy: "something_new"}, 3},
		{projections.Terminal{State: "failed"}, 1},
		{projections.Terminal{State: "cancelled"}, 1},
		{projections.Terminal{State: "what"}, 1},
	} {
		got := 0
		if code, ok := errors.AsType[settled](exitOf(c.t)); ok {
			got = int(code)
		}
		if got != c.want {
			t.Errorf("exit code of %+v = %d, want %d", c.t, got, c.want)
		}
	}
}

// Decision 35: each kind of error has its code and its word.
func TestExplain(t *testing.T) {
	ref, err := basis.ParseRef("148a99b954e2c46f/" + strings.Repeat("0", 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		exit int
		code string
		next string
	}{
		"usage":     {&usageError{"a", "b"}, 2, "usage", "b"},
		"handle":    {&basis.RefError{Text: "x"}, 2, "usage", "basis list"},
		"empty":     {basis.ErrEmptyPrompt, 2, "usage", "basis -"},
		"no task":   {&basis.TaskError{Ref: ref, Err: basis.ErrNoTask}, 1, "failed", "basis list"},
		"timeout":   {&timeoutError{ref: ref, after: time.Minute, verb: "wait"}, 3, "timeout", "basis wait " + ref.String()},
		"interrupt": {&basis.Stop{Reason: "signal", Detail: "interrupt"}, 130, "interrupted", "basis wait " + ref.String()},
		"hangup":    {&basis.Stop{Reason: "signal", Detail: "hangup"}, 129, "interrupted", "basis wait"},
		"terminate": {&basis.Stop{Reason: "signal", Detail: "terminated"}, 143, "interrupted", "basis wait"},
		"host":      {&basis.Stop{Reason: "signal", Detail: "context canceled"}, 1, "interrupted", "basis wait"},
		"unaskable": {&basis.Stop{Reason: "unaskable", Detail: "x"}, 1, "failed", "at a terminal"},
		"full":      {basis.ErrDiskFull, 1, "disk_full", "make room"},
		"stopped":   {&basis.Stop{Reason: "disk_full"}, 1, "disk_full", "make room"},
		"damaged":   {&basis.CorruptError{Path: "p", Seq: 3}, 1, "damaged", "basis verify " + ref.String()},
		"poisoned":  {basis.ErrFailed, 1, "failed", "look at that disk"},
		"parent":    {&basis.OptionError{Field: "parent", Reason: "x"}, 1, "failed", "basis spawn --detached"},
		"nobody":    {&unaskable{"x"}, 1, "failed", "basis spawn --approve never <PROMPT>"},
		"rule":      {basis.ErrNoRule, 1, "failed", "basis rules list"},
		"image":     {&basis.OptionError{Field: "image x.png", Reason: "x"}, 2, "usage", "--image FILE"},
		"other":     {errors.New("x"), 1, "failed", "retry with `basis wait <ID>`"},
	} {
		r := explain(&commandError{err: c.err, ref: ref, verb: "wait"})
		if r.exit != c.exit || r.code != c.code || !strings.Contains(r.next, c.next) {
			t.Errorf("%s: explain(%v) = %+v, want exit %d, code %s, next with %q", name, c.err, r, c.exit, c.code, c.next)
		}
	}
}

// CLI-5: one object, with the command that a hint names.
func TestFailureJSON(t *testing.T) {
	e := &commandError{err: &usageError{"a <b> & c", "use `basis list`, or not"}, json: true}
	want := `{"error":"a <b> & c","code":"usage","next":"basis list"}` + "\n"
	if got := string(failureJSON(e, explain(e))); got != want {
		t.Errorf("failureJSON = %s, want %s", got, want)
	}
}
