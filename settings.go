package basis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/basisagent/basis/effects/workspace"
	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// What can say a setting besides the levels of files, the strongest first.
const (
	fromFlag        = "flag" // or whoever calls the SDK
	fromEnvironment = "environment"
	fromDefault     = "default"
	fromOpening     = "first opening" // an agent's model stays for its life
)

// said is a setting and what said it.
type said struct{ value, from string }

// strongest is the first of the settings that says anything.
func strongest(all ...said) said {
	for _, s := range all {
		if s.value != "" {
			return s
		}
	}
	return said{}
}

// inFile is a setting of a file.
func inFile(v workspace.Value) said { return said{v.Text, string(v.Level)} }

// variable is a setting of the environment; the first that is set counts.
func (h *Home) variable(names ...string) said {
	for _, name := range names {
		if v := strings.TrimSpace(h.o.Getenv(name)); v != "" {
			return said{v, fromEnvironment}
		}
	}
	return said{}
}

// ladder holds what was asked for against the files (CORE-23): options first,
// then the workspace's file, the global one and the environment.
type ladder struct{ provider, baseURL, model, effort said }

func (h *Home) ladder(o reducer.Options, c workspace.Config) ladder {
	l := ladder{
		provider: strongest(said{o.Provider, fromFlag}, inFile(c.Provider)),
		baseURL:  strongest(said{o.BaseURL, fromFlag}, inFile(c.BaseURL)),
		model:    strongest(said{o.Model, fromFlag}, inFile(c.Model), h.variable("BASIS_MODEL")),
		effort:   strongest(said{o.Effort, fromFlag}, inFile(c.Effort)),
	}
	if h.ring != nil { // gateways stand in the place of any endpoint, unless one is asked for
		l.provider, l.baseURL = said{o.Provider, fromFlag}, said{o.BaseURL, fromFlag}
	}
	return l
}

// endpoint is the client of what the ladder comes to.
func (h *Home) endpointOf(o reducer.Options, l ladder) (provider.Choice, resolve.Model, error) {
	o.Provider, o.BaseURL = l.provider.value, l.baseURL.value
	return h.endpoint(o)
}

// choose resolves what answers: the endpoint by options, files and environment,
// the model by name or as the newest that the endpoint lists. What an agent was
// first opened with stays for its life.
func (h *Home) choose(ctx context.Context, s reducer.State, f *found) error {
	l := h.ladder(s.Options, f.config)
	choice, m, err := h.endpointOf(s.Options, l)
	if err != nil {
		return err
	}
	model := strongest(said{s.Setup.Source.Model, fromOpening}, l.model)
	f.window = s.Setup.Window // of the model that the agent was first opened with
	if model.value == "" {
		newest, err := newest(ctx, choice, m)
		if err != nil {
			return err
		}
		model, f.window = said{newest.ID, fromDefault}, int64(newest.Window)
	} else if s.Setup.Source.Model == "" { // the first opening
		if f.window = h.windowOf(ctx, m, model.value); ctx.Err() != nil {
			return context.Cause(ctx) // what was not found out is asked again
		}
	}
	f.model = provider.Retry(m, h.patience)
	f.source = reducer.Provenance{Provider: choice.Provider, Wire: choice.Wire, Model: model.value}
	f.effort = ""
	if l.effort.from != fromFlag {
		f.effort = l.effort.value
	}
	f.settings = h.settings(l, choice, model, f.config, s.Options)
	return nil
}

// lookupLimit is how long the start of a task waits to learn a window.
const lookupLimit = 3 * time.Second

// windower is a client whose server tells the window of a model by its name.
type windower interface {
	Window(ctx context.Context, model string) (int, error)
}

// windowOf is the window of a model that is named, 0 where it can't be learned.
// Where the server tells no windows it is not asked.
func (h *Home) windowOf(ctx context.Context, m resolve.Model, name string) int64 {
	w, ok := m.(windower)
	if !ok {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	n, err := w.Window(ctx, name)
	if err != nil {
		h.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the window of the model could not be learned", slog.String("model", name), slog.Any("error", err))
	}
	return int64(n)
}

// newest is the newest model that an endpoint lists.
func newest(ctx context.Context, choice provider.Choice, m resolve.Model) (provider.ModelInfo, error) {
	models, err := m.Models(ctx)
	if err == nil {
		return provider.Newest(choice.Provider, models)
	}
	err = fmt.Errorf("no model is named, and the list of %s could not be read: %w", choice, err)
	if e, ok := errors.AsType[*provider.Error](err); ok && choice.KeyHint(e.Kind) != "" {
		return provider.ModelInfo{}, err // which says what to do
	}
	return provider.ModelInfo{}, fmt.Errorf("%w; name one with --model, BASIS_MODEL or in config.json", err)
}

// settings is what took effect, and what said so (CORE-29).
func (h *Home) settings(l ladder, choice provider.Choice, model said, c workspace.Config, o reducer.Options) []reducer.Setting {
	who := l.provider.from
	if who == "" {
		who = fromEnvironment // a key or an address there decided
	}
	all := []reducer.Setting{{Name: "provider", Value: choice.Provider, From: who}, {Name: "model", Value: model.value, From: model.from}}
	address := strongest(l.baseURL, h.variable("BASIS_BASE_URL", "OPENAI_BASE_URL"))
	if address.from == "" || choice.BaseURL == "" || h.ring != nil {
		address.from = fromDefault
	}
	if choice.BaseURL != "" && h.ring == nil {
		all = append(all, reducer.Setting{Name: "base_url", Value: provider.DisplayURL(choice.BaseURL), From: address.from})
	}
	if l.effort.value != "" {
		all = append(all, reducer.Setting{Name: "effort", Value: l.effort.value, From: l.effort.from})
	}
	if len(o.PassEnv) > 0 {
		all = append(all, reducer.Setting{Name: "pass_env", Value: strings.Join(o.PassEnv, " "), From: fromFlag})
	}
	if len(c.PassEnv) > 0 {
		all = append(all, reducer.Setting{Name: "pass_env", Value: strings.Join(c.PassEnv, " "), From: string(workspace.Global)})
	}
	return all
}
