package provider

import (
	"fmt"
	"time"

	"github.com/basisagent/basis/reducer"
)

// Kind says what went wrong, in the words that programs branch on.
type Kind string

// The kinds of provider errors.
const (
	KindAuth          Kind = "auth"                       // the credential was refused
	KindPermission    Kind = "permission"                 // the credential is good but may not do this
	KindNotFound      Kind = "not_found"                  // no such model or address
	KindInvalid       Kind = "invalid_request"            // the server will never take this request
	KindOverflow      Kind = "context_overflow"           // the conversation is longer than the model's window
	KindTooLarge      Kind = "request_too_large"          // the body is larger than the server takes
	KindExceedsRate   Kind = "request_exceeds_rate_limit" // this one request is over the rate limit by itself
	KindRate          Kind = "rate_limit"                 // too many requests for now
	KindQuota         Kind = "quota"                      // the account has nothing left
	KindOverloaded    Kind = "overloaded"                 // the server says that it is too busy
	KindServer        Kind = "server"                     // the server failed
	KindTimeout       Kind = "timeout"                    // silence beyond the limit
	KindContentFilter Kind = "content_filter"             // the request itself was filtered
	KindMalformedCall Kind = "malformed_tool_call"        // the server could not parse its model's call
	KindBadResponse   Kind = "bad_response"               // not the wire's language: HTML, broken JSON
	KindCut           Kind = "stream_cut"                 // the stream ended without its closing event
	KindNetwork       Kind = "network"                    // no connection, or it broke before a response
	KindCancelled     Kind = "cancelled"                  // the caller's context ended
)

// Advice is a server's own word on whether the same request may be sent again.
type Advice string

// The advices. AdviceNone is the usual case: the kind decides.
const (
	AdviceNone  Advice = ""
	AdviceRetry Advice = "retry"
	AdviceStop  Advice = "stop"
)

// Error is the only error of a stream.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status, 0 if there was none
	Message    string        // the server's words, or ours; never holds a secret
	RetryAfter time.Duration // what the server asked for; 0 if it didn't
	Advice     Advice        // what the server said of trying again, beyond its status
	Err        error         // the cause, if there is one

	// What arrived before the failure, as far as it is known.
	Partial string
	Usage   reducer.Usage
	Request reducer.RequestInfo
	Attempt int
}

// Error says the kind, the status and the server's words.
func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed a little later. The
// server's advice counts, but for failures that time can't mend.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindOverflow, KindAuth, KindQuota, KindCancelled:
		return false
	case KindPermission, KindNotFound, KindInvalid, KindTooLarge, KindExceedsRate, KindContentFilter, KindBadResponse:
		return e.Advice == AdviceRetry
	case KindRate, KindOverloaded, KindServer, KindTimeout, KindMalformedCall, KindCut, KindNetwork:
		return e.Advice != AdviceStop
	}
	return false
}
