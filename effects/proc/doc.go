// Package proc runs one command and never more than it was allowed: bounded in
// time, in memory and in what it inherits.
//
// A command starts in a session and process group of its own, without a
// controlling terminal, with no standard input but what it is given, with
// exactly the environment it is given and with no other descriptor. What it
// prints is read as it comes, shown line by line to a progress function, and
// kept as a head and a rolling tail of fixed size; the rest is counted and
// dropped, so a command that prints gigabytes costs no more than a quiet one.
//
// Run returns when the started process has exited, and not later than a short
// drain after that, even if something it left running still holds its output.
// Such a process lives on, but its pipes are closed: one that goes on writing to
// them is ended by the system. Redirect its output to keep it. A command that is
// to be alone (Command.Alone) leaves nothing running in its group.
//
// At the time limit, or when the context ends, the whole group is asked to stop
// (TERM) and, after a grace of half a second, made to (KILL). When Run returns
// then, no process of the group is left to do anything. A process that has moved
// to a session of its own cannot be reached this way; it is treated like one
// that was left running. One that is stuck in the kernel, on a dead network disk
// for instance, can be asked but not made to stop; Run waits for it.
//
// If this program itself is killed without warning, nothing is left to stop the
// group. On Linux the started process is then killed by the kernel; the thread
// that started it is kept for as long as it runs, because the kernel watches the
// thread, not the program. So a shell carries out no further step of its script,
// but the step that it was waiting for may run to its end. On other systems the
// command runs on. Whoever finds an unfinished command after a crash cannot know
// how far it got.
//
// On Linux every inherited descriptor above 2 of this program is marked
// close-on-exec when a command starts, so that it doesn't reach the command.
// Elsewhere only descriptors that this program opened itself are held back.
//
// On Windows a command runs in a new process group, and stopping means ending
// the process tree at once, because there is no signal that asks.
package proc
