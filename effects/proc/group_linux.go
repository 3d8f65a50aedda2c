package proc

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr also has the kernel end the process when the thread that started
// it ends, which happens only together with this program.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// sealDescriptors keeps descriptors that this program was given from reaching a
// command. A kernel before 5.11 cannot, which is no reason to run nothing.
func sealDescriptors() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// allDead reports whether a group has nothing but dead members that nobody has
// reaped. Where the first process of a container reaps none they stay for ever,
// and signals don't tell them from the living. See proc(5) for the form of stat.
func allDead(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return false // no /proc: nothing is known
	}
	want := []byte(strconv.Itoa(group))
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		name := bytes.LastIndexByte(data, ')') // it may itself hold parentheses
		fields := bytes.Fields(data[name+1:])  // state, parent, group, …
		if len(fields) > 2 && bytes.Equal(fields[2], want) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return false
		}
	}
	return true
}
