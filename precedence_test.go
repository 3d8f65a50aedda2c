package basis

import (
	"strings"
	"testing"

	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// PROV-9, PROV-10, CORE-23: what an agent was first opened with stays; then the task's
// own word counts, then the environment's, and then the newest that the server
// lists. A model that is named asks for no list where no windows are told.
func TestModelPrecedence(t *testing.T) {
	server := providertest.NewServer(t, providertest.Options{Models: []string{"old", "new"}})
	tests := []struct {
		name, opened, option, file, global, env, want string
		down                                          bool // nobody listens
	}{
		{name: "opened", opened: "a", option: "b", env: "c", want: "a", down: true},
		{name: "option", option: "b", env: "c", want: "b", down: true},
		{name: "workspace file", file: "w", global: "g", env: "c", want: "w", down: true},
		{name: "option before file", option: "b", file: "w", want: "b", down: true},
		{name: "global file", global: "g", env: "c", want: "g", down: true},
		{name: "environment", env: " c ", want: "c", down: true},
		{name: "newest", want: "new"},
		{name: "blank environment", env: " ", want: "new"},
		{name: "no list", down: true},
	}
	for _, tt := range tests {
		base := server.URL()
		if tt.down {
			base = "http://127.0.0.1:1/"
		}
		vars := map[string]string{"BASIS_BASE_URL": base, "BASIS_MODEL": tt.env}
		h, err := Open(Options{Dir: t.TempDir(), Getenv: func(name string) string { return vars[name] }})
		if err != nil {
			t.Fatal(err)
		}
		s := reducer.State{Options: reducer.Options{Model: tt.option}}
		if tt.opened != "" {
			s.Setup.Source.Model, s.Setup.Window = tt.opened, 9000
		}
		f := found{config: workspace.Config{Model: workspace.Value{Text: tt.file, Level: workspace.Local}}}
		if tt.file == "" {
			f.config.Model = workspace.Value{Text: tt.global, Level: workspace.Global}
		}
		err = h.choose(t.Context(), s, &f)
		source, window := f.source, f.window
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "--model") || !strings.Contains(err.Error(), "BASIS_MODEL") {
				t.Errorf("%s: model = %v, want an error that says how to name one", tt.name, err)
			}
			continue
		}
		if err != nil || source.Model != tt.want || source.Provider != "openai" {
			t.Errorf("%s: model = %+v, %v, want %s", tt.name, source, err, tt.want)
		}
		if window != s.Setup.Window {
			t.Errorf("%s: window = %d, want %d, which was known", tt.name, window, s.Setup.Window)
		}
	}
}
