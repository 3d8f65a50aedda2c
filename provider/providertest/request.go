package providertest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Request is one request that a scripted server received.
type Request struct {
	N      int // from 1
	Path   string
	Header http.Header
	Body   []byte // nil if the server was told to forget it
}

// Message is one message of a request in the parts that tests look at.
type Message struct {
	Role   string
	Text   string // the content, or the texts of its parts joined
	Images int    // parts that are images
	Calls  []Call // of an assistant message
	CallID string // of a tool message
}

// Model is the model asked for. It reads no more of the body than it must.
func (r Request) Model() string {
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

// Tools are the names of the tools offered, in order.
func (r Request) Tools() []string {
	var body struct {
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(r.Body, &body)
	var names []string
	for _, t := range body.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// Messages are the messages of the request, system text included. A body that
// can't be read has none.
func (r Request) Messages() []Message {
	var body wireRequest
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	var out []Message
	for _, m := range body.Messages {
		msg := Message{Role: m.Role, CallID: m.ToolCallID}
		msg.Text, msg.Images = readContent(m.Content)
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		out = append(out, msg)
	}
	return out
}

// Last is the last message.
func (r Request) Last() Message {
	messages := r.Messages()
	if len(messages) == 0 {
		return Message{}
	}
	return messages[len(messages)-1]
}

func readContent(raw json.RawMessage) (text string, images int) {
	if json.Unmarshal(raw, &text) == nil {
		return text, 0
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		text += p.Text
		if p.Type == "image_url" {
			images++
		}
	}
	return text, images
}
