package journal_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/journal"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the journal in testdata/v1 from today's code")

// goldenJournal writes a journal that uses every part of the format.
func goldenJournal(t *testing.T, dir string) {
	o := testOptions()
	w := mint(t, o, dir)
	if _, err := w.Append(draft("turn.started", `{"turn":"t1"}`), draft("tool.call.started", `{"input":{"path":"a b","n":[1,-2.5e+3,null]}}`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	name := filepath.Join(dir, journal.JournalFile)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(b, `{"seq":6,"ty`...), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _ = attach(t, o, dir)
	if _, err := w.Append(draft("note.text", `{"text":"line\u2028 é 🙂 \" \\ <&>"}`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// JRN-8, JRN-9, JRN-22, JRN-92: the bytes of the first release, for ever readable and still written.
func TestGoldenBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a1")
	goldenJournal(t, dir)
	got, err := os.ReadFile(filepath.Join(dir, journal.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	const kept = "testdata/v1"
	name := filepath.Join(kept, journal.JournalFile)
	if *rewrite {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the writer's bytes differ from %s:\n%s\nwant\n%s", name, got, want)
	}
	rep, err := journal.Check(kept, journal.Anchor{Seq: 8, Link: goldenHead})
	if err != nil || rep.Err() != nil || rep.Records != 8 || rep.Gens != 3 || rep.Repairs != 1 || rep.Agent != "a1" {
		t.Errorf("Check(%s) = %+v, %v, want 8 records, 3 generations, 1 repair", kept, rep, err)
	}
}

// JRN-5, JRN-6, JRN-10: anyone can check a link, and count, with a shell.
func TestShellChecksLinks(t *testing.T) {
	for _, tool := range []string{"sh", "sed", "tr", "sha256sum", "cut", "wc", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("no %s here, nothing to test", tool)
			return
		}
	}
	n := 0
	for r, err := range journal.Read("testdata/v1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if r.Seq == 1 {
			continue
		}
		got := shell(t, fmt.Sprintf(`sed -n %dp events.jsonl | tr -d '\n' | sha256sum | cut -c1-32`, r.Seq-1))
		if got != r.Prev() {
			t.Errorf("shell hash of line %d = %s, want prev of line %d, %s", r.Seq-1, got, r.Seq, r.Prev())
		}
	}
	// The loop that docs/journal.md gives.
	if got := shell(t, `p=00000000000000000000000000000000
while IFS= read -r l; do
  case $l in *"\"prev\":\"$p\""*) ;; *) echo "broken at: $l" | cut -c1-80;; esac
  p=$(printf %s "$l" | sha256sum | cut -c1-32)
done <events.jsonl`); got != "" {
		t.Errorf("checking the chain with a shell prints %s, want nothing", got)
	}
	if got := shell(t, `wc -l <events.jsonl`); strings.TrimSpace(got) != fmt.Sprint(n) {
		t.Errorf("wc -l = %s, want %d", got, n)
	}
	if got := shell(t, `grep -c '"type":"journal.repaired"' events.jsonl`); got != "1" {
		t.Errorf("grep -c journal.repaired = %s, want 1", got)
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = "testdata/v1"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(string(out))
}

// goldenHead is the link of its last record.
const goldenHead = "e9f478a540b712481bff47836aaa0983"
