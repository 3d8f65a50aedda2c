package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// encoder makes request bodies. It keeps the bytes of the last one, so that a
// conversation which only grew costs what is new in it: the head (model,
// parameters, tools, system text) and each message are encoded and hashed once.
type encoder struct {
	head     []byte
	buf      []byte    // the head and every message, a comma after each
	segments []segment // the messages in buf
	sum      hash.Hash // over buf[:hashed]
	hashed   int
	ids      wire.IDs
	source   reducer.Provenance
	old      map[string]stored // messages of a former buf; only while rebuilding
}

// segment is one message in the buffer.
type segment struct {
	key     string
	variant bool // encoded with its reasoning
	start   int
	end     int
	ids     []string // of its calls, as on the wire
	plain   bool     // the bytes depend on the message alone
}

// stored is a segment's bytes, taken along when a conversation was changed.
type stored struct {
	segment
	bytes []byte
}

// params are the members of a request that the connection has learnt to send.
type params struct {
	source     reducer.Provenance
	profile    profile
	noUsage    bool // the server refuses stream_options
	completion bool // the server wants max_completion_tokens
}

// encode makes the body of req.
func (e *encoder) encode(req provider.Request, p params) (wire.Body, error) {
	head := appendHead(nil, req, p)
	keep := 0
	if bytes.Equal(head, e.head) {
		keep = e.common(req.Messages, p)
	}
	if e.sum == nil || !bytes.Equal(head, e.head) || keep < len(e.segments) {
		e.restart(head, keep, p)
	}
	for i := keep; i < len(req.Messages); i++ {
		if err := e.message(req, p, i); err != nil {
			e.sum = nil // start anew next time
			return wire.Body{}, err
		}
	}
	e.old = nil
	return e.finish(), nil
}

// common is how many messages of the buffer the conversation still begins with.
func (e *encoder) common(messages []provider.Message, p params) int {
	if e.sum == nil {
		return 0
	}
	loop := loopStart(messages)
	n := 0
	for n < len(e.segments) && n < len(messages) {
		m, s := messages[n], e.segments[n]
		if m.Key == "" || m.Key != s.key || s.variant != replays(m, p, n >= loop) {
			break
		}
		n++
	}
	return n
}

// restart begins a buffer with head and the first keep messages of the old
// one. What else the old one holds is kept aside until the request is made.
func (e *encoder) restart(head []byte, keep int, p params) {
	old, segments := e.buf, e.segments
	e.old = nil
	if e.sum != nil && e.source == p.source { // else what is opaque would go to another maker
		e.old = make(map[string]stored, len(segments)-keep)
		for _, s := range segments[keep:] {
			e.old[s.key] = stored{s, old[s.start:s.end]}
		}
	}
	front := head
	if keep > 0 {
		front = old[:segments[keep-1].end]
	}
	e.buf = bytes.Clone(front)
	e.head, e.source = head, p.source
	e.segments = append([]segment(nil), segments[:keep]...)
	e.sum, e.hashed = sha256.New(), 0
	e.ids = wire.IDs{Nine: p.profile.nineIDs, Seen: make(map[string]bool)}
	for _, s := range e.segments {
		for _, id := range s.ids {
			e.ids.Seen[id] = true
		}
	}
}

// message appends the i-th message, from the old buffer if it is there.
func (e *encoder) message(req provider.Request, p params, i int) error {
	m := req.Messages[i]
	s := segment{
		key: m.Key, start: len(e.buf), plain: true,
		variant: replays(m, p, i >= loopStart(req.Messages)),
	}
	if old, ok := e.reusable(s, i); ok {
		e.buf = append(e.buf, old.bytes...)
		s.ids = old.ids
		for _, id := range s.ids {
			e.ids.Seen[id] = true
		}
	} else if err := e.write(req, p, i, &s); err != nil {
		return err
	}
	s.end = len(e.buf)
	e.segments = append(e.segments, s)
	return nil
}

// reusable finds the bytes of a message that depends on nothing before it.
func (e *encoder) reusable(s segment, i int) (stored, bool) {
	old, ok := e.old[s.key]
	if !ok || s.key == "" || !old.plain || old.variant != s.variant {
		return stored{}, false
	}
	if i > 0 && !e.segments[i-1].plain {
		return stored{}, false
	}
	for _, id := range old.ids {
		if e.ids.Seen[id] {
			return stored{}, false
		}
	}
	return old, true
}

// finish hashes what is new and closes the body.
func (e *encoder) finish() wire.Body {
	front := bytes.TrimSuffix(e.buf, []byte(","))
	front = slices.Clip(front)
	e.sum.Write(front[e.hashed:])
	e.hashed = len(front)
	const back = "]}"
	sum := wire.CloneHash(e.sum, front)
	sum.Write([]byte(back))
	return wire.Body{Front: front, Back: back, Info: reducer.RequestInfo{
		Digest: hex.EncodeToString(sum.Sum(nil)[:reducer.DigestSize]),
		Size:   len(front) + len(back),
	}}
}

// appendHead writes everything up to the first message.
func appendHead(dst []byte, req provider.Request, p params) []byte {
	dst = append(dst, `{"model":`...)
	dst = wirejson.AppendString(dst, req.Model)
	dst = append(dst, `,"stream":true`...)
	if !p.noUsage {
		dst = append(dst, `,"stream_options":{"include_usage":true}`...)
	}
	if req.MaxOutput > 0 {
		name := `,"max_tokens":`
		if p.completion || p.profile.completion {
			name = `,"max_completion_tokens":`
		}
		dst = strconv.AppendInt(append(dst, name...), int64(req.MaxOutput), 10)
	}
	if req.Effort != "" {
		dst = wirejson.AppendString(append(dst, `,"reasoning_effort":`...), req.Effort)
	}
	dst = appendTools(dst, req.Tools)
	dst = append(dst, `,"messages":[`...)
	if req.System != "" {
		dst = append(dst, `{"role":"system","content":`...)
		dst = append(wirejson.AppendString(dst, req.System), "},"...)
	}
	return dst
}

func appendTools(dst []byte, tools []provider.Tool) []byte {
	for i, t := range tools {
		open := ","
		if i == 0 {
			open = `,"tools":[`
		}
		dst = append(dst, open...)
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = wirejson.AppendString(dst, t.Name)
		if t.Description != "" {
			dst = wirejson.AppendString(append(dst, `,"description":`...), t.Description)
		}
		if len(t.Schema) > 0 {
			dst = append(append(dst, `,"parameters":`...), t.Schema...)
		}
		dst = append(dst, "}}"...)
	}
	if len(tools) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

// loopStart is the index after the last user message: from there on the
// model's calls are being answered.
func loopStart(messages []provider.Message) int {
	for i, message := range slices.Backward(messages) {
		if message.Role == provider.RoleUser {
			return i + 1
		}
	}
	return 0
}

// replays reports whether readable reasoning goes back with m.
func replays(m provider.Message, p params, inLoop bool) bool {
	return inLoop && p.profile.loopReasoning && m.Role == provider.RoleAssistant && m.Source == p.source
}
