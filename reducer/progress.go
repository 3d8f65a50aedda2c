package reducer

// ProgressKind says what is streaming.
type ProgressKind string

// The kinds of progress.
const (
	ProgressText      ProgressKind = "text"      // new text of an answer
	ProgressReasoning ProgressKind = "reasoning" // new readable reasoning
	ProgressCall      ProgressKind = "call"      // a call's arguments are arriving; Text is the tool's name
	ProgressOutput    ProgressKind = "output"    // new output of a running call
	ProgressVoid      ProgressKind = "void"      // what was streamed of this round so far does not count
)

// Progress is what is streaming now: shown, never recorded, never folded.
type Progress struct {
	Kind  ProgressKind `json:"type"`
	Round string       `json:"round,omitempty"`
	Call  string       `json:"call,omitempty"`
	Tool  string       `json:"tool,omitempty"`
	Text  string       `json:"text,omitempty"`
}
