package reducer

import (
	"encoding/json"
	"slices"
	"strconv"
)

// RulesVersion numbers the rules that Decide follows. It rises whenever Decide
// could say something else about a state that an earlier version has seen;
// each agent.attached states it, and a reader checks decisions only where the
// version is its own.
const RulesVersion = 2

// Limits of the rules.
const (
	// MaxCutAnswers is how many answers in a row may hold only calls that
	// cannot run (cut off, or with broken arguments) before the turn fails.
	MaxCutAnswers = 4

	// MaxDelegations is how many delegations of one answer run side by side.
	MaxDelegations = 4

	// MaxSubagentRounds is how often a subagent may ask its model.
	MaxSubagentRounds = 30
)

// State is the fold of an agent's events: all that the rules know. It is a
// value; what its slices and its transcript refer to is shared between states
// and never written through.
type State struct {
	// What the agent is.
	Kind         AgentKind `json:"kind,omitempty"`
	ID           string    `json:"id,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Workspace    string    `json:"workspace,omitempty"`
	Parent       Parent    `json:"parent,omitzero"`
	Detached     bool      `json:"detached,omitempty"`
	Depth        int       `json:"depth,omitempty"`
	Options      Options   `json:"options"`
	Bounds       Bounds    `json:"bounds,omitzero"`
	DeadlineMS   int64     `json:"deadline_at_ms,omitempty"`

	// Who drives it, and under which rules.
	Gen       uint64 `json:"gen,omitempty"`
	Rules     int    `json:"rules,omitempty"`
	Program   string `json:"program,omitempty"`
	Attaching bool   `json:"attaching,omitempty"` // attached, and no workspace of this gen yet: nothing of this gen runs

	// What it works with: the newest opening.
	Setup       Setup `json:"setup,omitzero"`
	SetupFailed bool  `json:"setup_failed,omitempty"` // and nothing has asked for another opening since

	// Counters, along the conversation.
	Turns    int `json:"turns,omitempty"`
	Rounds   int `json:"rounds,omitempty"`
	Children int `json:"children,omitempty"` // delegations of this agent

	// What waits and what is open.
	Queue  []Waiting `json:"queue,omitempty"`
	Turn   Turn      `json:"turn,omitzero"`
	Owed   Reply     `json:"owed,omitzero"` // the message whose turn just ended
	Family []Child   `json:"family,omitempty"`

	// Seen holds the ids of all messages, so that none is taken twice.
	Seen []string `json:"seen,omitempty"`

	// What has been said for the process that holds the agent.
	Granted []Grant `json:"granted,omitempty"`

	// How it is ending.
	Cancelled   bool      `json:"cancelled,omitempty"`    // a cancel of the whole task
	Failed      bool      `json:"failed,omitempty"`       // a task whose turn failed
	Passed      Bound     `json:"passed,omitempty"`       // a bound that the clock, a pool or the parent reported
	Settling    bool      `json:"settling,omitempty"`     // child tasks are driven from here on
	InboxClosed bool      `json:"inbox_closed,omitempty"` //
	End         TaskEnded `json:"end,omitzero"`           // State is "" until it has ended
	Last        Reply     `json:"last,omitzero"`          // how the newest turn came out

	// What it cost: its own rounds; children count through Family.
	Own Usage `json:"own_usage,omitzero"`

	// Files is what the agent saw of files, the newest last; it goes along with
	// the conversation.
	Files []FileSeen `json:"files,omitempty"`

	// Asked is what the newest round said of the model and the tools: the next
	// one says only what is new.
	Asked Asked `json:"asked,omitzero"`

	Transcript Transcript `json:"transcript"`
}

// Asked is whom a round asks, and with which tools.
type Asked struct {
	Model       string `json:"model,omitempty"`
	ToolsDigest string `json:"tools_digest,omitempty"`
}

// Setup is what a workspace and the settings came to.
type Setup struct {
	Source       Provenance    `json:"source"`
	Window       int64         `json:"window,omitempty"`
	Context      []ContextFile `json:"context,omitempty"`
	SystemDigest string        `json:"system_digest,omitempty"`
	System       Text          `json:"system,omitzero"`
	ToolsDigest  string        `json:"tools_digest,omitempty"`
	Tools        []ToolInfo    `json:"tools,omitempty"`
	Hooks        []HookInfo    `json:"hooks,omitempty"`
	Effort       string        `json:"effort,omitempty"`
	FoundDigest  string        `json:"found_digest,omitempty"`
	Found        Found         `json:"found,omitzero"`
}

// Waiting is a prompt whose turn has not begun. The task's own prompt has no
// message id.
type Waiting struct {
	Message string `json:"message,omitempty"`
	From    string `json:"from,omitempty"`
	Parts   []Part `json:"parts"`
	Stale   bool   `json:"stale,omitempty"` // of a session: nobody waits for the answer any more
}

// Turn is the open turn. Its zero value means that none is open.
type Turn struct {
	ID       string `json:"id"`
	Message  string `json:"message,omitempty"`
	Round    string `json:"round,omitempty"`    // the round whose answer is awaited
	Answer   string `json:"answer,omitempty"`   // the round of the newest answer
	Stop     Stop   `json:"stop,omitempty"`     // why that answer stopped
	Text     Text   `json:"text,omitzero"`      // what that answer said
	Partial  Text   `json:"partial,omitzero"`   // what was said before a round failed
	Calls    []Call `json:"calls,omitempty"`    // of that answer, until the model has their results
	Tools    int64  `json:"tools,omitempty"`    // calls asked for in this turn
	Usage    Usage  `json:"usage,omitzero"`     // what this turn cost, delegations included
	Cut      int    `json:"cut,omitempty"`      // answers in a row that could not be acted on
	Stale    bool   `json:"stale,omitempty"`    // of a session: a crash interrupted it
	Cancel   bool   `json:"cancel,omitempty"`   //
	Graceful bool   `json:"graceful,omitempty"` // end it after the round
	Fail     string `json:"fail,omitempty"`     // why it cannot go on
	FailedBy Bound  `json:"failed_by,omitempty"`
}

// Phase is how far a call has come.
type Phase string

// The phases of a call.
const (
	PhaseWaiting  Phase = ""         // its lane has not been reached, or its review is awaited
	PhaseReviewed Phase = "reviewed" // the checks are done
	PhaseAsked    Phase = "asked"    // somebody is asked
	PhaseAnswered Phase = "answered" // they have answered
	PhaseStarted  Phase = "started"  // it may have happened
	PhasePending  Phase = "pending"  // settled; a hook still looks at the result
	PhaseSettled  Phase = "settled"  // the model may read the result
)

// Call is one call of the newest answer.
type Call struct {
	ID     string `json:"id"`
	Wire   string `json:"wire_id,omitempty"`
	Name   string `json:"name"`
	Class  Class  `json:"class"`
	Lane   Lane   `json:"lane"`
	Args   Text   `json:"args,omitzero"` // JSON text of the input, as the review left it
	Broken bool   `json:"broken,omitempty"`
	Over   bool   `json:"over,omitempty"` // beyond the tool budget

	Phase   Phase           `json:"phase,omitempty"`
	Refuse  *Refusal        `json:"refuse,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Preview json.RawMessage `json:"preview,omitempty"`
	Allow   bool            `json:"allow,omitempty"`
	By      string          `json:"by,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Child   int             `json:"child,omitempty"`

	Outcome Outcome `json:"outcome,omitempty"`
	Shown   Text    `json:"shown,omitzero"` // what the model reads
	IsError bool    `json:"is_error,omitempty"`
}

// Reply is how a turn came out.
type Reply struct {
	Message   string  `json:"message,omitempty"`
	Outcome   Outcome `json:"outcome,omitempty"`
	Result    Text    `json:"result,omitzero"`
	Error     string  `json:"error,omitempty"`
	StoppedBy Bound   `json:"stopped_by,omitempty"`
}

// Child is a delegation (N is its number) or a child task (Task is its id).
type Child struct {
	N       int     `json:"n,omitempty"`
	Task    string  `json:"task,omitempty"`
	Call    string  `json:"call,omitempty"`
	Prompt  Text    `json:"prompt,omitzero"`
	Bounds  Bounds  `json:"bounds,omitzero"`
	Depth   int     `json:"depth,omitempty"`
	Settled bool    `json:"settled,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	Text    Text    `json:"text,omitzero"`
	Shown   Text    `json:"shown,omitzero"`
	Error   string  `json:"error,omitempty"`
	Code    string  `json:"code,omitempty"`
	By      Bound   `json:"stopped_by,omitempty"`
	Usage   Usage   `json:"usage,omitzero"`
}

