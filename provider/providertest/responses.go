package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// responses is OpenAI's Responses wire.
type responses struct{}

func (responses) eol() string { return "\n" }

func (responses) events(s Step, r Request, l *ledger) []event {
	o := outputs{model: r.Model(), served: cmp.Or(s.Served, r.Model()), ledger: l}
	o.add("response.created", `"response":`+o.response("in_progress", ""))
	o.add("response.in_progress", `"response":`+o.response("in_progress", ""))
	blob := ""
	if s.Reasoning != "" || s.Sealed {
		blob = o.reason(s, bytes.Contains(r.Body, []byte(`"reasoning.encrypted_content"`)))
	}
	if s.Text != "" {
		o.message(s)
	}
	for _, c := range s.Calls {
		o.call(c, blob)
	}
	switch {
	case s.Failure != nil:
		return append(o.out, responses{}.failures(*s.Failure)...)
	case s.NoFinish || s.NoDone:
	case s.Finish != "":
		o.add("response.incomplete", `"response":`+o.response("incomplete", object(`,"incomplete_details":{"reason":%s}%s`, s.Finish, raw(o.usage(s.Usage)))))
	default:
		o.add("response.completed", `"response":`+o.response("completed", o.usage(s.Usage)))
	}
	return o.out
}

// outputs writes a response's events.
type outputs struct {
	model, served string
	ledger        *ledger
	items         []string // finished
	out           []event
}

func (o *outputs) add(kind, members string) {
	o.out = append(o.out, event{kind, object(`{"type":%s,"sequence_number":%d,%s}`, kind, len(o.out), raw(members))})
}

// response is the response object as it stands.
func (o *outputs) response(status, more string) string {
	return object(`{"id":"resp_1","object":"response","status":%s,"model":%s,"output":[%s]%s}`,
		status, o.served, raw(strings.Join(o.items, ",")), raw(more))
}

// item writes an item that begins, says something by parts and ends.
func (o *outputs) item(begin, end string, between func(index int)) {
	index := len(o.items)
	o.add("response.output_item.added", object(`"output_index":%d,"item":%s`, index, raw(begin)))
	between(index)
	o.add("response.output_item.done", object(`"output_index":%d,"item":%s`, index, raw(end)))
	o.items = append(o.items, end)
}

