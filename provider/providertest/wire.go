package providertest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/basisagent/basis/provider"
)

// event is one event of a stream; name is that of its event line, "" has none.
type event struct{ name, data string }

// text is the event as it is sent, with the line ends of the wire.
func (e event) text(eol string) string {
	if e.name == "" {
		return "data: " + e.data + eol + eol
	}
	return "event: " + e.name + eol + "data: " + e.data + eol + eol
}

// content is what tests look at in a request.
type content struct {
	messages []Message
	tools    []string
}

// dialect is one wire as its vendor's server speaks it.
type dialect interface {
	// events are a step's stream; what is issued in it goes into the ledger.
	events(s Step, r Request, l *ledger) []event
	// failures are an error as events of a stream that has begun.
	failures(f Failure) []event
	// failure is the body of an error status.
	failure(status int, f Failure) string
	// listing is the body of a list of models, oldest first.
	listing(ids []string) string
	// read takes from a request's body what it can.
	read(body []byte) content
	// check says what a strict server would refuse in a request. A nil ledger
	// judges nothing that only its issuer can judge.
	check(r Request, l *ledger) error
	// eol is how lines of the stream end.
	eol() string
}

// dialectOf is the dialect of a wire, nil for one that is unknown.
func dialectOf(wire string) dialect {
	switch wire {
	case provider.WireChat:
		return chat{}
	case provider.WireMessages:
		return messages{}
	case provider.WireResponses:
		return responses{}
	case provider.WireGemini:
		return gemini{}
	}
	return nil
}

// wireOf tells the wires apart by what they ask for; "" is no endpoint.
func wireOf(r *http.Request) string {
	path := r.URL.Path
	if r.Method == http.MethodGet && strings.HasPrefix(path, "/v1beta/models") {
		return provider.WireGemini
	}
	if r.Method == http.MethodGet && strings.HasSuffix(path, "/models") {
		if r.Header.Get("Anthropic-Version") != "" {
			return provider.WireMessages
		}
		return provider.WireChat // the same as that of Responses
	}
	if r.Method != http.MethodPost {
		return ""
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return provider.WireChat
	case strings.HasSuffix(path, "/messages"):
		return provider.WireMessages
	case strings.HasSuffix(path, "/responses"):
		return provider.WireResponses
	case strings.HasSuffix(path, ":streamGenerateContent") && r.URL.Query().Get("alt") == "sse":
		return provider.WireGemini
	}
	return ""
}

// ledger is what a server has issued and may be shown again: the ids of calls,
// and what only the server itself can read.
type ledger struct {
	calls int
	seals map[string]seal
	under map[string]string // the seal that a call was issued with, by the call
}

// seal is a signature or an encrypted text.
type seal struct {
	model string // whose it is
	on    string // what it stands on
}

func newLedger() *ledger {
	return &ledger{seals: make(map[string]seal), under: make(map[string]string)}
}

// call is the n-th id of a call, counted over the server's life.
func (l *ledger) call(prefix string) string {
	l.calls++
	return fmt.Sprint(prefix, l.calls)
}

// seal makes what only the server can read.
func (l *ledger) seal(model, on string) string {
	s := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "seal %d of %s?>", len(l.seals)+1, model))
	l.seals[s] = seal{model, on}
	return s
}

// bind remembers that a call was issued with a seal.
func (l *ledger) bind(call, seal string) {
	if seal != "" {
		l.under[call] = seal
	}
}

// verify refuses a seal that is not the server's own, that another of its
// models made, or that stands on something else than it was made for.
func (l *ledger) verify(s, model, on string) error {
	if l == nil {
		return nil
	}
	issued, ok := l.seals[s]
	switch {
	case !ok:
		return fmt.Errorf("signature %q was never issued here", s)
	case issued.model != model:
		return fmt.Errorf("signature %q is of model %s, not of %s", s, issued.model, model)
	case issued.on != on:
		return fmt.Errorf("signature %q stands on %q, want it on %q", s, on, issued.on)
	}
	return nil
}

// owed is the seal that must come with a call; "" is none.
func (l *ledger) owed(call, model string) string {
	if l == nil || l.seals[l.under[call]].model != model {
		return ""
	}
	return l.under[call]
}

// onlyBy reports whether a call, named by what it says, was issued with a seal
// by this model and by no other.
func (l *ledger) onlyBy(model, on string) bool {
	if l == nil {
		return false
	}
	own := false
	for _, s := range l.seals {
		if s.on == on && s.model != model {
			return false
		}
		own = own || s.on == on
	}
	return own
}
