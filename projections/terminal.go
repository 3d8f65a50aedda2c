package projections

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/basisagent/basis/reducer"
)

// Usage is the six counters as every public surface writes them. A counter
// that nobody reported is absent.
type Usage struct {
	Input      *int64 `json:"input_tokens,omitempty"`
	Output     *int64 `json:"output_tokens,omitempty"`
	CacheRead  *int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_creation_tokens,omitempty"`
	Reasoning  *int64 `json:"reasoning_tokens,omitempty"`
}

// UsageOf is a usage in public form; nil if nothing was reported (EV-37).
func UsageOf(u reducer.Usage) *Usage {
	if u.IsZero() {
		return nil
	}
	return &Usage{
		Input: counter(u.Input), Output: counter(u.Output),
		CacheRead: counter(u.CacheRead), CacheWrite: counter(u.CacheWrite), Reasoning: counter(u.Reasoning),
	}
}

func counter(c reducer.Count) *int64 {
	n, known := c.Get()
	if !known {
		return nil
	}
	return &n
}

// MaxResult is how much of a result or an error a terminal record holds, in bytes.
const MaxResult = 1 << 20

// Terminal is the terminal record as scripts read it (TASK-40): the content of
// terminal.json. Its optional members are absent where there is nothing to say.
type Terminal struct {
	State           string `json:"state"`
	Result          string `json:"result,omitempty"`
	ResultTruncated bool   `json:"result_truncated,omitempty"`
	Error           string `json:"error,omitempty"`
	StoppedBy       string `json:"stopped_by,omitempty"`
	Usage           *Usage `json:"usage,omitempty"`

	// The journal's last record and its link: an anchor, against which the
	// journal can be checked (JRN-39, JRN-49).
	Seq  uint64 `json:"seq,omitempty"`
	Head string `json:"head,omitempty"`
}

// TerminalOf is the terminal record of a state that has ended; its State is ""
// for one that has not. load reads a result that is kept in a blob; if it can't,
// or is nil, the result is its head and tail, and counts as truncated.
func TerminalOf(s reducer.State, load func(reducer.Ref) ([]byte, error)) Terminal {
	e := s.End
	t := Terminal{State: string(e.State), StoppedBy: string(e.StoppedBy), Usage: UsageOf(e.Usage)}
	if e.State == reducer.StateCancelled {
		t.StoppedBy = ""
	}
	text, err := Whole(e.Result, load)
	t.Result, t.ResultTruncated = cut(text)
	t.ResultTruncated = t.ResultTruncated || err != nil
	t.Error, _ = cut(e.Error)
	return t
}

// Whole is the text with its blob read, if it has one. If that can't be read,
// the error says why, and the text is what the record holds of it.
func Whole(t reducer.Text, load func(reducer.Ref) ([]byte, error)) (string, error) {
	if t.Blob.Digest == "" {
		return t.String(), nil
	}
	if load == nil {
		return t.String(), errors.ErrUnsupported
	}
	data, err := load(t.Blob)
	if err != nil {
		return t.String(), err
	}
	return string(data), nil
}

// cut keeps the first MaxResult bytes, at a character's boundary.
func cut(s string) (string, bool) {
	if len(s) <= MaxResult {
		return s, false
	}
	return string(bytes.ToValidUTF8([]byte(s[:MaxResult]), nil)), true
}

// Exit is the process exit code that a terminal record stands for (CLI-2): a
// bound gives 3, whatever else happened; then success 0 and all else 1.
func (t Terminal) Exit() int {
	switch {
	case t.StoppedBy != "":
		return 3
	case t.State == string(reducer.StateSucceeded), t.State == string(reducer.StateClosed):
		return 0
	}
	return 1
}

// TerminalFile is the name of the terminal record's copy.
const TerminalFile = "terminal.json"

// WriteTerminal writes terminal.json, synced: it is the copy that other
// programs wait for.
func WriteTerminal(dir string, t Terminal) error {
	return writeJSON(filepath.Join(dir, TerminalFile), t, true)
}
