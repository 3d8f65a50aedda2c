package reducer

import (
	"slices"
	"strings"
	"testing"
)

// TOOL-55, TOOL-58: what becomes of a reviewed call, by mode, rule and what was
// said for this process. A tool's own refusal comes first; never is final,
// whatever a rule allows; a rule speaks before the process, the process before
// the mode.
func TestApproval(t *testing.T) {
	tests := []struct {
		mode  Approve
		rule  string
		grant *Grant // said before, for this process
		want  string
		says  string // what the model reads of a denial
	}{
		{mode: "", want: "started c1 always"},
		{mode: ApproveAlways, want: "started c1 always"},
		{mode: ApproveAlways, rule: "project/allow", want: "started c1 project/allow"},
		{mode: ApproveAlways, rule: "global/deny", want: "refused c1 denied", says: "a global rule says so"},
		{mode: ApprovePrompt, want: "approval.requested c1"},
		{mode: ApprovePrompt, rule: "session/allow", want: "started c1 session/allow"},
		{mode: ApprovePrompt, rule: "session/deny", want: "refused c1 denied", says: "a session rule says so"},
		{mode: ApprovePrompt, grant: &Grant{Allow: true}, want: "started c1 process"},
		{mode: ApprovePrompt, grant: &Grant{Reason: "not now"}, want: "refused c1 denied", says: "not now"},
		{mode: ApprovePrompt, rule: "project/deny", grant: &Grant{Allow: true}, want: "refused c1 denied", says: "a project rule"},
		{mode: ApprovePrompt, rule: "project/allow", grant: &Grant{}, want: "started c1 project/allow"},
		{mode: ApproveAlways, grant: &Grant{}, want: "refused c1 denied", says: "The call of edit was denied."},
		{mode: ApproveNever, want: "refused c1 denied", says: "may not change anything"},
		{mode: ApproveNever, rule: "project/allow", want: "refused c1 denied", says: "may not change anything"},
		{mode: ApproveNever, grant: &Grant{Allow: true}, want: "refused c1 denied", says: "may not change anything"},
	}
	for _, tt := range tests {
		b := newBench(t, AgentCreated{Options: Options{Approve: tt.mode}})
		if tt.grant != nil {
			g := *tt.grant
			g.Tool = "edit"
			b.s.Granted = []Grant{{Tool: "other", Allow: !g.Allow}, g}
		}
		b.sees(b.answer("edit"))
		review := b.reviewed(1)
		review.Rule = tt.rule
		said := b.sees(review)
		if len(said) == 0 || said[0] != tt.want {
			t.Errorf("mode %q, rule %q, grant %v: decided %q, want %q", tt.mode, tt.rule, tt.grant, said, tt.want)
		}
		if tt.says != "" && (len(b.results()) != 1 || !strings.Contains(b.results()[0].Text.String(), tt.says)) {
			t.Errorf("mode %q, rule %q: the model reads %v, want %q", tt.mode, tt.rule, b.results(), tt.says)
		}
	}
}

// TOOL-30: what could never run is refused before the rules, the mode and any
// person, also where everything is allowed.
func TestRefusalComesBeforeApproval(t *testing.T) {
	for _, mode := range []Approve{ApproveAlways, ApprovePrompt, ApproveNever} {
		b := newBench(t, AgentCreated{Options: Options{Approve: mode}})
		b.sees(b.answer("edit"))
		review := b.reviewed(1)
		review.Rule, review.Refuse = "project/allow", &Refusal{Code: "invalid", Text: "nonsense"}
		b.wantSaid(string(mode), b.sees(review), "refused c1 invalid, round.started r2")
	}
}

// TOOL-55: what changes nothing is never asked about, not even where a hook has
// looked at it or nothing may change.
func TestReadsAreNotAskedAbout(t *testing.T) {
	for _, mode := range []Approve{ApprovePrompt, ApproveNever} {
		b := newBench(t, AgentCreated{Options: Options{Approve: mode}})
		b.wantSaid(string(mode), b.sees(b.answer("read", "guarded")), "started c1")
		b.wantSaid(string(mode), b.sees(b.reviewed(2)), "started c2")
	}
}

