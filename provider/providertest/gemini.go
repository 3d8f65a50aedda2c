package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// gemini is the wire of Gemini's generateContent.
type gemini struct{}

func (gemini) eol() string { return "\r\n" }

// skipSignature is the word that the vendor takes for a signature on calls
// that another model made.
const skipSignature = "skip_thought_signature_validator"

func (gemini) events(s Step, r Request, l *ledger) []event {
	p := parts{model: cmp.Or(s.Served, r.Model()), usage: s.Usage}
	for _, piece := range pieces(s.Reasoning, s.Deltas) {
		if !s.Sealed {
			p.chunk(object(`{"text":%s,"thought":true}`, piece), "")
		}
	}
	for _, piece := range pieces(s.Text, s.Deltas) {
		p.chunk(object(`{"text":%s}`, piece), "")
	}
	signs := s.Reasoning != "" || s.Sealed || isGemini3(r.Model())
	for i, c := range s.Calls {
		id := raw("")
		if c.ID != "" {
			id = raw(object(`"id":%s,`, c.ID))
		}
		signature := raw("")
		if i == 0 && signs {
			signature = raw(object(`,"thoughtSignature":%s`, l.seal(r.Model(), callKey(c.Name, []byte(c.Args)))))
		}
		p.chunk(object(`{"functionCall":{%s"name":%s,"args":%s}%s}`, id, c.Name, raw(c.Args), signature), "")
	}
	if signs && len(s.Calls) == 0 && s.Text != "" {
		p.chunk(object(`{"text":"","thoughtSignature":%s}`, l.seal(r.Model(), "")), "")
	}
	switch {
	case s.Failure != nil:
		return append(p.out, gemini{}.failures(*s.Failure)...)
	case !s.NoFinish:
		p.done = true
		p.chunk(`{"text":""}`, object(`,"finishReason":%s`, cmp.Or(s.Finish, "STOP")))
	}
	return p.out
}

// parts writes response objects.
type parts struct {
	model string
	usage *Usage
	done  bool
	out   []event
}

func (p *parts) chunk(part, more string) {
	p.out = append(p.out, event{data: object(`{"candidates":[{"content":{"role":"model","parts":[%s]},"index":0%s}]%s,"modelVersion":%s,"responseId":"r1"}`,
		raw(part), raw(more), raw(p.count()), p.model)})
}

// count is the usage, cumulative in every chunk. This vendor counts thoughts
// beside the candidates.
func (p *parts) count() string {
	if p.usage == nil {
		return ""
	}
	u := *p.usage
	if !p.done {
		u.Completion, u.Reasoning = min(u.Completion, 1), 0
	}
	return object(`,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"cachedContentTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d}`,
		u.Prompt, u.Completion-u.Reasoning, u.Cached, u.Reasoning, u.Prompt+u.Completion)
}

func (gemini) failures(f Failure) []event {
	status := 500
	switch f.Code {
	case "RESOURCE_EXHAUSTED":
		status = 429
	case "UNAVAILABLE":
		status = 503
	case "INVALID_ARGUMENT":
		status = 400
	}
	return []event{{data: gemini{}.failure(status, f)}}
}

func (gemini) failure(status int, f Failure) string {
	return object(`{"error":{"code":%d,"message":%s,"status":%s}}`, status, f.Message, f.Code)
}

func (gemini) listing(ids []string) string {
	var rows []string
	for _, id := range ids {
		rows = append(rows, gemini{}.row(id))
	}
	return `{"models":[` + strings.Join(rows, ",") + `]}`
}

// row is one model of the listing; it is also served by itself.
func (gemini) row(id string) string {
	return object(`{"name":%s,"inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]}`, "models/"+id)
}

func isGemini3(model string) bool { return strings.HasPrefix(model, "gemini-3") }

// callKey names a call by what it says: on this wire it has no id.
func callKey(name string, args []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return name + string(args)
	}
	return name + b.String()
}

