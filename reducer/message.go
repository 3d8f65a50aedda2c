package reducer

import (
	"encoding/json"
	"strconv"
)

// PartType says what a piece of a prompt is.
type PartType string

// The types of a prompt's parts.
const (
	PartText  PartType = "text"
	PartImage PartType = "image"
)

// Part is one piece of what a user or a client said. A prompt is a list of
// parts. An image's bytes are always in a blob (JRN-66).
type Part struct {
	Type  PartType `json:"type"`
	Text  Text     `json:"text,omitzero"`
	Image Ref      `json:"image,omitzero"`
}

// Provenance names what made an answer. Opaque pieces of an answer are sent
// back only where all three members are the same (PROV-19).
type Provenance struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Wire     string `json:"wire"` // openai-chat, openai-responses, anthropic-messages or gemini
}

// ItemType says what a piece of a model's answer is.
type ItemType string

// The types of an answer's items.
const (
	ItemText      ItemType = "text"
	ItemReasoning ItemType = "reasoning"
	ItemCall      ItemType = "call"
	ItemOther     ItemType = "other" // something only the vendor understands; whole in Extra
)

// Item is one piece of what a model answered, in the model's order. The
// members that every wire has are spelt out; everything else that the vendor
// sent with the piece stands verbatim in Extra, so the wire's encoder can
// write the vendor's own object again and nothing is stored twice.
type Item struct {
	Type  ItemType        `json:"type"`
	Text  Text            `json:"text,omitzero"`   // of text and reasoning
	ID    string          `json:"id,omitempty"`    // a call's id as the vendor sent it; may be empty or repeated
	Name  string          `json:"name,omitempty"`  // a call's tool
	Args  Text            `json:"args,omitzero"`   // a call's arguments: the JSON text as sent, "" for none
	Extra json.RawMessage `json:"extra,omitempty"` // an object: the vendor's other members, compacted, otherwise verbatim
}

// Stop is why a model stopped, normalised over the wires.
type Stop string

// The normalised stop reasons. Calls may be carried out only after StopToolUse.
const (
	StopEndTurn         Stop = "end_turn"
	StopToolUse         Stop = "tool_use"
	StopMaxTokens       Stop = "max_tokens"
	StopStopSequence    Stop = "stop_sequence"
	StopPause           Stop = "pause"
	StopRefusal         Stop = "refusal"
	StopContentFilter   Stop = "content_filter"
	StopContextOverflow Stop = "context_overflow"
	StopMalformedCall   Stop = "malformed_tool_call"
	StopError           Stop = "error"
	StopCut             Stop = "cut"
	StopOther           Stop = "other"
)

// Class is what a tool call may change outside; it decides what a crash in
// mid-call means and whether anybody is asked.
type Class string

// The classes of tool calls.
const (
	ClassNone     Class = "none"        // reads only: may run again after a crash, is never asked about
	ClassState    Class = "local_state" // changes files of the workspace
	ClassProcess  Class = "process"     // runs a command
	ClassExternal Class = "external"    // acts on something outside this machine
)

// Lane says which calls of one answer may run side by side.
type Lane string

// The lanes. Neighbours in one lane that allows it run together; everything
// else waits for what stands before it (TOOL-7).
const (
	LaneParallel   Lane = "parallel"
	LaneExclusive  Lane = "exclusive"
	LaneDelegation Lane = "delegation"
)

// Count is a number that may be unknown. The zero value is unknown, which is
// not the same as 0; in JSON an unknown count is absent (tag it omitzero).
type Count struct {
	n     int64
	known bool
}

// Known is the count n. A negative n reads as 0.
func Known(n int64) Count { return Count{max(n, 0), true} }

// Get returns the number and whether it is known.
func (c Count) Get() (int64, bool) { return c.n, c.known }

// Or returns the number, or d if it is unknown.
func (c Count) Or(d int64) int64 {
	if c.known {
		return c.n
	}
	return d
}

// IsZero reports whether the count is unknown.
func (c Count) IsZero() bool { return !c.known }

// Add sums what is known: unknown plus 3 is 3.
func (c Count) Add(d Count) Count { return Count{c.n + d.n, c.known || d.known} }

func (c Count) beyond(d Count) Count {
	if c.n <= d.n {
		return Count{}
	}
	return Known(c.n - d.n)
}

// MarshalJSON writes the number, or null if it is unknown.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, c.n, 10), nil
}

// UnmarshalJSON reads a number; null is unknown.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*c = Count{}
		return nil
	}
	var n int64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*c = Known(n)
	return nil
}

// Usage is what a model's vendor reported, in tokens, normalised over the
// wires: Input is the whole prompt, cached parts included; Output is all that
// was generated, reasoning included; the other three are parts of those.
type Usage struct {
	Input      Count `json:"input,omitzero"`
	Output     Count `json:"output,omitzero"`
	CacheRead  Count `json:"cache_read,omitzero"`
	CacheWrite Count `json:"cache_write,omitzero"`
	Reasoning  Count `json:"reasoning,omitzero"`
}

// IsZero reports whether nothing at all was reported.
func (u Usage) IsZero() bool { return u == Usage{} }

// Add sums two usages, counter by counter.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input.Add(v.Input),
		Output:     u.Output.Add(v.Output),
		CacheRead:  u.CacheRead.Add(v.CacheRead),
		CacheWrite: u.CacheWrite.Add(v.CacheWrite),
		Reasoning:  u.Reasoning.Add(v.Reasoning),
	}
}

// Beyond is what u has more than v, counter by counter; nothing where it has less.
func (u Usage) Beyond(v Usage) Usage {
	return Usage{
		Input:      u.Input.beyond(v.Input),
		Output:     u.Output.beyond(v.Output),
		CacheRead:  u.CacheRead.beyond(v.CacheRead),
		CacheWrite: u.CacheWrite.beyond(v.CacheWrite),
		Reasoning:  u.Reasoning.beyond(v.Reasoning),
	}
}

// Total is what budgets count: input and output, unknown parts as 0.
func (u Usage) Total() int64 { return u.Input.Or(0) + u.Output.Or(0) }

// DigestSize is how many bytes of a SHA-256 name what a record doesn't repeat:
// requests, system texts, sets of tools. It is as much as a journal's links have.
const DigestSize = 16

// RequestInfo identifies the bytes of a request without repeating them.
type RequestInfo struct {
	Digest string `json:"digest"` // the first DigestSize bytes, in hex, of the SHA-256 of the body as sent
	Size   int    `json:"size"`   // bytes of the body
}