// TOOL-55: a person's answer starts or refuses the call; a denial carries its
// reason, or names the tool.
func TestAnswers(t *testing.T) {
	tests := []struct {
		answer ApprovalAnswered
		want   string
		says   string
	}{
		{ApprovalAnswered{Allow: true, By: "person"}, "started c1 person", ""},
		{ApprovalAnswered{Reason: "too risky", By: "person"}, "refused c1 denied, round.started r2", "The call of edit was denied: too risky."},
		{ApprovalAnswered{By: "person"}, "refused c1 denied, round.started r2", "The call of edit was denied."},
	}
	for _, tt := range tests {
		b := newBench(t, AgentCreated{Options: Options{Approve: ApprovePrompt}})
		b.sees(b.answer("edit"))
		b.sees(b.reviewed(1))
		b.wantOwed("the question", "ask r1.c1")
		tt.answer.Call, tt.answer.Scope = b.call(1), "once"
		b.wantSaid("the answer", b.sees(tt.answer), tt.want)
		if tt.says != "" && b.results()[0].Text.String() != tt.says {
			t.Errorf("the model reads %q, want %q", b.results()[0].Text, tt.says)
		}
	}
}

// An answer given once is for one call; one given for the process holds until
// another process attaches or the mode changes.
func TestScopesOfAnswers(t *testing.T) {
	b := newBench(t, AgentCreated{Kind: KindSession, Options: Options{Approve: ApprovePrompt}})
	b.sees(MessageReceived{Message: "m1", From: "client", Parts: []Part{{Type: PartText, Text: T("go")}}})
	edit := func() []string {
		b.sees(b.answer("edit"))
		return b.sees(b.reviewed(1))
	}
	allow := func(scope string) {
		b.sees(ApprovalAnswered{Call: b.call(1), Allow: true, Scope: scope, By: "person"})
		b.sees(b.settled(1))
	}
	b.wantSaid("the first", edit(), "approval.requested c1")
	allow("once")
	b.wantSaid("one allowed once", edit(), "approval.requested c1")
	allow("process")
	b.wantSaid("one allowed for the process", edit(), "started c1 process")
	b.sees(b.settled(1))
	b.sees(SessionConfigured{Approve: ApprovePrompt})
	b.wantSaid("a change of mode", edit(), "approval.requested c1")
	allow("process")
	b.sees(SessionConfigured{Effort: "high"})
	b.wantSaid("another change", edit(), "started c1 process")
	b.sees(b.settled(1))
	b.attach()
	if len(b.s.Granted) != 0 {
		t.Errorf("Granted after an attach = %v, want none", b.s.Granted)
	}
}

// TOOL-57: what was said for the process counts neither after an attach nor after a
// change of mode for a call that was reviewed before and waits for its turn.
func TestProcessRulesOfWaitingCalls(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"attach": func(b *bench) { b.attach() },
		"mode":   func(b *bench) { b.sees(SessionConfigured{Approve: ApprovePrompt}) },
	} {
		b := newBench(t, AgentCreated{Kind: KindSession, Options: Options{Approve: ApprovePrompt}})
		b.sees(MessageReceived{Message: "m1", From: "client", Parts: []Part{{Type: PartText, Text: T("go")}}})
		b.sees(b.answer(slices.Repeat([]string{"child"}, MaxDelegations+1)...))
		b.s.Granted = []Grant{{Tool: "child", Pattern: "*", Allow: true}}
		for n := 1; n <= MaxDelegations+1; n++ {
			r := b.reviewed(n)
			r.Rule = "process/allow"
			b.sees(r)
		}
		last, _ := b.s.Call(b.call(MaxDelegations + 1))
		if last.Phase != PhaseReviewed || last.Rule == "" {
			t.Fatalf("%s: the last call is %+v, want it to wait with its rule", name, last)
		}
		change(b)
		if last, _ = b.s.Call(last.ID); last.Rule != "" {
			t.Errorf("%s: the last call still has the rule %s", name, last.Rule)
		}
	}
}

// Questions come one by one, even where the calls would run side by side.
func TestQuestionsComeOneByOne(t *testing.T) {
	b := newBench(t, AgentCreated{Options: Options{Approve: ApprovePrompt}})
	b.sees(b.answer("child", "child", "child"))
	b.wantSaid("the first review", b.sees(b.reviewed(1)), "approval.requested c1")
	b.wantSaid("the others", b.sees(b.reviewed(2), b.reviewed(3)), "")
	b.wantOwed("the others", "ask r1.c1")
	said := b.sees(ApprovalAnswered{Call: b.call(1), Allow: true, Scope: "once", By: "person"})
	b.wantSaid("the first answer", said, "started c1 person, child.spawned c1, approval.requested c2")
	said = b.sees(ApprovalAnswered{Call: b.call(2), Scope: "process", Reason: "enough", By: "person"})
	b.wantSaid("a denial for the process", said, "refused c2 denied, refused c3 denied")
}
