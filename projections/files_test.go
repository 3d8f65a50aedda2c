package projections

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/basisagent/basis/reducer"
)

func ended(e reducer.TaskEnded) reducer.State { return reducer.State{End: e} }

// TASK-40, CLI-2: members without anything to say are absent, a cancelled task
// names no bound, and any bound at all is exit code 3.
func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  reducer.TaskEnded
		json string
		exit int
	}{
		{"answered", reducer.TaskEnded{State: "succeeded", Result: reducer.T("done"), Usage: spent(10, 5)}, `{"state":"succeeded","result":"done","usage":{"input_tokens":10,"output_tokens":5}}`, 0},
		{"over budget", reducer.TaskEnded{State: "succeeded", Result: reducer.T("done"), StoppedBy: "token_budget"}, `{"state":"succeeded","result":"done","stopped_by":"token_budget"}`, 3},
		{"failed", reducer.TaskEnded{State: "failed", Error: "no key"}, `{"state":"failed","error":"no key"}`, 1},
		{"deadline", reducer.TaskEnded{State: "failed", Error: "late", StoppedBy: "deadline"}, `{"state":"failed","error":"late","stopped_by":"deadline"}`, 3},
		{"an unknown bound", reducer.TaskEnded{State: "failed", StoppedBy: "moon_phase"}, `{"state":"failed","stopped_by":"moon_phase"}`, 3},
		{"cancelled", reducer.TaskEnded{State: "cancelled", StoppedBy: "deadline"}, `{"state":"cancelled"}`, 1},
		{"closed", reducer.TaskEnded{State: "closed"}, `{"state":"closed"}`, 0},
		{"an unknown state", reducer.TaskEnded{State: "paused"}, `{"state":"paused"}`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := TerminalOf(ended(tt.end), nil)
			data, err := json.Marshal(got)
			if err != nil || string(data) != tt.json {
				t.Errorf("TerminalOf(%+v) = %s, %v, want %s", tt.end, data, err, tt.json)
			}
			if code := got.Exit(); code != tt.exit {
				t.Errorf("Exit() of %s = %d, want %d", data, code, tt.exit)
			}
		})
	}
}

// TASK-40: a result of more than 1 MiB is cut after a whole character and says
// so; an error is cut as well.
func TestTerminalIsCut(t *testing.T) {
	long := strings.Repeat("x", MaxResult-1) + "€uro"
	ref := reducer.Ref{Digest: "sha256:" + strings.Repeat("0", 64), Size: int64(len(long)), Head: "x", Tail: "o"}
	load := func(r reducer.Ref) ([]byte, error) {
		if r != ref {
			return nil, errors.New("another blob")
		}
		return []byte(long), nil
	}
	got := TerminalOf(ended(reducer.TaskEnded{State: "succeeded", Result: reducer.Text{Blob: ref}}), load)
	if want := long[:MaxResult-1]; got.Result != want || !got.ResultTruncated || !utf8.ValidString(got.Result) {
		t.Errorf("result has %d bytes, truncated %v, want %d and true", len(got.Result), got.ResultTruncated, len(want))
	}
	exact := strings.Repeat("y", MaxResult)
	got = TerminalOf(ended(reducer.TaskEnded{State: "failed", Error: exact + "z", Result: reducer.T(exact)}), load)
	if got.Result != exact || got.ResultTruncated || got.Error != exact {
		t.Errorf("result of %d bytes, truncated %v, error of %d bytes, want 1 MiB each and no cut result", len(got.Result), got.ResultTruncated, len(got.Error))
	}
	// JRN-68: a blob that is gone leaves what the record itself holds.
	gone := TerminalOf(ended(reducer.TaskEnded{State: "succeeded", Result: reducer.Text{Blob: ref}}), func(reducer.Ref) ([]byte, error) { return nil, fs.ErrNotExist })
	if !gone.ResultTruncated || !strings.HasPrefix(gone.Result, "x\n[…") || !strings.Contains(gone.Result, ref.Digest) {
		t.Errorf("result whose blob is gone = %q, truncated %v, want its head, tail and digest, and true", gone.Result, gone.ResultTruncated)
	}
}

