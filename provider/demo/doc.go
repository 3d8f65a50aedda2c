// Package demo is a model that asks nobody.
//
// It drives the real tools of a workspace in a fixed order: it lists the
// folder, searches it, reads one file, runs one harmless command, and then
// tells what it found. It writes nothing. What it does next depends on the
// messages of the request alone, so a conversation can be resumed anywhere;
// tools that it isn't offered are left out, and calls that fail are told of.
// It reports no usage, because nothing was used.
package demo
