package providertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Request is one request that a scripted server received.
type Request struct {
	N      int    // from 1
	Wire   string // the name of the wire that it came on
	Path   string
	Header http.Header
	Body   []byte // nil if the server was told to forget it
}

// Message is one message of a request in the parts that tests look at, in words
// that are the same on every wire.
type Message struct {
	Role   string // system, user, assistant or tool, which is one result
	Text   string // the content, or the texts of its parts joined
	Images int    // parts that are images
	Calls  []Call // of an assistant message
	CallID string // of a tool message; "" where the wire has none
}

// Model is the model asked for. It reads no more of the body than it must.
func (r Request) Model() string {
	if _, rest, ok := strings.Cut(r.Path, "/models/"); ok {
		name, _, _ := strings.Cut(rest, ":")
		return name
	}
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return ""
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return ""
		}
		if name, ok := value.(string); ok && key == "model" {
			return name
		}
	}
	return ""
}

// read is what the body says, as far as it can be read.
func (r Request) read() content {
	if d := dialectOf(r.Wire); d != nil {
		return d.read(r.Body)
	}
	return content{}
}

// Tools are the names of the tools offered, in order.
func (r Request) Tools() []string { return r.read().tools }

// Messages are the messages of the request, system text included. A body that
// can't be read has none.
func (r Request) Messages() []Message { return r.read().messages }

// Last is the last message.
func (r Request) Last() Message {
	messages := r.Messages()
	if len(messages) == 0 {
		return Message{}
	}
	return messages[len(messages)-1]
}