// Grant is an answer that holds for as long as one process drives the agent.
type Grant struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern,omitempty"` // none is the whole tool
	Allow   bool   `json:"allow"`
	Reason  string `json:"reason,omitempty"`
}

// Ended reports whether the terminal record has been written.
func (s State) Ended() bool { return s.End.State != "" }

// Usage is what the agent has cost so far, delegations included.
func (s State) Usage() Usage {
	u := s.Own
	for _, c := range s.Family {
		if c.N != 0 {
			u = u.Add(c.Usage)
		}
	}
	return u
}

// Call finds a call of the newest answer.
func (s State) Call(id string) (Call, bool) {
	i := slices.IndexFunc(s.Turn.Calls, func(c Call) bool { return c.ID == id })
	if i < 0 {
		return Call{}, false
	}
	return s.Turn.Calls[i], true
}

// Continue is the state that a continuation or a fork of an agent begins with:
// the conversation and its counters go over, everything else starts anew.
func Continue(old State) State {
	return State{Transcript: old.Transcript, Turns: old.Turns, Rounds: old.Rounds, Files: old.Files}
}

// hooked reports whether a hook of the newest opening matches the tool.
func (s State) hooked(event, tool string) bool {
	return slices.ContainsFunc(s.Setup.Hooks, func(h HookInfo) bool { return h.Matches(event, tool) })
}

// mode is the approval mode in force.
func (s State) mode() Approve {
	if s.Options.Approve == "" {
		return ApproveAlways
	}
	return s.Options.Approve
}

// closing reports whether no further turn will begin.
func (s State) closing() bool { return s.Cancelled || s.Failed || s.InboxClosed }

// idle reports whether there is no turn and nothing that could start one.
func (s State) idle() bool {
	return s.Turn.ID == "" && s.Owed.Message == "" && (len(s.Queue) == 0 || s.closing())
}

// childrenOpen reports whether a child has not settled yet.
func (s State) childrenOpen() bool {
	return slices.ContainsFunc(s.Family, func(c Child) bool { return !c.Settled })
}

func (s State) childOf(call string) (Child, bool) {
	i := slices.IndexFunc(s.Family, func(c Child) bool { return c.N != 0 && c.Call == call })
	if i < 0 {
		return Child{}, false
	}
	return s.Family[i], true
}

// final reports whether the newest answer ends the turn by itself.
func (t Turn) final() bool {
	return t.Answer != "" && t.Round == "" && len(t.Calls) == 0 && t.Stop != StopPause
}

func turnID(n int) string               { return "t" + strconv.Itoa(n) }
func roundID(n int) string              { return "r" + strconv.Itoa(n) }
func callID(round string, i int) string { return round + ".c" + strconv.Itoa(i+1) }

// CallID is the id of the i-th call, from 0, of a round's answer.
func CallID(round string, i int) string { return callID(round, i) }
