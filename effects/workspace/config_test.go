package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// CORE-21, CORE-22, CORE-23, CORE-25, CORE-29: a setting of the workspace counts before that of
// the user, each by itself, and says where it stands.
func TestFindConfig(t *testing.T) {
	dir := tempDir(t)
	global, root := filepath.Join(dir, "conf"), filepath.Join(dir, "repo")
	write(t, filepath.Join(global, "config.json"), "\uFEFF{\"schema\":1,\r\n\"model\":\"a\",\"effort\":\"low\",\"base_url\":\"https://${HOST:-h}/v1\",\"pass_env\":[\"GOFLAGS\"]}")
	write(t, filepath.Join(root, ".basis", "config.json"), `{"schema":1,"model":" ${BIN} ","provider":" Anthropic "}`)
	c, err := FindConfig(global, root, vars)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Provider, c.Model, c.Effort, c.BaseURL, c.PassEnv, len(c.Files))
	file := filepath.Join(root, ".basis", "config.json")
	user := filepath.Join(global, "config.json")
	want := fmt.Sprintf("{anthropic workspace %s} {/opt/x workspace %s} {low global %s} {https://h/v1 global %s} [GOFLAGS] 2", file, file, user, user)
	if got != want {
		t.Errorf("FindConfig =\n%s, want\n%s", got, want)
	}
	if c, err := FindConfig("", "", vars); err != nil || c.Model.Level != "" {
		t.Errorf("FindConfig of nothing = %+v, %v", c, err)
	}
	if c, err := FindConfig(filepath.Join(root, ".basis"), root, vars); err != nil || len(c.Files) != 1 || c.Model.Level != Local {
		t.Errorf("FindConfig of one file twice = %+v, %v", c, err)
	}
}

// CORE-24, CORE-26: what is wrong names file and key, never a value; and a repository has no
// say in where the key goes, even where its value would not expand.
func TestBrokenConfig(t *testing.T) {
	for _, tt := range []struct {
		level, text, want string
	}{
		{"repo/.basis", `{"schema":1,"base_url":"http://` + canary + `/"}`, "base_url: only the global config.json may have it"},
		{"repo/.basis", `{"schema":1,"base_url":"${` + canary + `"}`, "base_url: only the global"},
		{"repo/.basis", `{"schema":1,"base_url":7}`, "base_url: only the global"},
		{"repo/.basis", `{"schema":1,"pass_env":["` + canary + `"]}`, "pass_env: only the global"},
		{"conf", `{"schema":1,"base_url":7}`, "base_url: it is not a text"},
		{"conf", `{"schema":1,"base_url":"ftp://` + canary + `/"}`, "base_url: it is not an address"},
		{"conf", `{"schema":1,"base_url":"http://u:` + canary + `@h/"}`, "base_url: it must not hold a name"},
		{"conf", `{"schema":1,"base_url":"http://h/?key=` + canary + `"}`, "base_url: it must not hold"},
		{"conf", `{"schema":1,"pass_env":"` + canary + `"}`, "pass_env: it is not a list"},
		{"conf", `{"schema":1,"pass_env":["A=` + canary + `"]}`, "pass_env: it is not a list"},
		{"conf", `{"schema":1,"model":"  "}`, "model: it is blank"},
		{"conf", `{"schema":1,"model":"${NOPE}"}`, "model: the variable NOPE is not set"},
		{"repo/.basis", `{"schema":1,"model":"${VENDOR_API_KEY}"}`, "model: the variable VENDOR_API_KEY has the name of a credential"},
		{"conf", `{"schema":1,"base_url":"http://h/${VENDOR_API_KEY:-x}/"}`, "base_url: the variable VENDOR_API_KEY has"},
		{"conf", `{"schema":1,"model":7}`, "wrong type for model"},
		{"conf", `{"schema":1,"effort":"` + canary + `"}`, "effort: it is none of low, medium, high, xhigh, max"},
		{"conf", `{"schema":1,"provider":"` + canary + `"}`, "provider: there is no such provider; there are: anthropic"},
		{"conf", `{"schema":1,"provider":""}`, "provider: there is no such provider"},
		{"conf", `{"schema":1,"api_key":"` + canary + `"}`, "an unknown key"},
		{"conf", `{"model":"x"}`, "schema: it is missing"},
		{"conf", `{"schema":3}`, "schema: 3 is not supported, only 1 is"},
		{"conf", `{"schema":1`, "ends too early"},
		{"conf", ``, "ends too early"},
	} {
		dir := tempDir(t)
		path := filepath.Join(dir, tt.level, "config.json")
		write(t, path, tt.text)
		_, err := FindConfig(filepath.Join(dir, "conf"), filepath.Join(dir, "repo"), vars)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v, want one with %q and no value", tt.text, err, tt.want)
		}
	}
}
