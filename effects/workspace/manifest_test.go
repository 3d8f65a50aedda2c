package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const canary = "s3cret-value"

func vars(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": canary, "EMPTY": "", "BIN": "/opt/x"}[name]
	return v, ok
}

func free(string) string { return "" }

// TOOL-46, TOOL-47: the user's hooks come before the repository's, entries keep
// their order, and names may repeat.
func TestFindHooks(t *testing.T) {
	dir := tempDir(t)
	global, root := filepath.Join(dir, "conf"), filepath.Join(dir, "repo")
	write(t, filepath.Join(global, "hooks.json"), "\uFEFF{\"schema\":1,\"hooks\":[\r\n{\"name\":\"a\",\"command\":[\"x\"],\"unknown\":1}]}")
	write(t, filepath.Join(root, ".basis", "hooks.json"), `{"schema":1,"more":true,"hooks":[
		{"name":"a","command":["./y","z"],"tools":["spawn","mcp__*"],"event":"post_tool_use","timeout_ms":10,"on_failure":"allow"},
		{"name":"b","command":["y"],"event":"pre_tool_use","on_failure":"deny"}]}`)
	h, err := FindHooks(global, root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range h.Hooks {
		got = append(got, fmt.Sprint(k.Info.From, k.Info.Event, k.Info.Name, k.Info.Tools, k.Command, k.Timeout, k.Lenient))
		if len(k.Info.Digest) != 32 {
			t.Errorf("digest %q", k.Info.Digest)
		}
	}
	want := "globalprea[] [x] 5s false; workspaceposta[spawn mcp__*] [./y z] 10ms true; workspacepreb[] [y] 5s false"
	if strings.Join(got, "; ") != want {
		t.Errorf("FindHooks = %q, want %q", strings.Join(got, "; "), want)
	}
	if len(h.Files) != 2 || h.Files[0].Scope != "global" || h.Files[1].Path != filepath.Join(root, ".basis", "hooks.json") {
		t.Errorf("files %+v", h.Files)
	}
	if h, err := FindHooks("", t.TempDir()); err != nil || len(h.Hooks)+len(h.Files) != 0 {
		t.Errorf("FindHooks of nothing = %+v, %v", h, err)
	}
}

// TOOL-47: the same file reached twice counts once.
func TestOneFileTwice(t *testing.T) {
	root := tempDir(t)
	write(t, filepath.Join(root, ".basis", "hooks.json"), `{"schema":1,"hooks":[{"name":"a","command":["x"]}]}`)
	write(t, filepath.Join(root, ".basis", "tools.json"), `{"schema":1,"tools":{}}`)
	h, err := FindHooks(filepath.Join(root, ".basis"), root)
	if err != nil || len(h.Hooks) != 1 || h.Hooks[0].Info.From != "workspace" {
		t.Errorf("FindHooks = %+v, %v, want one hook of the workspace", h, err)
	}
}

// TOOL-38…41: placeholders are expanded, the workspace's declaration wins, and
// what the environment holds is not printed.
func TestFindTools(t *testing.T) {
	dir := tempDir(t)
	global, root := filepath.Join(dir, "conf"), filepath.Join(dir, "repo")
	write(t, filepath.Join(global, "tools.json"), `{"schema":1,"tools":{
		"deploy":{"description":"other","input_schema":{},"command":["other"]},
		"ask":{"description":" asks ","input_schema":{"properties":{}},"command":["${BIN}/ask","${NONE:-d}"],"cwd":"/tmp","side_effect":"external"}}}`)
	write(t, filepath.Join(root, ".basis", "tools.json"), "\uFEFF"+`{"schema":1,"tools":{"deploy":{
		"description":"deploys","input_schema":{"type":"object"},"command":["./deploy"],"cwd":"sub",
		"env":{"B":"x${EMPTY}","A_TOKEN":"${TOKEN}"},"timeout_ms":60000,"side_effect":"process"}}}`)
	all, err := FindTools(global, root, vars, free)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range all.Tools {
		got = append(got, fmt.Sprint(k.Level, k.Name, k.Description, k.Command, k.Dir, k.Timeout, k.External, string(k.Schema)))
	}
	want := `workspacedeploydeploys[./deploy]` + root + `/sub1m0sfalse{"type":"object"}; globalaskasks[/opt/x/ask d]/tmp2m0strue{"properties":{},"type":"object"}`
	if s := strings.ReplaceAll(strings.Join(got, "; "), " ", ""); s != strings.ReplaceAll(want, " ", "") {
		t.Errorf("FindTools =\n%s, want\n%s", s, want)
	}
	env := all.Tools[0].Env
	if len(env) != 2 || env[0].Value != canary || !env[0].Secret || env[1].Value != "x" || env[1].Secret {
		t.Errorf("environment %v", env)
	}
	if s := fmt.Sprintf("%v %+v %#v", all, all, all); strings.Contains(s, canary) {
		t.Errorf("a value of the environment is printed: %s", s)
	}
	if len(all.Files) != 2 || all.Files[0].Scope != "workspace" {
		t.Errorf("files %+v", all.Files)
	}
}

// TOOL-39, TOOL-42, TOOL-46, CORE-98: every broken variant fails naming the file
// and the key, and never a value.
func TestBrokenManifests(t *testing.T) {
	tool := func(member string) string {
		all := map[string]string{"description": `"d"`, "input_schema": `{}`, "command": `["x"]`}
		name, value, _ := strings.Cut(member, "=")
		all[name] = value
		var members []string
		for k, v := range all {
			if v != "" {
				members = append(members, `"`+k+`":`+v)
			}
		}
		return `{"schema":1,"tools":{"t":{` + strings.Join(members, ",") + `}}}`
	}
	named := func(name string) string {
		return `{"schema":1,"tools":{"` + name + `":{"description":"d","input_schema":{},"command":["x"]}}}`
	}
	for _, tt := range []struct{ file, text, want string }{
		{"hooks.json", `{"schema":1,`, "the JSON document ends too early, near line 1"},
		{"hooks.json", "{\n\"schema\":1,,}", "it is not JSON, near line 2 column 1"},
		{"hooks.json", `{}`, "schema: it is missing"},
		{"hooks.json", `{"schema":2}`, "schema: 2 is not supported, only 1 is"},
		{"hooks.json", `{"schema":"` + canary + `"}`, "wrong type for schema"},
		{"hooks.json", `[]`, "wrong type"},
		{"hooks.json", `{"schema":1} x`, "follows"},
		{"hooks.json", `{"schema":1,"hooks":[{"command":["x"]}]}`, "hooks[0].name: it is missing or blank"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a\u001b[2J","command":["x"]}]}`, "hooks[0].name: it holds a control character"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"]},{"name":"` + canary + `"}]}`, "hooks[1].command: it names no program"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":[" "]}]}`, "hooks[0].command: it names no program"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":"` + canary + `"}]}`, "wrong type for hooks.command"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"event":"` + canary + `"}]}`, "hooks[0].event: it is neither"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"on_failure":"` + canary + `"}]}`, "hooks[0].on_failure: it is neither"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"timeout_ms":0}]}`, "hooks[0].timeout_ms: 0 is not between 1"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"timeout_ms":99999999999}]}`, "hooks[0].timeout_ms: 99999999999 is not"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"tools":[]}]}`, "hooks[0].tools: it is empty"},
		{"hooks.json", `{"schema":1,"hooks":[{"name":"a","command":["x"],"tools":["read"," "]}]}`, "hooks[0].tools: it is empty"},
		{"tools.json", `{"tools":{}}`, "schema: it is missing"},
		{"tools.json", `{"schema":1}`, "tools: it is missing"},
		{"tools.json", `{"schema":1,"tools":{},"enabled":"` + canary + `"}`, "an unknown key"},
		{"tools.json", tool(`enabled="` + canary + `"`), "an unknown key"},
		{"tools.json", named(""), "a tool has no name"},
		{"tools.json", named("a b"), "tools.a b: the name has a letter other"},
		{"tools.json", named(strings.Repeat("x", 65)), "longer than 64"},
		{"tools.json", named("mcp__a__b"), "tools.mcp__a__b: names that begin with mcp__"},
		{"tools.json", named("spawn"), "tools.spawn: the name is taken by basis itself"},
		{"tools.json", tool(`description=`), "tools.t.description: it is missing or blank"},
		{"tools.json", tool(`description="  "`), "tools.t.description: it is missing or blank"},
		{"tools.json", tool(`input_schema=`), "tools.t.input_schema: it is missing"},
		{"tools.json", tool(`input_schema=["` + canary + `"]`), "tools.t.input_schema: it is not a JSON object"},
		{"tools.json", tool(`input_schema=null`), "tools.t.input_schema"},
		{"tools.json", tool(`input_schema={"type":"` + canary + `"}`), "tools.t.input_schema: its type is not object"},
		{"tools.json", tool(`command=`), "tools.t.command: it names no program"},
		{"tools.json", tool(`command=["${EMPTY}"]`), "tools.t.command: it names no program"},
		{"tools.json", tool(`command=["x","${NOPE}` + canary + `"]`), "tools.t.command[1]: the variable NOPE is not set"},
		{"tools.json", tool(`cwd="${"`), "tools.t.cwd: a ${ is not closed"},
		{"tools.json", tool(`env={"A":"${NOPE}"}`), "tools.t.env.A: the variable NOPE is not set"},
		{"tools.json", tool(`env={"A=B":"x"}`), "tools.t.env.A=B: it is no variable"},
		{"tools.json", tool(`timeout_ms=0`), "tools.t.timeout_ms: 0 is not between 1"},
		{"tools.json", tool(`side_effect="none"`), "tools.t.side_effect: it is neither process nor external"},
	} {
		for _, level := range []string{"conf", filepath.Join("repo", ".basis")} {
			dir := tempDir(t)
			path := filepath.Join(dir, level, tt.file)
			write(t, path, tt.text)
			taken := func(name string) string {
				if name == "spawn" {
					return "basis itself"
				}
				return ""
			}
			_, err := FindHooks(filepath.Join(dir, "conf"), filepath.Join(dir, "repo"))
			if err == nil {
				_, err = FindTools(filepath.Join(dir, "conf"), filepath.Join(dir, "repo"), vars, taken)
			}
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("%s %s: error %v, want one with %q and no value", tt.file, tt.text, err, tt.want)
			}
		}
	}
}

// CORE-98: what is there and can't be read fails too.
func TestUnreadableManifest(t *testing.T) {
	root := tempDir(t)
	if err := os.MkdirAll(filepath.Join(root, ".basis", "tools.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := FindTools("", root, vars, free); err == nil || !strings.Contains(err.Error(), "tools.json: it is not a regular file") {
		t.Errorf("FindTools: %v", err)
	}
}

// Whatever a file holds is understood or refused.
func FuzzManifests(f *testing.F) {
	f.Add([]byte(`{"schema":1,"tools":{"t":{"description":"d","input_schema":{},"command":["x"],"env":{"A":"${B:-c}"}}}}`))
	f.Add([]byte(`{"schema":1,"hooks":[{"name":"a","command":["x"],"tools":["*"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		root := t.TempDir()
		for _, name := range []string{"hooks.json", "tools.json"} {
			write(t, filepath.Join(root, ".basis", name), string(text))
		}
		h, err := FindHooks("", root)
		if err == nil {
			for _, k := range h.Hooks {
				if k.Info.Name == "" || len(k.Command) == 0 {
					t.Errorf("hook %+v", k)
				}
			}
		}
		_, _ = FindTools("", root, vars, free)
	})
}
