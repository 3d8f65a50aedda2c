// Package journal keeps an append-only, checksummed, hash-chained log of
// opaque records, written by one process and read by any number.
//
// # Model
//
// A journal is one text file, events.jsonl, in a directory of its own. Each
// line is a [Record]: a number, a type, a time, an attach generation, its place
// in the commit that wrote it, the hash of the line before it, the payload and
// a checksum. The package moves payloads and never reads them; the only types
// it knows are its own, journal.created and journal.repaired (and
// journal.salvaged, written by [Salvage]). docs/journal.md describes the bytes.
//
// A directory comes into being with [Create] under a temporary name and is
// moved to its place by [Writer.Publish]; later processes attach with [Open].
// Both return a [Writer], which holds attach.lock until [Writer.Close]. Readers
// take no lock: [Read] walks what is there, [Tail] follows it, [Check] audits
// it, [Held] asks whether somebody is attached. Payloads too large for a line go
// to a [Blobs] store first.
//
// # Promises
//
// Durability: [Writer.Append] is one write and one sync, and when it returns
// nil the records survive a killed process and, on a disk that honours sync, a
// power cut. A commit is never written before the one before it was synced, so
// a valid record proves that everything before its commit was durable.
//
// Honesty: a byte changed, removed or added in acknowledged data is reported
// as a [*CorruptError] and never served. What a crash tore off is set aside in
// torn/ and named by a journal.repaired record.
//
// Failure: after a failed write or sync the writer is poisoned. Every later
// call returns an error that matches [ErrFailed]; the way out is to close and
// to open again. A failed sync is never retried.
//
// Ordering: records are numbered from 1 without gaps. Times never decrease.
// The generation grows by one with each attach and nowhere else.
//
// Concurrency: a Writer belongs to one goroutine. Everything that reads may run
// in any number of goroutines and processes. Payloads of a record yielded by an
// iterator are borrowed: they are valid until the next step of the iteration.
//
// # Example
//
//	w, err := journal.Create(tmp, journal.Options{Program: "demo 1.0"},
//		journal.Draft{Type: "agent.created", Data: []byte(`{"prompt":"hi"}`)},
//		journal.Draft{Type: "agent.attached", Data: []byte(`{}`), NextGen: true})
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	if err := w.Publish(dir); err != nil {
//		return err
//	}
//	_, err = w.Append(journal.Draft{Type: "turn.started", Data: []byte(`{"turn":"t1"}`)})
package journal
