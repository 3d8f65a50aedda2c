package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// messages is Anthropic's Messages wire.
type messages struct{}

func (messages) eol() string { return "\n" }

func (messages) events(s Step, r Request, l *ledger) []event {
	b := blocks{model: r.Model(), ledger: l}
	usage := raw("")
	if u := s.Usage; u != nil {
		usage = raw(b.usage(*u, min(u.Completion, 1)))
	}
	b.add("message_start", object(`"message":{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null%s}`,
		cmp.Or(s.Served, b.model), usage))
	b.add("ping", "")
	signature := b.reason(s)
	if s.Text != "" {
		b.block(`{"type":"text","text":""}`, deltas(`{"type":"text_delta","text":%s}`, pieces(s.Text, s.Deltas)))
	}
	for _, c := range s.Calls {
		b.call(c, signature)
	}
	if s.Failure != nil {
		return append(b.out, messages{}.failures(*s.Failure)...)
	}
	if !s.NoFinish {
		b.finish(s)
	}
	if !s.NoDone {
		b.add("message_stop", "")
	}
	return b.out
}

// blocks writes a message's events.
type blocks struct {
	model  string
	ledger *ledger
	n      int // blocks so far
	out    []event
}

func (b *blocks) add(kind, members string) {
	if members != "" {
		members = "," + members
	}
	b.out = append(b.out, event{kind, object(`{"type":%s%s}`, kind, raw(members))})
}

// block writes a content block from its start to its stop.
func (b *blocks) block(start string, deltas []string) {
	b.add("content_block_start", object(`"index":%d,"content_block":%s`, b.n, raw(start)))
	for _, d := range deltas {
		b.add("content_block_delta", object(`"index":%d,"delta":%s`, b.n, raw(d)))
	}
	b.add("content_block_stop", object(`"index":%d`, b.n))
	b.n++
}

func deltas(format string, pieces []string) []string {
	var all []string
	for _, p := range pieces {
		all = append(all, object(format, p))
	}
	return all
}

// reason writes the thinking and returns its signature.
func (b *blocks) reason(s Step) string {
	switch {
	case s.Sealed:
		data := b.ledger.seal(b.model, "redacted")
		b.block(object(`{"type":"redacted_thinking","data":%s}`, data), nil)
		return data
	case s.Reasoning != "":
		signature := b.ledger.seal(b.model, s.Reasoning)
		all := deltas(`{"type":"thinking_delta","thinking":%s}`, pieces(s.Reasoning, s.Deltas))
		b.block(`{"type":"thinking","thinking":"","signature":""}`, append(all, object(`{"type":"signature_delta","signature":%s}`, signature)))
		return signature
	}
	return ""
}

func (b *blocks) call(c Call, signature string) {
	c.ID = cmp.Or(c.ID, b.ledger.call("toolu_"))
	b.ledger.bind(c.ID, signature)
	fragments := append([]string{""}, pieces(c.Args, c.Pieces)...)
	b.block(object(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, c.ID, c.Name), deltas(`{"type":"input_json_delta","partial_json":%s}`, fragments))
}

// usage leaves what was cached out of the input, as this vendor does, and is
// cumulative.
func (b *blocks) usage(u Usage, output int) string {
	return object(`,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`,
		u.Prompt-u.Cached-u.Written, u.Cached, u.Written, output, u.Reasoning)
}

func (b *blocks) finish(s Step) {
	word, usage := "end_turn", ""
	if len(s.Calls) > 0 {
		word = "tool_use"
	}
	if s.Usage != nil {
		usage = b.usage(*s.Usage, s.Usage.Completion)
	}
	b.add("message_delta", object(`"delta":{"stop_reason":%s,"stop_sequence":null}%s`, cmp.Or(s.Finish, word), raw(usage)))
}

func (messages) failures(f Failure) []event {
	return []event{{"error", messages{}.failure(0, f)}}
}

func (messages) failure(_ int, f Failure) string {
	return object(`{"type":"error","error":{"type":%s,"message":%s}}`, f.Code, f.Message)
}

