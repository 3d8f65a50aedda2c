// Package effects carries out what the core owes and reports how it went.
package effects
