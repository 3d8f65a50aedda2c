// Command basis gives coding agents work whose every step is on disk.
package main

import (
	"os"

	"github.com/basisagent/basis/cli"
)

func main() {
	ctx, done := signals()
	code := cli.Main(ctx, os.Args, environment())
	done()
	os.Exit(code)
}
