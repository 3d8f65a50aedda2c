//go:build unix

package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/reducer"
)

// CORE-35, CORE-37, TOOL-1, TOOL-3: load_skill reads what a model may load, says where other files
// are, and names what there is for what there isn't.
func TestLoadSkill(t *testing.T) {
	skill := func(name string) reducer.SkillInfo {
		return reducer.SkillInfo{Name: name, Path: filepath.Join(name, "SKILL.md")}
	}
	dir := newBench(t, Options{}, "plain/SKILL.md", "---\nname: plain\n---\n\none\r\ntwo\n\n\n", "rich/SKILL.md", "x", "rich/notes.txt", "", "open/SKILL.md", "---\n", "hidden/SKILL.md", "x").dir
	o := Options{}
	for _, name := range []string{"plain", "rich", "open", "hidden", "gone"} {
		k := skill(name)
		k.Path, k.Hidden = filepath.Join(dir, k.Path), name == "hidden"
		o.Skills = append(o.Skills, k)
	}
	b := newBench(t, o)
	for name, text := range map[string]string{
		"plain": "\none\ntwo", " plain ": "\none\ntwo", "rich": "x",
	} {
		more := ""
		if name == "rich" {
			more = "\nFiles that it mentions are in " + filepath.Join(dir, "rich") + "."
		}
		want(t, "load_skill "+name, b.call(t, "load_skill", in("name", name)), "<skill name=\""+strings.TrimSpace(name)+"\">\n"+text+"\n</skill>"+more)
	}
	want(t, "by another word", b.call(t, "load_skill", in("skill", "plain")), "<skill name=\"plain\">\n\none\ntwo\n</skill>")
	wantError(t, "hidden", b.call(t, "load_skill", in("name", "hidden")), CodeDenied, `"hidden" is for people`, "plain, rich, open, gone")
	wantError(t, "unknown", b.call(t, "load_skill", in("name", "nope")), CodeNoSkill, `no skill "nope"`, "plain, rich, open, gone")
	wantError(t, "unread", b.call(t, "load_skill", in("name", "open")), CodeNoSkill, "never closed")
	wantError(t, "gone", b.call(t, "load_skill", in("name", "gone")), CodeNoSkill, "not there any more")
	s := b.tools["load_skill"].Spec()
	if s.Class != reducer.ClassNone || s.Lane != reducer.LaneParallel {
		t.Errorf("load_skill is %s and %s, want a read beside others", s.Class, s.Lane)
	}
	if z := b.tools["load_skill"].(effects.Summarizer).Summarize([]byte(`{"name":"plain"}`)); z != "load_skill plain" {
		t.Errorf("Summarize = %q", z)
	}
	// Without a skill that a model may load there is no such tool.
	if none := newBench(t, Options{Skills: []reducer.SkillInfo{{Name: "hidden", Hidden: true}}}); none.tools["load_skill"] != nil {
		t.Error("load_skill is offered with nothing to load")
	}
	o.Skills = nil
	for i := range 60 {
		o.Skills = append(o.Skills, skill(fmt.Sprint("s", i)))
	}
	wantError(t, "many", newBench(t, o).call(t, "load_skill", in("name", "x")), CodeNoSkill, "s49, and 10 more")
}
