package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/basisagent/basis/reducer"
)

// text is a flag with a value that may be given once.
func text(name, value, usage string, aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage, OnlyOnce: true, DefaultText: value, HideDefault: true, Local: true}
}

// toggle is a flag without a value.
func toggle(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Usage: usage, OnlyOnce: true, Local: true}
}

func jsonFlag() cli.Flag { return toggle("json", "write JSON on standard output") }

func workspaceFlag() cli.Flag {
	return text("workspace", "DIR", "the workspace; the current directory if not given", "C")
}

func timeoutFlag() cli.Flag {
	return text("timeout", "DURATION", "wait for this long: no new turn begins after it, one in flight ends; 30m if not given")
}

// maxSeconds is the longest duration that can be given.
const maxSeconds = math.MaxUint32

// parseDuration reads digits and one unit of s, m, h and d (CLI-16).
func parseDuration(flag, s string) (time.Duration, error) {
	refuse := func(why string) (time.Duration, error) {
		return 0, &usageError{
			what: fmt.Sprintf("--%s %q %s", flag, s, why),
			next: "give a whole number and one unit: 45s, 30m, 12h or 7d",
		}
	}
	v := strings.TrimSpace(s)
	digits := len(v) - len(strings.TrimLeft(v, "0123456789"))
	number, unit := v[:digits], v[digits:]
	units := map[string]int64{"s": 1, "m": 60, "h": 3600, "d": 86400}
	per, known := units[unit]
	switch {
	case v == "":
		return refuse("is empty")
	case number == "":
		return refuse("does not begin with a number, such as 30m")
	case unit == "":
		return refuse("has no unit; 30m is 30 minutes")
	case !known:
		return refuse(fmt.Sprintf("has the unknown unit %q; the units are s, m, h and d, as in 30m", unit))
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || n > maxSeconds/per:
		return refuse("is too long; 30m is 30 minutes")
	case n == 0:
		return refuse("is zero, which would end everything before it began; the least is 1s, and 30m is common")
	}
	return time.Duration(n*per) * time.Second, nil
}

// spoken writes a duration with the largest unit that divides it.
func spoken(d time.Duration) string {
	s := int64(d / time.Second)
	for _, u := range []struct {
		per  int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}} {
		if s >= u.per && s%u.per == 0 {
			return strconv.FormatInt(s/u.per, 10) + u.name
		}
	}
	return strconv.FormatInt(s, 10) + "s"
}

// durationOf is the value of a duration flag, or the default if it is not given.
func durationOf(c *cli.Command, flag string, otherwise time.Duration) (time.Duration, error) {
	if !c.IsSet(flag) {
		return otherwise, nil
	}
	return parseDuration(flag, c.String(flag))
}

// countOf is the value of a flag that counts; unknown if it is not given.
func countOf(c *cli.Command, flag string) (reducer.Count, error) {
	if !c.IsSet(flag) {
		return reducer.Count{}, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(c.String(flag)), 10, 64)
	if err != nil || n < 0 {
		return reducer.Count{}, &usageError{
			what: fmt.Sprintf("--%s %q is not a whole number from 0 on", flag, c.String(flag)),
			next: "give a number such as `--" + flag + " 20`",
		}
	}
	return reducer.Known(n), nil
}

// wordOf is the value of a flag that takes one of a few words.
func wordOf(c *cli.Command, flag string, words ...string) (string, error) {
	if !c.IsSet(flag) {
		return "", nil
	}
	v := c.String(flag)
	if !slices.Contains(words, v) {
		return "", &usageError{
			what: fmt.Sprintf("--%s %q is not one of %s", flag, v, strings.Join(words, ", ")),
			next: "use `--" + flag + " " + words[0] + "`, or another of them",
		}
	}
	return v, nil
}

// conflict refuses two flags that exclude each other.
func conflict(c *cli.Command, one, other string) error {
	if !c.IsSet(one) || !c.IsSet(other) {
		return nil
	}
	return &usageError{
		what: "--" + one + " and --" + other + " exclude each other",
		next: "give one of them; `basis " + c.Name + " --help` says what each does",
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
