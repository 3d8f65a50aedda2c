package wire

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/reducer"
)

// Ask is one request and how it is made.
type Ask struct {
	Path   string
	Source reducer.Provenance
	Encode func() (Body, error)
	Decode Decoder

	// Refused is told that the vendor can't read what it once sealed; true
	// means that the request is another one now and worth sending.
	Refused func() bool
}

// Send encodes a request, says so and yields what comes of it. A vendor that
// refuses its own seals, as it does after a change of account, is asked once
// more without them: else the conversation would be refused for good.
func (c *Client) Send(ctx context.Context, a Ask, yield Yield) {
	for again := true; again; {
		again = c.attempt(ctx, a, yield)
	}
}

func (c *Client) attempt(ctx context.Context, a Ask, yield Yield) (again bool) {
	b, err := a.Encode()
	if err != nil {
		e, ok := errors.AsType[*provider.Error](err)
		if !ok {
			e = &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err}
		}
		yield(nil, e)
		return false
	}
	if !yield(provider.Sent{Request: b.Info}, nil) {
		return false
	}
	c.Exchange(ctx, a.Path, b, Response{Source: a.Source}, a.Decode, func(chunk provider.Chunk, err error) bool {
		if e, ok := errors.AsType[*provider.Error](err); ok && refusesSeal(e) && a.Refused() {
			again = true
			return false
		}
		return yield(chunk, err)
	})
	return again
}

// refusesSeal reports whether a request was refused for a signature or an
// encrypted text in it.
func refusesSeal(e *provider.Error) bool {
	if e.Status != http.StatusBadRequest {
		return false
	}
	words := strings.ToLower(e.Message)
	for _, sign := range []string{"invalid `signature`", "invalid signature", "encrypted content", "thought signature", "thought_signature"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// Seals are the messages whose seals their own vendor has refused, by their
// keys. The zero value is none.
type Seals struct{ refused map[string]bool }

// Valid reports whether what is sealed in m may go back to source.
func (s *Seals) Valid(m provider.Message, source reducer.Provenance) bool {
	return m.Source == source && !s.refused[m.Key]
}

// Refuse marks everything that source has said so far; false if nothing of it
// could still go back.
func (s *Seals) Refuse(messages []provider.Message, source reducer.Provenance) bool {
	more := false
	for _, m := range messages {
		if m.Role == provider.RoleAssistant && m.Key != "" && s.Valid(m, source) {
			if s.refused == nil {
				s.refused = make(map[string]bool)
			}
			s.refused[m.Key], more = true, true
		}
	}
	return more
}