// reason writes a reasoning item and returns what is encrypted in it, if that
// was asked for.
func (o *outputs) reason(s Step, encrypt bool) string {
	var parts, summary []string
	if s.Reasoning != "" && !s.Sealed {
		parts = strings.Split(s.Reasoning, "\n\n")
	}
	for _, p := range parts {
		summary = append(summary, object(`{"type":"summary_text","text":%s}`, p))
	}
	blob, more := "", ""
	if encrypt {
		blob = o.ledger.seal(o.model, "["+strings.Join(summary, ",")+"]")
		more = object(`,"encrypted_content":%s`, blob)
	}
	begin := fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":`, len(o.items))
	o.item(begin+`[]}`, begin+`[`+strings.Join(summary, ",")+`]`+more+`}`, func(index int) {
		for n, p := range parts {
			at := object(`"output_index":%d,"summary_index":%d`, index, n)
			o.add("response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
			for _, piece := range pieces(p, s.Deltas) {
				o.add("response.reasoning_summary_text.delta", at+object(`,"delta":%s`, piece))
			}
			o.add("response.reasoning_summary_text.done", at+object(`,"text":%s`, p))
		}
	})
	return blob
}

func (o *outputs) message(s Step) {
	part := object(`{"type":"output_text","text":%s,"annotations":[],"logprobs":[]}`, s.Text)
	begin := fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant"`, len(o.items))
	o.item(begin+`,"status":"in_progress","content":[]}`, begin+`,"status":"completed","content":[`+part+`]}`, func(index int) {
		at := object(`"output_index":%d,"content_index":0`, index)
		o.add("response.content_part.added", at+`,"part":{"type":"output_text","text":"","annotations":[]}`)
		for _, piece := range pieces(s.Text, s.Deltas) {
			o.add("response.output_text.delta", at+object(`,"delta":%s,"logprobs":[]`, piece))
		}
		o.add("response.output_text.done", at+object(`,"text":%s`, s.Text))
	})
}

func (o *outputs) call(c Call, blob string) {
	c.ID = cmp.Or(c.ID, o.ledger.call("call_"))
	o.ledger.bind(c.ID, blob)
	item := func(status, args string) string {
		return object(`{"id":%s,"type":"function_call","status":%s,"call_id":%s,"name":%s,"arguments":%s}`, "fc_"+c.ID, status, c.ID, c.Name, args)
	}
	o.item(item("in_progress", ""), item("completed", c.Args), func(index int) {
		for _, piece := range pieces(c.Args, c.Pieces) {
			o.add("response.function_call_arguments.delta", object(`"output_index":%d,"delta":%s`, index, piece))
		}
		o.add("response.function_call_arguments.done", object(`"output_index":%d,"arguments":%s`, index, c.Args))
	})
}

func (o *outputs) usage(u *Usage) string {
	if u == nil {
		return ""
	}
	return object(`,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		u.Prompt, u.Cached, u.Completion, u.Reasoning, u.Prompt+u.Completion)
}

// failures are the error and the response that failed by it, as both come.
func (responses) failures(f Failure) []event {
	return []event{
		{"error", object(`{"type":"error","code":%s,"message":%s,"param":null}`, f.Code, f.Message)},
		{"response.failed", object(`{"type":"response.failed","response":{"id":"resp_1","object":"response","status":"failed","error":{"code":%s,"message":%s},"output":[]}}`, f.Code, f.Message)},
	}
}

func (responses) failure(status int, f Failure) string { return chat{}.failure(status, f) }

func (responses) listing(ids []string) string { return chat{}.listing(ids) }

// responsesRequest is a request with exactly the members that a strict server
// knows.
type responsesRequest struct {
	Model        string   `json:"model"`
	Store        *bool    `json:"store"`
	Stream       bool     `json:"stream"`
	Include      []string `json:"include"`
	Instructions string   `json:"instructions"`
	Reasoning    *struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	MaxOutputTokens int `json:"max_output_tokens"`
	Tools           []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	} `json:"tools"`
	Input []json.RawMessage `json:"input"`
}

// The items, each with exactly its members. None has an id: nothing is stored.
type (
	messageItem struct {
		Type    string     `json:"type"`
		Role    string     `json:"role"`
		Phase   string     `json:"phase"`
		Content []itemPart `json:"content"`
	}
	itemPart struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Refusal     string          `json:"refusal"`
		ImageURL    string          `json:"image_url"`
		Annotations json.RawMessage `json:"annotations"`
	}
	reasoningItem struct {
		Type             string          `json:"type"`
		Summary          json.RawMessage `json:"summary"`
		EncryptedContent string          `json:"encrypted_content"`
	}
	callItem struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Arguments string `json:"arguments"`
	}
	outputItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

func (responses) read(body []byte) content {
	var req responsesRequest
	var c content
	_ = json.Unmarshal(body, &req)
	for _, t := range req.Tools {
		c.tools = append(c.tools, t.Name)
	}
	if req.Instructions != "" {
		c.messages = append(c.messages, Message{Role: "system", Text: req.Instructions})
	}
	for _, raw := range req.Input {
		var it struct {
			messageItem
			Type      string `json:"type"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Output    string `json:"output"`
		}
		_ = json.Unmarshal(raw, &it)
		switch it.Type {
		case "message":
			c.messages = append(c.messages, it.read())
		case "function_call":
			c.call(Call{ID: it.CallID, Name: it.Name, Args: it.Arguments})
		case "function_call_output":
			c.messages = append(c.messages, Message{Role: "tool", CallID: it.CallID, Text: it.Output})
		}
	}
	return c
}

func (m messageItem) read() Message {
	out := Message{Role: m.Role}
	for _, p := range m.Content {
		out.Text += p.Text + p.Refusal
		if p.Type == "input_image" {
			out.Images++
		}
	}
	return out
}

// call puts a call into the answer that it belongs to.
func (c *content) call(call Call) {
	if n := len(c.messages); n == 0 || c.messages[n-1].Role != "assistant" {
		c.messages = append(c.messages, Message{Role: "assistant"})
	}
	last := &c.messages[len(c.messages)-1]
	last.Calls = append(last.Calls, call)
}

