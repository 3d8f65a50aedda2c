package basis

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/basisagent/basis/reducer"
)

// Limits of images. Vendors refuse larger ones, and more of them, sooner or
// later; a prompt that can't be sent is better refused before it is made.
const (
	// MaxImage is the size of the largest image, in bytes.
	MaxImage = 5 << 20

	// MaxImages is how many images a prompt may have.
	MaxImages = 20
)

// imageKinds are the kinds that every wire takes, by how their files begin.
var imageKinds = []struct {
	media  string
	magic  []byte
	offset int
	inner  []byte // what stands at offset
}{
	{media: "image/png", magic: []byte("\x89PNG\r\n\x1a\n")},
	{media: "image/jpeg", magic: []byte("\xff\xd8\xff")},
	{media: "image/gif", magic: []byte("GIF8")},
	{media: "image/webp", magic: []byte("RIFF"), offset: 8, inner: []byte("WEBP")},
}

// imageMedia is the kind of an image by its first bytes, whatever the file's
// name says; "" is none that can be sent.
func imageMedia(data []byte) string {
	for _, k := range imageKinds {
		if bytes.HasPrefix(data, k.magic) && len(data) >= k.offset && bytes.HasPrefix(data[k.offset:], k.inner) {
			return k.media
		}
	}
	return ""
}

// readImage reads an image that can be sent.
func readImage(path string) (data []byte, media string, err error) {
	refuse := func(format string, a ...any) ([]byte, string, error) {
		return nil, "", &OptionError{"image " + path, fmt.Sprintf(format, a...)}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return refuse("cannot be read: %v", inner(err))
	case !info.Mode().IsRegular():
		return refuse("is not a file")
	case info.Size() > MaxImage:
		return refuse("is %d bytes large, the most is %d; make it smaller", info.Size(), MaxImage)
	}
	f, err := os.Open(path)
	if err != nil {
		return refuse("cannot be read: %v", inner(err))
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, MaxImage+1))
	if err != nil {
		return refuse("cannot be read: %v", inner(err))
	}
	if len(data) > MaxImage {
		return refuse("is more than %d bytes large; make it smaller", MaxImage) // it has grown since
	}
	if media = imageMedia(data); media == "" {
		return refuse("is no PNG, JPEG, GIF or WebP image")
	}
	return data, media, nil
}

// image is an image of a prompt that was read and checked.
type image struct {
	data  []byte
	media string
}

// readImages reads all images of a spec before anything is made.
func (s Spec) readImages() ([]image, error) {
	if len(s.Images) > MaxImages {
		return nil, &OptionError{"images", fmt.Sprintf("are %d, the most is %d", len(s.Images), MaxImages)}
	}
	var all []image
	for _, path := range s.Images {
		data, media, err := readImage(path)
		if err != nil {
			return nil, err
		}
		all = append(all, image{data, media})
	}
	return all, nil
}

// keepImages puts images into the blobs of an agent that is about to exist.
func keepImages(dir string, images []image) ([]reducer.Part, error) {
	var parts []reducer.Part
	for _, img := range images {
		ref, err := blobsIn(dir).Put(img.data, img.media)
		if err != nil {
			return nil, err
		}
		parts = append(parts, reducer.Part{Type: reducer.PartImage, Image: ref})
	}
	return parts, nil
}
