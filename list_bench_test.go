package basis

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// ran is a task of n rounds of a 2 KB read, run to its end.
func ran(b *testing.B, n int) (h *Home, ref Ref, ws string) {
	b.Helper()
	ws = b.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte(strings.Repeat("0123456789abcdef0123456789abcde\n", 64)), 0o600); err != nil {
		b.Fatal(err)
	}
	h, err := Open(Options{Dir: b.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	out, err := h.Run(b.Context(), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{BaseURL: instantServer(b, n), Model: "m"}}, Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		b.Fatal(err, out.State.End)
	}
	return h, out.Ref, ws
}

// both times two ways in turn and reports ours over the other.
func both(b *testing.B, ours, other func()) {
	var a, z []time.Duration
	for b.Loop() {
		t0 := time.Now()
		ours()
		t1 := time.Now()
		other()
		a, z = append(a, t1.Sub(t0)), append(z, time.Since(t1))
	}
	b.ReportMetric(float64(middle(a).Microseconds())/1000, "ours-ms")
	b.ReportMetric(float64(middle(a))/float64(middle(z)), "x")
}

// BenchmarkList lists a workspace of 10,000 tasks beside reading as many small
// files. Target: 400 ms.
func BenchmarkList(b *testing.B) {
	const tasks = 10_000
	h, ref, ws := ran(b, 0)
	dir := h.AgentDir(ref)
	var names []string
	for _, name := range []string{journal.JournalFile, projections.TerminalFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		for i := range tasks - 1 {
			other := filepath.Join(filepath.Dir(dir), fmt.Sprintf("%032x", i))
			if err := os.MkdirAll(other, 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(other, name), data, 0o600); err != nil {
				b.Fatal(err)
			}
			if name == projections.TerminalFile {
				names = append(names, filepath.Join(other, name))
			}
		}
	}
	both(b, func() {
		if rows, err := h.List(ws); err != nil || len(rows) != tasks {
			b.Fatal(len(rows), err)
		}
	}, func() {
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFold folds a journal of 200 rounds, which is what an attach does
// first, beside decoding its lines with encoding/json. Target: 0.25 where a
// third of the payloads is decoded; this decodes all of them.
func BenchmarkFold(b *testing.B) {
	h, ref, _ := ran(b, 200)
	dir := h.AgentDir(ref)
	data, err := os.ReadFile(filepath.Join(dir, journal.JournalFile))
	if err != nil {
		b.Fatal(err)
	}
	both(b, func() {
		if s, err := h.State(ref); err != nil || !s.Ended() {
			b.Fatal(err)
		}
	}, func() {
		for line := range strings.Lines(string(data)) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
