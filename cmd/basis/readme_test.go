package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readmeStep is one command of the README's tour and what it prints there.
type readmeStep struct {
	command string
	output  []string
}

// readmeSteps are the commands of all console blocks, in order.
func readmeSteps(t *testing.T) []readmeStep {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []readmeStep
	inside := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case inside && isCommand:
			steps = append(steps, readmeStep{command: command})
		case inside:
			last := &steps[len(steps)-1]
			last.output = append(last.output, line)
		}
	}
	return steps
}

var (
	handle = regexp.MustCompile(`\b[0-9a-f]{16}/[0-9a-f]{32}\b`)
	varies = regexp.MustCompile(`\b([0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{7} first|[0-9]+ bytes)\b`)
)

// Every command of the README is run, in a repository like the one it shows,
// and prints what the README says, but for ids, digests and sizes. Reads that
// run side by side may settle in either order.
func TestReadme(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "BASIS_DATA_DIR="+data, "BASIS_CONFIG_DIR="+data, "BASIS_TASK_ID=", "BASIS_BASE_URL=", "OPENAI_BASE_URL=")
	shell := func(command string) []string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	shell(`git init -q . && printf '# Adder\n\nAdds numbers.\n' > README.md && printf 'package main\n\nfunc main() {}\n' > main.go &&
		git add . && git -c user.name=a -c user.email=a@example.invalid commit -qm first`)
	real := map[string]string{} // the README's handles, and those of this run
	for _, step := range readmeSteps(t) {
		command := handle.ReplaceAllStringFunc(step.command, func(h string) string { return real[h] })
		command = strings.ReplaceAll(command, " events.jsonl", " "+journalOfFirst(data, real))
		got := shell(command)
		for i, line := range step.output {
			h := handle.FindString(line)
			if h == "" || real[h] != "" {
				continue
			}
			for _, g := range got[min(i, len(got)):] {
				if now := handle.FindString(g); now != "" {
					real[h] = now
					break
				}
			}
		}
		if want, have := comparable(step.output), comparable(got); !slices.Equal(want, have) {
			t.Errorf("$ %s\nprints  %q\nREADME  %q", step.command, have, want)
		}
	}
}

// journalOfFirst is the journal of the task that the tour begins with: the one
// whose handle in the README sorts first.
func journalOfFirst(data string, real map[string]string) string {
	steps := []string{}
	for readme := range real {
		steps = append(steps, readme)
	}
	slices.Sort(steps)
	if len(steps) == 0 {
		return ""
	}
	key, id, _ := strings.Cut(real[steps[0]], "/")
	return filepath.Join(data, "workspaces", key, "agents", id, "events.jsonl")
}

// comparable is an output without what differs from run to run, in an order of
// its own.
func comparable(lines []string) []string {
	var all []string
	for _, l := range lines {
		all = append(all, strings.TrimRight(varies.ReplaceAllString(handle.ReplaceAllString(l, "T"), "X"), " "))
	}
	slices.Sort(all)
	return all
}

// The README's other two commands are targets that do what it says.
func TestReadmeTargets(t *testing.T) {
	for target, want := range map[string]string{"demo": "--provider demo", "test": "go test ./..."} {
		out, err := exec.Command("make", "-C", filepath.Join("..", ".."), "-n", target).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("make -n %s = %s, %v; want %q in it", target, out, err, want)
		}
	}
}
