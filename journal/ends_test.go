package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The two ends of a journal are read without what stands between, and only
// where they are whole.
func TestEnds(t *testing.T) {
	big := `{"x":"` + strings.Repeat("y", endsSize) + `"}`
	for _, tt := range []struct {
		name        string
		drafts      []Draft
		cut         int
		first, last int
	}{
		{"short", []Draft{{Type: "a.made", Data: []byte(`{}`)}, {Type: "a.done", Data: []byte(`{"n":1}`)}}, 0, 2, 3},
		{"one record", nil, 0, 1, 1},
		{"large between", []Draft{{Type: "a.made", Data: []byte(`{}`)}, {Type: "a.filled", Data: []byte(big)}, {Type: "a.done", Data: []byte(`{}`)}}, 0, 2, 4},
		{"large at the end", []Draft{{Type: "a.made", Data: []byte(`{}`)}, {Type: "a.filled", Data: []byte(big)}}, 0, 2, 0},
		{"large at the beginning", []Draft{{Type: "a.filled", Data: []byte(big)}, {Type: "a.done", Data: []byte(`{}`)}}, 0, 1, 3},
		{"no newline", []Draft{{Type: "a.made", Data: []byte(`{}`)}}, 1, 1, 0},
		{"torn", []Draft{{Type: "a.made", Data: []byte(`{}`)}}, 40, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a")
			w, err := Create(dir, Options{MinFree: -1}, tt.drafts...)
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, JournalFile)
			data, err := os.ReadFile(name)
			if err := errors.Join(err, os.WriteFile(name, data[:len(data)-tt.cut], 0o600)); err != nil {
				t.Fatal(err)
			}
			first, last, err := Ends(dir, 2)
			if err != nil || len(first) != tt.first || int(last.Seq) != tt.last {
				t.Errorf("Ends = %d records and number %d, %v, want %d and %d", len(first), last.Seq, err, tt.first, tt.last)
			}
			for i, r := range first {
				if int(r.Seq) != i+1 || i > 0 && r.Type != tt.drafts[i-1].Type {
					t.Errorf("record %d is number %d, %s", i+1, r.Seq, r.Type)
				}
			}
			if tt.last > 1 && (last.Type != "a.done" || string(last.Data) != string(tt.drafts[tt.last-2].Data)) {
				t.Errorf("last = %s %s, want what was written last", last.Type, last.Data)
			}
		})
	}
	if _, _, err := Ends(t.TempDir(), 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("Ends of nothing = %v, want ErrNotFound", err)
	}
}

// A line of another checksum is none, and ends what a small journal has.
func TestEndsDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	w, err := Create(dir, Options{MinFree: -1}, Draft{Type: "a.done", Data: []byte(`{"n":1}`)}, Draft{Type: "a.more", Data: []byte(`{}`)})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, JournalFile)
	data, err := os.ReadFile(name)
	if err := errors.Join(err, os.WriteFile(name, []byte(strings.Replace(string(data), `"n":1`, `"n":2`, 1)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if first, last, err := Ends(dir, 1); err != nil || len(first) != 1 || last.Seq != 0 {
		t.Errorf("Ends = %d records and number %d, %v, want the first alone", len(first), last.Seq, err)
	}
	if first, last, err := Ends(dir, 9); err != nil || len(first) != 1 || last.Seq != 0 {
		t.Errorf("Ends = %d records and number %d, %v, want the first alone", len(first), last.Seq, err)
	}
}
