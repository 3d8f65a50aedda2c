// Package wirejson reads and writes the JSON of model wires in one pass.
//
// A [Cursor] walks a document without building a tree: the caller says at each
// value what it wants of it, everything else is checked and passed over. Raw
// values are slices of the input, so what a vendor sent can be kept as it came.
// The syntax is checked strictly (RFC 8259); what is read as text is always
// valid UTF-8: bytes and escapes that are not become U+FFFD, as they do in
// encoding/json.
//
// A cursor is a plain value for one goroutine. It never panics, and it needs
// stack in proportion to the nesting only, which is limited.
package wirejson
