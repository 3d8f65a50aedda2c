package openai

import (
	"context"
	"errors"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wirejson"
)

// Models lists what the server offers (GET v1/models), in its own order. The
// error is always a [*provider.Error].
func (m *Chat) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	data, e := m.client.Get(ctx, "models")
	if e != nil {
		return nil, e
	}
	models, err := readModels(data)
	if err != nil {
		return nil, m.client.NotAListing(err)
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
