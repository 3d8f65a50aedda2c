package basis

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// The types of the records of a rules journal.
const (
	ruleRemembered = "rule.remembered"
	ruleRevoked    = "rule.revoked"
)

// Rule is a remembered answer.
type Rule struct {
	reducer.Rule
	Time time.Time // when it was given
}

// remembered is the payload of rule.remembered.
type remembered struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern,omitempty"`
	Allow   bool   `json:"allow"`
	Reason  string `json:"reason,omitempty"`
}

// revoked is the payload of rule.revoked: the record that no longer counts.
type revoked struct {
	Seq uint64 `json:"seq"`
}

// ErrNoRule says that there is no rule of that id.
var ErrNoRule = errors.New("there is no rule")

// rulesLockWait is how long somebody who adds a rule waits for another one.
const rulesLockWait = 2 * time.Second

// rulesDir is where the rules of a scope are kept: a journal of their own.
func (h *Home) rulesDir(scope, key string) string {
	if scope == reducer.ScopeGlobal {
		return filepath.Join(h.dir, "rules")
	}
	return filepath.Join(h.workspaceDir(key), "rules")
}

// Rules lists what is remembered for a workspace, the global rules last; each
// scope in the order in which they were given. It takes no lock.
func (h *Home) Rules(workspace string) ([]Rule, error) {
	path, err := directory(workspace)
	if err != nil {
		return nil, err
	}
	return h.rules(WorkspaceKey(path))
}

func (h *Home) rules(key string) ([]Rule, error) {
	var all []Rule
	for _, scope := range []string{reducer.ScopeProject, reducer.ScopeGlobal} {
		rules, err := rulesIn(h.rulesDir(scope, key), scope)
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}

func rulesIn(dir, scope string) ([]Rule, error) {
	var rules []Rule
	for rec, err := range journal.Read(dir, 0) {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		switch rec.Type {
		case ruleRemembered:
			var r remembered
			if err := json.Unmarshal(rec.Data, &r); err != nil {
				return nil, fmt.Errorf("%s: record %d: %w", dir, rec.Seq, err)
			}
			rules = append(rules, Rule{Time: rec.Time, Rule: reducer.Rule{
				Grant: reducer.Grant{Tool: r.Tool, Pattern: r.Pattern, Allow: r.Allow, Reason: r.Reason}, Scope: scope, ID: ruleID(scope, rec.Seq),
			}})
		case ruleRevoked:
			var r revoked
			if err := json.Unmarshal(rec.Data, &r); err != nil {
				return nil, fmt.Errorf("%s: record %d: %w", dir, rec.Seq, err)
			}
			rules = slices.DeleteFunc(rules, func(old Rule) bool { return old.ID == ruleID(scope, r.Seq) })
		}
	}
	return rules, nil
}

// ruleID is a rule's id: the first letter of its scope and its record's number.
func ruleID(scope string, seq uint64) string { return scope[:1] + strconv.FormatUint(seq, 10) }

// Remember stores an answer for a workspace (scope project) or for all of them
// (scope global). It counts for calls that are reviewed from then on, by any
// process. The same answer is not stored twice.
func (h *Home) Remember(workspace, scope string, g reducer.Grant) error {
	path, err := directory(workspace)
	if err != nil {
		return err
	}
	if scope != reducer.ScopeProject && scope != reducer.ScopeGlobal {
		return &OptionError{"scope", fmt.Sprintf("%q is neither project nor global", scope)}
	}
	if g.Tool == "" {
		return &OptionError{"tool", "is empty"}
	}
	key, err := h.ensureWorkspace(path)
	if err != nil {
		return err
	}
	dir := h.rulesDir(scope, key)
	known, err := rulesIn(dir, scope)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, func(r Rule) bool { return r.Grant == g }) {
		return nil
	}
	return h.addRule(dir, ruleRemembered, remembered{Tool: g.Tool, Pattern: g.Pattern, Allow: g.Allow, Reason: g.Reason})
}

// Revoke takes a rule back. It fails with [ErrNoRule] if there is none of that
// id for the workspace.
func (h *Home) Revoke(workspace, id string) (Rule, error) {
	path, err := directory(workspace)
	if err != nil {
		return Rule{}, err
	}
	key := WorkspaceKey(path)
	rules, err := h.rules(key)
	if err != nil {
		return Rule{}, err
	}
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, fmt.Errorf("%w: %q", ErrNoRule, id)
	}
	seq, err := strconv.ParseUint(id[1:], 10, 64)
	if err != nil {
		return Rule{}, fmt.Errorf("%w: %q", ErrNoRule, id)
	}
	return rules[i], h.addRule(h.rulesDir(rules[i].Scope, key), ruleRevoked, revoked{Seq: seq})
}

// addRule appends one record to a rules journal, which is opened for it alone.
func (h *Home) addRule(dir, kind string, payload any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	draft := journal.Draft{Type: kind, Data: data}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timer := time.NewTimer(rulesLockWait)
	defer timer.Stop()
	for {
		var w *journal.Writer
		if absent(filepath.Join(dir, journal.JournalFile)) {
			w, err = h.newRules(dir, draft)
		} else {
			w, _, err = journal.Open(dir, h.journalOptions(""), func(journal.Recovery) ([]journal.Draft, error) {
				return []journal.Draft{draft}, nil
			})
		}
		if err == nil {
			return w.Close()
		}
		if !errors.Is(err, journal.ErrLocked) && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("keep a rule in %s: %w", dir, err)
		}
		select {
		case <-tick.C:
		case <-timer.C:
			return fmt.Errorf("keep a rule in %s: another process holds it; try again", dir)
		}
	}
}

// newRules makes a rules journal with its first rule. It fails with
// [fs.ErrExist] if somebody else has just done so.
func (h *Home) newRules(dir string, draft journal.Draft) (*journal.Writer, error) {
	if err := makePrivate(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	h.sweepTemporary(filepath.Dir(dir))
	tmp := filepath.Join(filepath.Dir(dir), temporaryPrefix+"rules-"+h.o.NewID())
	w, err := journal.Create(tmp, h.journalOptions(""), draft)
	if err == nil {
		err = w.Publish(dir)
	}
	if err == nil {
		return w, nil
	}
	_ = os.RemoveAll(tmp)
	if w != nil {
		_ = w.Close() // nothing of it is visible
	}
	if !absent(filepath.Join(dir, journal.JournalFile)) {
		return nil, fs.ErrExist
	}
	return nil, err
}

// granted are the rules as the review of a call asks for them.
func (h *Home) granted(key string) ([]reducer.Rule, error) {
	rules, err := h.rules(key)
	all := make([]reducer.Rule, len(rules))
	for i, r := range rules {
		all[i] = r.Rule
	}
	return all, err
}

// String is the rule in one line, such as "allow spawn {…}".
func (r Rule) String() string {
	verb := "deny"
	if r.Allow {
		verb = "allow"
	}
	return verb + " " + r.Tool + " " + cmp.Or(r.Pattern, "(every call)")
}
