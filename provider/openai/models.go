package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
)

// listingLimit is how many bytes of a listing are read; OpenRouter's has
// several hundred KiB.
const listingLimit = 16 << 20

// Models lists what the server offers (GET v1/models), in its own order. The
// error is always a [*provider.Error].
func (m *Chat) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := m.request(ctx, http.MethodGet, "models", body{})
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindInvalid, Message: err.Error(), Err: err}
	}
	w := newWatch(m.opts.HeaderTimeout, cancel)
	defer w.stop()
	resp, err := m.http.Do(req)
	if err != nil {
		if e := m.fault(ctx, "response", m.opts.HeaderTimeout); e != nil {
			return nil, e
		}
		return nil, m.unreachable(err)
	}
	defer resp.Body.Close()
	w.expect(m.opts.IdleTimeout)
	data, err := io.ReadAll(io.LimitReader(watched{resp.Body, w}, listingLimit))
	if err != nil {
		if e := m.fault(ctx, "data", m.opts.IdleTimeout); e != nil {
			return nil, e
		}
		return nil, &provider.Error{Kind: provider.KindCut, Message: fmt.Sprintf("the list of models of %s broke off: %v", m.shown, err), Err: err}
	}
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		return nil, redirected(resp, m.shown)
	}
	if resp.StatusCode != http.StatusOK {
		e := provider.Classify(provider.Failure{Status: resp.StatusCode, Header: resp.Header.Get, Body: data, Now: m.opts.Now()})
		e.Message = m.opts.Key.Redact(e.Message)
		return nil, e
	}
	models, err := readModels(data)
	if err != nil {
		return nil, &provider.Error{
			Kind: provider.KindBadResponse, Status: resp.StatusCode, Err: err,
			Message: fmt.Sprintf("%s sent no list of models: %v; check the base URL", m.shown, err),
		}
	}
	return models, nil
}

// readModels reads data[], whose members are id, created (Unix seconds) and,
// at some servers, the window.
func readModels(data []byte) ([]provider.ModelInfo, error) {
	var models []provider.ModelInfo
	c := wirejson.NewCursor(data)
	found := false
	c.Object(func(key []byte) {
		if string(key) != "data" {
			return
		}
		found = c.Kind() == wirejson.Array
		c.Array(func() {
			if info := readModel(&c); info.ID != "" {
				models = append(models, info)
			}
		})
	})
	if err := c.End(); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("it has no data array")
	}
	return models, nil
}

func readModel(c *wirejson.Cursor) provider.ModelInfo {
	var info provider.ModelInfo
	c.Object(func(key []byte) {
		switch string(key) {
		case "id":
			info.ID = c.String()
		case "created":
			if s, ok := c.Int(); ok && s > 0 {
				info.Created = time.Unix(s, 0).UTC()
			}
		case "context_length", "max_model_len":
			if n, ok := c.Int(); ok && n > 0 {
				info.Window = int(n)
			}
		}
	})
	return info
}
