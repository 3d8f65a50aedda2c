package reducer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// world is the outside of one agent, played by a seeded random source: it
// performs effects, sends messages and cancels, and crashes, also inside a
// batch. Its journal is a slice of events and it keeps the rules that any real
// driver must keep: one step drains arrivals, appends once, then reconciles.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	kind    AgentKind
	journal []Event
	durable int // records that a crash can't take
	s       State
	base    State

	running  map[string]Effect // started by this attach
	started  map[string]int    // how often a call with effects was really run
	spool    []Event           // accepted from other processes, not imported yet
	accepted []string          // message ids
	cancel   bool              // a cancel was accepted
	gen      uint64
	serial   int
	crashes  int
	quiet    bool // no more disturbance: let it end
}

func newWorld(t *testing.T, seed uint64, kind AgentKind) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 7)), kind: kind, started: map[string]int{}}
	created := AgentCreated{Kind: kind, ID: "a", Conversation: "a", Workspace: "/w", DeadlineMS: 1}
	if kind != KindSession {
		created.Prompt = []Part{{Type: PartText, Text: T("go")}}
	}
	created.Options.Approve = []Approve{ApproveAlways, ApprovePrompt, ApproveNever}[w.rng.IntN(3)]
	if w.rng.IntN(4) == 0 {
		created.Bounds.Tools = Known(int64(w.rng.IntN(6)))
	}
	if w.rng.IntN(4) == 0 {
		created.Bounds.Tokens = Known(int64(w.rng.IntN(60)))
	}
	w.record(JournalCreated{ID: "j", Format: 1}, created)
	w.durable = len(w.journal)
	w.attach()
	return w
}

func (w *world) record(events ...Event) {
	for _, e := range events {
		w.journal = append(w.journal, e)
		w.s = Apply(w.s, e)
	}
}

func (w *world) decide() { w.record(Decide(w.s)...) }

// attach folds what survived and writes the first batch of a new run.
func (w *world) attach() {
	w.s = Fold(w.base, w.journal...)
	w.running = map[string]Effect{}
	w.gen++
	w.record(AgentAttached{Gen: w.gen, Rules: RulesVersion, Program: "test"})
	w.decide()
	for _, e := range w.spool {
		if _, ok := e.(CancelRequested); ok {
			w.observe(e) // due cancels share the attach commit
		}
	}
	w.commit()
}

// observe is one arrival: admit, fold, decide, and the immediate effects.
func (w *world) observe(events ...Event) bool {
	if err := Admit(w.s, events[0]); err != nil {
		return false
	}
	w.record(events...)
	w.decide()
	for {
		i := slices.IndexFunc(w.s.Open(), func(f Effect) bool { r, ok := f.(ReviewCall); return ok && !r.Hooked })
		if i < 0 {
			return true
		}
		w.record(w.review(w.s.Open()[i].(ReviewCall).Call))
		w.decide()
	}
}

func (w *world) review(call string) Event {
	e := CallReviewed{Call: call}
	switch w.rng.IntN(8) {
	case 0:
		e.Refuse = &Refusal{Code: "invalid", Text: "no"}
	case 1:
		e.Rule = "project/allow"
	case 2:
		e.Rule = "project/deny"
	}
	return e
}

// commit makes the batch durable, or crashes: then a prefix of it survives.
func (w *world) commit() {
	w.checkOpen()
	if !w.quiet && w.rng.IntN(12) == 0 && w.crashes < 40 {
		w.crash(w.durable + w.rng.IntN(len(w.journal)-w.durable+1))
		return
	}
	w.durable = len(w.journal)
	w.spool = slices.DeleteFunc(w.spool, func(e Event) bool { return w.known(e) })
	w.reconcile()
}

func (w *world) crash(keep int) {
	w.crashes++
	w.journal = w.journal[:keep]
	w.durable = keep
	w.attach()
}

// known reports whether a spooled thing is in the journal (or void).
func (w *world) known(e Event) bool {
	switch e := e.(type) {
	case MessageReceived:
		return slices.Contains(w.s.Seen, e.Message)
	case CancelRequested:
		return w.s.Cancelled
	default:
	}
	return false
}

