package basis

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/reducer"
)

// rawPair is what two commits cost on this disk: a write of 2 KB and a sync,
// twice. The targets of design for latency are net of it.
func rawPair(b *testing.B) time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 2047) + "\n")
	const pairs = 50
	begun := time.Now()
	for range 2 * pairs {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begun) / pairs
}

// instantServer asks n times for the same read and then answers. It looks at
// nothing, so that what is measured is not the server.
func instantServer(b *testing.B, n int) (url string) {
	const call = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}` + "\n\ndata: [DONE]\n\n"
	const text = `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	served := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if served++; served > n {
			_, _ = io.WriteString(w, text)
			return
		}
		_, _ = fmt.Fprintf(w, call, served)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// BenchmarkRounds runs a prompt of n rounds of a 2 KB read against a server
// that answers at once, journal synced. It reports the median time and the CPU
// time of a round net of two raw commits, how the last quarter compares with
// the first, and the bytes on disk over those of the content.
func BenchmarkRounds(b *testing.B) {
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			raw := rawPair(b)
			for b.Loop() {
				benchRounds(b, n, raw)
			}
		})
	}
}

func benchRounds(b *testing.B, n int, raw time.Duration) {
	ws := b.TempDir()
	content := strings.Repeat("0123456789abcdef0123456789abcde\n", 64)
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	url := instantServer(b, n)
	h, err := Open(Options{Dir: b.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	var at []time.Time
	shown := 0 // bytes of results that the model was shown
	out, err := h.Run(b.Context(), Spec{Workspace: ws, Prompt: "go", Options: reducer.Options{BaseURL: url, Model: "m"}}, Drive{
		Sink: func(u Update) {
			switch e := u.Entry.Event.(type) {
			case reducer.RoundStarted:
				at = append(at, time.Now())
			case reducer.CallSettled:
				shown += e.Output.Len()
			default:
			}
		},
	})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		b.Fatal(err, out.State.End)
	}
	quarter := len(at) / 4
	first := at[quarter].Sub(at[0]) / time.Duration(quarter)
	last := at[len(at)-1].Sub(at[len(at)-1-quarter]) / time.Duration(quarter)
	info, err := os.Stat(filepath.Join(h.AgentDir(out.Ref), "events.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(at[len(at)-1].Sub(at[0]).Microseconds())/float64(len(at)-1), "µs/round")
	b.ReportMetric(float64(raw.Microseconds()), "µs/raw-pair")
	b.ReportMetric(float64(last)/float64(first), "last/first")
	b.ReportMetric(float64(info.Size())/float64(shown), "disk/content")
}
