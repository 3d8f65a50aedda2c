// Package golden compares output with files and runs scripts that say what a
// user types and sees.
//
// It is for tests only: nothing that ships imports it, and it imports nothing
// of this module. [Equal] compares with a file below testdata, [Script] runs
// the txtar scripts of a directory against programs that are the test binary
// under another name ([Main]), and [Scrub] takes out what differs from run to
// run. With the flag -update files and scripts are rewritten to what was seen,
// and only those that differ.
package golden
