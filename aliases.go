package basis

import (
	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/provider"
)

// Names of other packages that users of this one need, so that they import one
// package.
type (
	// Approver answers whether a call may happen.
	Approver = effects.Approver

	// Approval is one question to an Approver.
	Approval = effects.Approval

	// Verdict is its answer.
	Verdict = effects.Verdict

	// URLError is a base URL that can't be one.
	URLError = provider.URLError

	// Report is what an audit of a journal's bytes found.
	Report = journal.Report
)

// ErrUnknownProvider says that a name is no provider's.
var ErrUnknownProvider = provider.ErrUnknownProvider

// ErrFailed says that a journal takes no more, because a write or a sync of it
// failed. What was recorded before is kept.
var ErrFailed = journal.ErrFailed

// ComposeMemory is the content of a memory file: a note of that name and one-line
// description, whose kind is user, feedback, project or reference. What could not be
// read back is refused. [Home.MemoryDir] is where a workspace's files are.
func ComposeMemory(name, description, kind, body string) ([]byte, error) {
	return workspace.ComposeMemory(name, description, kind, body)
}
