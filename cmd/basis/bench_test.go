//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cost is what one process used.
type cost struct {
	cpu  time.Duration
	peak int64 // bytes
	wall time.Duration
	out  int // bytes on stdout
}

// builds makes the program, stripped as it ships, and an empty one to compare with.
func builds(b *testing.B) (basis, empty string) {
	dir := b.TempDir()
	basis, empty = filepath.Join(dir, "basis"), filepath.Join(dir, "empty")
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for out, pkg := range map[string]string{basis: ".", empty: src} {
		if text, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg).CombinedOutput(); err != nil {
			b.Fatalf("build: %v\n%s", err, text)
		}
	}
	return basis, empty
}

// place is where the processes of one measurement live.
type place struct {
	work, data string
}

func newPlace(b *testing.B) place {
	p := place{work: b.TempDir(), data: b.TempDir()}
	content := strings.Repeat("0123456789abcdef0123456789abcde\n", 64)
	if err := os.WriteFile(filepath.Join(p.work, "a.txt"), []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	return p
}

// run runs a program once and returns what it used.
func (p place) run(b *testing.B, url, program string, args ...string) cost {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.work
	cmd.Env = append(os.Environ(), "BASIS_DATA_DIR="+p.data, "BASIS_BASE_URL="+url, "BASIS_CONFIG_DIR="+p.data)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %q: %v\n%s", program, args, err, diag.String())
	}
	c := cost{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: time.Since(begun), out: out.Len()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = r.Maxrss << 10
	}
	return c
}

// median runs a measurement n times and takes the middle of each figure.
func median(n int, once func() cost) cost {
	var all []cost
	for range n {
		all = append(all, once())
	}
	mid := func(of func(cost) int64) int64 {
		v := make([]int64, n)
		for i, c := range all {
			v[i] = of(c)
		}
		slices.Sort(v)
		return v[n/2]
	}
	return cost{
		cpu:  time.Duration(mid(func(c cost) int64 { return int64(c.cpu) })),
		wall: time.Duration(mid(func(c cost) int64 { return int64(c.wall) })),
		peak: mid(func(c cost) int64 { return c.peak }),
		out:  all[0].out,
	}
}

func (c cost) report(b *testing.B, base cost) {
	b.ReportMetric(float64(c.cpu.Microseconds())/1000, "ms-cpu")
	b.ReportMetric(float64(c.peak)/(1<<20), "MB-peak")
	b.ReportMetric(float64(c.wall)/float64(base.wall), "x-empty-program")
	b.ReportMetric(0, "ns/op")
}

// server answers each prompt with rounds reads of a.txt and then with text in
// deltas pieces. It reads what it is sent and looks at nothing.
func server(b *testing.B, rounds, deltas int) string {
	return serverOf(b, rounds, deltas, `{\"path\":\"a.txt\"}`, "read")
}

// serverOf is server with calls of another tool; args is JSON inside a string.
func serverOf(b *testing.B, rounds, deltas int, args, tool string) string {
	const call = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"%s","arguments":"%s"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	text := strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n", deltas) +
		`data: {"choices":[{"index":0,"delta":{"content":"end"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if n := bytes.Count(body, []byte(`"role":"tool"`)); n < rounds {
			_, _ = fmt.Fprintf(w, call, served.Add(1), tool, args)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// BenchmarkProgram measures the whole program, journal synced, against a
// server that answers at once; an empty Go program runs beside it.
func BenchmarkProgram(b *testing.B) {
	basis, empty := builds(b)
	base := median(5, func() cost { return newPlace(b).run(b, "", empty) })
	args := []string{"--model", "m", "go"}
	b.Run("version", func(b *testing.B) {
		p := newPlace(b)
		for b.Loop() {
			median(5, func() cost { return p.run(b, "", basis, "--version") }).report(b, base)
		}
	})
	b.Run("prompt", func(b *testing.B) {
		p, url := newPlace(b), server(b, 0, 0)
		for b.Loop() {
			median(5, func() cost { return p.run(b, url, basis, args...) }).report(b, base)
		}
	})
	b.Run("200-rounds", func(b *testing.B) {
		p, url := newPlace(b), server(b, 200, 0)
		for b.Loop() {
			c := median(3, func() cost { return p.run(b, url, basis, args...) })
			c.report(b, base)
			b.ReportMetric(float64(c.cpu.Microseconds())/200, "µs-cpu/round")
		}
	})
	b.Run("resume-200-rounds", func(b *testing.B) {
		url := server(b, 200, 0)
		for b.Loop() {
			median(3, func() cost { return resumed(b, url, basis) }).report(b, base)
		}
	})
	b.Run("10-commands", func(b *testing.B) {
		p, url := newPlace(b), serverOf(b, 10, 0, `{\"input\":\"!true\"}`, "spawn")
		for b.Loop() {
			c := median(3, func() cost { return p.run(b, url, basis, args...) })
			c.report(b, base)
			b.ReportMetric(float64(c.wall.Microseconds())/10_000, "ms/command")
		}
	})
	b.Run("size", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(size(b, basis))/(1<<20), "MB")
			b.ReportMetric(float64(size(b, basis))/float64(size(b, empty)), "x-empty-program")
			b.ReportMetric(0, "ns/op")
		}
	})
	b.Run("10000-deltas", func(b *testing.B) {
		p, url := newPlace(b), server(b, 0, 10_000)
		for b.Loop() {
			median(3, func() cost { return p.run(b, url, basis, args...) }).report(b, base)
		}
	})
	b.Run("10-processes-20-rounds", func(b *testing.B) {
		url := server(b, 20, 0)
		for b.Loop() {
			together(b, url, basis, args).report(b, base)
		}
	})
}

// resumed is the cost of going on with a task whose journal ends before its last
// answer, as a kill leaves it.
func resumed(b *testing.B, url, basis string) cost {
	p := newPlace(b)
	p.run(b, url, basis, "--model", "m", "go")
	names, err := filepath.Glob(filepath.Join(p.data, "workspaces", "*", "agents", "*", "events.jsonl"))
	if err != nil || len(names) != 1 {
		b.Fatalf("journals = %q, %v, want one", names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Dir(names[0])
	at := bytes.LastIndex(data, []byte(`"type":"model.answered"`))
	if at < 0 {
		b.Fatalf("%s holds no answer", names[0])
	}
	data = data[:bytes.LastIndexByte(data[:at], '\n')+1]
	if err := errors.Join(os.WriteFile(names[0], data, 0o600), os.Remove(filepath.Join(dir, "terminal.json"))); err != nil {
		b.Fatal(err)
	}
	key := filepath.Base(filepath.Dir(filepath.Dir(dir)))
	return p.run(b, url, basis, "wait", key+"/"+filepath.Base(dir))
}

func size(b *testing.B, name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// together runs ten processes at once and adds up what they used.
func together(b *testing.B, url, basis string, args []string) cost {
	results := make(chan cost)
	begun := time.Now()
	for range 10 {
		p := newPlace(b)
		go func() { results <- p.run(b, url, basis, args...) }()
	}
	var all cost
	for range 10 {
		c := <-results
		all.cpu += c.cpu
		all.peak += c.peak
	}
	all.wall = time.Since(begun)
	return all
}