// EV-36, EV-37: unknown is absent, a known 0 is 0, nothing at all is nil.
func TestUsageOf(t *testing.T) {
	if got := UsageOf(reducer.Usage{}); got != nil {
		t.Errorf("UsageOf(nothing) = %+v, want nil", got)
	}
	got, _ := json.Marshal(UsageOf(reducer.Usage{Input: reducer.Known(3), CacheRead: reducer.Known(0), CacheWrite: reducer.Known(1), Reasoning: reducer.Known(2)}))
	if want := `{"input_tokens":3,"cache_read_tokens":0,"cache_creation_tokens":1,"reasoning_tokens":2}`; string(got) != want {
		t.Errorf("UsageOf = %s, want %s", got, want)
	}
}

// stateAfter folds events of a history.
func stateAfter(events []reducer.Event) reducer.State {
	return reducer.Fold(reducer.State{}, events...)
}

// TASK-20, TASK-21: meta.json shows what was asked for, how it stands and what
// it cost; what nobody said is null or absent. TASK-5: no key is in it.
func TestWriteMeta(t *testing.T) {
	at := About{Prompt: "count the <tests>\n& more", Created: time.UnixMilli(1000), Updated: time.UnixMilli(2000)}
	waiting := stateAfter(begun(reducer.Options{Model: "m", Approve: reducer.ApprovePrompt})[:2])
	waiting.DeadlineMS, waiting.Bounds.Tools = 9000, reducer.Known(3)
	closing := stateAfter(append(plain(), reducer.InboxClosed{}))
	done := stateAfter(append(plain(), reducer.InboxClosed{}, reducer.TaskEnded{State: "succeeded", Result: reducer.T("Twelve."), Usage: spent(210, 16)}))
	for _, tt := range []struct {
		name string
		s    reducer.State
		want string
	}{
		{"waiting", waiting, `{"id":"k/a1","parent":null,"detached":false,"workspace":"/srv/app","agent_id":"a1","prompt":"count the <tests>\n& more","options":{"provider":null,"base_url":null,"model":"m","no_shell":false,"effort":null,"approve":"prompt","tool_budget":3,"token_budget":null},"deadline_at_ms":9000,"created_ms":1000,"updated_ms":2000}`},
		{"closing", closing, `{"id":"k/a1","parent":null,"detached":false,"workspace":"/srv/app","agent_id":"a1","prompt":"count the <tests>\n& more","options":{"provider":null,"base_url":null,"model":null,"no_shell":false,"effort":null,"approve":"always","tool_budget":null,"token_budget":null},"pending_terminal":{"state":"succeeded","result":"Twelve.","usage":{"input_tokens":210,"output_tokens":16}},"usage":{"input_tokens":210,"output_tokens":16},"created_ms":1000,"updated_ms":2000}`},
		{"done", done, `{"id":"k/a1","parent":null,"detached":false,"workspace":"/srv/app","agent_id":"a1","prompt":"count the <tests>\n& more","options":{"provider":null,"base_url":null,"model":null,"no_shell":false,"effort":null,"approve":"always","tool_budget":null,"token_budget":null},"usage":{"input_tokens":210,"output_tokens":16},"created_ms":1000,"updated_ms":2000}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := WriteMeta(dir, "k/a1", at, tt.s); err != nil {
				t.Fatal(err)
			}
			if got := readPrivate(t, dir, MetaFile); got != tt.want+"\n" {
				t.Errorf("meta.json = %s, want %s", got, tt.want)
			}
		})
	}
}

// readPrivate reads a file that must be alone in its directory and its owner's.
func readPrivate(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("%s holds %v, %v, want %s alone", dir, names, err, name)
	}
	info, err := names[0].Info()
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%s has mode %v, %v, want 0600", name, info.Mode(), err)
	}
	return string(data)
}

// TASK-40, JRN-39: terminal.json is replaced whole and carries the journal's
// last number and link. TASK-4, JRN-1: it is its owner's alone.
func TestWriteTerminal(t *testing.T) {
	dir := t.TempDir()
	for _, state := range []string{"failed", "succeeded"} {
		if err := WriteTerminal(dir, Terminal{State: state, Seq: 9, Head: "ab"}); err != nil {
			t.Fatal(err)
		}
		want := `{"state":"` + state + `","seq":9,"head":"ab"}` + "\n"
		if got := readPrivate(t, dir, TerminalFile); got != want {
			t.Errorf("terminal.json = %s, want %s", got, want)
		}
	}
	if err := WriteTerminal(filepath.Join(dir, "gone"), Terminal{State: "failed"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteTerminal into no directory = %v, want an error that it does not exist", err)
	}
}
