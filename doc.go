// Package basis is a coding-agent harness: it drives a model that reads, edits
// and runs things in a repository, and every fact about that is an event in the
// agent's own journal.
//
// A [Home] is a data root. [Home.Run] makes a task and drives it to its end;
// [Home.Spawn] only makes it, and [Home.Wait] brings any task to its end,
// whoever began it. [Home.Watch], [Home.Entries] and [Home.List] read;
// [Home.Cancel] asks a task to end. A [Ref] is a task's handle.
//
//	home, err := basis.Open(basis.Options{})
//	…
//	out, err := home.Run(ctx, basis.Spec{Workspace: ".", Prompt: "fix the test"}, basis.Drive{})
//
// # What it promises
//
// A task lives in its directory alone. Whoever holds its lock drives it, in one
// goroutine ([run]'s loop): drain what has arrived, fold it and everything the
// rules make of it, record all of that in one commit, then start what is owed
// and stop what is unwanted. Nothing is started before the event that begins it
// is durable, so after a kill at any moment an attach knows what may have
// happened: a model is asked again, a read is read again, and a call that could
// have changed something is reported to the model as lost and never run again
// by itself.
//
// What a task says, reads and writes is kept verbatim; credentials are not.
package basis
