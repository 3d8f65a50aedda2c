package provider_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tmaxmax/go-sse"

	"github.com/basisagent/basis/provider"
)

type event struct{ Type, Data string }

func readAll(t *testing.T, r io.Reader) []event {
	t.Helper()
	var out []event
	for s := provider.NewSSE(r, provider.SSEOptions{}); ; {
		f, err := s.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("Next() = %v, want io.EOF", err)
			}
			return out
		}
		out = append(out, event{f.Event, string(f.Data)})
	}
}

// PROV-27
func TestSSE(t *testing.T) {
	tests := []struct {
		name, in string
		want     []event
	}{
		{"lf", "data: a\n\ndata: b\n\n", []event{{"", "a"}, {"", "b"}}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a"}, {"", "b"}}},
		{"cr", "data: a\r\rdata: b\r\r", []event{{"", "a"}, {"", "b"}}},
		{"mixed line ends", "data: a\r\n\ndata: b\r\r\ndata: c\n\r", []event{{"", "a"}, {"", "b"}, {"", "c"}}},
		{"no space", "data:a\n\n", []event{{"", "a"}}},
		{"two spaces", "data:  a\n\n", []event{{"", " a"}}},
		{"several data lines", "data: a\ndata\ndata: b\n\n", []event{{"", "a\n\nb"}}},
		{"event, id and retry", "id: 1\nretry: 5\nevent: error\ndata: x\n\ndata: y\n\n", []event{{"error", "x"}, {"", "y"}}},
		{"event without data", "event: ping\n\ndata: y\n\n", []event{{"", "y"}}},
		{"comments", ": hi\n\n:\ndata: y\n: there\n\n", []event{{"", "y"}}},
		{"byte order mark", "\xEF\xBB\xBFdata: y\n\n", []event{{"", "y"}}},
		{"half a mark", "\xEF\xBBdata: y\n\ndata: z\n\n", []event{{"", "z"}}},
		{"end without blank line", "data: a\n\ndata: b\n", []event{{"", "a"}, {"", "b"}}},
		{"end in a line", "data: a\n\ndata: b", []event{{"", "a"}, {"", "b"}}},
		{"no field at all", "<html>\n\nhello\n\n", nil},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)),
				iotest.HalfReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				if got := readAll(t, r); !cmp.Equal(got, tt.want) {
					t.Errorf("SSE(%q) = %v, want %v", tt.in, got, tt.want)
				}
			}
		})
	}
}

func TestSSECountsComments(t *testing.T) {
	n := 0
	s := provider.NewSSE(strings.NewReader(": a\n:b\n\ndata: x\n\n"), provider.SSEOptions{Comment: func() { n++ }})
	if f, err := s.Next(); err != nil || string(f.Data) != "x" || n != 2 {
		t.Errorf("Next() = %q, %v after %d comments, want x after 2", f.Data, err, n)
	}
}

func TestSSEOffersFrameAsSoonAsItIsClosed(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := provider.NewSSE(r, provider.SSEOptions{})
	got := make(chan string)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		f, _ := s.Next()
		got <- string(f.Data)
	})
	if _, err := io.WriteString(w, "data: now\r\r"); err != nil {
		t.Fatal(err)
	}
	if f := <-got; f != "now" {
		t.Errorf("Next() = %q, want now", f)
	}
}

func TestSSELimit(t *testing.T) {
	line := "data: " + strings.Repeat("x", 100<<10) + "\n"
	if got := readAll(t, strings.NewReader(line+"\n")); len(got) != 1 || len(got[0].Data) != 100<<10 {
		t.Errorf("SSE read %d events, want one of 100 KiB", len(got))
	}
	for _, in := range []string{strings.Repeat("x", 300<<10), strings.Repeat(line, 3)} {
		s := provider.NewSSE(strings.NewReader(in), provider.SSEOptions{Limit: 200 << 10})
		if _, err := s.Next(); !errors.Is(err, provider.ErrFrameTooLong) {
			t.Errorf("Next() = %v, want %v", err, provider.ErrFrameTooLong)
		}
	}
}

// oracle is what another implementation reads, events without data left out.
func oracle(in string) (events []event, ok bool) {
	for e, err := range sse.Read(strings.NewReader(in), &sse.ReadConfig{MaxEventSize: 1 << 20}) {
		if err != nil {
			return nil, false
		}
		if e.Data != "" {
			events = append(events, event{e.Type, e.Data})
		}
	}
	return events, true
}

func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: a\n\ndata: b\n\n", "data: a\r\n\r\n", "\r\rdata:x\r\r", "\xEF\xBB\xBFdata: y\n\n", ":c\n\nevent: e\ndata: x\ndata\n\n", "data:\n\n", "id: 1\nretry: x\n\n\n",
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		in += "\n\n" // the oracle drops an event without its blank line
		if bom := "\uFEFF"; strings.HasPrefix(strings.TrimLeft(in, "\r\n"), bom) && !strings.HasPrefix(in, bom) {
			return // the oracle also takes a byte order mark off that stands behind blank lines
		}
		want, ok := oracle(in)
		if !ok {
			return
		}
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			got := slices.DeleteFunc(readAll(t, r), func(e event) bool { return e.Data == "" })
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("SSE(%q) differs from the oracle (-want +got):\n%s", in, diff)
			}
		}
	})
}
