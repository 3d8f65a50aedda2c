//go:build unix

package golden

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// killedBy is the number of the signal that killed a program, 0 for none.
func killedBy(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// alive reports whether a process runs. One that has ended and that nobody has
// collected yet counts as gone.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return os.IsPermission(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
