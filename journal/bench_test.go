package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each benchmark does both sides in turn, round by round in one process, and
// reports the ratio of their medians: "x" is ours over the limit beside it.
// JRN-93

// versus times pairs of operations and reports median over median.
func versus(b *testing.B, ours, limit func()) {
	b.Helper()
	ours()
	limit()
	var a, z []time.Duration
	for b.Loop() {
		t0 := time.Now()
		ours()
		t1 := time.Now()
		limit()
		a, z = append(a, t1.Sub(t0)), append(z, time.Since(t1))
	}
	b.ReportMetric(float64(median(a))/float64(max(median(z), 1)), "x")
	b.ReportMetric(float64(median(a).Nanoseconds()), "ours-ns")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func benchWriter(b *testing.B) *Writer {
	b.Helper()
	w, err := Create(filepath.Join(b.TempDir(), "a1"), Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() })
	return w
}

func benchDraft(size int) Draft {
	text := strings.Repeat("func main() { fmt.Println(42) } // ", size/35+1)[:size]
	return Draft{Type: "call.settled", Data: fmt.Appendf(nil, `{"call":"r1.c1","text":"%s"}`, text)}
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// Targets: 1.15 for 300 B and 2 KB, 1.4 for 32 KB.
func BenchmarkAppendOverRawWriteAndSync(b *testing.B) {
	for _, size := range []int{300, 2 << 10, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := benchWriter(b)
			raw, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			must(b, err)
			defer raw.Close()
			d := benchDraft(size)
			line := bytes.Repeat([]byte("x"), len(d.Data)+200)
			versus(b, func() {
				_, err := w.Append(d)
				must(b, err)
			}, func() {
				_, err := raw.Write(line)
				must(b, errors.Join(err, raw.Sync()))
			})
		})
	}
}

// Targets, per record: 0.25 for 16, 0.08 for 64.
func BenchmarkBatchOverSingleAppend(b *testing.B) {
	for _, n := range []int{16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, one := benchWriter(b), benchWriter(b)
			batch := slices.Repeat([]Draft{benchDraft(1 << 10)}, n)
			var a, z []time.Duration
			for b.Loop() {
				t0 := time.Now()
				_, err := w.Append(batch...)
				t1 := time.Now()
				_, err2 := one.Append(batch[0])
				a, z = append(a, t1.Sub(t0)), append(z, time.Since(t1))
				must(b, errors.Join(err, err2))
			}
			b.ReportMetric(float64(median(a))/float64(n)/float64(median(z)), "x")
		})
	}
}

// Target: 2.5 times the hash of the line.
func BenchmarkEncodeOverSHA256(b *testing.B) {
	d := benchDraft(2 << 10)
	encode := benchEncoder(d)
	line := bytes.Clone(encode())
	versus(b, func() {
		for range 100 {
			encode()
		}
	}, func() {
		for range 100 {
			sha256.Sum256(line)
		}
	})
}

// benchEncoder checks, encodes, sums and links one record after the other.
func benchEncoder(d Draft) func() []byte {
	var buf []byte
	recs := make([]Record, 0, 1)
	c := chain{hash: true, seq: 1, gen: 1}
	now := time.Unix(1e9, 0)
	return func() []byte {
		if d.problem() != "" {
			panic("bad draft")
		}
		recs = recs[:0]
		buf = appendRecord(buf[:0], &recs, &c, d, now)
		return buf
	}
}

// Target: 0.5 times encoding/json on the same members.
func BenchmarkEncodeOverEncodingJSON(b *testing.B) {
	type envelope struct {
		Seq  uint64          `json:"seq"`
		Type string          `json:"type"`
		V    int             `json:"v"`
		TS   string          `json:"ts"`
		Gen  uint64          `json:"gen"`
		Pos  int             `json:"pos"`
		Prev string          `json:"prev"`
		Data json.RawMessage `json:"data"`
		CRC  string          `json:"crc"`
	}
	d := benchDraft(2 << 10)
	e := testEntry()
	e.data = d.Data
	var buf []byte
	v := envelope{42, d.Type, 1, string(e.stamp), 3, 0, strings.Repeat("0", 32), d.Data, "00000000"}
	enc := json.NewEncoder(io.Discard)
	enc.SetEscapeHTML(false)
	versus(b, func() {
		for range 100 {
			buf = appendLine(buf[:0], e)
		}
	}, func() {
		for range 100 {
			must(b, enc.Encode(v))
		}
	})
}

// benchJournal makes a file of records of 1.4 KB on average.
func benchJournal(b *testing.B) (f *os.File, size int64) {
	b.Helper()
	name := filepath.Join(b.TempDir(), JournalFile)
	must(b, os.WriteFile(name, makeSample(benchRecords, 1100, "").bytes, 0o600))
	f, err := os.Open(name)
	must(b, err)
	b.Cleanup(func() { _ = f.Close() })
	st, err := f.Stat()
	must(b, err)
	b.SetBytes(2 * st.Size())
	return f, st.Size()
}

const benchRecords = 10_000

// Target: 4 times counting newlines, which is what wc -l does.
func BenchmarkReplayOverCountingLines(b *testing.B) {
	f, size := benchJournal(b)
	b.ReportAllocs()
	versus(b, func() {
		rd := reader{lines: lines{r: f, end: size}}
		for {
			if _, err := rd.next(false); err != nil {
				break
			}
		}
		if rd.rule != RuleNone || rd.chain.seq != benchRecords {
			b.Fatal("replay failed")
		}
	}, func() {
		n := 0
		chunk := make([]byte, blockSize)
		for at := int64(0); at < size; at += blockSize {
			k, _ := f.ReadAt(chunk, at)
			n += bytes.Count(chunk[:k], []byte{'\n'})
		}
		if n != benchRecords {
			b.Fatal("miscounted")
		}
	})
}

// Target: 1.7 times the SHA-256 of the whole file.
func BenchmarkReplayWithChainOverSHA256(b *testing.B) {
	f, size := benchJournal(b)
	data := make([]byte, size)
	versus(b, func() {
		if res := Recover(f, size); res.Verdict != Clean {
			b.Fatal(res.Reason)
		}
	}, func() {
		_, err := f.ReadAt(data, 0)
		must(b, err)
		sha256.Sum256(data)
	})
}

// Target: 50 µs. The limit beside it is one open and close.
func BenchmarkLockUnlock(b *testing.B) {
	name := filepath.Join(b.TempDir(), LockFile)
	must(b, os.WriteFile(name, nil, 0o600))
	versus(b, func() {
		l, err := tryLock(OSDisk(), name)
		must(b, err)
		must(b, l.Unlock())
	}, func() {
		f, err := os.Open(name)
		must(b, err)
		must(b, f.Close())
	})
}

// Target: 10 ms for a small journal. The limit beside it is two syncs, which a
// takeover cannot do without.
func BenchmarkTakeover(b *testing.B) {
	w := benchWriter(b)
	_, err := w.Append(slices.Repeat([]Draft{benchDraft(1 << 10)}, 100)...)
	must(b, errors.Join(err, w.Close()))
	raw, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	must(b, err)
	defer raw.Close()
	versus(b, func() {
		w, _, err := Open(w.dir, Options{MinFree: -1}, func(Recovery) ([]Draft, error) {
			return []Draft{{Type: "agent.attached", Data: []byte(`{}`)}}, nil
		})
		must(b, err)
		must(b, w.Close())
	}, func() {
		for range 2 {
			_, err := raw.Write(make([]byte, 300))
			must(b, errors.Join(err, raw.Sync()))
		}
	})
}
