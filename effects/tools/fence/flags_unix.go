//go:build unix

package fence

import "syscall"

// openFlags keep an open from waiting for a pipe's other end and from taking a
// terminal as the controlling one.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
