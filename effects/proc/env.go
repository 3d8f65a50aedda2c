package proc

import (
	"runtime"
	"slices"
	"strings"
)

// baseline returns the names that every command may see, on an operating system.
func baseline(goos string) []string {
	if goos == "windows" {
		return []string{"PATH", "PATHEXT", "SystemRoot", "COMSPEC", "TEMP", "TMP"}
	}
	return []string{"PATH", "HOME", "USER", "SHELL", "TMPDIR", "TMP", "TEMP", "LANG", "LC_ALL", "TZ"}
}

// Environ picks from an environment, in the form of os.Environ, what a command
// may see: the baseline of this system (PATH, HOME, USER, SHELL, TMPDIR, TMP,
// TEMP, LANG, LC_ALL and TZ; on Windows PATH, PATHEXT, SystemRoot, COMSPEC, TEMP
// and TMP) and the names in pass. Everything else, keys of vendors among it,
// stays here. The result is never nil.
func Environ(environ []string, pass ...string) []string {
	names := append(baseline(runtime.GOOS), pass...)
	kept := []string{}
	for _, entry := range environ {
		name, _, found := strings.Cut(entry, "=")
		if found && slices.ContainsFunc(names, func(n string) bool { return sameName(n, name) }) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// sameName compares the names of two variables as this system does.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
