// Package providertest tests what talks to models, and models themselves.
//
// [Server] is a scripted model server on loopback: a test says step by step
// what it answers (text, calls, a status, a cut, a silence, garbage), and reads
// afterwards what it was asked. By default it refuses requests that a strict
// vendor would refuse ([CheckRequest]) and fails the test for them. It never
// sleeps on its own account: a held answer waits for a channel, a hanging one
// for the end of the request. [Handler] is the same without a test, so that a
// test binary that was started again can serve it.
//
// [Conformance] is the suite that every wire's model must pass.
package providertest
