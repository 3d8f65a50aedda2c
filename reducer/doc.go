// Package reducer is the vocabulary of an agent and the rules by which it
// advances. It is pure: no clock, no randomness, no I/O, no goroutines.
package reducer
