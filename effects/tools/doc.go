// Package tools holds the tools that every agent has: read, ls, grep, glob,
// write, edit and spawn.
//
// New makes them from one Options. Each is described by a table of its members,
// from which both the published schema and the check of a call's input are
// made, so the two cannot differ. Input is judged strictly and all that is wrong
// with it is said in one text; names that models like to use instead of ours are
// put right before, by Normalize.
//
// The file tools reach the file system through package fence only, and edit
// matches through package patch; grep and glob leave out what package ignore
// says; spawn runs commands through package proc. What a model could put right
// itself is an error result with a code; the codes are the constants named Code
// here, and those of fence and patch.
//
// In this version spawn runs commands (a leading "!") and nothing else: text
// without it would be a task for a subagent, and is refused with a sentence that
// says so.
//
// read, edit and write report which files an agent now knows all of, and are told
// on the next call; edit and write don't touch such a file if it has become
// another one since.
//
// The tools have no state and may be called by several goroutines at once.
package tools
