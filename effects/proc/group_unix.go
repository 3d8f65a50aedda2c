//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// shell prepares a line for the shell.
func shell(line string) *exec.Cmd {
	return exec.Command("/bin/sh", "-c", line) //nolint:noctx // the whole group is stopped by hand
}

// isolate gives a command a session of its own, and with it a process group and
// no controlling terminal.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = sysProcAttr() }

// askGroup asks everything in the command's group to stop. A process that is
// stopped is woken, so that it can hear.
func askGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // gone is what we want
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
}

// killGroup ends everything in the command's group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupAlive reports whether the command's group has a member that can still do
// something.
func groupAlive(cmd *exec.Cmd) bool {
	group := cmd.Process.Pid
	return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) && !allDead(group)
}

// status is the exit status as a shell reports it.
func status(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
