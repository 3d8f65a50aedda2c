// Package gemini speaks the generateContent wire: POST
// v1beta/models/MODEL:streamGenerateContent?alt=sse, each event a whole
// response object whose parts are joined.
//
// An answer is a list of parts, each kept as an item in the order in which they
// came. Signatures of thought stand on the part that they came with and go back
// on that part, to the model that made them and to no other; parts with one are
// never merged with parts that have none. Calls mostly have no ids, so results
// are matched by name and order.
package gemini
