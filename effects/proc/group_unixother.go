//go:build unix && !linux

package proc

import "syscall"

// sysProcAttr is the plain form; only Linux can tie a process to its parent.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// sealDescriptors does nothing: there is no way to mark all descriptors at once.
func sealDescriptors() {}

// allDead reports nothing: a dead member counts until somebody reaps it.
func allDead(int) bool { return false }
