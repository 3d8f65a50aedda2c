package projections

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Schema is the version of the public stream (EV-4).
const Schema = 2

// Line is one line of the public stream: a flat object with a type. Record is
// the number of the journal record that it shows, 0 for what is only streaming.
type Line struct {
	Record uint64
	Body   Body
}

// Body is what a line says; its type's name is the line's type.
//
//sumtype:decl
type Body interface{ lineType() string }

// File is a document or a configuration file that took effect.
type File struct {
	Path  string `json:"path"`
	Scope string `json:"scope"`
}

type (
	// RunStarted opens a turn.
	RunStarted struct {
		Schema       int    `json:"schema"`
		Basis        string `json:"basis"`
		SessionID    string `json:"session_id"`
		Task         string `json:"task,omitempty"`
		Workspace    string `json:"workspace"`
		Model        string `json:"model"`
		Provider     string `json:"provider"`
		ContextFiles []File `json:"context_files"`

		SkillsDirs    []string   `json:"skills_dirs,omitempty"`
		Skills        []Skill    `json:"skills,omitempty"`
		TemplatesDirs []string   `json:"templates_dirs,omitempty"`
		Templates     []Template `json:"templates,omitempty"`
	}

	// Skill is a skill that was found.
	Skill struct {
		Name           string `json:"name"`
		Description    string `json:"description"`
		ModelInvocable bool   `json:"model_invocable"`
	}

	// Template is a template that was found.
	Template struct {
		Name         string `json:"name"`
		Description  string `json:"description"`
		ArgumentHint string `json:"argument_hint,omitempty"`
	}

	// UserMessage is what was asked.
	UserMessage struct {
		Text       string `json:"text"`
		ImageCount int    `json:"image_count,omitempty"`
	}

	// AssistantDelta is new text; only while it streams.
	AssistantDelta struct {
		Text string `json:"text"`
	}

	// AssistantReasoningDelta is new readable reasoning; only while it streams.
	AssistantReasoningDelta struct {
		Text string `json:"text"`
	}

	// AssistantMessage is the whole text of one answer.
	AssistantMessage struct {
		Text string `json:"text"`
	}

	// ToolQueued is a call that the model asked for.
	ToolQueued struct {
		ToolCallID string          `json:"tool_call_id"`
		ToolName   string          `json:"tool_name"`
		Summary    string          `json:"summary"`
		Mutability string          `json:"mutability"`
		Input      json.RawMessage `json:"input"`
	}

	// ToolStarted is a call that is about to run.
	ToolStarted struct {
		ToolCallID string `json:"tool_call_id"`
		ToolName   string `json:"tool_name"`
	}

	// ToolProgress is new output of a running call; only while it streams.
	ToolProgress struct {
		ToolCallID string `json:"tool_call_id"`
		ToolName   string `json:"tool_name"`
		Progress   string `json:"progress"`
	}

	// ToolCompleted is what a call really came to.
	ToolCompleted struct {
		ToolCallID string `json:"tool_call_id"`
		ToolName   string `json:"tool_name"`
		Summary    string `json:"summary"`
		IsError    bool   `json:"is_error"`
	}

	// PermissionRequested is a question whether a call may run.
	PermissionRequested struct {
		RequestID   string          `json:"request_id"`
		ToolCallID  string          `json:"tool_call_id"`
		ToolName    string          `json:"tool_name"`
		Description string          `json:"description"`
		Preview     json.RawMessage `json:"preview"`
	}

	// PermissionResolved is its answer, or that of a rule which nobody was asked about.
	PermissionResolved struct {
		RequestID  string `json:"request_id"`
		ToolCallID string `json:"tool_call_id"`
		ToolName   string `json:"tool_name"`
		Outcome    string `json:"outcome"`
		RuleScope  string `json:"rule_scope,omitempty"`
	}

	// TaskUpdated tells how a delegation or a child task stands.
	TaskUpdated struct {
		TaskID string `json:"task_id"`
		Kind   string `json:"kind"`
		Status string `json:"status"`
		Title  string `json:"title"`
		Detail string `json:"detail,omitempty"`
	}

	// UsageReported is what one response cost.
	UsageReported struct {
		AgentID string `json:"agent_id"`
		Usage
	}

	// Notice is something that a person may want to know.
	Notice struct {
		Severity string `json:"severity"`
		Message  string `json:"message"`
	}

	// Retry says that a request failed and is sent again after a delay; it
	// voids the deltas of its round.
	Retry struct {
		AgentID     string `json:"agent_id"`
		Error       string `json:"error"`
		Attempt     int    `json:"attempt"`      // the one that failed, from 1
		MaxAttempts int    `json:"max_attempts"` // in all, the first request included
		NextDelayMS int64  `json:"next_delay_ms"`
	}

	// Failure precedes the end of a turn that failed.
	Failure struct {
		Message     string `json:"message"`
		Recoverable bool   `json:"recoverable"`
	}

	// RunFinished closes a turn.
	RunFinished struct {
		Status    string `json:"status"`
		Message   string `json:"message,omitempty"`
		StoppedBy string `json:"stopped_by,omitempty"`
		Usage     *Usage `json:"usage,omitempty"`
	}
)

func (RunStarted) lineType() string              { return "run_started" }
func (UserMessage) lineType() string             { return "user_message" }
func (AssistantDelta) lineType() string          { return "assistant_delta" }
func (AssistantReasoningDelta) lineType() string { return "assistant_reasoning_delta" }
func (AssistantMessage) lineType() string        { return "assistant_message" }
func (ToolQueued) lineType() string              { return "tool_queued" }
func (ToolStarted) lineType() string             { return "tool_started" }
func (ToolProgress) lineType() string            { return "tool_progress" }
func (ToolCompleted) lineType() string           { return "tool_completed" }
func (PermissionRequested) lineType() string     { return "permission_requested" }
func (PermissionResolved) lineType() string      { return "permission_resolved" }
func (TaskUpdated) lineType() string             { return "task_updated" }
func (UsageReported) lineType() string           { return "usage" }
func (Notice) lineType() string                  { return "notice" }
func (Retry) lineType() string                   { return "retry" }
func (Failure) lineType() string                 { return "error" }
func (RunFinished) lineType() string             { return "run_finished" }

// Durable reports whether the line is there again on every replay.
func (l Line) Durable() bool { return l.Record != 0 }

// JSON writes the line without a newline. A seq below 0 leaves it out.
func (l Line) JSON(seq int64) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	if seq >= 0 {
		b.WriteString(`"seq":` + strconv.FormatInt(seq, 10) + `,`)
	}
	b.WriteString(`"type":"` + l.Body.lineType() + `"`)
	if l.Record != 0 {
		b.WriteString(`,"record":` + strconv.FormatUint(l.Record, 10))
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l.Body); err != nil || body.Len() <= len("{}\n") {
		b.WriteByte('}')
		return b.Bytes()
	}
	b.WriteByte(',')
	b.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n"))[1:])
	return b.Bytes()
}
