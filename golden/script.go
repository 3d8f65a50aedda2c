package golden

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Command is a command of a script; neg says that it stands behind a "!".
type Command func(ts *testscript.TestScript, neg bool, args []string)

// Options are the scripts of one package. The zero value has the commands of
// testscript and those below.
type Options struct {
	// Setup prepares a script's environment.
	Setup func(*testscript.Env) error

	// Commands are more commands, by name.
	Commands map[string]Command

	// Condition answers for conditions that testscript does not know; nil
	// knows none.
	Condition func(name string) (bool, error)
}

// Main runs the tests of a package whose scripts use programs: each is this
// test binary under another name, so nothing has to be built. It does not
// return.
func Main(m *testing.M, programs map[string]func()) { testscript.Main(m, programs) }

// Script runs each script of dir, side by side. Beside testscript's commands
// there are
//
//	exits N PROGRAM ARGS…     runs a program that must end with exactly this code
//	start NAME PROGRAM ARGS…  runs it in the background, output in NAME.stdout and NAME.stderr
//	signal SIG NAME           sends it INT, TERM, HUP, QUIT or KILL
//	ended NAME N              waits for its end with this code; 128 and the number for a signal
//	await FILE [REGEXP]       waits until a file is there, and matches
//	gone PID-FILE             waits until the process whose id is in the file is no more
//	capture VAR FILE REGEXP   sets a variable to the first group of the match
//	jsonlines FILE            checks that each line is one JSON object, and that there is one
//	flip FILE LINE            changes one bit in the middle of a line
//	cut FILE N                takes the last N bytes off
//	drop FILE LINE            takes a line out
//	scrubbed FILE PATH…       rewrites a file by [Scrub]
//
// where FILE may be stdout or stderr in all that only read.
func Script(t *testing.T, dir string, o Options) {
	t.Helper()
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"exits": exits, "capture": capture, "jsonlines": jsonlines, "await": await,
		"flip": flip, "cut": cutEnd, "drop": drop, "scrubbed": scrubbed,
		"start": start, "signal": signal, "ended": ended, "gone": gone,
	}
	for name, c := range o.Commands {
		commands[name] = c
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Deadline: deadline(t), UpdateScripts: *update, RequireUniqueNames: true, Cmds: commands, Condition: o.Condition,
		Setup: func(e *testscript.Env) error {
			if o.Setup != nil {
				if err := o.Setup(e); err != nil {
					return err
				}
			}
			e.Values[jobsKey{}] = newJobs(e)
			return nil
		},
	})
}

// scriptLimit is how long all scripts of a directory may take.
const scriptLimit = 5 * time.Minute

// deadline is when scripts that hang are ended, before the test is.
func deadline(t *testing.T) time.Time {
	limit := time.Now().Add(scriptLimit)
	if d, ok := t.Deadline(); ok && d.Before(limit) {
		return d
	}
	return limit
}

// patience is how long a script waits for something that must happen.
const patience = 20 * time.Second

// pollTick is how often it looks.
const pollTick = 5 * time.Millisecond

// until waits for a condition and reports whether it came true.
func until(is func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollTick)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return is()
		}
	}
	return true
}

func positive(ts *testscript.TestScript, neg bool, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) >= 2, "exits N PROGRAM ARGS…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := codeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("%s ended with code %d, want %d", args[1], got, want)
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 3, "capture VAR FILE REGEXP")
	re, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("%s has no match of %s with a group", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

func jsonlines(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 1, "jsonlines FILE")
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	lines.Buffer(nil, 64<<20)
	n := 0
	for lines.Scan() {
		n++
		var v map[string]any
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			ts.Fatalf("line %d of %s is no JSON object: %v\n%s", n, args[0], err, lines.Text())
		}
	}
	ts.Check(lines.Err())
	if n == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 1 || len(args) == 2, "await FILE [REGEXP]")
	re := regexp.MustCompile(".")
	if len(args) == 2 {
		re = regexp.MustCompile("(?m)" + args[1])
	}
	path := ts.MkAbs(args[0])
	if !until(func() bool {
		paths, err := filepath.Glob(path)
		return err == nil && slices.ContainsFunc(paths, func(p string) bool {
			data, err := os.ReadFile(p)
			return err == nil && re.Match(data)
		})
	}) {
		ts.Fatalf("%s did not come to match %v", args[0], re)
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 2, "flip FILE LINE")
	change(ts, args[0], args[1], func(lines []string, n int) []string {
		b := []byte(lines[n])
		b[len(b)/2] ^= 1
		lines[n] = string(b)
		return lines
	})
}

func drop(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 2, "drop FILE LINE")
	change(ts, args[0], args[1], func(lines []string, n int) []string { return slices.Delete(lines, n, n+1) })
}

// change rewrites a file by one of its lines, counted from 1.
func change(ts *testscript.TestScript, file, number string, by func([]string, int) []string) {
	n, err := strconv.Atoi(number)
	ts.Check(err)
	lines := strings.SplitAfter(ts.ReadFile(file), "\n")
	if n < 1 || n >= len(lines) {
		ts.Fatalf("%s has no line %d", file, n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.Join(by(lines, n-1), "")), 0o600))
}

func cutEnd(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) == 2, "cut FILE N")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data[:max(len(data)-n, 0)]), 0o600))
}

func scrubbed(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg, len(args) >= 1, "scrubbed FILE PATH…")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), Scrub([]byte(ts.ReadFile(args[0])), args[1:]...), 0o600))
}

// names are the variables that a started program is given.
func names(e *testscript.Env) []string {
	all := map[string]bool{}
	for _, v := range e.Vars {
		name, _, _ := strings.Cut(v, "=")
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
