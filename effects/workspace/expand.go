package workspace

import (
	"errors"
	"fmt"
	"strings"
)

// Expand replaces ${NAME} and ${NAME:-default} in s in one pass (CORE-31). A
// bare $ stands for itself, the default is used where the variable is unset or
// empty, and what was put in is not looked at again. lookup reports a variable
// and whether it is set. The error names the variable and never repeats s.
func Expand(s string, lookup func(name string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("a ${ is not closed by }")
		}
		value, err := placeholder(inside, lookup)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = after
	}
}

func placeholder(inside string, lookup func(string) (string, bool)) (string, error) {
	name, fallback, hasFallback := strings.Cut(inside, ":-")
	name = strings.TrimSpace(name)
	if name == "" {
		return "", errors.New("a ${} names no variable")
	}
	value, set := lookup(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set && !hasFallback:
		return "", fmt.Errorf("the variable %s is not set; set it, or give a default as ${%s:-…}", name, name)
	}
	return value, nil
}
