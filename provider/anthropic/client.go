package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/internal/wire"
	"github.com/basisagent/basis/provider/internal/wirejson"
)

// version is the revision of the wire that is spoken.
const version = "2023-06-01"

// Options say where a model is and how it is reached.
type Options = wire.Options

// Messages is a [provider.Model] on the Messages wire. It keeps the bytes of
// the last request, so it serves one agent, one request at a time.
type Messages struct {
	client  *wire.Client
	encoder encoder
}

// New checks the options; it fails only for a base URL that is none, with a
// [*provider.URLError].
func New(o Options) (*Messages, error) {
	client, err := wire.New(o, wire.Vendor{Provider: "anthropic", Sign: sign})
	if err != nil {
		return nil, err
	}
	return &Messages{client: client}, nil
}

func sign(h http.Header, key string) {
	h.Set("Anthropic-Version", version)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// CloseIdleConnections lets go of connections that wait for another request.
func (m *Messages) CloseIdleConnections() { m.client.CloseIdle() }

// Stream sends req; see [provider.Model].
func (m *Messages) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Chunk, error] {
	return func(yield func(provider.Chunk, error) bool) {
		source := m.client.Source(req.Model, Wire)
		m.client.Send(ctx, wire.Ask{
			Path: "messages", Source: source, Decode: DecodeResponse,
			Encode:  func() (wire.Body, error) { return m.encoder.encode(req, source) },
			Refused: func() bool { return m.encoder.refuse(req, source) },
		}, yield)
	}
}

// Models lists what the server offers (GET v1/models), page by page. The error
// is always a [*provider.Error].
func (m *Messages) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	var all []provider.ModelInfo
	after := ""
	for range maxPages {
		path := "models?limit=1000"
		if after != "" {
			path += "&after_id=" + url.QueryEscape(after)
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
		if next == "" || next == after {
			break
		}
		after = next
	}
	return all, nil
}

// maxPages bounds a listing: a server that never says that it is done is not
// asked for ever.
const maxPages = 20

// readModels reads data[], whose members are id and created_at (RFC 3339), and
// the id after which the next page begins, "" if there is none.
func readModels(data []byte) (models []provider.ModelInfo, next string, err error) {
	c := wirejson.NewCursor(data)
	found, more, last := false, false, ""
	c.Object(func(key []byte) {
		switch string(key) {
		case "data":
			found = c.Kind() == wirejson.Array
			c.Array(func() {
				if info := readModel(&c); info.ID != "" {
					models = append(models, info)
				}
			})
		case "has_more":
			more = c.Kind() == wirejson.True
		case "last_id":
			last = c.String()
		}
	})
	if err := c.End(); err != nil {
		return nil, "", err
	}
	if !found {
		return nil, "", errors.New("it has no data array")
	}
	if !more {
		last = ""
	}
	return models, last, nil
}

func readModel(c *wirejson.Cursor) provider.ModelInfo {
	var info provider.ModelInfo
	c.Object(func(key []byte) {
		switch string(key) {
		case "id":
			info.ID = c.String()
		case "created_at":
			if at, err := time.Parse(time.RFC3339, c.String()); err == nil {
				info.Created = at.UTC()
			}
		case "max_input_tokens":
			if n, ok := c.Int(); ok && n > 0 {
				info.Window = int(n)
			}
		}
	})
	return info
}

// family is a line of models and what it can be asked for (PROV-15).
type family struct {
	name     string
	efforts  string // the tiers it takes, space-separated
	thinking bool   // thinking adapts to the effort
	output   int    // its default output limit, in tokens
}

const (
	upToHigh  = "low medium high"
	upToMax   = "low medium high max"
	upToXHigh = "low medium high xhigh max"
)

// families are the models that are known; an id is one of them, or one with a
// date behind it. Any other takes no effort.
var families = []family{
	{"claude-opus-4-5", upToHigh, false, 32000},
	{"claude-mythos-preview", upToMax, true, 32000},
	{"claude-opus-4-6", upToMax, true, 32000},
	{"claude-sonnet-4-6", upToMax, true, 32000},
	{"claude-opus-4-7", upToXHigh, true, 32000},
	{"claude-opus-4-8", upToXHigh, true, 32000},
	{"claude-opus-5", upToXHigh, true, 32000},
	{"claude-sonnet-5", upToXHigh, true, 32000},
	{"claude-fable-5", upToXHigh, true, 32000},
	{"claude-mythos-5", upToXHigh, true, 32000},
	{"claude-3-haiku", "", false, 4096},
	{"claude-3-opus", "", false, 4096},
	{"claude-3-5-haiku", "", false, 8192},
	{"claude-3-5-sonnet", "", false, 8192},
}

// defaultOutput is the output limit of a model that isn't listed: the wire
// wants one in every request.
const defaultOutput = 32000

func familyOf(model string) family {
	for _, f := range families {
		date, dated := strings.CutPrefix(model, f.name+"-")
		if model == f.name || dated && len(date) == 8 && strings.Trim(date, "0123456789") == "" {
			return f
		}
	}
	return family{output: defaultOutput}
}
