// Package anthropic speaks the Messages wire: POST v1/messages with version
// 2023-06-01, and its event stream.
//
// An answer is a list of blocks, each kept as an item in the order in which
// they came: text, thinking, calls, and whatever else the vendor's own tools
// leave in between, whole. Members that every wire has are spelt out and all
// others stand verbatim in the item, so the encoder writes the same block again:
// signatures, redacted thinking, citations, compactions and results of server
// tools go back unchanged to the model that made them, and to no other.
package anthropic
