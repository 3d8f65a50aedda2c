package resolve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// PackedError says that a recorded body is compressed in a way that is not
// undone here.
type PackedError struct {
	Coding string // by the name that a Content-Encoding header has
	Err    error  // of a gzip body that can't be read; nil for other codings
}

// Error names the coding.
func (e *PackedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the body is compressed with %s, but can't be unpacked: %v", e.Coding, e.Err)
	}
	return "the body is compressed with " + e.Coding + ", which is not unpacked here"
}

// Unwrap returns the cause.
func (e *PackedError) Unwrap() error { return e.Err }

// unpacked is a recorded body as the server meant it. Tools that record often
// keep what came over the wire; a client of ours asks for nothing compressed.
// The bytes decide: others unpack a body and keep its headers.
func unpacked(header http.Header, body io.Reader) (io.Reader, error) {
	in := bufio.NewReader(body)
	begin, _ := in.Peek(64) // what can't be read is told by whoever reads on
	switch {
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, &PackedError{Coding: "gzip", Err: err}
		}
		return plain, nil
	case bytes.HasPrefix(begin, []byte("\x28\xb5\x2f\xfd")):
		return nil, &PackedError{Coding: "zstd"}
	}
	coding := strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding")))
	if coding != "" && coding != "identity" && !readable(begin) {
		return nil, &PackedError{Coding: coding}
	}
	return in, nil
}

// readable reports whether bytes begin a text.
func readable(begin []byte) bool {
	for len(begin) > 0 {
		r, n := utf8.DecodeRune(begin)
		switch {
		case r == utf8.RuneError && n == 1:
			return !utf8.FullRune(begin) // a character that was cut
		case r < ' ' && r != '\n' && r != '\r' && r != '\t':
			return false
		}
		begin = begin[n:]
	}
	return true
}
