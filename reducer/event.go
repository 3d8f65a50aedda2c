package reducer

import (
	"encoding/json"
	"slices"
)

// Event is a fact about one agent, in the past tense. The names on disk are in
// the table of codec.go and are for ever; docs/events.md says what each member
// means.
//
//sumtype:decl
type Event interface{ event() }

// AgentKind says how an agent is driven and when it ends.
type AgentKind string

// The kinds of agents.
const (
	KindTask     AgentKind = "task"     // a prompt and one terminal record
	KindSession  AgentKind = "session"  // turn by turn, by a client
	KindSubagent AgentKind = "subagent" // a delegation of its parent
)

// Outcome is how something that was begun came out.
type Outcome string

// The outcomes of calls (done, failed, cancelled, lost), of turns (ok, failed,
// cancelled, interrupted) and of children (done, failed, cancelled).
const (
	OutcomeDone        Outcome = "done"
	OutcomeOK          Outcome = "ok"
	OutcomeFailed      Outcome = "failed"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeLost        Outcome = "lost"
)

// TaskState is the last word on an agent.
type TaskState string

// The states of a terminal record.
const (
	StateSucceeded TaskState = "succeeded"
	StateFailed    TaskState = "failed"
	StateCancelled TaskState = "cancelled"
	StateClosed    TaskState = "closed" // a session that was ended for good
)

// Bound is a limit that can end a run; the words are those of stopped_by.
type Bound string

// The bounds.
const (
	BoundDeadline Bound = "deadline"
	BoundTokens   Bound = "token_budget"
	BoundTools    Bound = "tool_budget"
)

// Approve is who answers for calls that may change something.
type Approve string

// The approval modes.
const (
	ApproveAlways Approve = "always"
	ApprovePrompt Approve = "prompt"
	ApproveNever  Approve = "never"
)

// Anchor names one record of another journal by its number and chain link.
type Anchor struct {
	Agent string `json:"agent"`
	Seq   uint64 `json:"seq"`
	Head  string `json:"head"`
}

// Link names one record of a journal that is known from elsewhere.
type Link struct {
	Seq  uint64 `json:"seq"`
	Link string `json:"link"`
}

// Parent names who an agent belongs to.
type Parent struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"` // of a delegation
	Seq  uint64 `json:"seq,omitempty"`  // of child.spawned in the parent's journal
}

// Options is what was asked for when the agent was made. It never holds a key.
type Options struct {
	Provider  string   `json:"provider,omitempty"`
	BaseURL   string   `json:"base_url,omitempty"`
	Model     string   `json:"model,omitempty"`
	Effort    string   `json:"effort,omitempty"`
	Approve   Approve  `json:"approve,omitempty"` // "" is always
	NoShell   bool     `json:"no_shell,omitempty"`
	System    *string  `json:"system_prompt,omitempty"`        // replaces the whole system text
	Append    string   `json:"append_system_prompt,omitempty"` // stands after everything else
	PassEnv   []string `json:"pass_env,omitempty"`             // names of variables that commands may see
	IdleMS    int64    `json:"idle_timeout_ms,omitempty"`
	CommandMS int64    `json:"command_timeout_ms,omitempty"`
	Tools     *Roster  `json:"tools,omitempty"` // nil offers every tool that there is
}

// Roster narrows the tools that an agent is offered. Where Offered is not nil
// only those are; Hidden ones never are.
type Roster struct {
	Hidden  []string `json:"hidden,omitempty"`
	Offered []string `json:"offered,omitzero"`
}

// Has reports whether a tool is offered. A nil roster has every tool.
func (r *Roster) Has(tool string) bool {
	return r == nil || (r.Offered == nil || slices.Contains(r.Offered, tool)) && !slices.Contains(r.Hidden, tool)
}

// Bounds limit each turn. An unknown count is no limit; a known 0 is one.
type Bounds struct {
	Tokens Count `json:"tokens,omitzero"` // input and output together
	Tools  Count `json:"tools,omitzero"`  // calls, refused ones included
}

// ToolInfo is what a model and the rules know of one tool.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	From        string          `json:"from,omitempty"` // who declares it: host, workspace or global; none is built in
}

