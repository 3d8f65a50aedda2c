package providertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chat is the wire of chat/completions.
type chat struct{}

func (chat) eol() string { return "\n" }

func (chat) events(s Step, r Request, l *ledger) []event {
	c := chunker{model: cmp.Or(s.Served, r.Model())}
	c.delta(`{"role":"assistant","content":""}`)
	for _, piece := range pieces(s.Reasoning, s.Deltas) {
		c.delta(object(`{"reasoning_content":%s}`, piece))
	}
	for _, piece := range pieces(s.Text, s.Deltas) {
		c.delta(object(`{"content":%s}`, piece))
	}
	for i, call := range s.Calls {
		call.ID = cmp.Or(call.ID, l.call("call_"))
		c.call(i, call)
	}
	if s.Failure != nil {
		return append(c.out, chat{}.failures(*s.Failure)...)
	}
	if !s.NoFinish {
		c.finish(s)
	}
	if s.Usage != nil {
		c.usage(*s.Usage)
	}
	if !s.NoDone {
		c.out = append(c.out, event{data: "[DONE]"})
	}
	return c.out
}

// chunker writes chat.completion.chunk objects.
type chunker struct {
	model string
	out   []event
}

func (c *chunker) choice(choice, more string) {
	c.out = append(c.out, event{data: object(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":%s,"choices":[%s]%s}`,
		c.model, raw(choice), raw(more))})
}

func (c *chunker) delta(delta string) {
	c.choice(`{"index":0,"delta":`+delta+`,"finish_reason":null}`, "")
}

func (c *chunker) finish(s Step) {
	word := "stop"
	if len(s.Calls) > 0 {
		word = "tool_calls"
	}
	c.choice(object(`{"index":0,"delta":{},"finish_reason":%s}`, cmp.Or(s.Finish, word)), "")
}

func (c *chunker) call(i int, call Call) {
	c.delta(object(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, call.ID, call.Name))
	for _, piece := range pieces(call.Args, call.Pieces) {
		c.delta(object(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, piece))
	}
}

func (c *chunker) usage(u Usage) {
	c.choice("", object(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.Prompt, u.Completion, u.Prompt+u.Completion, u.Cached, u.Reasoning))
}

func (chat) failures(f Failure) []event { return []event{{data: chat{}.failure(0, f)}} }

func (chat) failure(_ int, f Failure) string {
	return object(`{"error":{"message":%s,"type":%s,"code":%s}}`, f.Message, f.Code, f.Code)
}

func (chat) listing(ids []string) string {
	var rows []string
	for i, id := range ids {
		rows = append(rows, object(`{"id":%s,"object":"model","created":%d}`, id, 1700000000+i))
	}
	return `{"object":"list","data":[` + strings.Join(rows, ",") + `]}`
}

// chatRequest is a request with exactly the members that a strict server
// knows.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []chatTool      `json:"tools"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ToolCalls        []chatCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	ExtraContent     json.RawMessage `json:"extra_content"`
}

type chatCall struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	ExtraContent json.RawMessage `json:"extra_content"`
	Function     struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (chat) read(body []byte) content {
	var req chatRequest
	var c content
	_ = json.Unmarshal(body, &req)
	for _, t := range req.Tools {
		c.tools = append(c.tools, t.Function.Name)
	}
	for _, m := range req.Messages {
		msg := Message{Role: m.Role, CallID: m.ToolCallID}
		msg.Text, msg.Images = readChatContent(m.Content)
		for _, call := range m.ToolCalls {
			msg.Calls = append(msg.Calls, Call{ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
		}
		c.messages = append(c.messages, msg)
	}
	return c
}

func readChatContent(raw json.RawMessage) (text string, images int) {
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

func (chat) check(r Request, _ *ledger) error {
	var req chatRequest
	if err := strict(r.Body, &req); err != nil {
		return err
	}
	if req.Model == "" || len(req.Messages) == 0 {
		return errors.New("no model or no messages")
	}
	for _, t := range req.Tools {
		if t.Type != "function" {
			return fmt.Errorf("tool of type %q", t.Type)
		}
		if err := checkTool(t.Function.Name, t.Function.Parameters); err != nil {
			return err
		}
	}
	var owed debts
	for i, m := range req.Messages {
		if err := m.check(&owed); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return owed.settled("the end")
}

func (m chatMessage) check(owed *debts) error {
	if m.Role == "tool" {
		if !isString(m.Content) {
			return errors.New("a result's content must be a string")
		}
		return owed.pay(m.ToolCallID)
	}
	if err := owed.settled(m.Role); err != nil {
		return err
	}
	switch m.Role {
	case "system", "user":
		return m.checkWords()
	case "assistant":
		return m.checkCalls(owed)
	}
	return fmt.Errorf("unknown role %q", m.Role)
}

func (m chatMessage) checkWords() error {
	text, images := readChatContent(m.Content)
	switch {
	case len(m.ToolCalls) > 0 || m.ToolCallID != "":
		return fmt.Errorf("a %s message with calls", m.Role)
	case images > 0 && m.Role != "user":
		return fmt.Errorf("an image in a %s message", m.Role)
	case text == "" && images == 0 && !isString(m.Content):
		return errors.New("no content")
	}
	return nil
}

func (m chatMessage) checkCalls(owed *debts) error {
	text, images := readChatContent(m.Content)
	switch {
	case images > 0:
		return errors.New("an image in an assistant message")
	case text == "" && len(m.ToolCalls) == 0:
		return errors.New("neither text nor calls")
	}
	for _, c := range m.ToolCalls {
		if c.Type != "function" {
			return fmt.Errorf("call of type %q", c.Type)
		}
		if err := checkCall(c.Function.Name, []byte(c.Function.Arguments)); err != nil {
			return fmt.Errorf("call %q: %w", c.ID, err)
		}
		if err := owed.add(c.ID); err != nil {
			return err
		}
	}
	return nil
}
