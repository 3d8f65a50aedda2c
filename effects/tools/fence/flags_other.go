//go:build !unix

package fence

// openFlags is empty where opening a file by name never waits.
const openFlags = 0
