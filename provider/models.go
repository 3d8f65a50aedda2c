package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// ModelInfo is one model of a listing.
type ModelInfo struct {
	ID      string
	Created time.Time // zero if the server doesn't say
	Window  int       // tokens of context; 0 if the server doesn't say
}

// Lister is implemented by a [Model] whose server can list its models.
type Lister interface {
	// Models lists what the server offers; the error is always an [*Error].
	Models(ctx context.Context) ([]ModelInfo, error)
}

// Newest is the model that was created last; those without a date come last,
// equals go by id. An empty listing is an error that names the provider.
func Newest(provider string, models []ModelInfo) (ModelInfo, error) {
	if len(models) == 0 {
		return ModelInfo{}, fmt.Errorf("provider %s lists no models: name one with --model", provider)
	}
	return slices.MinFunc(models, func(a, b ModelInfo) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	}), nil
}
