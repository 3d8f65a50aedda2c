package reducer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// InlineLimit is the longest text, in bytes, that a record carries itself.
// A longer one goes to a blob and the record carries a [Ref] (JRN-66).
const InlineLimit = 32 << 10

// Ref names the bytes of a blob by their content.
type Ref struct {
	Digest string `json:"blob"`            // "sha256:" and 64 lower-case hex digits of the raw bytes
	Size   int64  `json:"size"`            // bytes
	Media  string `json:"media,omitempty"` // such as text/plain or image/png
	Head   string `json:"head,omitempty"`  // about the first KiB, for people who read the journal
	Tail   string `json:"tail,omitempty"`  // about the last KiB
}

// Text is a string that a record carries inline or, beyond [InlineLimit], by
// reference to a blob. The zero value is the empty text. In JSON it is a
// string, or the object form of [Ref].
type Text struct {
	Inline string
	Blob   Ref
}

// T is the inline text s.
func T(s string) Text { return Text{Inline: s} }

// IsZero reports whether the text is empty, so that omitzero leaves it out.
func (t Text) IsZero() bool { return t == Text{} }

// Len is the length of the whole text in bytes, wherever it is kept.
func (t Text) Len() int {
	if t.Blob.Digest != "" {
		return int(t.Blob.Size)
	}
	return len(t.Inline)
}

// String is the text for people: whole if it is inline, else its head and
// tail with the size of what lies between.
func (t Text) String() string {
	if t.Blob.Digest == "" {
		return t.Inline
	}
	var b strings.Builder
	b.WriteString(t.Blob.Head)
	b.WriteString("\n[… " + strconv.FormatInt(t.Blob.Size, 10) + " bytes in " + t.Blob.Digest + " …]\n")
	b.WriteString(t.Blob.Tail)
	return b.String()
}

// MarshalJSON writes the string or the reference.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Blob.Digest != "" {
		return encodeJSON(t.Blob)
	}
	return encodeJSON(t.Inline)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (t *Text) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var r Ref
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		if !r.Valid() {
			return errors.New("text: an object that is not a blob reference")
		}
		*t = Text{Blob: r}
		return nil
	}
	s, plain := unquote(data)
	if !plain {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	}
	*t = Text{Inline: s}
	return nil
}

// unquote reads a JSON string that has only the short escapes, which nearly all
// have. The texts are most of a journal, and encoding/json goes over one that
// unmarshals itself five times.
func unquote(data []byte) (s string, plain bool) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return "", false
	}
	rest := data[1 : len(data)-1]
	var b strings.Builder
	b.Grow(len(rest))
	for {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			break
		}
		if i+1 == len(rest) {
			return "", false
		}
		c := strings.IndexByte(`"\/bfnrt`, rest[i+1])
		if c < 0 {
			return "", false
		}
		b.Write(rest[:i])
		b.WriteByte("\"\\/\b\f\n\r\t"[c])
		rest = rest[i+2:]
	}
	b.Write(rest)
	s = b.String()
	return s, strings.ToValidUTF8(s, "") == s
}

// Valid reports whether the digest has the form "sha256:" and 64 lower-case
// hex digits, so that a file name can be made of it.
func (r Ref) Valid() bool {
	hex, ok := strings.CutPrefix(r.Digest, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// encodeJSON is json.Marshal without the escaping of <, > and & (JRN-14).
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
