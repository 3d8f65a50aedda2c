// Package resolve opens the model that a choice of provider names.
//
// Which endpoint is meant is decided by [provider.Resolve], which knows no
// network; this package knows the wires and makes the client. What it returns
// has no patience of its own: wrap it with [provider.Retry].
package resolve
