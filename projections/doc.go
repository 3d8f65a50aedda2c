// Package projections folds an agent's history for readers.
//
// It is where journal and reducer meet: [Entries] turns records into decoded
// entries and [Drafts] turns events into what a journal takes. Every other
// fold in here is disposable: losing one costs time and changes nothing.
package projections
