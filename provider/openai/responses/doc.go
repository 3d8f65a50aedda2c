// Package responses speaks the Responses wire: POST v1/responses with the whole
// conversation in each request and nothing stored at the vendor.
//
// What a model answers is a list of output items. The item that a done event
// carries is the truth; deltas are for display. Members that every wire has are
// spelt out and all others stand verbatim in the conversation's item, so the
// encoder writes the vendor's item again: encrypted reasoning, phases,
// annotations and the vendor's own tools' items go back unchanged to the model
// that made them, and to no other. Ids of items do not go back, because nothing
// is stored under them.
package responses
