package provider

import (
	"fmt"
	"io"
	"strings"
)

// redacted stands wherever a secret would be shown.
const redacted = "[redacted]"

// minSecret is the length in bytes from which on a credential is one.
const minSecret = 8

// Secret is a credential. It prints, formats and marshals as [redacted] in
// every way; only Reveal gives it away. The zero value is no secret at all. It
// is kept behind a pointer, because what stands in an unexported field is
// printed without a call of its methods.
type Secret struct{ value *string }

// NewSecret keeps value, without the space around it.
func NewSecret(value string) Secret {
	if value = strings.TrimSpace(value); value == "" {
		return Secret{}
	}
	return Secret{&value}
}

// Reveal is the credential itself, for the header that carries it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no credential.
func (s Secret) IsZero() bool { return s.value == nil }

// Redact replaces the credential wherever it stands in text, such as an error
// body that repeats the key it refused, and its beginning where the text was cut
// there. Words too short to be secret, such as the placeholder that a local
// server wants, are left alone.
func (s Secret) Redact(text string) string {
	value := s.Reveal()
	if len(value) < minSecret {
		return text
	}
	text = strings.ReplaceAll(text, value, redacted)
	for n := len(value) - 1; n >= minPart && strings.Contains(text, cutMark); n-- {
		text = strings.ReplaceAll(text, value[:n]+cutMark, redacted+cutMark)
	}
	return text
}

// cutMark stands where a text was cut; see [clip].
const cutMark = "…"

// minPart is the shortest part of a credential that is replaced at a cut.
const minPart = 4

// String is [redacted], or "" if there is no secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString is the same for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format is the same for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON is the same in JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", s.String())), nil }

// MarshalText is the same in every other encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
