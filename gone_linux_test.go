package basis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gone checks that no process lives on of the group whose leader wrote its id
// into a file. Dead ones that nobody has reaped don't count.
func gone(t *testing.T, path string) {
	t.Helper()
	group, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		end := strings.LastIndexByte(string(data), ')')
		fields := strings.Fields(string(data[end+1:]))
		if len(fields) > 2 && fields[2] == strings.TrimSpace(string(group)) && !strings.Contains("ZX", fields[0]) {
			t.Errorf("%s) lives on in state %s, want the whole group gone", data[:end], fields[0])
		}
	}
}

// openFiles names what this process has open.
func openFiles(t *testing.T) string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, fd := range fds {
		name, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil {
			names.WriteString(name + "\n")
		}
	}
	return names.String()
}
