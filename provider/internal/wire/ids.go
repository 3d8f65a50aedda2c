package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
	"github.com/basisagent/basis/reducer"
)

// maxForeignID is how long an id from another vendor may be on this wire.
const maxForeignID = 40

// IDs gives each call of a conversation an id that no other call of it has.
// Ids go back as they came; an empty, repeated or foreign one that the target
// would refuse is replaced, for its result alike.
type IDs struct {
	Nine bool            // nine letters or digits only
	Seen map[string]bool // those that are taken; not nil
}

// Assign is the id under which a call goes back, and whether it is id itself
// whatever else the conversation holds.
func (x *IDs) Assign(id string, own bool) (wire string, plain bool) {
	wire = id
	switch {
	case id == "":
		wire = "call_1"
	case own:
	case x.Nine && !nineAlnum(id):
		wire = digest9(id)
	case len(id) > maxForeignID || strings.Trim(id, idAlphabet) != "":
		wire = "call_" + digest9(id)
	}
	for n := 2; x.Seen[wire]; n++ {
		wire = x.other(id, n)
	}
	x.Seen[wire] = true
	return wire, wire == id
}

// other is the n-th stand-in for id.
func (x *IDs) other(id string, n int) string {
	switch {
	case x.Nine:
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

// ToolName is a call's name as servers take it: what they would refuse in the
// history, such as a name that the model made up, is made of allowed letters.
func ToolName(name string) string {
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

// AppendMembers writes the members of an object into the one that is open.
func AppendMembers(dst, object []byte) []byte {
	if len(object) > len("{}") {
		dst = append(append(dst, ','), object[1:len(object)-1]...)
	}
	return dst
}

// Unanswered is the result of a call whose own was lost. Servers refuse a
// conversation in which a call has none.
const Unanswered = "This call was interrupted; there is no result."

// Arguments is what goes back for a call's arguments. What never was one object
// would poison the conversation: servers parse it and refuse all that follows.
// The call's result says what came.
func Arguments(args string) string {
	if wirejson.IsObject([]byte(args)) {
		return args
	}
	return "{}"
}

// Match finds the result of each call: by place, or by id if some are missing.
// A call without one has nil.
func Match(calls []reducer.Item, results []provider.Result) []*provider.Result {
	found := make([]*provider.Result, len(calls))
	inPlace := len(results) == len(calls)
	taken := make([]bool, len(results))
	for n, call := range calls {
		for k := range results {
			if !taken[k] && (inPlace || results[k].ID == call.ID) {
				taken[k], found[n] = true, &results[k]
				break
			}
		}
	}
	return found
}

// Calls are the calls among the items of an answer.
func Calls(items []reducer.Item) []reducer.Item {
	var calls []reducer.Item
	for _, it := range items {
		if it.Type == reducer.ItemCall {
			calls = append(calls, it)
		}
	}
	return calls
}

// Load is a text, from its blob if it isn't inline.
func Load(req provider.Request, t reducer.Text) (string, error) {
	if t.Blob.Digest == "" {
		return t.Inline, nil
	}
	data, err := LoadBlob(req, t.Blob)
	return string(data), err
}

// LoadBlob is the content of a blob.
func LoadBlob(req provider.Request, ref reducer.Ref) ([]byte, error) {
	if req.Load == nil {
		return nil, fmt.Errorf("load blob %s: the request has no loader", ref.Digest)
	}
	data, err := req.Load(ref)
	if err != nil {
		return nil, fmt.Errorf("load blob %s: %w", ref.Digest, err)
	}
	return data, nil
}