// geminiRequest is a request with exactly the members that a strict server
// knows.
type geminiRequest struct {
	SystemInstruction *geminiContent `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string          `json:"name"`
			Description          string          `json:"description"`
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig *struct {
		MaxOutputTokens int `json:"maxOutputTokens"`
		ThinkingConfig  *struct {
			ThinkingLevel string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
	Contents []geminiContent `json:"contents"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string `json:"text"`
	Thought          bool    `json:"thought"`
	ThoughtSignature string  `json:"thoughtSignature"`
	InlineData       *struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response struct {
			Output *string `json:"output"`
			Error  *string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
	ExecutableCode      json.RawMessage `json:"executableCode"`
	CodeExecutionResult json.RawMessage `json:"codeExecutionResult"`
}

func (gemini) read(body []byte) content {
	var req geminiRequest
	var c content
	_ = json.Unmarshal(body, &req)
	for _, t := range req.Tools {
		for _, d := range t.FunctionDeclarations {
			c.tools = append(c.tools, d.Name)
		}
	}
	if req.SystemInstruction != nil {
		c.messages = append(c.messages, req.SystemInstruction.read("system")...)
	}
	for _, x := range req.Contents {
		role := x.Role
		if role == "model" {
			role = "assistant"
		}
		c.messages = append(c.messages, x.read(role)...)
	}
	return c
}

// read is the content in the common words: results are messages of their own.
func (x geminiContent) read(role string) []Message {
	var results []Message
	said := Message{Role: role}
	for _, p := range x.Parts {
		switch {
		case p.Text != nil && !p.Thought:
			said.Text += *p.Text
		case p.InlineData != nil:
			said.Images++
		case p.FunctionCall != nil:
			said.Calls = append(said.Calls, Call{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: string(p.FunctionCall.Args)})
		case p.FunctionResponse != nil:
			m := Message{Role: "tool", CallID: p.FunctionResponse.ID}
			for _, text := range []*string{p.FunctionResponse.Response.Output, p.FunctionResponse.Response.Error} {
				if text != nil {
					m.Text += *text
				}
			}
			results = append(results, m)
		}
	}
	if len(results) > 0 && said.Text == "" && said.Images == 0 {
		return results
	}
	return append(results, said)
}

func (gemini) check(r Request, l *ledger) error {
	var req geminiRequest
	if err := strict(r.Body, &req); err != nil {
		return err
	}
	if len(req.Contents) == 0 {
		return errors.New("no contents")
	}
	for _, t := range req.Tools {
		for _, d := range t.FunctionDeclarations {
			if err := checkTool(d.Name, d.ParametersJSONSchema); err != nil {
				return err
			}
		}
	}
	c := partCheck{model: r.Model(), ledger: l}
	for i, x := range req.Contents {
		c.current = i >= req.turn()
		if err := c.content(x, i); err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	if last := req.Contents[len(req.Contents)-1]; last.Role != "user" {
		return errors.New("the last content is not the user's")
	}
	return c.owed.settled("the end")
}

// turn is where the current turn begins: at the last content of a user that
// has other parts than responses.
func (req geminiRequest) turn() int {
	for i, x := range slices.Backward(req.Contents) {
		for _, p := range x.Parts {
			if x.Role == "user" && p.FunctionResponse == nil {
				return i
			}
		}
	}
	return 0
}

// partCheck goes through a conversation's parts.
type partCheck struct {
	model   string
	ledger  *ledger
	current bool // the content belongs to the turn that goes on
	first   bool // no call has come in this content yet
	calls   int  // so far, in this content
	owed    debts
}

func (c *partCheck) content(x geminiContent, i int) error {
	switch {
	case len(x.Parts) == 0:
		return errors.New("no parts")
	case x.Role == "model" && i == 0, x.Role != "model" && x.Role != "user":
		return fmt.Errorf("role %q", x.Role)
	case x.Role == "model":
		if err := c.owed.settled("model"); err != nil {
			return err
		}
	}
	c.first, c.calls = true, 0
	answered := 0
	for n, p := range x.Parts {
		var err error
		if x.Role == "model" {
			err = c.fromModel(p)
		} else {
			answered, err = c.user(p, answered)
		}
		if err != nil {
			return fmt.Errorf("parts[%d]: %w", n, err)
		}
	}
	return nil
}

// user takes a part of a user: a response to each call in order, then
// everything else. answered is how many responses came in this content.
func (c *partCheck) user(p geminiPart, answered int) (int, error) {
	if f := p.FunctionResponse; f != nil {
		if (f.Response.Output == nil) == (f.Response.Error == nil) {
			return answered, errors.New("a response without one output or error")
		}
		return answered + 1, c.owed.pay(debt(answered, f.ID, f.Name))
	}
	if err := c.owed.settled("user"); err != nil {
		return answered, err
	}
	switch {
	case p.Text != nil && *p.Text != "", p.InlineData != nil && strings.HasPrefix(p.InlineData.MimeType, "image/") && len(p.InlineData.Data) > 0:
		return answered, nil
	}
	return answered, errors.New("a part that says nothing, or not a user's")
}

// debt names a call by its place: ids are rare on this wire and names repeat.
func debt(n int, id, name string) string { return fmt.Sprintf("%d %s %s", n, id, name) }

// fromModel takes one part of a model.
func (c *partCheck) fromModel(p geminiPart) error {
	switch {
	case p.FunctionCall != nil:
		return c.call(p)
	case p.InlineData != nil, p.FunctionResponse != nil:
		return errors.New("an image or a response in a model's content")
	case p.Text != nil && *p.Text == "" && p.ThoughtSignature == "":
		return errors.New("an empty text")
	case p.Text == nil && p.ExecutableCode == nil && p.CodeExecutionResult == nil:
		return errors.New("a part that says nothing")
	case p.ThoughtSignature == "" || p.Text == nil:
		return nil
	}
	return c.ledger.verify(p.ThoughtSignature, c.model, *p.Text)
}

func (c *partCheck) call(p geminiPart) error {
	f := p.FunctionCall
	if err := checkCall(f.Name, f.Args); err != nil {
		return err
	}
	key := callKey(f.Name, f.Args)
	first := c.first
	c.first = false
	if err := c.owed.add(debt(c.calls, f.ID, f.Name)); err != nil {
		return err
	}
	c.calls++
	switch {
	case p.ThoughtSignature == skipSignature && !c.ledger.onlyBy(c.model, key):
		return nil
	case p.ThoughtSignature != "":
		return c.ledger.verify(p.ThoughtSignature, c.model, key)
	case first && c.current && isGemini3(c.model):
		return fmt.Errorf("call of %s, the first of its step, comes without its thought signature", f.Name)
	}
	return nil
}
