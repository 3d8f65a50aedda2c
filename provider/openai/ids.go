package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxForeignID is how long an id from another vendor may be on this wire.
const maxForeignID = 40

// ids gives each call of a conversation an id that no other call of it has.
// Ids go back as they came; an empty, repeated or foreign one that the target
// would refuse is replaced, for its result alike.
type ids struct {
	nine bool // nine letters or digits only
	seen map[string]bool
}

// assign is the id under which a call goes back, and whether it is id itself
// whatever else the conversation holds.
func (x *ids) assign(id string, own bool) (wire string, plain bool) {
	wire = id
	switch {
	case id == "":
		wire = "call_1"
	case own:
	case x.nine && !nineAlnum(id):
		wire = digest9(id)
	case len(id) > maxForeignID || strings.Trim(id, idAlphabet) != "":
		wire = "call_" + digest9(id)
	}
	for n := 2; x.seen[wire]; n++ {
		wire = x.other(id, n)
	}
	x.seen[wire] = true
	return wire, wire == id
}

// other is the n-th stand-in for id.
func (x *ids) other(id string, n int) string {
	switch {
	case x.nine:
		return digest9(id + "#" + strconv.Itoa(n))
	case id == "":
		return "call_" + strconv.Itoa(n)
	case len(id) > maxForeignID-8:
		return "call_" + digest9(id) + "_" + strconv.Itoa(n)
	}
	return id + "_" + strconv.Itoa(n)
}

const idAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

func nineAlnum(id string) bool {
	return len(id) == 9 && strings.Trim(id, idAlphabet[:62]) == ""
}

func digest9(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// toolName is a call's name as servers take it: what they would refuse in the
// history, such as a name that the model made up, is made of allowed letters.
func toolName(name string) string {
	if name == "" {
		return "unnamed"
	}
	if strings.Trim(name, idAlphabet) == "" && len(name) <= 64 {
		return name
	}
	fit := strings.Map(func(r rune) rune {
		if strings.ContainsRune(idAlphabet, r) {
			return r
		}
		return '_'
	}, name)
	return fit[:min(len(fit), 64)]
}
