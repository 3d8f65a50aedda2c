// Package openai speaks chat/completions, the wire that most model servers
// understand, OpenAI's own and local ones alike.
//
// # Requests
//
// A request's bytes are made by hand and in a fixed order: model and
// parameters, tools, system text, and the messages last. Equal conversations
// give equal bytes, and a longer conversation begins with the bytes of the
// shorter one, so a vendor's prompt cache hits and a client encodes and hashes
// only what is new. What only one vendor understands (signatures, encrypted
// reasoning) goes back verbatim, and only to the provider and model that made
// it; what differs between vendors beyond that is a row of a table.
//
// # Answers
//
// The decoder takes what servers really send: fragments of calls without
// index or id, whole calls in one chunk, one id for all calls, reasoning in
// three fields at once, usage anywhere, errors under status 200, JSON where a
// stream was asked for. An answer without a finish reason and without [DONE]
// is cut, whatever arrived. Arguments are handed on exactly as they came.
//
// [DecodeResponse] is the whole decoder behind one function of status, headers
// and body; [Chat] adds the connection, the time limits and the credential.
package openai
