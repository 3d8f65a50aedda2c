package projections

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/basisagent/basis/reducer"
)

// entries numbers events and gives each the next second.
func entries(events ...reducer.Event) []reducer.Entry {
	all := make([]reducer.Entry, len(events))
	for i, e := range events {
		at := time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		all[i] = reducer.Entry{Seq: uint64(i + 1), Time: at, Event: e}
	}
	return all
}

func text(s string) reducer.Item { return reducer.Item{Type: reducer.ItemText, Text: reducer.T(s)} }

func called(name, args string) reducer.Item {
	return reducer.Item{Type: reducer.ItemCall, ID: "v", Name: name, Args: reducer.T(args)}
}

func head(id, name string, class reducer.Class, lane reducer.Lane) reducer.CallHead {
	return reducer.CallHead{ID: id, Name: name, Class: class, Lane: lane}
}

func said(s string) []reducer.Part {
	return []reducer.Part{{Type: reducer.PartText, Text: reducer.T(s)}}
}

func spent(in, out int64) reducer.Usage {
	return reducer.Usage{Input: reducer.Known(in), Output: reducer.Known(out)}
}

const message = "00000000000000000000000000000001"

// begun is how every history here begins: a task with a workspace.
func begun(o reducer.Options) []reducer.Event {
	return []reducer.Event{
		reducer.JournalCreated{ID: "j", Format: 1, Chain: "c"},
		reducer.AgentCreated{Kind: reducer.KindTask, ID: "a1", Conversation: "a1", Workspace: "/srv/app", Prompt: said("count the <tests>\n& more"), Options: o},
		reducer.AgentAttached{Gen: 2, Rules: reducer.RulesVersion, Program: "p"},
		reducer.WorkspaceOpened{
			Provider: "openai", Model: "m", Wire: "openai-chat",
			Context: []reducer.ContextFile{{Path: "/h/AGENTS.md", Scope: "global"}, {Path: "/srv/AGENTS.md", Scope: "ancestor:1"}, {Path: "/srv/app/AGENTS.md", Scope: "workspace"}},
		},
		reducer.TurnStarted{Turn: "t1"},
		reducer.RoundStarted{Round: "r1", Model: "m"},
	}
}

// plain is a run with reads, a command, a failing edit and an answer.
func plain() []reducer.Event {
	return append(begun(reducer.Options{}),
		reducer.ModelAnswered{Round: "r1", Stop: reducer.StopToolUse, Usage: spent(90, 12), Items: []reducer.Item{
			text("Looking."), called("grep", `{"pattern":"func Test"}`), called("read", `{"path":"a.go"}`), called("spawn", `{"input":"!cargo test"}`), called("edit", `not json`),
		}, Calls: []reducer.CallHead{
			head("r1.c1", "grep", reducer.ClassNone, reducer.LaneParallel), head("r1.c2", "read", reducer.ClassNone, reducer.LaneParallel),
			head("r1.c3", "spawn", reducer.ClassProcess, reducer.LaneExclusive), head("r1.c4", "edit", reducer.ClassState, reducer.LaneExclusive),
		}},
		reducer.CallStarted{Call: "r1.c1"},
		reducer.CallStarted{Call: "r1.c2"},
		reducer.CallSettled{Call: "r1.c2", Outcome: reducer.OutcomeFailed, Code: "not_found", Output: reducer.T("read: a.go does not exist\nmore")},
		reducer.CallSettled{Call: "r1.c1", Outcome: reducer.OutcomeDone, Output: reducer.T("a.go:1\na.go:2"), Summary: "2 matches"},
		reducer.CallReviewed{Call: "r1.c3", Preview: json.RawMessage(`{"mode":"command","body":"cargo test","target":"local"}`)},
		reducer.CallStarted{Call: "r1.c3", By: "always"},
		reducer.CallSettled{Call: "r1.c3", Outcome: reducer.OutcomeDone, Output: reducer.T("ok")},
		reducer.CallReviewed{Call: "r1.c4", Refuse: &reducer.Refusal{Code: "invalid_arguments", Text: "edit: no"}},
		reducer.CallRefused{Call: "r1.c4", Code: "invalid_arguments", Text: "edit: no"},
		reducer.RoundStarted{Round: "r2", Model: "m"},
		reducer.AttemptFailed{Round: "r2", Attempt: 1, Max: 6, Kind: "stream_cut", Message: "ended early", Partial: reducer.T("Twe"), DelayMS: 500},
		reducer.ModelAnswered{Round: "r2", Stop: reducer.StopEndTurn, Usage: spent(120, 4), Items: []reducer.Item{text("Twelve.")}},
		reducer.TurnEnded{Turn: "t1", Outcome: reducer.OutcomeOK},
	)
}

