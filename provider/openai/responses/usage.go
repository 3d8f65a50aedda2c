package responses

import (
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// tokens are the counts in the wire's own words.
type tokens struct {
	input, output, cached, written, thinking reducer.Count
}

func (u *tokens) read(raw []byte) {
	c := wirejson.NewCursor(raw)
	c.Object(func(key []byte) {
		switch string(key) {
		case "input_tokens":
			set(&u.input, &c)
		case "output_tokens":
			set(&u.output, &c)
		case "input_tokens_details":
			c.Object(func(key []byte) {
				switch string(key) {
				case "cached_tokens":
					set(&u.cached, &c)
				case "cache_write_tokens":
					set(&u.written, &c)
				}
			})
		case "output_tokens_details":
			c.Object(func(key []byte) {
				if string(key) == "reasoning_tokens" {
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

// usage: this wire's input has the cached part in it and its output the
// reasoning.
func (u tokens) usage() reducer.Usage {
	return reducer.Usage{Input: u.input, Output: u.output, CacheRead: u.cached, CacheWrite: u.written, Reasoning: u.thinking}
}