func (responses) check(r Request, l *ledger) error {
	var req responsesRequest
	if err := strict(r.Body, &req); err != nil {
		return err
	}
	switch {
	case req.Model == "" || len(req.Input) == 0:
		return errors.New("no model or no input")
	case req.Store == nil || *req.Store || !req.Stream:
		return errors.New("not a stream of which nothing is stored")
	}
	for _, t := range req.Tools {
		if t.Type != "function" || t.Strict {
			return fmt.Errorf("tool %s of type %q, strict %v", t.Name, t.Type, t.Strict)
		}
		if err := checkTool(t.Name, t.Parameters); err != nil {
			return err
		}
	}
	c := itemCheck{model: req.Model, ledger: l, ids: make(map[string]bool), sealed: make(map[string]bool)}
	for i, raw := range req.Input {
		if err := c.item(raw); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if c.last == "reasoning" {
		return errors.New("reasoning at the end, without the item that followed it")
	}
	return c.owed.settled("the end")
}

// itemCheck goes through a conversation's items.
type itemCheck struct {
	model  string
	ledger *ledger
	last   string          // the kind of the item before
	ids    map[string]bool // of calls so far
	owed   debts
	sealed map[string]bool // encrypted reasoning of this answer so far
}

func (c *itemCheck) item(raw json.RawMessage) error {
	kind := typeOf(raw)
	var m messageItem
	_ = json.Unmarshal(raw, &m)
	fromUser := kind == "message" && m.Role != "assistant"
	output := strings.HasSuffix(kind, "_call_output")
	switch {
	case c.last == "reasoning" && (fromUser || output):
		return errors.New("the reasoning before it lacks the item that followed it")
	case !output && (fromUser || strings.HasSuffix(c.last, "_call_output")):
		if err := c.owed.settled(kind); err != nil {
			return err
		}
	}
	if fromUser || output {
		c.sealed = make(map[string]bool)
	}
	c.last = kind
	switch kind {
	case "message":
		return c.message(raw)
	case "reasoning":
		return c.reasoning(raw)
	case "function_call":
		return c.call(raw)
	case "function_call_output":
		var it outputItem
		if err := strict(raw, &it); err != nil {
			return err
		}
		return c.owed.pay(it.CallID)
	}
	return fmt.Errorf("item of type %q", kind)
}

func (c *itemCheck) message(raw json.RawMessage) error {
	var m messageItem
	if err := strict(raw, &m); err != nil {
		return err
	}
	if len(m.Content) == 0 {
		return errors.New("no content")
	}
	for _, p := range m.Content {
		var ok bool
		switch m.Role {
		case "user":
			ok = p.Type == "input_text" || p.Type == "input_image" && strings.HasPrefix(p.ImageURL, "data:image/")
		case "assistant":
			ok = p.Type == "output_text" && p.Text != "" || p.Type == "refusal" && p.Refusal != ""
		}
		if !ok {
			return fmt.Errorf("part of type %q in a message of %q, or an empty one", p.Type, m.Role)
		}
	}
	return nil
}

func (c *itemCheck) reasoning(raw json.RawMessage) error {
	var it reasoningItem
	if err := strict(raw, &it); err != nil {
		return err
	}
	if it.EncryptedContent == "" {
		return errors.New("reasoning that nobody has stored and nobody can read")
	}
	c.sealed[it.EncryptedContent] = true
	return c.ledger.verify(it.EncryptedContent, c.model, string(it.Summary))
}

func (c *itemCheck) call(raw json.RawMessage) error {
	var it callItem
	if err := strict(raw, &it); err != nil {
		return err
	}
	if err := checkCall(it.Name, []byte(it.Arguments)); err != nil {
		return fmt.Errorf("call %q: %w", it.CallID, err)
	}
	if want := c.ledger.owed(it.CallID, c.model); want != "" && !c.sealed[want] {
		return fmt.Errorf("call %q comes without its reasoning", it.CallID)
	}
	if c.ids[it.CallID] {
		return fmt.Errorf("call id %q is used twice", it.CallID)
	}
	c.ids[it.CallID] = true
	return c.owed.add(it.CallID)
}
