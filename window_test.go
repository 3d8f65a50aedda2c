package basis

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/resolve"
	"github.com/basisagent/basis/reducer"
)

// PROV-10: the first opening of an agent learns the window of the model that is
// named, where the server tells windows; a run that goes on asks for nothing.
func TestWindowOfNamedModel(t *testing.T) {
	for _, on := range wires() {
		t.Run(on.wire, func(t *testing.T) {
			want, lookups := int64(0), 0
			if on.wire == provider.WireGemini {
				want, lookups = 1048576, 1
			}
			w := newTalk(t, on)
			ctx, cancel := context.WithCancelCause(t.Context())
			w.asked = func(n int) {
				if n == 1 {
					cancel(&Stop{Reason: "signal", Detail: "interrupt"})
				}
			}
			if _, err := w.home.Wait(ctx, w.ref, Drive{}); err == nil {
				t.Error("Wait that was stopped = nil, want a *Stop")
			}
			w.asked = nil
			w.finish("resumed")
			s, err := w.home.State(w.ref)
			if got := w.server.Lookups(); err != nil || s.Setup.Window != want || len(got) != lookups {
				t.Errorf("window = %d, %v after the lookups %q; want %d after %d", s.Setup.Window, err, got, want, lookups)
			}
		})
	}
}

// windowed is a model whose server has a word on its window, or none.
type windowed struct {
	resolve.Model
	tell func(context.Context) (int, error)
}

func (w windowed) Window(ctx context.Context, _ string) (int, error) { return w.tell(ctx) }

// PROV-10: a lookup that fails, or hangs, costs a few seconds at most and leaves
// the model as it was named, without a window. A run that is stopped meanwhile
// opens nothing.
func TestWindowThatIsNotLearned(t *testing.T) {
	hang := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	synctest.Test(t, func(t *testing.T) {
		for name, tell := range map[string]func(context.Context) (int, error){
			"fails": func(context.Context) (int, error) { return 0, errors.New("no such model") },
			"hangs": hang,
		} {
			var log bytes.Buffer
			h := windowHome(t, &log, tell)
			var f found
			err := h.choose(t.Context(), reducer.State{Options: reducer.Options{Model: "g"}}, &f)
			if err != nil || f.source.Model != "g" || f.window != 0 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "model=g") {
				t.Errorf("%s: model = %v with a window of %d, %v, log %q; want g, no window and one line", name, f.source, f.window, err, log.String())
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := &Stop{Reason: "signal", Detail: "interrupt"}
		cancel(stop)
		if err := windowHome(t, &bytes.Buffer{}, hang).choose(ctx, reducer.State{Options: reducer.Options{Model: "g"}}, &found{}); !errors.Is(err, error(stop)) {
			t.Errorf("stopped: choose = %v, want the stop", err)
		}
	})
}

// windowHome is a home whose model's window is told so.
func windowHome(t *testing.T, log *bytes.Buffer, tell func(context.Context) (int, error)) *Home {
	t.Helper()
	h, err := Open(Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h.dial = func(c provider.Choice, o resolve.Options) (resolve.Model, error) {
		m, err := resolve.Open(c, o)
		return windowed{m, tell}, err
	}
	h.o.Getenv = func(name string) string { return map[string]string{"GEMINI_API_KEY": "k"}[name] }
	return h
}