// HookInfo is what the rules know of one hook: when it runs, not what it is.
type HookInfo struct {
	Name   string   `json:"name"`
	Event  string   `json:"event"`           // pre or post
	Tools  []string `json:"tools,omitempty"` // patterns of whole names of tools: * is any run of letters, ? one; none means all
	From   string   `json:"from,omitempty"`  // who declares it: host, global or workspace
	Digest string   `json:"digest,omitempty"`
}

// FromHost is who declares what the program around basis brings along.
const FromHost = "host"

// Matches reports whether the hook wants to see a tool's calls at an event.
func (h HookInfo) Matches(event, tool string) bool {
	return h.Event == event && (len(h.Tools) == 0 ||
		slices.ContainsFunc(h.Tools, func(pattern string) bool { return matchPattern(pattern, tool) }))
}

// ContextFile is one document that became part of the system text.
type ContextFile struct {
	Path   string `json:"path"`
	Scope  string `json:"scope"`
	Digest string `json:"digest"`
}

// Setting is one setting that took effect, and what said so.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"` // never a secret
	From  string `json:"from"`  // flag, workspace, global, environment or default
}

// SkillInfo is one skill that was found. Its text is read when it is loaded.
type SkillInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Path        string `json:"path"`
	Digest      string `json:"digest"`
	Hidden      bool   `json:"hidden,omitempty"` // from the model, which can't load it
}

// TemplateInfo is one template that was found.
type TemplateInfo struct {
	Name         string `json:"name"`
	Description  string `json:"description,omitempty"`
	ArgumentHint string `json:"argument_hint,omitempty"`
	Path         string `json:"path"`
	Digest       string `json:"digest"`
}

// MemoryInfo is one memory that was found: its head, whose text stands in the
// system text.
type MemoryInfo struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Digest string `json:"digest"` // of its head
}

// Found lists what an opening found beside the documents, most specific first.
type Found struct {
	Settings      []Setting      `json:"settings,omitempty"`
	Files         []ContextFile  `json:"files,omitempty"` // config.json, hooks.json and tools.json of both levels
	SkillRoots    []string       `json:"skill_roots,omitempty"`
	Skills        []SkillInfo    `json:"skills,omitempty"`
	TemplateRoots []string       `json:"template_roots,omitempty"`
	Templates     []TemplateInfo `json:"templates,omitempty"`
	Memories      []MemoryInfo   `json:"memories,omitempty"`
}

// FileSeen is a file as an agent last saw the whole of it.
type FileSeen struct {
	Path   string `json:"path"`             // canonical
	Digest string `json:"digest,omitempty"` // of its bytes; none where the agent no longer knows all of it
}

// CallHead is what the rules need to know of a call that a model asked for.
// Its input stands in the item.
type CallHead struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Class  Class  `json:"class"`
	Lane   Lane   `json:"lane"`
	Broken bool   `json:"broken,omitempty"` // the arguments are not one JSON document
}

// Refusal is why a call may not run, in a word and in words for the model.
type Refusal struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Params are the settings of a request beside its conversation.
type Params struct {
	Effort string `json:"effort,omitempty"`
}

