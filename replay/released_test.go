package replay_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
	"github.com/basisagent/basis/replay"
)

var update = flag.Bool("update", false, "write the summaries that are missing")

// unpack puts a kept journal where a journal is read from.
func unpack(t *testing.T, path string) (dir string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, journal.JournalFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// summary is what must come out of a journal whatever the program's version.
func summary(r replay.Result) string {
	var b strings.Builder
	s := r.State
	fmt.Fprintf(&b, "records %d, last %s\n", r.Records, r.LastKind)
	fmt.Fprintf(&b, "%s of %s in %s, gen %d, turns %d, rounds %d\n", s.Kind, s.Conversation, s.Workspace, s.Gen, s.Turns, s.Rounds)
	fmt.Fprintf(&b, "ended %s, result %q, error %q, stopped by %q\n", s.End.State, s.End.Result, s.End.Error, s.End.StoppedBy)
	in, _ := s.End.Usage.Input.Get()
	out, _ := s.End.Usage.Output.Get()
	fmt.Fprintf(&b, "input %d, output %d\n", in, out)
	for _, m := range s.Transcript.Messages() {
		fmt.Fprintf(&b, "%s %s\n", m.Key, m.Role)
		for _, p := range m.Parts {
			fmt.Fprintf(&b, "  %s %q\n", p.Type, p.Text)
		}
		for _, i := range m.Items {
			if i.Type == reducer.ItemCall {
				fmt.Fprintf(&b, "  call %s %s\n", i.Name, i.Args)
				continue
			}
			fmt.Fprintf(&b, "  %s %q\n", i.Type, i.Text)
		}
		for _, r := range m.Results {
			fmt.Fprintf(&b, "  %s %s error=%v %q\n", r.Call, r.Name, r.IsError, r.Text)
		}
	}
	return b.String()
}

// JRN-22: each journal that was ever released still folds to what it folded
// to, and explains itself under the rules that it was written under.
func TestReleasedJournals(t *testing.T) {
	files, err := filepath.Glob("testdata/v*/*.jsonl")
	if err != nil || len(files) < 6 {
		t.Fatalf("testdata holds %d journals, %v, want at least 6", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			dir := unpack(t, file)
			if rep, err := journal.Check(dir); err != nil || rep.Err() != nil {
				t.Errorf("Check = %v, %v, want nothing found", rep.Err(), err)
			}
			r, err := replay.Verify(reducer.State{}, projections.Entries(journal.Read(dir, 0)))
			if err != nil {
				t.Fatal(err)
			}
			if ours := filepath.Base(filepath.Dir(file)) == fmt.Sprintf("v%d", reducer.RulesVersion); ours != (r.Decisions > 0) || ours != (r.Skipped == 0) {
				t.Errorf("%d decisions checked and %d skipped, want those of today's rules checked", r.Decisions, r.Skipped)
			}
			compare(t, strings.TrimSuffix(file, ".jsonl")+".golden", summary(r))
		})
	}
}

// compare holds got against a file. A summary that is there is never
// rewritten: to change it means that old journals are read in another way.
func compare(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
