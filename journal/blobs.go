package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBlob is the largest payload a Blobs store takes, in bytes.
	MaxBlob = 256 << 20
	// BlobExcerpt is how much of a text's start and end a BlobRef repeats, in
	// bytes.
	BlobExcerpt = 1 << 10

	digestPrefix = "sha256:"
)

// ErrNoBlob says that a payload is not in the store. Replays go on without it.
var ErrNoBlob = errors.New("the stored payload is missing")

// BlobRef is what a record keeps of a payload that is stored beside it.
type BlobRef struct {
	Digest string `json:"blob"` // "sha256:" and 64 hex digits, of the raw bytes
	Size   int64  `json:"size"` // bytes
	Media  string `json:"media"`
	Head   string `json:"head,omitempty"` // how a text starts
	Tail   string `json:"tail,omitempty"` // how it ends, if there is more of it
}

// Blobs stores large payloads under their content in blobs/ab/<64 hex>.<ext>
// of one directory, where a user can open them. The extension follows the
// media type of whoever stored the content first and means nothing.
type Blobs struct {
	dir  string
	disk Disk
}

// OpenBlobs returns the store of the journal in dir. A nil disk means the real
// one. Nothing is made before the first Put.
func OpenBlobs(dir string, disk Disk) Blobs {
	if disk == nil {
		disk = OSDisk()
	}
	return Blobs{dir: dir, disk: disk}
}

// Put stores data durably, once, and describes it. Append the record that
// names it after Put has returned, and a crash cannot leave a name without
// content. A file of that name with other content is replaced.
func (b Blobs) Put(data []byte, media string) (BlobRef, error) {
	if len(data) > MaxBlob {
		return BlobRef{}, fmt.Errorf("store a payload of %d bytes: more than the limit of %d", len(data), MaxBlob)
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	ref := BlobRef{Digest: digestPrefix + name, Size: int64(len(data)), Media: media}
	ref.Head, ref.Tail = excerpts(data)
	if got, err := b.Get(ref.Digest); err == nil && len(got) == len(data) {
		return ref, nil
	}
	if err := b.store(name, data, extension(media)); err != nil {
		return BlobRef{}, wrap("store payload in", b.dir, err)
	}
	return ref, nil
}

func (b Blobs) store(name string, data []byte, ext string) error {
	root := filepath.Join(b.dir, BlobDir)
	if err := mkdir(b.disk, root, b.dir); err != nil {
		return err
	}
	dir := filepath.Join(root, name[:2])
	if err := mkdir(b.disk, dir, root); err != nil {
		return err
	}
	temp := filepath.Join(dir, name+".tmp")
	if err := b.disk.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(b.disk, temp, bytes.NewReader(data), true); err != nil {
		return errors.Join(err, b.disk.Remove(temp))
	}
	final, err := b.find(name)
	if errors.Is(err, ErrNoBlob) {
		final = filepath.Join(dir, name+ext)
	} else if err != nil {
		return err
	}
	if err := b.disk.Rename(temp, final); err != nil {
		return err
	}
	if err := b.disk.SyncDir(dir); err != nil {
		// Else a second Put would take the entry for durable.
		return errors.Join(err, b.disk.Remove(final))
	}
	return nil
}

// Get returns the payload of a digest. It fails with ErrNoBlob if there is
// none and with a *CorruptError if the bytes do not have that digest.
func (b Blobs) Get(digest string) ([]byte, error) {
	path, err := b.Path(digest)
	if err != nil {
		return nil, err
	}
	data, err := readAll(b.disk, path, MaxBlob)
	if err != nil {
		return nil, wrap("read payload", path, err)
	}
	sum := sha256.Sum256(data)
	if digestPrefix+hex.EncodeToString(sum[:]) != digest {
		return nil, &CorruptError{Path: path, Length: int64(len(data)), Rule: RuleBlob, Reason: RuleBlob.words()}
	}
	return data, nil
}

// Path returns where the payload of a digest is, to show it to a person, or
// ErrNoBlob. A digest is checked to be one, so the path stays in the store.
func (b Blobs) Path(digest string) (string, error) {
	name, ok := strings.CutPrefix(digest, digestPrefix)
	if !ok || !isHex(name, 2*sha256.Size) {
		return "", fmt.Errorf("find payload %.80q: not sha256: and 64 lower-case hex digits", digest)
	}
	path, err := b.find(name)
	if err != nil {
		return "", fmt.Errorf("find payload %s in %s: %w", digest, b.dir, err)
	}
	return path, nil
}

func (b Blobs) find(name string) (string, error) {
	stem := filepath.Join(b.dir, BlobDir, name[:2], name)
	for _, m := range mediaExtensions {
		there, err := exists(b.disk, stem+m.ext)
		if err != nil {
			return "", classify(err)
		}
		if there {
			return stem + m.ext, nil
		}
	}
	return "", ErrNoBlob
}

// mediaExtensions is never written to.
var mediaExtensions = [...]struct{ media, ext string }{
	{"text/", ".txt"},
	{"application/json", ".json"},
	{"image/png", ".png"},
	{"image/jpeg", ".jpg"},
	{"image/gif", ".gif"},
	{"image/webp", ".webp"},
	{"", ".bin"},
}

func extension(media string) string {
	for _, m := range mediaExtensions {
		if strings.HasPrefix(media, m.media) {
			return m.ext
		}
	}
	return ".bin"
}

// excerpts returns how a text starts and ends, cut between characters. A
// payload that is no text has none.
func excerpts(data []byte) (head, tail string) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", ""
	}
	n := min(len(data), BlobExcerpt)
	for n < len(data) && !utf8.RuneStart(data[n]) {
		n--
	}
	from := max(n, len(data)-BlobExcerpt)
	for from < len(data) && !utf8.RuneStart(data[from]) {
		from++
	}
	return string(data[:n]), string(data[from:])
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range n {
		if c := s[i]; c-'0' > 9 && c-'a' > 5 {
			return false
		}
	}
	return true
}
