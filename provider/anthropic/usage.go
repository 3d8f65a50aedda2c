package anthropic

import (
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// tokens are the counts in the wire's own words. Figures are cumulative: of
// each the last that came holds.
type tokens struct {
	input, output, cacheRead, cacheWrite, thinking reducer.Count
}

func (u *tokens) read(raw []byte) {
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch string(key) {
		case "input_tokens":
			set(&u.input, &c)
		case "output_tokens":
			set(&u.output, &c)
		case "cache_read_input_tokens":
			set(&u.cacheRead, &c)
		case "cache_creation_input_tokens":
			set(&u.cacheWrite, &c)
		case "output_tokens_details":
			c.Object(func(key []byte) {
				if string(key) == "thinking_tokens" {
					set(&u.thinking, &c)
				}
			})
		}
	})
}

func set(count *reducer.Count, c *wirejson.Cursor) {
	if n, ok := c.Int(); ok {
		*count = reducer.Known(n)
	}
}

// usage normalises: this wire leaves what was read from and written to the
// cache out of its input.
func (u tokens) usage() reducer.Usage {
	out := reducer.Usage{Output: u.output, CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, Reasoning: u.thinking}
	if _, known := u.input.Get(); known {
		out.Input = u.input.Add(u.cacheRead).Add(u.cacheWrite)
	}
	return out
}
