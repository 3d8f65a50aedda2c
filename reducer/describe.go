package reducer

import (
	"fmt"
	"strings"
)

// Describe is the event in one line of text: its name and what it says.
func Describe(e Event) string {
	kind, data, err := Encode(e)
	if err != nil {
		return fmt.Sprintf("%s %v", kind, err)
	}
	const most = 200
	line := strings.ReplaceAll(string(data), "\n", " ")
	if line == "{}" {
		return kind
	}
	return kind + " " + head(line, most)
}
