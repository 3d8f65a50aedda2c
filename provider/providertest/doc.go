// Package providertest tests what talks to models, and models themselves.
//
// [Server] is a scripted model server: a test says step by step what it answers
// (text, reasoning, calls, a status, a cut, a silence, garbage), and reads
// afterwards what it was asked. A [Step] is told in words that every wire has;
// the server speaks whichever one a request comes on, with that vendor's events,
// ids, errors and counting. It never sleeps on its own account: a held answer
// waits for a channel, a hanging one for the end of the request. [NewServer]
// listens on loopback, [NewPipe] in memory, where a bubble of testing/synctest
// can stop the clock. [Handler] is the same without a test, so that a test
// binary that was started again can serve it.
//
// # Strictness
//
// By default a server refuses what a strict vendor would refuse
// ([CheckRequest]) and fails the test for it: members it doesn't know, calls
// without results and results without calls, ids used twice, empty texts. It
// remembers what it has signed or encrypted. Any other signature is refused, and
// so is one of another model, one that stands on something else than it was
// made for, and one that is missing where the vendor wants it.
//
// # Conformance
//
// [Conformance] is the suite that every wire's model must pass. It asks, fails,
// cuts and falls silent in every way that the vendor knows, with the number of
// requests and the length of every wait checked on a clock that stands still.
package providertest
