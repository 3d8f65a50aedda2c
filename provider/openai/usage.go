package openai

import (
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// tokens are the counts of a usage object in the wire's own words. Figures are
// cumulative: of each the last that came holds.
type tokens struct {
	prompt, completion, total    reducer.Count
	cached, cacheWrite, thinking reducer.Count
}

// read takes over what the usage object in front says.
func (u *tokens) read(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "prompt_tokens":
			set(&u.prompt, c)
		case "completion_tokens":
			set(&u.completion, c)
		case "total_tokens":
			set(&u.total, c)
		case "prompt_cache_hit_tokens", "cached_tokens":
			set(&u.cached, c)
		case "cache_creation_input_tokens":
			set(&u.cacheWrite, c)
		case "prompt_tokens_details":
			u.prompted(c)
		case "completion_tokens_details":
			c.Object(func(key []byte) {
				if string(key) == "reasoning_tokens" {
					set(&u.thinking, c)
				}
			})
		}
	})
}

func (u *tokens) prompted(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "cached_tokens":
			set(&u.cached, c)
		case "cache_write_tokens":
			set(&u.cacheWrite, c)
		}
	})
}

func set(count *reducer.Count, c *wirejson.Cursor) {
	if n, ok := c.Int(); ok {
		*count = reducer.Known(n)
	}
}

// sloppy is by how many tokens reasoning may exceed the completion that
// contains it before it is taken to lie beside it.
const sloppy = 4

// usage normalises: output is everything generated. Some servers leave
// reasoning out of completion_tokens; the total says so, or the sizes do.
func (u tokens) usage() reducer.Usage {
	out := reducer.Usage{
		Input: u.prompt, Output: u.completion,
		CacheRead: u.cached, CacheWrite: u.cacheWrite, Reasoning: u.thinking,
	}
	thinking, done := u.thinking.Or(0), u.completion.Or(0)
	total, known := u.total.Get()
	outside := known && thinking > 0 && total == u.prompt.Or(0)+done+thinking
	if outside || thinking > done+sloppy {
		out.Output = u.completion.Add(u.thinking)
	}
	return out
}
