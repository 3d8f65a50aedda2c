package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// killCommands ends the process groups of everything that this process has
// started: whoever leaves without waiting must leave nothing running.
func killCommands() {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, parent := parentOf(string(data))
		if parent == os.Getpid() && pid > 0 {
			_ = syscall.Kill(-pid, syscall.SIGKILL) // each command leads a group of its own
		}
	}
}

// parentOf reads a line of /proc/PID/stat. The name in it may hold anything.
func parentOf(stat string) (pid, parent int) {
	head, _, _ := strings.Cut(stat, " ")
	tail := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(tail) < 2 {
		return 0, 0
	}
	pid, err := strconv.Atoi(head)
	if err != nil {
		return 0, 0
	}
	parent, err = strconv.Atoi(tail[1])
	if err != nil {
		return 0, 0
	}
	return pid, parent
}
