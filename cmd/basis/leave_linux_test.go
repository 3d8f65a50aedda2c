package main

import "testing"

// The name of a process may look like the fields behind it.
func TestParentOf(t *testing.T) {
	for _, c := range []struct {
		stat        string
		pid, parent int
	}{
		{"12 (sh) S 7 12 12 0", 12, 7},
		{"12 (a) S 9 (b) R 7 12", 12, 7},
		{"x (sh) S 7", 0, 0},
		{"12 (sh)", 0, 0},
		{"", 0, 0},
	} {
		if pid, parent := parentOf(c.stat); pid != c.pid || parent != c.parent {
			t.Errorf("parentOf(%q) = %d, %d, want %d, %d", c.stat, pid, parent, c.pid, c.parent)
		}
	}
}
