package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"strings"

	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/reducer"
)

// digest hashes what is written to it. As text it is the first
// reducer.DigestSize bytes of a SHA-256 in hex.
type digest struct{ hash.Hash }

// newDigest is the digest of nothing yet.
func newDigest() digest { return digest{sha256.New()} }

// String is the digest of what was written so far.
func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)[:reducer.DigestSize]) }

// digestOf is the digest of data.
func digestOf(data []byte) string {
	d := newDigest()
	_, _ = d.Write(data) // never fails
	return d.String()
}

// known is the digest of a file as the agent last knew all of it, "" if it never
// did.
func known(files []reducer.FileSeen, p fence.Place) string {
	for _, f := range files {
		if f.Path == p.Abs {
			return f.Digest
		}
	}
	return ""
}

// stale refuses to change what somebody else has changed meanwhile.
func stale(p fence.Place) error {
	return &fence.Error{
		Code: fence.CodeChanged, Path: p.Shown,
		Reason: "has changed on disk since you last read all of it, and was not written; " +
			"read it again, without offset and limit, and make your change to what is there now",
	}
}

// standing is a file that is about to be overwritten; its zero value is none.
type standing struct {
	info   fs.FileInfo
	digest string
	marked bool // it begins with a byte-order mark
	crlf   bool // all its lines end with CRLF, and there are any
}

// look reads what stands in a place. Of a file that is larger than any that an
// agent can know, the form is told by its beginning and there is no digest.
func look(f *fence.Fence, p fence.Place) (standing, error) {
	file, fi, err := f.Open(p)
	if err != nil {
		return standing{}, err
	}
	defer file.Close()
	d, ends := newDigest(), &lineEnds{}
	if _, err := io.Copy(io.MultiWriter(d, ends), io.LimitReader(file, maxEdit)); err != nil {
		return standing{}, &fence.Error{Code: fence.CodeIO, Path: p.Shown, Reason: "cannot be read before it is overwritten: " + err.Error(), Err: err}
	}
	s := standing{info: fi, marked: string(ends.head) == mark, crlf: ends.crlf > 0 && ends.crlf == ends.all}
	if fi.Size() <= maxEdit {
		s.digest = d.String()
	}
	return s, nil
}

// changedFor reports whether the file is not what the agent last knew it to be.
// One that is gone holds nothing that could be lost.
func (s standing) changedFor(files []reducer.FileSeen, p fence.Place) bool {
	before := known(files, p)
	return s.info != nil && before != "" && before != s.digest
}

// mark is the byte-order mark of UTF-8.
const mark = "\uFEFF"

// dress gives content the form of the file that it takes the place of, which a
// model never gets to see, and says so in words that follow a result.
func (s standing) dress(content string) (dressed, words string) {
	var kept []string
	if s.crlf && strings.Contains(content, "\n") && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		kept = append(kept, "CRLF line ends")
	}
	if s.marked && !strings.HasPrefix(content, mark) {
		content = mark + content
		kept = append(kept, "byte-order mark")
	}
	if kept == nil {
		return content, ""
	}
	return content, " (kept its " + strings.Join(kept, " and ") + ")"
}

// lineEnds looks at what is written to it: how it begins, and how lines end.
type lineEnds struct {
	head      []byte // the first bytes, as many as a mark has
	last      byte
	all, crlf int
}

// Write never fails.
func (l *lineEnds) Write(p []byte) (int, error) {
	if room := len(mark) - len(l.head); room > 0 {
		l.head = append(l.head, p[:min(room, len(p))]...)
	}
	l.all += bytes.Count(p, []byte("\n"))
	l.crlf += bytes.Count(p, []byte("\r\n"))
	if l.last == '\r' && len(p) > 0 && p[0] == '\n' {
		l.crlf++
	}
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return len(p), nil
}
