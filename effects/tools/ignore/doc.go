// Package ignore says what git's ignore rules leave out.
//
// A List holds the patterns of one file. Rules are the lists that hold in one
// directory: the user's own excludes file, the repository's info/exclude, and
// the .gitignore files from the repository's top down. Find gathers what holds
// at a directory from above it; In goes on to what is below. The last pattern
// that matches decides, a deeper file outranks a higher one, and info/exclude
// outranks the user's file.
//
// The patterns mean what they mean to git, with its corner cases; a test
// compares the two. Four things are different. Rules know nothing of the index,
// so a tracked file that a pattern names is ignored. Of git's configuration
// nothing is read, so the user's file is the one at its usual place. Letter
// case always counts. A directory that is no repository has rules too.
//
// A caller must not enter an ignored directory: a negation below it has no
// effect, because nobody gets to read it.
//
// Lists and Rules don't change and may be used by several goroutines at once.
package ignore
