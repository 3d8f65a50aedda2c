package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// wireRequest is a chat/completions request with exactly the members that a
// strict server knows.
type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Tools               []wireTool      `json:"tools"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
}

type wireMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ToolCalls        []wireCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	ExtraContent     json.RawMessage `json:"extra_content"`
}

type wireCall struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	ExtraContent json.RawMessage `json:"extra_content"`
	Function     struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// CheckRequest reports what a strict chat/completions server would refuse in a
// request's body: unknown members, calls without results, results without
// calls or out of order, arguments that are no JSON object, ids used twice in
// one answer, names of a wrong form.
func CheckRequest(body []byte) error {
	var req wireRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return fmt.Errorf("decode the body: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the body's end")
	}
	if req.Model == "" || len(req.Messages) == 0 {
		return errors.New("no model or no messages")
	}
	for _, t := range req.Tools {
		if err := t.check(); err != nil {
			return err
		}
	}
	return checkMessages(req.Messages)
}

func (t wireTool) check() error {
	var schema struct {
		Type string `json:"type"`
	}
	switch {
	case t.Type != "function":
		return fmt.Errorf("tool of type %q", t.Type)
	case !nameForm.MatchString(t.Function.Name):
		return fmt.Errorf("tool name %q", t.Function.Name)
	case len(t.Function.Parameters) > 0 && (json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object"):
		return fmt.Errorf("tool %s: its schema is not of type object", t.Function.Name)
	}
	return nil
}

func checkMessages(messages []wireMessage) error {
	var owed []string // ids of calls whose results must come next, in order
	for i, m := range messages {
		if m.Role != "tool" && len(owed) > 0 {
			return fmt.Errorf("messages[%d]: %s, but call %q has no result yet", i, m.Role, owed[0])
		}
		var err error
		switch m.Role {
		case "system", "user":
			err = m.checkWords()
		case "assistant":
			owed, err = m.checkCalls()
		case "tool":
			if len(owed) == 0 || owed[0] != m.ToolCallID {
				return fmt.Errorf("messages[%d]: result of %q, want one of %q", i, m.ToolCallID, owed)
			}
			owed = owed[1:]
			if !isString(m.Content) {
				err = errors.New("a result's content must be a string")
			}
		default:
			err = fmt.Errorf("unknown role %q", m.Role)
		}
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(owed) > 0 {
		return fmt.Errorf("call %q has no result", owed[0])
	}
	return nil
}

func (m wireMessage) checkWords() error {
	if len(m.ToolCalls) > 0 || m.ToolCallID != "" {
		return fmt.Errorf("a %s message with calls", m.Role)
	}
	if text, images := readContent(m.Content); text == "" && images == 0 && !isString(m.Content) {
		return errors.New("no content")
	}
	return nil
}

// checkCalls returns the ids of the calls.
func (m wireMessage) checkCalls() ([]string, error) {
	if text, _ := readContent(m.Content); text == "" && len(m.ToolCalls) == 0 {
		return nil, errors.New("neither text nor calls")
	}
	seen := make(map[string]bool)
	var ids []string
	for _, c := range m.ToolCalls {
		var args map[string]any
		switch {
		case c.Type != "function":
			return nil, fmt.Errorf("call of type %q", c.Type)
		case c.ID == "" || seen[c.ID]:
			return nil, fmt.Errorf("call id %q is empty or used twice", c.ID)
		case !nameForm.MatchString(c.Function.Name):
			return nil, fmt.Errorf("call name %q", c.Function.Name)
		case json.Unmarshal([]byte(c.Function.Arguments), &args) != nil || args == nil:
			return nil, fmt.Errorf("arguments of call %q are no JSON object: %q", c.ID, c.Function.Arguments)
		}
		seen[c.ID] = true
		ids = append(ids, c.ID)
	}
	return ids, nil
}

func isString(raw json.RawMessage) bool {
	var s *string
	return json.Unmarshal(raw, &s) == nil && s != nil
}