func (messages) listing(ids []string) string {
	var rows []string
	for i, id := range ids {
		at := time.Unix(1700000000+int64(i), 0).UTC().Format(time.RFC3339)
		rows = append(rows, object(`{"type":"model","id":%s,"display_name":%s,"created_at":%s}`, id, id, at))
	}
	return `{"data":[` + strings.Join(rows, ",") + `],"has_more":false}`
}

// messagesRequest is a request with exactly the members that a strict server
// knows.
type messagesRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Stream    bool   `json:"stream"`
	Thinking  *struct {
		Type string `json:"type"`
	} `json:"thinking"`
	OutputConfig *struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Tools []struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	System   []json.RawMessage `json:"system"`
	Messages []blocksMessage   `json:"messages"`
}

type blocksMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// The blocks, each with exactly its members.
type (
	textBlock struct {
		Type         string          `json:"type"`
		Text         string          `json:"text"`
		Citations    json.RawMessage `json:"citations"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	imageBlock struct {
		Type   string `json:"type"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      []byte `json:"data"`
		} `json:"source"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	redactedBlock struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
	callBlock struct {
		Type         string          `json:"type"`
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Input        json.RawMessage `json:"input"`
		Caller       json.RawMessage `json:"caller"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	resultBlock struct {
		Type         string          `json:"type"`
		ToolUseID    string          `json:"tool_use_id"`
		Content      string          `json:"content"`
		IsError      bool            `json:"is_error"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
)

func (messages) read(body []byte) content {
	var req messagesRequest
	var c content
	_ = json.Unmarshal(body, &req)
	for _, t := range req.Tools {
		c.tools = append(c.tools, t.Name)
	}
	if len(req.System) > 0 {
		c.messages = append(c.messages, blocksMessage{"system", req.System}.read()...)
	}
	for _, m := range req.Messages {
		c.messages = append(c.messages, m.read()...)
	}
	return c
}

// read is the message in the common words: results are messages of their own.
func (m blocksMessage) read() []Message {
	var results []Message
	said := Message{Role: m.Role}
	for _, block := range m.Content {
		var b struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
			Content   string          `json:"content"`
		}
		_ = json.Unmarshal(block, &b)
		switch b.Type {
		case "text":
			said.Text += b.Text
		case "image":
			said.Images++
		case "tool_use":
			said.Calls = append(said.Calls, Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		case "tool_result":
			results = append(results, Message{Role: "tool", CallID: b.ToolUseID, Text: b.Content})
		}
	}
	if said.Text == "" && said.Images == 0 && len(said.Calls) == 0 && len(results) > 0 {
		return results
	}
	return append(results, said)
}

func (messages) check(r Request, l *ledger) error {
	var req messagesRequest
	if err := strict(r.Body, &req); err != nil {
		return err
	}
	switch marks := bytes.Count(r.Body, []byte(`"cache_control":`)); {
	case req.Model == "" || len(req.Messages) == 0:
		return errors.New("no model or no messages")
	case req.MaxTokens < 1 || !req.Stream:
		return fmt.Errorf("max_tokens %d, stream %v", req.MaxTokens, req.Stream)
	case req.Thinking != nil && req.Thinking.Type != "adaptive":
		return fmt.Errorf("thinking of type %q", req.Thinking.Type)
	case marks > 4:
		return fmt.Errorf("%d cache marks, the most is 4", marks)
	}
	for _, t := range req.Tools {
		if err := checkTool(t.Name, t.InputSchema); err != nil {
			return err
		}
		if len(t.InputSchema) == 0 {
			return fmt.Errorf("tool %s has no input_schema", t.Name)
		}
	}
	return req.checkMessages(l)
}

func (req messagesRequest) checkMessages(l *ledger) error {
	c := blockCheck{model: req.Model, ledger: l, ids: make(map[string]bool)}
	for _, b := range req.System {
		if err := c.text(b); err != nil {
			return fmt.Errorf("system: %w", err)
		}
	}
	for i, m := range req.Messages {
		c.current = i >= req.turn()
		if err := c.message(m, i); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role != "user" {
		return errors.New("the last message is not the user's")
	}
	return c.owed.settled("the end")
}

// turn is where the turn whose tools are being answered begins: after the last
// message of a user that is no result.
func (req messagesRequest) turn() int {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == "user" && len(m.Content) > 0 && typeOf(m.Content[0]) != "tool_result" {
			return i
		}
	}
	return 0
}

// blockCheck goes through a conversation's blocks.
type blockCheck struct {
	model   string
	ledger  *ledger
	current bool            // the message belongs to the turn that goes on
	ids     map[string]bool // of calls so far
	owed    debts
	sealed  map[string]bool // signatures in this message so far
}

func (c *blockCheck) message(m blocksMessage, i int) error {
	switch {
	case len(m.Content) == 0:
		return errors.New("no content")
	case m.Role == "assistant" && i == 0, m.Role != "assistant" && m.Role != "user":
		return fmt.Errorf("role %q", m.Role)
	case m.Role == "assistant":
		if err := c.owed.settled("assistant"); err != nil {
			return err
		}
	}
	c.sealed = make(map[string]bool)
	for n, b := range m.Content {
		check := c.user
		if m.Role == "assistant" {
			check = c.assistant
		}
		if err := check(b); err != nil {
			return fmt.Errorf("content[%d]: %w", n, err)
		}
	}
	return nil
}

// user takes a block of a user: results first, then everything else.
func (c *blockCheck) user(block json.RawMessage) error {
	kind := typeOf(block)
	if kind == "tool_result" {
		var b resultBlock
		if err := strict(block, &b); err != nil {
			return err
		}
		return c.owed.pay(b.ToolUseID)
	}
	if err := c.owed.settled(kind); err != nil {
		return err
	}
	switch kind {
	case "text":
		return c.text(block)
	case "image":
		var b imageBlock
		if err := strict(block, &b); err != nil {
			return err
		}
		if b.Source.Type != "base64" || !strings.HasPrefix(b.Source.MediaType, "image/") || len(b.Source.Data) == 0 {
			return errors.New("an image without data")
		}
		return nil
	}
	return fmt.Errorf("block of type %q in a user message", kind)
}

func (c *blockCheck) text(block json.RawMessage) error {
	var b textBlock
	if err := strict(block, &b); err != nil {
		return err
	}
	if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
		return errors.New("an empty text block")
	}
	return nil
}

func (c *blockCheck) assistant(block json.RawMessage) error {
	switch kind := typeOf(block); kind {
	case "text":
		return c.text(block)
	case "thinking":
		var b thinkingBlock
		if err := strict(block, &b); err != nil {
			return err
		}
		return c.seal(b.Signature, b.Thinking)
	case "redacted_thinking":
		var b redactedBlock
		if err := strict(block, &b); err != nil {
			return err
		}
		return c.seal(b.Data, "redacted")
	case "tool_use":
		return c.call(block)
	case "server_tool_use", "mcp_tool_use", "compaction":
		return nil
	default:
		if strings.HasSuffix(kind, "_tool_result") {
			return nil
		}
		return fmt.Errorf("block of type %q in an assistant message", kind)
	}
}

func (c *blockCheck) seal(signature, on string) error {
	if signature == "" {
		return errors.New("thinking without a signature")
	}
	c.sealed[signature] = true
	return c.ledger.verify(signature, c.model, on)
}

func (c *blockCheck) call(block json.RawMessage) error {
	var b callBlock
	if err := strict(block, &b); err != nil {
		return err
	}
	if err := checkCall(b.Name, b.Input); err != nil {
		return fmt.Errorf("call %q: %w", b.ID, err)
	}
	if want := c.ledger.owed(b.ID, c.model); c.current && want != "" && !c.sealed[want] {
		return fmt.Errorf("call %q comes without the thinking before it", b.ID)
	}
	if c.ids[b.ID] {
		return fmt.Errorf("call id %q is used twice", b.ID)
	}
	c.ids[b.ID] = true
	return c.owed.add(b.ID)
}
