package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// JRN-66: content is stored once, in a file that a user can open.
func TestBlobsPutGet(t *testing.T) {
	dir := t.TempDir()
	b := journal.OpenBlobs(dir, nil)
	text := strings.Repeat("é", 2000)
	ref, err := b.Put([]byte(text), "text/plain; charset=utf-8")
	if err != nil {
		t.Fatalf("Put = %v, want nil", err)
	}
	sum := sha256.Sum256([]byte(text))
	want := journal.BlobRef{
		Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: 4000, Media: "text/plain; charset=utf-8",
		Head: text[:1024], Tail: text[4000-1024:],
	}
	if diff := cmp.Diff(want, ref); diff != "" {
		t.Errorf("Put: -want +got:\n%s", diff)
	}
	if got, err := b.Get(ref.Digest); err != nil || string(got) != text {
		t.Errorf("Get = %d bytes, %v, want the text", len(got), err)
	}
	path, err := b.Path(ref.Digest)
	hash := strings.TrimPrefix(ref.Digest, "sha256:")
	if want := filepath.Join(dir, "blobs", hash[:2], hash+".txt"); err != nil || path != want {
		t.Errorf("Path = %s, %v, want %s", path, err, want)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", st.Mode(), err)
	}
	if again, err := b.Put([]byte(text), "application/json"); err != nil || again.Digest != ref.Digest {
		t.Errorf("Put again = %v, %v, want the same digest", again, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("store holds %v, %v, want one file", entries, err)
	}
}

func TestBlobExtensionsAndExcerpts(t *testing.T) {
	b := journal.OpenBlobs("/", journaltest.New())
	tests := []struct{ media, data, ext, head, tail string }{
		{"text/x-go", "short", ".txt", "short", ""},
		{"application/json", "{}", ".json", "{}", ""},
		{"image/png", "\x89PNG", ".png", "", ""},
		{"image/jpeg", "\xff\xd8", ".jpg", "", ""},
		{"image/gif", "GIF89a\x00", ".gif", "", ""},
		{"image/webp", "\xffRIFF", ".webp", "", ""},
		{"", "\xffx", ".bin", "", ""},
		{"text/plain", "a" + strings.Repeat("é", 700), ".txt", "a" + strings.Repeat("é", 511), strings.Repeat("é", 189)},
	}
	for _, tt := range tests {
		ref, err := b.Put([]byte(tt.data), tt.media)
		if err != nil {
			t.Fatalf("Put(%s) = %v, want nil", tt.media, err)
		}
		path, err := b.Path(ref.Digest)
		if err != nil || filepath.Ext(path) != tt.ext || ref.Head != tt.head || ref.Tail != tt.tail {
			t.Errorf("Put(%s) = %q %q at %s, %v, want %q %q %s", tt.media, ref.Head, ref.Tail, path, err, tt.head, tt.tail, tt.ext)
		}
		if !utf8.ValidString(ref.Head + ref.Tail) {
			t.Errorf("Put(%s) excerpts are not UTF-8", tt.media)
		}
	}
}

// JRN-68: a payload that is gone or wrong is told apart, and audits report it.
func TestBlobMissingOrWrong(t *testing.T) {
	d := journaltest.New()
	mint(t, memOptions(d), "/a1").Close()
	b := journal.OpenBlobs("/a1", d)
	ref, err := b.Put([]byte("payload"), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	path, _ := b.Path(ref.Digest)
	put(t, d, path, []byte("other"))
	none := "sha256:" + strings.Repeat("0", 64)
	if _, err := b.Get(none); !errors.Is(err, journal.ErrNoBlob) {
		t.Errorf("Get(missing) = %v, want ErrNoBlob", err)
	}
	if _, err := b.Get(ref.Digest); !isRule(err, journal.RuleBlob) {
		t.Errorf("Get(wrong) = %v, want rule blob", err)
	}
	rep, err := journal.Dir{Path: "/a1", Disk: d}.Check(journal.CheckOptions{Blobs: []string{none, ref.Digest}})
	if err != nil || len(rep.Findings) != 2 || !isRule(rep.Err(), journal.RuleBlob) {
		t.Errorf("Check = %v, %v, want two findings of rule blob", rep.Findings, err)
	}
	if _, err := b.Put([]byte("payload"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(ref.Digest); err != nil || string(got) != "payload" {
		t.Errorf("Get after a second Put = %q, %v, want the payload", got, err)
	}
}

func isRule(err error, rule journal.Rule) bool {
	bad, ok := errors.AsType[*journal.CorruptError](err)
	return ok && bad.Rule == rule
}

func TestBlobDigestCannotLeaveTheStore(t *testing.T) {
	b := journal.OpenBlobs(t.TempDir(), nil)
	for _, digest := range []string{
		"", "sha256:", "sha256:../../../../etc/passwd", "md5:" + strings.Repeat("0", 64),
		"sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("0", 65), "sha256:" + strings.Repeat("0", 62) + "/.",
	} {
		if _, err := b.Path(digest); err == nil || errors.Is(err, journal.ErrNoBlob) {
			t.Errorf("Path(%q) = %v, want a refusal", digest, err)
		}
	}
}

func TestBlobFailureLeavesNothing(t *testing.T) {
	d := journaltest.New()
	b := journal.OpenBlobs("/", d)
	d.Fault = func(c journaltest.Call) journaltest.Outcome {
		if c.Op == "write" {
			return journaltest.Outcome{Err: syscall.ENOSPC, Short: 3}
		}
		return journaltest.Outcome{}
	}
	if _, err := b.Put(bytes.Repeat([]byte("x"), 100), ""); !errors.Is(err, journal.ErrDiskFull) {
		t.Errorf("Put = %v, want ErrDiskFull", err)
	}
	d.Fault = nil
	if _, err := b.Put([]byte("x"), ""); err != nil {
		t.Errorf("Put with room = %v, want nil", err)
	}
}
