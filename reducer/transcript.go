package reducer

import (
	"encoding/json"
	"iter"
	"slices"
)

// Role says who speaks in a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleResults   Role = "results" // the results of all calls of the answer before it, in call order
)

// Message is one step of a conversation.
type Message struct {
	// Key identifies the content: two messages of one conversation with the
	// same Key are equal. A wire encodes a Key once and reuses the bytes, so a
	// request costs what is new in it.
	Key     string     `json:"key"`
	Role    Role       `json:"role"`
	Parts   []Part     `json:"parts,omitempty"`   // of a user message
	Items   []Item     `json:"items,omitempty"`   // of an assistant message
	Source  Provenance `json:"source,omitzero"`   // of an assistant message; zero where the harness wrote it
	Results []Result   `json:"results,omitempty"` // of a results message
}

// Result is the outcome of one call as the model is shown it.
type Result struct {
	Call    string `json:"call"`         // our id, such as r3.c2
	ID      string `json:"id,omitempty"` // the vendor's id of the call, as in its item
	Name    string `json:"name"`
	Text    Text   `json:"text,omitzero"`
	IsError bool   `json:"is_error,omitempty"`
}

// Transcript is a conversation as a model is shown it. It is a list linked
// from the newest message back, so adding one message allocates one node and
// futures of one state share what they have in common. The zero value is empty.
type Transcript struct{ last *node }

type node struct {
	prev *node
	n    int
	m    Message
}

// Len is the number of messages.
func (t Transcript) Len() int {
	if t.last == nil {
		return 0
	}
	return t.last.n
}

// Last returns the newest message, and false if there is none.
func (t Transcript) Last() (Message, bool) {
	if t.last == nil {
		return Message{}, false
	}
	return t.last.m, true
}

// Messages returns all messages, oldest first. The slice is the caller's; what
// its messages refer to is shared and must not be changed.
func (t Transcript) Messages() []Message {
	all := make([]Message, t.Len())
	for n := t.last; n != nil; n = n.prev {
		all[n.n-1] = n.m
	}
	return all
}

// Backward yields the messages from the newest to the oldest.
func (t Transcript) Backward() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for n := t.last; n != nil; n = n.prev {
			if !yield(n.m) {
				return
			}
		}
	}
}

func (t Transcript) with(m Message) Transcript {
	return Transcript{&node{prev: t.last, n: t.Len() + 1, m: m}}
}

// MarshalJSON writes the messages, oldest first.
func (t Transcript) MarshalJSON() ([]byte, error) { return encodeJSON(t.Messages()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	var all []Message
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*t = Transcript{}
	for m := range slices.Values(all) {
		*t = t.with(m)
	}
	return nil
}
