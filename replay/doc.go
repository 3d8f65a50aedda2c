// Package replay proves that a history explains itself.
//
// A journal records both what came from outside and what the rules made of it.
// [Verify] folds a history again and compares: each recorded decision must be
// the one that today's rules give, and nothing from outside may stand where a
// decision was due or nothing was owed. [At] folds a history up to a point.
//
// Verify rejects every decision that was changed, dropped or moved, except at
// the end of a history and beside an attach, where a crash could have written
// the same; there the journal's hash chain speaks. Live code never needs this
// package.
package replay
