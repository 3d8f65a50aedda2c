package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// shell prepares a line for the command interpreter, which has its own rules of
// quoting and gets the line as it is.
func shell(line string) *exec.Cmd {
	cmd := exec.Command("cmd.exe") //nolint:noctx // the whole tree is stopped by hand
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /S /C "` + line + `"`}
	return cmd
}

// isolate gives a command a process group of its own.
func isolate(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}

// askGroup ends the command and everything below it: there is nothing that asks.
func askGroup(cmd *exec.Cmd) {
	kill := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)) //nolint:noctx // short by nature
	_ = kill.Run()                                                                      // killGroup follows
}

// killGroup ends the command itself, by its handle, if it is still there.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// groupAlive reports nothing more than that the kill was sent.
func groupAlive(*exec.Cmd) bool { return false }

// status is the exit status.
func status(s *os.ProcessState) int { return s.ExitCode() }

// sealDescriptors does nothing: handles are inherited by name only.
func sealDescriptors() {}
