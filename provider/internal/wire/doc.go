// Package wire is what all wires to models' vendors have in common: an HTTP
// client that notices silence and never carries a key to another host
// ([Client]), and the reading of a response up to where the vendor's own words
// begin ([Decode]). A vendor's package brings an [Answer] that understands those
// words and an encoder for its requests.
package wire
