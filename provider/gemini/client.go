package gemini

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
)

// Options say where a model is and how it is reached.
type Options = wire.Options

// Model is a [provider.Model] on the generateContent wire. It keeps the bytes of
// the last request, so it serves one agent, one request at a time.
type Model struct {
	client  *wire.Client
	encoder encoder
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Model, error) {
	client, err := wire.New(o, wire.Vendor{Provider: "gemini", Version: "v1beta", Sign: sign})
	if err != nil {
		return nil, err
	}
	return &Model{client: client}, nil
}

func sign(h http.Header, key string) {
	if key != "" {
		h.Set("X-Goog-Api-Key", key)
	}
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Model) CloseIdleConnections() { m.client.CloseIdle() }

// Stream sends req; see [provider.Model].
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		source := m.client.Source(req.Model, Wire)
		m.client.Send(ctx, wire.Ask{
			Path: modelPath(req.Model) + ":streamGenerateContent?alt=sse", Source: source, Decode: DecodeResponse,
			Encode:  func() (wire.Body, error) { return m.encoder.encode(req, source) },
			Refused: func() bool { return m.encoder.refuse(req, source) },
		}, yield)
	}
}

// modelPath is where a model is, below the base URL and its version.
func modelPath(id string) string {
	return "models/" + url.PathEscape(strings.TrimPrefix(id, "models/"))
}

// Window is how many tokens of context the server says that a model has (GET
// v1beta/models/MODEL); 0 if it doesn't say. The error is always a
// [*provider.Error].
func (m *Model) Window(ctx context.Context, model string) (int, error) {
	data, e := m.client.Get(ctx, modelPath(model))
	if e != nil {
		return 0, e
	}
	c := wirejson.NewCursor(data)
	info, _ := readModel(&c)
	if err := c.End(); err != nil {
		return 0, m.client.NotAListing(err)
	}
	return info.Window, nil
}

// maxPages bounds a listing: a server that never says that it is done is not
// asked for ever.
const maxPages = 20

// Models lists what the server offers (GET v1beta/models), page by page, in its
// own order: it gives no dates. The error is always a [*provider.Error].
func (m *Model) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	var all []provider.ModelInfo
	token := ""
	for range maxPages {
		path := "models?pageSize=1000"
		if token != "" {
			path += "&pageToken=" + url.QueryEscape(token)
		}
		data, e := m.client.Get(ctx, path)
		if e != nil {
			return nil, e
		}
		models, next, err := readModels(data)
		if err != nil {
			return nil, m.client.NotAListing(err)
		}
		all = append(all, models...)
		if next == "" || next == token {
			break
		}
		token = next
	}
	return all, nil
}

// readModels reads models[], whose members are name, inputTokenLimit and
// supportedGenerationMethods; those that generate no content are left out.
func readModels(data []byte) (models []provider.ModelInfo, next string, err error) {
	found := false
	c := wirejson.NewCursor(data)
	c.Object(func(key []byte) {
		switch string(key) {
		case "models":
			found = c.Kind() == wirejson.Array
			c.Array(func() {
				if info, ok := readModel(&c); ok {
					models = append(models, info)
				}
			})
		case "nextPageToken":
			next = c.String()
		}
	})
	if err := c.End(); err != nil {
		return nil, "", err
	}
	if !found {
		return nil, "", errors.New("it has no models array")
	}
	return models, next, nil
}

func readModel(c *wirejson.Cursor) (info provider.ModelInfo, ok bool) {
	listed, generates := false, false
	c.Object(func(key []byte) {
		switch string(key) {
		case "name":
			info.ID = strings.TrimPrefix(c.String(), "models/")
		case "inputTokenLimit":
			if n, ok := c.Int(); ok && n > 0 {
				info.Window = int(n)
			}
		case "supportedGenerationMethods":
			listed = true
			c.Array(func() { generates = c.String() == "generateContent" || generates })
		}
	})
	return info, info.ID != "" && (generates || !listed)
}
