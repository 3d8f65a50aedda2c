package proc

import (
	"math"
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
