package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Target: watching a thousand idle journals takes 1 % of a core.
func BenchmarkWatchIdle(b *testing.B) {
	const journals = 1000
	one := benchWriter(b)
	data, err := os.ReadFile(filepath.Join(one.dir, JournalFile))
	must(b, err)
	root := b.TempDir()
	n, err := NewNotifier()
	must(b, err)
	defer n.Close()
	ctx, cancel := context.WithCancel(b.Context())
	var watching, ready sync.WaitGroup
	ready.Add(journals)
	for i := range journals {
		dir := filepath.Join(root, fmt.Sprint(i))
		must(b, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, JournalFile), data, 0o600)))
		watching.Go(func() {
			for _, err := range Tail(ctx, dir, 0, TailOptions{Notifier: n}) {
				if err != nil {
					b.Error(err)
				}
				ready.Done()
			}
		})
	}
	ready.Wait()
	<-time.After(2 * idleTicks * defaultTick) // until all have calmed down
	var cpu, wall time.Duration
	for b.Loop() {
		c0, t0 := cpuTime(b), time.Now()
		<-time.After(time.Second)
		cpu += cpuTime(b) - c0
		wall += time.Since(t0)
	}
	cancel()
	watching.Wait()
	b.ReportMetric(100*float64(cpu)/float64(wall), "%-of-a-core")
}
