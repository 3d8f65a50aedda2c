package basis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

const tinyPNG = "\x89PNG\r\n\x1a\n and whatever follows"

// JRN-66: an image goes to a blob whatever its size, the record names it, and
// the model is sent its bytes.
func TestImages(t *testing.T) {
	server := providertest.NewServer(t, providertest.Options{Steps: []providertest.Step{providertest.Text("a picture")}, Lenient: true})
	h, err := Open(Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }, Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ws := t.TempDir()
	name := filepath.Join(ws, "a.txt") // the kind is told by the bytes
	if err := os.WriteFile(name, []byte(tinyPNG), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := h.Run(t.Context(), Spec{Workspace: ws, Prompt: "what is it?", Images: []string{name}, Options: reducer.Options{BaseURL: server.URL(), Model: "m"}}, Drive{})
	if err != nil || out.State.End.State != reducer.StateSucceeded {
		t.Fatalf("ended %+v, %v", out.State.End, err)
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`) {
		t.Errorf("request = %s, want the text and the image", body)
	}
	created, err := h.created(out.Ref)
	if err != nil || len(created.Prompt) != 2 || created.Prompt[1].Image.Media != "image/png" {
		t.Errorf("prompt = %+v, %v; want text and an image in a blob", created.Prompt, err)
	}
	if rep, err := h.Check(out.Ref); err != nil || rep.Err() != nil {
		t.Errorf("Check = %v, %v; want nothing wrong", rep.Err(), err)
	}
}

// An image that could not be sent is refused before anything is made, with what
// is wrong and, where it is too large, both sizes.
func TestImagesRefused(t *testing.T) {
	h, err := Open(Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	ws := t.TempDir()
	large := filepath.Join(ws, "large.png")
	if err := os.WriteFile(large, []byte(tinyPNG), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, MaxImage+1); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(ws, "a.png")
	if err := os.WriteFile(text, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, images := range map[string][]string{
		"is 5242881 bytes large, the most is 5242880": {large},
		"is no PNG, JPEG, GIF or WebP image":          {text},
		"no such file":                                {filepath.Join(ws, "nosuch.png")},
		"is not a file":                               {ws},
		"the most is 20":                              make([]string, MaxImages+1),
	} {
		_, err := h.Spawn(Spec{Workspace: ws, Prompt: "x", Images: images})
		if _, ok := errors.AsType[*OptionError](err); !ok || !strings.Contains(err.Error(), name) {
			t.Errorf("Spawn = %v, want an *OptionError with %q", err, name)
		}
	}
	if entries, _ := os.ReadDir(h.Dir()); len(entries) != 0 {
		t.Errorf("the data root holds %v, want nothing", entries)
	}
	for media, data := range map[string]string{
		"image/png": tinyPNG, "image/jpeg": "\xff\xd8\xff\xe0", "image/gif": "GIF89a", "image/webp": "RIFF\x00\x00\x00\x00WEBPVP8 ", "": "RIFF\x00\x00\x00\x00WAVE",
	} {
		if got := imageMedia([]byte(data)); got != media {
			t.Errorf("imageMedia(%q) = %q, want %q", data, got, media)
		}
	}
}
