// Package fence lets file tools reach the files of a workspace and no others.
//
// A Fence has a base, the canonical root of the workspace, and two sets of
// roots: what may be read and what may be written. Resolve turns the path that
// a model gave into a Place: it normalises the path by its words alone, follows
// every link that exists, and checks where that leads. Everything afterwards is
// done through os.Root on the root that the place lies under, so a link that is
// swapped in between the check and the use can lead around inside that root but
// never out of it. A walk holds the directories that it is in open and opens each
// name in them by itself; where the system allows it, no link is followed then.
//
// The hooks and the configuration of a git repository are never written,
// because git runs what they say.
//
// What it promises:
//
//   - content is read from regular files only; pipes, devices and sockets are
//     refused without waiting for them and without taking anything from them;
//   - a file is replaced whole or not at all, keeps its permission bits, and a
//     failed replacement leaves nothing behind;
//   - a walk enters each directory once, ends in spite of links that go round in
//     circles, and says what it left out, but for what its filter did.
//
// Replacing a file by a rename gives it a new identity: other hard links to it
// keep the old content.
//
// A Fence holds no descriptors between calls and may be used by several goroutines at once.
package fence
