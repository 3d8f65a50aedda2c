package reducer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// kinds names every event on disk. A name is never given another meaning; a
// changed meaning is a new name.
var kinds = map[string]reflect.Type{
	"journal.created":    reflect.TypeFor[JournalCreated](),
	"journal.repaired":   reflect.TypeFor[JournalRepaired](),
	"journal.salvaged":   reflect.TypeFor[JournalSalvaged](),
	"agent.created":      reflect.TypeFor[AgentCreated](),
	"agent.attached":     reflect.TypeFor[AgentAttached](),
	"agent.detached":     reflect.TypeFor[AgentDetached](),
	"turn.started":       reflect.TypeFor[TurnStarted](),
	"turn.ended":         reflect.TypeFor[TurnEnded](),
	"round.started":      reflect.TypeFor[RoundStarted](),
	"round.failed":       reflect.TypeFor[RoundFailed](),
	"attempt.failed":     reflect.TypeFor[AttemptFailed](),
	"model.answered":     reflect.TypeFor[ModelAnswered](),
	"usage.sampled":      reflect.TypeFor[UsageSampled](),
	"hook.answered":      reflect.TypeFor[HookAnswered](),
	"call.reviewed":      reflect.TypeFor[CallReviewed](),
	"call.refused":       reflect.TypeFor[CallRefused](),
	"call.started":       reflect.TypeFor[CallStarted](),
	"call.settled":       reflect.TypeFor[CallSettled](),
	"approval.requested": reflect.TypeFor[ApprovalRequested](),
	"approval.answered":  reflect.TypeFor[ApprovalAnswered](),
	"message.received":   reflect.TypeFor[MessageReceived](),
	"message.answered":   reflect.TypeFor[MessageAnswered](),
	"child.spawned":      reflect.TypeFor[ChildSpawned](),
	"child.settled":      reflect.TypeFor[ChildSettled](),
	"session.configured": reflect.TypeFor[SessionConfigured](),
	"cancel.requested":   reflect.TypeFor[CancelRequested](),
	"bound.passed":       reflect.TypeFor[BoundPassed](),
	"workspace.opened":   reflect.TypeFor[WorkspaceOpened](),
	"workspace.failed":   reflect.TypeFor[WorkspaceFailed](),
	"inbox.closed":       reflect.TypeFor[InboxClosed](),
	"task.ended":         reflect.TypeFor[TaskEnded](),
}

// names is kinds the other way round.
var names = func() map[reflect.Type]string {
	m := make(map[reflect.Type]string, len(kinds))
	for name, t := range kinds {
		m[t] = name
	}
	return m
}()

// Entry is a record whose event has been decoded.
type Entry struct {
	Seq   uint64
	Time  time.Time
	Event Event
}

// UnknownKindError says that a journal holds an event that this program does
// not know. Reading can go on; attaching must not (JRN-20).
type UnknownKindError struct{ Kind string }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("unknown event type %q", e.Kind)
}

// KindOf is the event's name on disk.
func KindOf(e Event) string {
	if n, ok := e.(Note); ok {
		return n.Name
	}
	return names[reflect.TypeOf(e)]
}

// Known reports whether the event is a note or an extension by its name. A
// reader may stand a Note in for an event that it does not know; such a one
// must not be written.
func (n Note) Known() bool {
	return strings.HasPrefix(n.Name, "note.") || strings.HasPrefix(n.Name, "x.")
}

// Encode gives the event's name on disk and its payload, one compact JSON object.
func Encode(e Event) (kind string, data []byte, err error) {
	if n, ok := e.(Note); ok {
		if len(n.Data) == 0 {
			return n.Name, []byte("{}"), nil
		}
		return n.Name, n.Data, nil
	}
	kind = KindOf(e)
	data, err = encodeJSON(e)
	if err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return kind, data, nil
}

// Decode is the inverse of Encode. It keeps no reference to data. An unknown
// kind gives an *[UnknownKindError]; notes and extensions are never unknown.
func Decode(kind string, data []byte) (Event, error) {
	if n := (Note{Name: kind}); n.Known() {
		n.Data = append(json.RawMessage(nil), data...)
		return n, nil
	}
	t, ok := kinds[kind]
	if !ok {
		return nil, &UnknownKindError{Kind: kind}
	}
	v := reflect.New(t)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return v.Elem().Interface().(Event), nil
}

// EventClass says where an event comes from.
type EventClass byte

// The classes of events.
const (
	Observation EventClass = 'O'
	Decision    EventClass = 'D'
	LifeCycle   EventClass = 'L'
)

// ClassOf tells an observation from a decision from a life-cycle event, by the
// event alone.
func ClassOf(e Event) EventClass {
	switch e := e.(type) {
	case JournalCreated, JournalRepaired, JournalSalvaged, AgentCreated, AgentAttached, AgentDetached, Note:
		return LifeCycle
	case TurnStarted, TurnEnded, RoundStarted, CallRefused, CallStarted, ApprovalRequested, MessageAnswered, TaskEnded:
		return Decision
	case CallSettled:
		if e.Outcome == OutcomeLost || e.Child != 0 {
			return Decision
		}
		return Observation
	case ChildSpawned:
		if e.N != 0 {
			return Decision
		}
		return Observation
	case WorkspaceOpened, WorkspaceFailed, ModelAnswered, AttemptFailed, RoundFailed, UsageSampled, HookAnswered,
		CallReviewed, ApprovalAnswered, MessageReceived, ChildSettled, SessionConfigured, CancelRequested, BoundPassed, InboxClosed:
		return Observation
	}
	return Observation
}
