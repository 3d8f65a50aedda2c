package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// header splits a text into its frontmatter and the rest (CORE-45): it begins
// with a line --- at byte 0, after a byte-order mark perhaps, and ends with the next
// such line. Found is false where there is none; one that never ends is an error.
func header(text []byte) (front, body []byte, found bool, err error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	if strings.TrimSuffix(string(line), "\r") != "---" {
		return nil, text, false, nil
	}
	for at := rest; len(at) > 0; {
		line, after, _ := bytes.Cut(at, []byte("\n"))
		if strings.TrimSuffix(string(line), "\r") == "---" {
			return rest[:len(rest)-len(at)], after, true, nil
		}
		at = after
	}
	return nil, nil, true, errors.New("line 1: the header that begins here is never closed by a line ---")
}

// bareLine is a member of a header whose value stands bare on its line, and
// hintLine one whose brackets are meant for people.
var (
	bareLine = regexp.MustCompile(`(?m)^(name|description|argument-hint|argument_hint)[ \t]*:[ \t]+([^'"|>\s].*?)[ \t\r]*$`)
	hintLine = regexp.MustCompile(`(?m)^(argument-hint|argument_hint)[ \t]*:[ \t]+([\[{].*?)[ \t\r]*$`)
)

// quoted puts the values of lines in quotes.
func quoted(front []byte, lines *regexp.Regexp) []byte {
	return lines.ReplaceAllFunc(front, func(line []byte) []byte {
		m := lines.FindSubmatch(line)
		return append(append(m[1], ": "...), strconv.Quote(string(m[2]))...)
	})
}

// decodeHeader reads the members of a header into v, a pointer to a struct; others
// are passed over. A bare value on one line may hold what YAML has a meaning for,
// such as a colon or a bracket: it stands for itself there.
func decodeHeader(front []byte, v any) error {
	var node yaml.Node
	front = quoted(front, hintLine)
	if err := yaml.Unmarshal(front, &node); err != nil {
		if yaml.Unmarshal(quoted(front, bareLine), &node) != nil {
			return errors.New(shifted(err))
		}
	}
	if len(node.Content) == 0 {
		return nil // an empty header
	}
	if node.Content[0].Kind != yaml.MappingNode {
		return errors.New("line 2: the header is no list of names and values")
	}
	if err := node.Decode(v); err != nil {
		return errors.New(shifted(err))
	}
	return nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// shifted is an error of the header without the words of the library and with
// the lines of the file; values are not repeated.
func shifted(err error) string {
	line := 2
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits
		line = n + 1
	}
	if _, ok := errors.AsType[*yaml.TypeError](err); ok {
		return fmt.Sprintf("line %d: a value of the wrong type", line)
	}
	return fmt.Sprintf("line %d: the header is not YAML", line)
}