// reconcile starts what is open and wanted, answers for what is unwanted and
// not running, and stops what is unwanted and running.
func (w *world) reconcile() {
	for {
		var answers [][]Event
		for _, f := range w.s.Open() {
			id := EffectID(f)
			_, runs := w.running[id]
			_, child := f.(DriveChild)
			switch {
			case Unwanted(f) != "" && !runs && !child:
				answers = append(answers, w.unrun(f))
			case !runs:
				w.running[id] = f
				if r, ok := f.(RunCall); ok {
					if c, _ := w.s.Call(r.Call); c.Class != ClassNone {
						w.started[r.Call]++
					}
				}
			}
		}
		for id := range w.running {
			if !slices.ContainsFunc(w.s.Open(), func(f Effect) bool { return EffectID(f) == id }) {
				delete(w.running, id)
			}
		}
		if len(answers) == 0 {
			return
		}
		for _, a := range answers {
			w.observe(a...)
		}
		w.durable = len(w.journal)
	}
}

// unrun is what a loop reports for an effect that it will not start.
func (w *world) unrun(f Effect) []Event {
	switch f := f.(type) {
	case CallModel:
		return []Event{RoundFailed{Round: f.Round, Kind: f.Unwanted}}
	case RunCall:
		return []Event{CallSettled{Call: f.Call, Outcome: OutcomeCancelled, Reason: "not run"}}
	case RunPostHooks:
		return []Event{HookAnswered{Call: f.Call, Event: "post", Last: true, Withheld: true}}
	default:
	}
	w.t.Fatalf("unrun(%v): not an effect that can be unwanted", f)
	return nil
}

// checkOpen fails on a deadlock: an agent that has not ended, owes nothing and
// could not be moved by anything but a stranger.
func (w *world) checkOpen() {
	open := slices.DeleteFunc(w.s.Open(), func(f Effect) bool { _, ok := f.(AwaitDeadline); return ok })
	if len(open) == 0 && !w.s.Ended() && w.kind != KindSession {
		w.t.Fatalf("deadlock after\n%s", w.tail(40))
	}
}

// step lets one or several things happen and commits them together.
func (w *world) step() {
	if w.s.Ended() {
		return
	}
	for range 1 + w.rng.IntN(3) {
		if !w.quiet && w.rng.IntN(10) == 0 {
			w.disturb()
		}
		w.answerOne()
	}
	w.commit()
}

// disturb is something that comes by itself.
func (w *world) disturb() {
	w.serial++
	switch w.rng.IntN(6) {
	case 0, 1:
		m := MessageReceived{Message: fmt.Sprintf("%032x", w.serial), From: "inbox", Parts: []Part{{Type: PartText, Text: T("more")}}}
		if w.kind == KindSubagent || w.s.Cancelled || w.s.Failed || w.s.InboxClosed {
			return
		}
		w.spool = append(w.spool, m)
		w.accepted = append(w.accepted, m.Message)
	case 2:
		if w.rng.IntN(4) == 0 && w.kind != KindSession && !w.s.InboxClosed && !w.cancel {
			w.cancel = true
			w.spool = append(w.spool, CancelRequested{Scope: "task"})
		}
	case 3:
		w.observe(CancelRequested{Scope: "turn", Turn: w.s.Turn.ID, Graceful: w.rng.IntN(2) == 0})
	case 4:
		if w.rng.IntN(4) == 0 {
			w.observe(BoundPassed{Bound: BoundDeadline, By: "clock"})
		}
	case 5:
		if w.kind == KindTask {
			w.observe(ChildSpawned{Task: fmt.Sprintf("k/%d", w.serial)})
		}
	}
	if len(w.spool) > 0 && w.rng.IntN(2) == 0 {
		w.observe(w.spool[w.rng.IntN(len(w.spool))])
	}
}

// answerOne lets one running effect report.
func (w *world) answerOne() {
	open := slices.DeleteFunc(w.s.Open(), func(f Effect) bool {
		_, runs := w.running[EffectID(f)]
		_, deadline := f.(AwaitDeadline)
		return !runs || deadline
	})
	if len(open) == 0 {
		if w.kind == KindSession && w.quiet && w.s.Turn.ID == "" {
			w.observe(InboxClosed{By: "client"})
		}
		return
	}
	w.observe(w.report(open[w.rng.IntN(len(open))])...)
}

