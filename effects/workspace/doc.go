// Package workspace finds what a directory, the places above it and a user's own
// directories say to an agent: context documents, skills and memories, rendered
// into its system text; prompt templates; settings, hooks and declared tools.
//
// It reads files and nothing else: it runs nothing, asks nobody, and keeps
// nothing open. A missing file is never an error; a file that is there and
// cannot be used says so: in a warning where it is one of many that others have put
// there (documents, skills), else in an error.
package workspace
