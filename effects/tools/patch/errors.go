package patch

import (
	"fmt"
	"strconv"
	"strings"
)

// Code is a short word for why edits could not be made.
type Code string

// The codes of an Error.
const (
	CodeEmpty       Code = "empty_old"   // the old text is empty
	CodeNoChange    Code = "no_change"   // nothing would be different
	CodeNotFound    Code = "not_found"   // the old text is nowhere
	CodeNotUnique   Code = "not_unique"  // the old text is in several places
	CodeOverlapping Code = "overlapping" // two edits want the same bytes
)

// Error says why the edits could not be made. Nothing has been changed then.
type Error struct {
	Code  Code
	Edit  int   // which edit, from 1; 0 if it is about all of them
	Other int   // the second edit of an overlap
	Count int   // how many places there are, where that is the trouble
	Lines []int // the first lines of those places, from 1; not more than ten
	Loose bool  // the places match leniently only
}

// Error returns the trouble and what to do about it.
func (e *Error) Error() string {
	switch e.Code {
	case CodeEmpty:
		return fmt.Sprintf("edit %d: old_string is empty; give the text to replace, or use write for a new file", e.Edit)
	case CodeNotFound:
		return fmt.Sprintf("edit %d: old_string was not found; read the file and copy the text exactly", e.Edit)
	case CodeNotUnique:
		return e.notUnique()
	case CodeOverlapping:
		return fmt.Sprintf("edits %d and %d overlap; join them into one edit", e.Edit, e.Other)
	case CodeNoChange:
		if e.Edit > 0 {
			return fmt.Sprintf("edit %d: no change: old_string and new_string are the same text", e.Edit)
		}
		return "no change: the edits leave the file as it is"
	}
	return "edit failed: " + string(e.Code)
}

// notUnique names the places.
func (e *Error) notUnique() string {
	lines := make([]string, len(e.Lines))
	for i, n := range e.Lines {
		lines[i] = strconv.Itoa(n)
	}
	where := strings.Join(lines, ", ")
	if e.Count > len(e.Lines) {
		where += ", …"
	}
	if e.Loose {
		return fmt.Sprintf("edit %d: old_string is not in the file exactly, and %d places are close to it (lines %s); copy the text exactly",
			e.Edit, e.Count, where)
	}
	return fmt.Sprintf("edit %d: old_string is in %d places (lines %s); add lines around it to make it unique, or set replace_all",
		e.Edit, e.Count, where)
}
