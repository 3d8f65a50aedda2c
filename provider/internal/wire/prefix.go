package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"

	"github.com/basisagent/basis/reducer"
)

// Prefix keeps the bytes of the last request of a conversation, so that one
// which only grew costs what is new in it: the head (model, parameters, tools,
// system text) and each piece are encoded and hashed once.
type Prefix struct {
	head   []byte
	buf    []byte // the head and every piece, a comma after each
	pieces []piece
	sum    hash.Hash // over buf[:hashed]
	hashed int
}

type piece struct {
	key string
	end int
}

// Piece is one element of a request's list. Equal keys mean equal bytes; ""
// is never equal.
type Piece struct {
	Key    string
	Append func(dst []byte) ([]byte, error) // writes the elements, a comma after each, or nothing
}

// Encode makes a body of the head, the pieces and the end. What tail takes off
// the front's own end (a comma is off already) it gives back in another form;
// nil takes nothing.
func (p *Prefix) Encode(head []byte, pieces []Piece, back string, tail func(front []byte) (keep int, back string)) (Body, error) {
	keep := 0
	if bytes.Equal(head, p.head) {
		for keep < len(p.pieces) && keep < len(pieces) && pieces[keep].Key != "" && pieces[keep].Key == p.pieces[keep].key {
			keep++
		}
	}
	if p.sum == nil || keep < len(p.pieces) || !bytes.Equal(head, p.head) {
		p.restart(head, keep)
	}
	for _, x := range pieces[keep:] {
		buf, err := x.Append(p.buf)
		if err != nil {
			p.sum = nil // start anew next time
			return Body{}, err
		}
		p.buf = buf
		p.pieces = append(p.pieces, piece{x.Key, len(buf)})
	}
	front := bytes.TrimSuffix(p.buf, []byte(","))
	if tail != nil {
		n, other := tail(front)
		front, back = front[:n], other+back
	}
	return p.finish(slices.Clip(front), back), nil
}

// restart begins a buffer with the head and the first keep pieces of the old
// one. Bodies that were made of the old one stay as they are.
func (p *Prefix) restart(head []byte, keep int) {
	front := head
	if keep > 0 {
		front = p.buf[:p.pieces[keep-1].end]
	}
	p.buf = bytes.Clone(front)
	p.head, p.pieces = bytes.Clone(head), slices.Clone(p.pieces[:keep])
	p.sum, p.hashed = sha256.New(), 0
}

func (p *Prefix) finish(front []byte, back string) Body {
	if len(front) < p.hashed {
		p.sum, p.hashed = sha256.New(), 0
	}
	p.sum.Write(front[p.hashed:])
	p.hashed = len(front)
	sum := CloneHash(p.sum, front)
	sum.Write([]byte(back))
	return Body{Front: front, Back: back, Info: reducer.RequestInfo{
		Digest: hex.EncodeToString(sum.Sum(nil)[:reducer.DigestSize]),
		Size:   len(front) + len(back),
	}}
}

// CloneHash is a copy of sum, which has seen data.
func CloneHash(sum hash.Hash, data []byte) hash.Hash {
	if c, ok := sum.(hash.Cloner); ok {
		if clone, err := c.Clone(); err == nil {
			return clone
		}
	}
	anew := sha256.New()
	anew.Write(data)
	return anew
}
