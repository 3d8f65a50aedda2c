package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// beside times another program on the same file, its start included, and
// reports ours over it. A program that is not there is named, and not measured.
func beside(b *testing.B, f *os.File, size int64, program string, args ...string) {
	b.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		b.Logf("%s is not installed: there is nothing to compare with", program)
		return
	}
	versus(b, func() {
		rd := reader{lines: lines{r: f, end: size}}
		for {
			if _, err := rd.next(false); err != nil {
				break
			}
		}
	}, func() {
		must(b, exec.Command(path, args...).Run())
	})
}

// Target: 0.06 times what jq takes to name the types.
func BenchmarkReplayOverJQ(b *testing.B) {
	f, size := benchJournal(b)
	beside(b, f, size, "jq", "-c", ".type", f.Name())
}

// Target: half of a full scan by SQLite of the same records in a table.
func BenchmarkReplayOverSQLite(b *testing.B) {
	f, size := benchJournal(b)
	db := filepath.Join(b.TempDir(), "db")
	if path, err := exec.LookPath("sqlite3"); err == nil {
		load := exec.Command(path, db)
		load.Stdin = bytes.NewBufferString("create table j(line text);\n.mode ascii\n.separator \"\\037\" \"\\n\"\n.import " + f.Name() + " j\n")
		must(b, load.Run())
	}
	beside(b, f, size, "sqlite3", db, "select sum(length(line)) from j")
}

// Targets: the median 0.2 ms and the 99th percentile 5 ms from when a record is
// durable to when a watcher has it, at up to 1,000 a second. A watcher may have
// it sooner, since it shows what is in the file; from before the append it is
// what the append takes and as much.
func BenchmarkWriterToWatcher(b *testing.B) {
	w := benchWriter(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	arrived := make(chan time.Time)
	var watching sync.WaitGroup
	watching.Go(func() {
		for c, err := range Tail(ctx, w.dir, 1, TailOptions{}) {
			if err != nil || c.Rewound {
				break
			}
			arrived <- time.Now()
		}
		close(arrived)
	})
	var appended, whole, late []time.Duration
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		begin := time.Now()
		_, err := w.Append(benchDraft(300))
		must(b, err)
		durable := time.Now()
		seen := <-arrived
		appended, whole, late = append(appended, durable.Sub(begin)), append(whole, seen.Sub(begin)), append(late, max(seen.Sub(durable), 0))
	}
	cancel()
	watching.Wait()
	for _, m := range []struct {
		name string
		took []time.Duration
		at   int
	}{{"late-µs-p50", late, 50}, {"late-µs-p99", late, 99}, {"append-µs-p50", appended, 50}, {"append-to-seen-µs-p50", whole, 50}, {"append-to-seen-µs-p99", whole, 99}} {
		slices.Sort(m.took)
		b.ReportMetric(float64(m.took[len(m.took)*m.at/100].Microseconds()), m.name)
	}
}

// Target: a quarter of decoding every line with encoding/json. This is the walk
// with its links; the fold of what the records mean is measured where they do.
func BenchmarkReplayOverEncodingJSON(b *testing.B) {
	f, size := benchJournal(b)
	data, err := os.ReadFile(f.Name())
	must(b, err)
	all := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	versus(b, func() {
		if res := Recover(f, size); res.Verdict != Clean {
			b.Fatal(res.Reason)
		}
	}, func() {
		for _, line := range all {
			var v map[string]any
			must(b, json.Unmarshal(line, &v))
		}
	})
}
