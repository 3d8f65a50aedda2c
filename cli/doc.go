// Package cli is the command line: it turns words into calls of the SDK and
// results into words.
//
// [Main] takes everything that a process has through an [Env], reads the
// arguments, does what one command says and returns the exit code. It touches
// nothing global, so a test runs it as the real program does.
//
// # What goes where
//
// Standard output carries the answer, or the JSON that was asked for, and
// nothing else. Everything a person may want to know beside that goes to
// standard error: what the model does, questions, and at the end of a command
// that failed two lines, one beginning with "basis:" that says what went wrong
// and one beginning with "next:" that says what to do.
//
// If standard output is not a terminal it gets the final message of each turn,
// whole, once that is on disk; on a terminal the text is shown as it streams.
// With --json each line is one JSON value and leaves as it comes. A reader that
// goes away never stops a run: the run is on disk, so it goes on unseen.
//
// Standard input is read for a prompt given as "-" and for answers to
// questions at a terminal, never otherwise.
//
// # Exit codes
//
// 0 the run finished, or the command did its job; 1 it failed, or could not be
// started; 2 the invocation was wrong; 3 a bound ended the run, or a wait timed
// out; 128 and the signal's number if a signal ended the command.
package cli
