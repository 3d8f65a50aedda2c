package golden

import (
	"os"
	"os/exec"
)

// killedBy: no signal kills a program here.
func killedBy(*exec.ExitError) int { return 0 }

// alive reports whether a process runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was only looked for
	return true
}