// full is a history with every kind of event, legal or not: a reader must take
// what it finds.
func full() []reducer.Event {
	all := append(plain(),
		reducer.MessageReceived{Message: message, From: "inbox", Parts: append(said("and this?"), reducer.Part{Type: reducer.PartImage, Image: reducer.Ref{Media: "image/png"}})},
		reducer.TurnStarted{Turn: "t2", Message: message},
		reducer.RoundStarted{Round: "r3", Model: "m"},
		reducer.SessionConfigured{Effort: "high", Approve: reducer.ApprovePrompt},
		reducer.ModelAnswered{Round: "r3", Stop: reducer.StopToolUse, Items: []reducer.Item{
			called("spawn", `{"input":"find it"}`), called("write", `{"path":"b"}`), called("write", `{"path":"c"}`), called("mcp__s__t", `[1]`),
		}, Calls: []reducer.CallHead{
			head("r3.c1", "spawn", reducer.ClassProcess, reducer.LaneDelegation), head("r3.c2", "write", reducer.ClassState, reducer.LaneExclusive),
			head("r3.c3", "write", reducer.ClassState, reducer.LaneExclusive), head("r3.c4", "mcp__s__t", reducer.ClassExternal, reducer.LaneExclusive),
		}},
		reducer.CallReviewed{Call: "r3.c1", Rule: "project/allow"},
		reducer.CallStarted{Call: "r3.c1", By: "project/allow"},
		reducer.ChildSpawned{N: 1, Call: "r3.c1", Prompt: reducer.T("find it\nplease"), Depth: 1},
		reducer.UsageSampled{Child: 1, Round: "r1", Usage: spent(7, 1)},
		reducer.ChildSettled{N: 1, Outcome: reducer.OutcomeDone, Text: reducer.T("found"), Usage: spent(7, 1)},
		reducer.CallSettled{Call: "r3.c1", Outcome: reducer.OutcomeDone, Output: reducer.T("found"), Child: 1},
		reducer.HookAnswered{Call: "r3.c2", Event: "pre", Hook: "guard", Decision: "allow"},
		reducer.CallReviewed{Call: "r3.c2", Input: reducer.T(`{"path":"bb"}`)},
		reducer.ApprovalRequested{Call: "r3.c2"},
		reducer.ApprovalAnswered{Call: "r3.c2", Allow: true, Scope: "process", By: "person"},
		reducer.CallStarted{Call: "r3.c2", By: "person"},
		reducer.CallSettled{Call: "r3.c2", Outcome: reducer.OutcomeDone, Output: reducer.T("written")},
		reducer.HookAnswered{Call: "r3.c2", Event: "post", Last: true, Shown: reducer.T("hidden")},
		reducer.CallReviewed{Call: "r3.c3", Rule: "global/deny"},
		reducer.CallRefused{Call: "r3.c3", Code: "denied", Text: "The call of write was denied: a global rule says so."},
		reducer.ApprovalRequested{Call: "r3.c4"},
		reducer.ApprovalAnswered{Call: "r3.c4", Allow: false, Scope: "once", By: "person", Reason: "no"},
		reducer.CallRefused{Call: "r3.c4", Code: "denied", Text: "The call of mcp__s__t was denied: no."},
		reducer.RoundStarted{Round: "r4", Model: "m"},
		reducer.RoundFailed{Round: "r4", Kind: "overloaded", Status: 529, Message: "too busy", Usage: spent(5, 0)},
		reducer.TurnEnded{Turn: "t2", Outcome: reducer.OutcomeFailed, Error: "overloaded: too busy"},
		reducer.MessageAnswered{Message: message, Outcome: reducer.OutcomeFailed, Error: "overloaded: too busy"},
		reducer.AgentDetached{Reason: "signal"},
		reducer.JournalRepaired{Verdict: "torn", CutBytes: 12, File: "torn/1", AfterSeq: 50},
		reducer.JournalSalvaged{From: "j0"},
		reducer.Note{Name: "note.seen", Data: json.RawMessage(`{}`)},
		reducer.Note{Name: "new.kind", Data: json.RawMessage(`{}`)},
		reducer.WorkspaceFailed{Code: "open", Error: "the workspace /srv/app is not there any more"},
		reducer.ChildSpawned{Task: "k/t"},
		reducer.ChildSettled{Task: "k/t", Outcome: reducer.OutcomeFailed, Error: "no"},
		reducer.CancelRequested{Scope: "task"},
		reducer.BoundPassed{Bound: reducer.BoundDeadline, By: "clock"},
		reducer.InboxClosed{},
		reducer.TaskEnded{State: reducer.StateCancelled, Usage: spent(222, 17)},
	)
	return all
}

// stream renders a history as watch --json does, durable lines numbered from 1.
func stream(o StreamOptions, all []reducer.Entry) string {
	var b strings.Builder
	s, n := NewStream(o), int64(1)
	for _, e := range all {
		for _, l := range s.Entry(e) {
			b.Write(append(l.JSON(n), '\n'))
			n++
		}
	}
	return b.String()
}

// Every kind of event that the documentation lists stands in the full history.
func TestFullHistoryIsFull(t *testing.T) {
	doc, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, e := range full() {
		have[reducer.KindOf(e)] = true
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z]+)` \\| [ODL]").FindAllSubmatch(doc, -1)
	if len(rows) < 25 {
		t.Fatalf("docs/events.md lists %d kinds, want all of them", len(rows))
	}
	for _, row := range rows {
		if kind := string(row[1]); !have[kind] && !strings.HasPrefix(kind, "compaction.") {
			t.Errorf("full() has no %s", kind)
		}
	}
}
