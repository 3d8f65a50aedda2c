//go:build !unix

package workspace

import (
	"os"
	"testing"
)

// makeFIFO makes something else that is no regular file where there are no pipes.
func makeFIFO(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}
