package basis

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// blobs keeps an agent's long texts in its directory. What a continuation took
// over may name texts that the agents before it keep.
type blobs struct {
	dir   string
	older func() []string // the directories of the agents before it, newest first
}

func (h *Home) blobs(ref Ref) blobs { return blobsIn(h.agentDir(ref)) }

// blobsIn are the blobs of an agent's directory. The agents before it are looked
// up once: a long conversation may name a long text of each of them.
func blobsIn(dir string) blobs {
	return blobs{dir, sync.OnceValue(func() []string {
		var dirs []string
		line, _ := lineage(dir) // what can't be read has no blobs either
		for _, a := range line {
			dirs = append(dirs, sibling(dir, a.Agent))
		}
		return dirs
	})}
}

func (b blobs) own() journal.Blobs { return journal.OpenBlobs(b.dir, nil) }

// Put stores data and returns its reference, durable before it returns.
func (b blobs) Put(data []byte, media string) (reducer.Ref, error) {
	r, err := b.own().Put(data, media)
	if err != nil {
		return reducer.Ref{}, err
	}
	return reducer.Ref{Digest: r.Digest, Size: r.Size, Media: r.Media, Head: r.Head, Tail: r.Tail}, nil
}

// Get reads what a reference names and checks it against its digest.
func (b blobs) Get(ref reducer.Ref) ([]byte, error) {
	return first(b, func(j journal.Blobs) ([]byte, error) { return j.Get(ref.Digest) })
}

// Path is where a person or a tool finds it, "" if it is nowhere.
func (b blobs) Path(ref reducer.Ref) string {
	path, err := first(b, func(j journal.Blobs) (string, error) { return j.Path(ref.Digest) })
	if err != nil {
		return ""
	}
	return path
}

// first asks the agent's own blobs, and those of the agents before it for what
// is not there.
func first[T any](b blobs, ask func(journal.Blobs) (T, error)) (T, error) {
	got, err := ask(b.own())
	if !errors.Is(err, journal.ErrNoBlob) {
		return got, err
	}
	for _, dir := range b.older() {
		if older, e := ask(journal.OpenBlobs(dir, nil)); !errors.Is(e, journal.ErrNoBlob) {
			return older, e
		}
	}
	return got, err
}

// roots are the directories that hold blobs which the transcript may name.
func (b blobs) roots() []string {
	dirs := []string{filepath.Join(b.dir, journal.BlobDir)}
	for _, dir := range b.older() {
		dirs = append(dirs, filepath.Join(dir, journal.BlobDir))
	}
	return dirs
}
