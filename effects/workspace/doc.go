// Package workspace finds what a directory and the places above it say to an
// agent that works there: context documents, rendered into its system text.
//
// It reads files and nothing else: it runs nothing, asks nobody, and keeps
// nothing open. A missing file is never an error; a file that is there and
// cannot be used says so.
package workspace
