package projections

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/basisagent/basis/reducer"
)

// meta is meta.json: what a task is and how it stands, for people and scripts
// that read files. Commands never read it.
type meta struct {
	ID        string        `json:"id"`
	Parent    *string       `json:"parent"`
	Detached  bool          `json:"detached"`
	Workspace string        `json:"workspace"`
	AgentID   string        `json:"agent_id"`
	Prompt    string        `json:"prompt"`
	Options   metaOptions   `json:"options"`
	Pending   *Terminal     `json:"pending_terminal,omitempty"`
	StoppedBy reducer.Bound `json:"stopped_by,omitempty"`
	Usage     *Usage        `json:"usage,omitempty"`
	Deadline  int64         `json:"deadline_at_ms,omitempty"`
	Created   int64         `json:"created_ms"`
	Updated   int64         `json:"updated_ms"`
}

type metaOptions struct {
	Provider    *string `json:"provider"`
	BaseURL     *string `json:"base_url"`
	Model       *string `json:"model"`
	NoShell     bool    `json:"no_shell"`
	Effort      *string `json:"effort"`
	Approve     string  `json:"approve"`
	ToolBudget  *int64  `json:"tool_budget"`
	TokenBudget *int64  `json:"token_budget"`
}

// MetaFile is the name of the file that shows what a task is.
const MetaFile = "meta.json"

// About is what meta.json says that a state doesn't: what was asked for, when
// the task was made and when it last got on.
type About struct {
	Prompt           string
	Created, Updated time.Time
}

// WriteMeta writes meta.json for the task with that handle, by rename and
// without a sync: what it says can be had from the journal at any time.
func WriteMeta(dir, ref string, about About, s reducer.State) error {
	m := meta{
		ID: ref, Detached: s.Detached, Workspace: s.Workspace, AgentID: s.Conversation,
		Prompt: about.Prompt, StoppedBy: s.Last.StoppedBy,
		Created: about.Created.UnixMilli(), Updated: about.Updated.UnixMilli(),
		Usage: UsageOf(s.Usage()), Deadline: s.DeadlineMS,
		Options: metaOptions{
			Provider: orNull(s.Options.Provider), BaseURL: orNull(s.Options.BaseURL), Model: orNull(s.Options.Model),
			NoShell: s.Options.NoShell, Effort: orNull(s.Options.Effort), Approve: approve(s.Options.Approve),
			ToolBudget: counter(s.Bounds.Tools), TokenBudget: counter(s.Bounds.Tokens),
		},
	}
	if s.Parent.ID != "" {
		m.Parent = &s.Parent.ID
	}
	if end, due := reducer.Next(s); due {
		if e, ok := end.(reducer.TaskEnded); ok {
			pending := TerminalOf(reducer.Apply(s, e), nil)
			m.Pending = &pending
		}
	}
	return writeJSON(filepath.Join(dir, MetaFile), m, false)
}

func approve(a reducer.Approve) string {
	if a == "" {
		return string(reducer.ApproveAlways)
	}
	return string(a)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// PartsText is the text of a prompt's parts, an image as its media type.
func PartsText(parts []reducer.Part) string {
	var text strings.Builder
	for _, p := range parts {
		if p.Type == reducer.PartImage {
			text.WriteString("[" + p.Image.Media + "]")
			continue
		}
		text.WriteString(p.Text.String())
	}
	return text.String()
}