// Life cycle: written by whoever opens, attaches, detaches or repairs.
type (
	// JournalCreated is the first record of every journal.
	JournalCreated struct {
		ID      string `json:"journal"`
		Format  int    `json:"format"`
		Chain   string `json:"chain"`
		Agent   string `json:"agent,omitempty"`
		Program string `json:"program,omitempty"`
		Host    string `json:"host,omitempty"`
		Boot    string `json:"boot,omitempty"`
	}

	// JournalRepaired says that bytes at the end were set aside.
	JournalRepaired struct {
		Verdict  string `json:"verdict"`
		CutBytes int64  `json:"cut_bytes"`
		SHA256   string `json:"sha256,omitempty"`
		File     string `json:"file,omitempty"`
		AfterSeq uint64 `json:"after_seq"`
	}

	// JournalSalvaged says that this journal was made from a damaged one, and
	// what of that one is missing here.
	JournalSalvaged struct {
		From   string `json:"from"`
		Head   Link   `json:"head"`           // the last good record of the damaged journal
		Offset int64  `json:"offset"`         // where its damage began, in bytes
		Length int64  `json:"length"`         // bytes from there to its end
		Rule   string `json:"rule"`           // that it broke
		File   string `json:"file,omitempty"` // below this journal's directory, with what was found behind the damage
		Kept   int    `json:"kept"`           // records in File
	}

	// AgentCreated says what the agent is for and under which limits.
	AgentCreated struct {
		Kind         AgentKind `json:"kind"`
		ID           string    `json:"id"`
		Conversation string    `json:"conversation"`
		Workspace    string    `json:"workspace"`
		Parent       Parent    `json:"parent,omitzero"`
		Detached     bool      `json:"detached,omitempty"`
		Depth        int       `json:"depth,omitempty"`
		Continues    Anchor    `json:"continues,omitzero"`
		Forks        Anchor    `json:"forks,omitzero"`
		Prompt       []Part    `json:"prompt,omitempty"`
		Options      Options   `json:"options"`
		Bounds       Bounds    `json:"bounds,omitzero"`
		DeadlineMS   int64     `json:"deadline_at_ms,omitempty"` // Unix milliseconds
	}

	// AgentAttached begins a run: one process holds the lock from here on.
	AgentAttached struct {
		Gen     uint64 `json:"gen"`
		Rules   int    `json:"rules"`
		Program string `json:"program"`
		PID     int    `json:"pid,omitempty"`
		Host    string `json:"host,omitempty"`
		Boot    string `json:"boot,omitempty"`
	}

	// AgentDetached ends a run in good order; the agent can be attached again.
	AgentDetached struct {
		Reason string `json:"reason"` // signal, yield, unaskable, disk_full, parent or closed
		Detail string `json:"detail,omitempty"`
	}

	// Note is information that no rule depends on: every note.* and x.* type.
	Note struct {
		Name string          `json:"-"` // the whole type on disk
		Data json.RawMessage `json:"-"`
	}
)

// Decisions: only Decide makes these.
type (
	// TurnStarted begins the work on the prompt or on one message.
	TurnStarted struct {
		Turn    string `json:"turn"`
		Message string `json:"message,omitempty"`
	}

	// TurnEnded ends it.
	TurnEnded struct {
		Turn      string  `json:"turn"`
		Outcome   Outcome `json:"outcome"`
		Error     string  `json:"error,omitempty"`
		StoppedBy Bound   `json:"stopped_by,omitempty"`
	}

	// RoundStarted says what is asked of the model. A model and tools that
	// are not named are those of the round before in this journal.
	RoundStarted struct {
		Round       string `json:"round"`
		Model       string `json:"model,omitempty"`
		Params      Params `json:"params,omitzero"`
		ToolsDigest string `json:"tools_digest,omitempty"`
	}

	// CallRefused says that a call never ran, and what the model reads instead.
	CallRefused struct {
		Call string `json:"call"`
		Code string `json:"code"`
		Text string `json:"text"`
	}

	// CallStarted is durable before the call begins.
	CallStarted struct {
		Call string `json:"call"`
		By   string `json:"by,omitempty"` // who let it: always, person, process, or a rule such as project/allow
	}

	// ApprovalRequested asks whoever can answer; its id is the call's.
	ApprovalRequested struct {
		Call string `json:"call"`
	}

	// MessageAnswered settles a message: every end of its turn does.
	MessageAnswered struct {
		Message   string  `json:"message"`
		Outcome   Outcome `json:"outcome"`
		Result    Text    `json:"result,omitzero"`
		Error     string  `json:"error,omitempty"`
		StoppedBy Bound   `json:"stopped_by,omitempty"`
	}

	// TaskEnded is the terminal record; nothing follows it.
	TaskEnded struct {
		State     TaskState `json:"state"`
		Result    Text      `json:"result,omitzero"`
		Error     string    `json:"error,omitempty"`
		StoppedBy Bound     `json:"stopped_by,omitempty"`
		Usage     Usage     `json:"usage,omitzero"`
	}
)

