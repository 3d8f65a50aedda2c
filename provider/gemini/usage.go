package gemini

import (
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// tokens are the counts in the wire's own words. Figures are cumulative: of
// each the last that came holds, and a chunk without numbers changes nothing.
type tokens struct {
	prompt, candidates, cached, thoughts, tools reducer.Count
	reported                                    bool
}

func (u *tokens) read(c *wirejson.Cursor) {
	u.reported = true
	c.Object(func(key []byte) {
		switch string(key) {
		case "promptTokenCount":
			set(&u.prompt, c)
		case "candidatesTokenCount":
			set(&u.candidates, c)
		case "cachedContentTokenCount":
			set(&u.cached, c)
		case "thoughtsTokenCount":
			set(&u.thoughts, c)
		case "toolUsePromptTokenCount":
			set(&u.tools, c)
		}
	})
}

func set(count *reducer.Count, c *wirejson.Cursor) {
	if n, ok := c.Int(); ok {
		*count = reducer.Known(n)
	}
}

// usage normalises: what the vendor's own tools read lies beside the prompt,
// and thoughts beside the candidates.
func (u tokens) usage() reducer.Usage {
	return reducer.Usage{
		Input: u.prompt.Add(u.tools), Output: u.candidates.Add(u.thoughts), CacheRead: u.cached, Reasoning: u.thoughts,
	}
}
