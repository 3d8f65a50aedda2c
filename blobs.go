package basis

import (
	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/reducer"
)

// blobs keeps an agent's long texts in its directory.
type blobs struct{ j journal.Blobs }

func (h *Home) blobs(ref Ref) blobs { return blobs{journal.OpenBlobs(h.agentDir(ref), nil)} }

// Put stores data and returns its reference, durable before it returns.
func (b blobs) Put(data []byte, media string) (reducer.Ref, error) {
	r, err := b.j.Put(data, media)
	if err != nil {
		return reducer.Ref{}, err
	}
	return reducer.Ref{Digest: r.Digest, Size: r.Size, Media: r.Media, Head: r.Head, Tail: r.Tail}, nil
}

// Get reads what a reference names and checks it against its digest.
func (b blobs) Get(ref reducer.Ref) ([]byte, error) { return b.j.Get(ref.Digest) }

// Path is where a person or a tool finds it, "" if it is nowhere.
func (b blobs) Path(ref reducer.Ref) string {
	path, err := b.j.Path(ref.Digest)
	if err != nil {
		return ""
	}
	return path
}
