// Package provider is one streaming contract for every model vendor.
//
// A [Model] takes a [Request] in neutral words and yields [Chunk] values: text
// and reasoning as they arrive, and at the end one [Done] with the whole
// answer, or one [*Error]. A model's wire lives in a package below this one;
// what is true for every wire lives here: the event stream reader [SSE], the
// judgement of failures [Classify], the patience of [Retry], and the rules by
// which a name, a base URL and the environment choose an endpoint ([Resolve]).
//
// # Promises
//
// An answer is whole or it is an error: a stream that ends without its closing
// event is never taken for an answer. Every error has a [Kind], and programs
// branch on it alone. A [Secret] shows itself to nobody but the wire that sends
// it. The package opens no connection, reads no file and no environment, and
// starts no goroutine; time is seen only through options and timers.
package provider