func (w *world) report(f Effect) []Event {
	switch f := f.(type) {
	case OpenWorkspace:
		if w.rng.IntN(15) == 0 {
			return []Event{WorkspaceFailed{Code: "x", Error: "no workspace"}}
		}
		return []Event{w.workspace()}
	case CallModel:
		return []Event{w.modelSays(f)}
	case ReviewCall:
		return []Event{HookAnswered{Call: f.Call, Event: "pre", Hook: "h", Decision: "allow"}, w.review(f.Call)}
	case Ask:
		return []Event{ApprovalAnswered{Call: f.Call, Allow: w.rng.IntN(2) == 0, Scope: []string{"once", "process"}[w.rng.IntN(2)], By: "person"}}
	case RunCall:
		return []Event{w.runSays(f)}
	case RunPostHooks:
		if w.rng.IntN(2) == 0 {
			return []Event{HookAnswered{Call: f.Call, Event: "post", Hook: "p1"}}
		}
		return []Event{HookAnswered{Call: f.Call, Event: "post", Hook: "p2", Last: true, Shown: T("redacted")}}
	case DriveChild:
		if f.N != 0 && w.rng.IntN(2) == 0 {
			return []Event{UsageSampled{Child: f.N, Round: "r1", Usage: Usage{Input: Known(2)}}}
		}
		out := OutcomeDone
		if f.Unwanted != "" {
			out = OutcomeCancelled
		}
		return []Event{ChildSettled{N: f.N, Task: f.Task, Outcome: out, Text: T("child"), Usage: Usage{Input: Known(5)}}}
	case CloseInbox:
		if len(w.spool) > 0 {
			return []Event{w.spool[0]}
		}
		return []Event{InboxClosed{}}
	case AwaitDeadline:
	}
	w.t.Fatalf("report(%v): unexpected effect", f)
	return nil
}

func (w *world) workspace() Event {
	e := WorkspaceOpened{Provider: "p", Model: "m", Wire: "openai-chat", SystemDigest: "d", ToolsDigest: "t"}
	if w.rng.IntN(2) == 0 {
		e.Hooks = []HookInfo{{Name: "h", Event: "pre", Tools: []string{"read"}}, {Name: "p", Event: "post", Tools: []string{"write"}}}
	}
	return e
}

func (w *world) modelSays(f CallModel) Event {
	usage := Usage{Input: Known(4), Output: Known(1)}
	switch {
	case f.Unwanted != "":
		return RoundFailed{Round: f.Round, Kind: f.Unwanted, Partial: T("par")}
	case w.rng.IntN(20) == 0:
		return RoundFailed{Round: f.Round, Kind: "auth", Message: "no"}
	case w.rng.IntN(8) == 0:
		return AttemptFailed{Round: f.Round, Attempt: 1, Kind: "stream_cut", Usage: usage}
	}
	e := ModelAnswered{Round: f.Round, Stop: StopEndTurn, Usage: usage}
	if w.rng.IntN(3) > 0 {
		e.Items = []Item{{Type: ItemText, Text: T("text of " + f.Round)}}
	}
	if w.rng.IntN(5) < 3 && w.s.Rounds < 60 {
		e.Stop = StopToolUse
		if w.rng.IntN(12) == 0 {
			e.Stop = StopMaxTokens
		}
		for i := range 1 + w.rng.IntN(4) {
			h := CallHead{ID: CallID(f.Round, i), Broken: w.rng.IntN(12) == 0}
			switch w.rng.IntN(4) {
			case 0, 1:
				h.Name, h.Class, h.Lane = "read", ClassNone, LaneParallel
			case 2:
				h.Name, h.Class, h.Lane = "write", ClassState, LaneExclusive
			case 3:
				h.Name, h.Class, h.Lane = "spawn", ClassState, LaneDelegation
			}
			e.Calls = append(e.Calls, h)
			e.Items = append(e.Items, Item{Type: ItemCall, ID: "x", Name: h.Name, Args: T("{}")})
		}
	}
	return e
}

func (w *world) runSays(f RunCall) Event {
	switch {
	case f.Unwanted != "":
		return CallSettled{Call: f.Call, Outcome: OutcomeCancelled, Output: T("so far")}
	case w.rng.IntN(4) == 0:
		return CallSettled{Call: f.Call, Outcome: OutcomeFailed, Output: T("bad")}
	}
	return CallSettled{Call: f.Call, Outcome: OutcomeDone, Output: T("good")}
}

func (w *world) tail(n int) string {
	var b strings.Builder
	for i, e := range w.journal {
		if i >= len(w.journal)-n {
			fmt.Fprintf(&b, "%4d %s\n", i+1, Describe(e))
		}
	}
	fmt.Fprintf(&b, "open: %v", w.s.Open())
	return b.String()
}

// play runs a world to its end.
func play(t *testing.T, seed uint64, kind AgentKind) *world {
	t.Helper()
	w := newWorld(t, seed, kind)
	for i := 0; !w.s.Ended(); i++ {
		w.quiet = i > 120
		if i > 2000 {
			t.Fatalf("seed %d: no end in sight\n%s", seed, w.tail(30))
		}
		w.step()
	}
	return w
}