// Observations: they come from outside, by way of Admit. CallSettled is a
// decision where the outcome is lost or the call is a delegation; ChildSpawned
// is one where it is a delegation.
type (
	// WorkspaceOpened says what the directory and the settings came to.
	WorkspaceOpened struct {
		Provider     string        `json:"provider"`
		Model        string        `json:"model"`
		Wire         string        `json:"wire"`
		Window       int64         `json:"window,omitempty"` // tokens; 0 is unknown
		Context      []ContextFile `json:"context,omitempty"`
		SystemDigest string        `json:"system_digest,omitempty"`
		System       Text          `json:"system,omitzero"` // only where the digest is new
		ToolsDigest  string        `json:"tools_digest,omitempty"`
		Tools        []ToolInfo    `json:"tools,omitempty"` // only where the digest is new
		Hooks        []HookInfo    `json:"hooks,omitempty"`
		Effort       string        `json:"effort,omitempty"` // where the task asked for none
		FoundDigest  string        `json:"found_digest,omitempty"`
		Found        Found         `json:"found,omitzero"` // only where the digest is new
		From         string        `json:"from,omitempty"` // parent: taken over from the parent's
		Warnings     []string      `json:"warnings,omitempty"`
	}

	// WorkspaceFailed says why nothing can run.
	WorkspaceFailed struct {
		Code  string `json:"code"`
		Error string `json:"error"`
	}

	// ModelAnswered is one whole answer.
	ModelAnswered struct {
		Round   string      `json:"round"`
		Items   []Item      `json:"items,omitempty"`
		Text    Text        `json:"text,omitzero"` // of all pieces, where one of several is in a blob
		Calls   []CallHead  `json:"calls,omitempty"`
		Stop    Stop        `json:"stop"`
		StopRaw string      `json:"stop_raw,omitempty"`
		Usage   Usage       `json:"usage,omitzero"`
		Source  Provenance  `json:"source,omitzero"` // only where it isn't the workspace's
		Served  string      `json:"served,omitempty"`
		Request RequestInfo `json:"request"`
		Attempt int         `json:"attempt,omitempty"` // from 2 on
		MS      int64       `json:"ms,omitempty"`
	}

	// AttemptFailed says that a request failed and is sent again after a while.
	AttemptFailed struct {
		Round   string      `json:"round"`
		Attempt int         `json:"attempt"`
		Max     int         `json:"max"`
		Kind    string      `json:"kind"`
		Status  int         `json:"status,omitempty"`
		Message string      `json:"message,omitempty"`
		Partial Text        `json:"partial,omitzero"`
		Usage   Usage       `json:"usage,omitzero"`
		Request RequestInfo `json:"request,omitzero"`
		DelayMS int64       `json:"delay_ms"`
	}

	// RoundFailed says that there will be no answer.
	RoundFailed struct {
		Round   string      `json:"round"`
		Kind    string      `json:"kind"` // a provider's kind, cancelled or deadline
		Status  int         `json:"status,omitempty"`
		Message string      `json:"message,omitempty"`
		Partial Text        `json:"partial,omitzero"`
		Usage   Usage       `json:"usage,omitzero"`
		Request RequestInfo `json:"request,omitzero"`
		Attempt int         `json:"attempt,omitempty"`
	}

	// UsageSampled relays what one round of a delegation cost.
	UsageSampled struct {
		Child int    `json:"child"`
		Round string `json:"round"`
		Usage Usage  `json:"usage"`
	}

	// HookAnswered is one hook's verdict.
	HookAnswered struct {
		Call     string `json:"call"`
		Event    string `json:"event"` // pre or post
		Hook     string `json:"hook,omitempty"`
		Decision string `json:"decision,omitempty"` // allow, deny, modify, replace or failed
		Reason   string `json:"reason,omitempty"`
		MS       int64  `json:"ms,omitempty"`
		Last     bool   `json:"last,omitempty"`     // post: the result may be shown now
		Shown    Text   `json:"shown,omitzero"`     // post and last: what the model reads instead
		IsError  *bool  `json:"is_error,omitempty"` // post and last: where a hook changed it
		Withheld bool   `json:"withheld,omitempty"` // post and last: the model reads nothing of it
	}

	// CallReviewed says what the checks before a call came to.
	CallReviewed struct {
		Call    string          `json:"call"`
		Input   Text            `json:"input,omitzero"` // JSON text, where it differs from the item's
		Refuse  *Refusal        `json:"refuse,omitempty"`
		Rule    string          `json:"rule,omitempty"`   // scope/allow or scope/deny
		Reason  string          `json:"reason,omitempty"` // of a rule that denies
		Preview json.RawMessage `json:"preview,omitempty"`
	}

	// CallSettled is what a call really came to.
	CallSettled struct {
		Call    string  `json:"call"`
		Outcome Outcome `json:"outcome"`
		Code    string  `json:"code,omitempty"`
		Output  Text    `json:"output,omitzero"`
		Shown   Text    `json:"shown,omitzero"` // what the model reads, where it differs
		Summary string  `json:"summary,omitempty"`
		Reason  string  `json:"reason,omitempty"` // why it was cancelled
		Child   int     `json:"child,omitempty"`  // the delegation it was
		MS      int64   `json:"ms,omitempty"`

		Files []FileSeen `json:"files,omitempty"` // what it read or wrote the whole of
	}

	// ApprovalAnswered is a person's or a host's answer.
	ApprovalAnswered struct {
		Call    string `json:"call"`
		Allow   bool   `json:"allow"`
		Scope   string `json:"scope"`             // once, process, session, project or global
		Pattern string `json:"pattern,omitempty"` // of the inputs that it is remembered for; none is the whole tool
		By      string `json:"by"`
		Reason  string `json:"reason,omitempty"`
	}

	// MessageReceived brings words for a running or waiting agent.
	MessageReceived struct {
		Message string `json:"message"` // 32 hex digits
		From    string `json:"from"`    // inbox or client
		Parts   []Part `json:"parts"`
	}

	// ChildSpawned says that a delegation (with N) or a child task exists.
	ChildSpawned struct {
		N      int    `json:"n,omitempty"`
		Call   string `json:"call,omitempty"`
		Prompt Text   `json:"prompt,omitzero"`
		Bounds Bounds `json:"bounds,omitzero"`
		Depth  int    `json:"depth,omitempty"`
		Task   string `json:"task,omitempty"`
	}

	// ChildSettled is how it ended; Seq and Head anchor its journal.
	ChildSettled struct {
		N         int     `json:"n,omitempty"`
		Task      string  `json:"task,omitempty"`
		Outcome   Outcome `json:"outcome"`
		Code      string  `json:"code,omitempty"`
		Text      Text    `json:"text,omitzero"`
		Shown     Text    `json:"shown,omitzero"` // what the caller's model reads, where it differs
		Error     string  `json:"error,omitempty"`
		StoppedBy Bound   `json:"stopped_by,omitempty"`
		Usage     Usage   `json:"usage,omitzero"`
		Seq       uint64  `json:"seq,omitempty"`
		Head      string  `json:"head,omitempty"`
	}

	// SessionConfigured changes a live session from its next round on.
	SessionConfigured struct {
		Model   string  `json:"model,omitempty"`
		Window  int64   `json:"window,omitempty"`
		Effort  string  `json:"effort,omitempty"`
		Approve Approve `json:"approve,omitempty"`
	}

	// CancelRequested asks to abandon a turn or the whole task.
	CancelRequested struct {
		Scope    string `json:"scope"`          // turn or task
		Turn     string `json:"turn,omitempty"` // of scope turn: the turn that the sender saw
		Graceful bool   `json:"graceful,omitempty"`
		By       string `json:"by,omitempty"`
	}

	// BoundPassed says that a limit was passed which the journal can't derive.
	BoundPassed struct {
		Bound Bound  `json:"bound"`
		By    string `json:"by"` // clock, pool or parent
		Limit int64  `json:"limit,omitempty"`
		Spent int64  `json:"spent,omitempty"`
	}

	// InboxClosed says that no more messages, children or cancels are taken.
	InboxClosed struct {
		By string `json:"by,omitempty"` // client, where a session was closed
	}
)

func (JournalCreated) event()    {}
func (JournalRepaired) event()   {}
func (JournalSalvaged) event()   {}
func (AgentCreated) event()      {}
func (AgentAttached) event()     {}
func (AgentDetached) event()     {}
func (Note) event()              {}
func (TurnStarted) event()       {}
func (TurnEnded) event()         {}
func (RoundStarted) event()      {}
func (CallRefused) event()       {}
func (CallStarted) event()       {}
func (ApprovalRequested) event() {}
func (MessageAnswered) event()   {}
func (TaskEnded) event()         {}
func (WorkspaceOpened) event()   {}
func (WorkspaceFailed) event()   {}
func (ModelAnswered) event()     {}
func (AttemptFailed) event()     {}
func (RoundFailed) event()       {}
func (UsageSampled) event()      {}
func (HookAnswered) event()      {}
func (CallReviewed) event()      {}
func (CallSettled) event()       {}
func (ApprovalAnswered) event()  {}
func (MessageReceived) event()   {}
func (ChildSpawned) event()      {}
func (ChildSettled) event()      {}
func (SessionConfigured) event() {}
func (CancelRequested) event()   {}
func (BoundPassed) event()       {}
func (InboxClosed) event()       {}
