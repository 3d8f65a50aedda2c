package basis

import (
	"errors"
	"fmt"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// What can be wrong with a task before it runs or while it is looked for.
var (
	// ErrNoTask says that no such task exists.
	ErrNoTask = errors.New("no such task")

	// ErrEmptyPrompt says that there was nothing to do.
	ErrEmptyPrompt = errors.New("prompt is empty")

	// ErrAttached says that another process drives the agent.
	ErrAttached = errors.New("another process drives it")

	// ErrUnaskable says that an approval is needed where nobody can be asked.
	ErrUnaskable = errors.New("nobody can be asked here")

	// ErrSubagent says that something was asked of a subagent that only its task can do.
	ErrSubagent = errors.New("it is a subagent, which its task drives")

	// ErrTimeout says that a wait ended before what it waited for.
	ErrTimeout = errors.New("timed out")
)

// Errors of the journal that a caller may want to tell apart.
var (
	ErrDiskFull  = journal.ErrDiskFull
	ErrNetworkFS = journal.ErrNetworkFS
	ErrLocked    = journal.ErrLocked
)

// CorruptError says where and how a journal is damaged.
type CorruptError = journal.CorruptError

// OptionError says which option is wrong and why.
type OptionError struct{ Field, Reason string }

func (e *OptionError) Error() string { return e.Field + " " + e.Reason }

// TaskError says which task an error is about.
type TaskError struct {
	Ref Ref
	Err error
}

func (e *TaskError) Error() string { return fmt.Sprintf("task %s: %v", e.Ref, e.Err) }

func (e *TaskError) Unwrap() error { return e.Err }

// UnfoundedError says that the conversation a task continues can't be read as it
// was then. The task can't go on; one that was cancelled ends at the next attach.
type UnfoundedError struct{ Err error }

func (e *UnfoundedError) Error() string {
	return "the conversation that it continues cannot be read: " + e.Err.Error()
}

func (e *UnfoundedError) Unwrap() error { return e.Err }

// RewoundError says that a repair has cut off records that a reader was given
// already. They were never acknowledged: begin the reading anew.
type RewoundError struct{ To uint64 }

func (e *RewoundError) Error() string {
	return fmt.Sprintf("the journal was repaired while it was read: what came after record %d was never acknowledged; begin anew", e.To)
}

// NewerError says that a journal was written under rules that this program
// does not know, so it must not go on with it. Reading is fine.
type NewerError struct {
	Program string // what wrote it
	Detail  string
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the journal was written by %s, which knows more than this program (%s); go on with that one", e.Program, e.Detail)
}

func newerKind(program string, err error) error {
	if unknown, ok := errors.AsType[*reducer.UnknownKindError](err); ok {
		return &NewerError{Program: program, Detail: unknown.Error()}
	}
	return err
}
