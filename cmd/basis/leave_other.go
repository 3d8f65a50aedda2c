//go:build !linux

package main

// killCommands: only Linux tells cheaply what this process has started.
// Elsewhere a command that ignores the first signal lives until it sees the
// end of its pipes.
func killCommands() {}
