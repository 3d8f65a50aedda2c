package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/basisagent/basis/effects"
	"github.com/basisagent/basis/effects/tools/fence"
	"github.com/basisagent/basis/reducer"
)

// The bounds of read.
const (
	maxReadLine = 2000 // bytes of one line that are shown
	binaryProbe = 8 << 10
)

// pathMember is the member that names a file.
func pathMember() member {
	return member{name: "path", kind: kindString, required: true, aliases: []string{"file_path", "filePath"}}
}

// newRead makes the tool read.
func newRead(f *fence.Fence) effects.Tool {
	return newTool(tool{
		spec: reading("read", "Read a UTF-8 text file with line numbers."),
		members: []member{
			pathMember(),
			{name: "offset", kind: kindInteger, least: 1, doc: "first line, default 1"},
			{name: "limit", kind: kindInteger, doc: "lines, default 2000"},
		},
		line: func(a args) string { return a.text("path", "") },
		run: func(ctx context.Context, a call) effects.Result {
			p, err := f.Resolve(a.text("path", ""), fence.Read)
			if err != nil {
				return failed(err)
			}
			limit, given := a.numbers["limit"]
			if !given || limit > maxLines {
				limit, given = maxLines, false
			}
			r := reader{place: p, first: a.number("offset", 1), limit: limit, given: given}
			return r.read(ctx, f, a.files)
		},
	})
}

// reader is one call of read on its way.
type reader struct {
	place fence.Place
	first int64 // the first line wanted, from 1
	limit int64
	given bool // whether the limit was asked for and holds

	digest digest // of the bytes so far
	out    strings.Builder
	shown  int64
	next   int64 // the first line that did not fit; 0 if all did
	cut    int   // lines that were cut
	total  int64 // lines of the file so far
}

// read shows the selected lines.
func (r *reader) read(ctx context.Context, f *fence.Fence, files []reducer.FileSeen) effects.Result {
	file, _, err := f.Open(r.place)
	if err != nil {
		return failed(err)
	}
	defer file.Close()
	fmt.Fprintf(&r.out, "read %s\n", r.place.Shown)
	r.digest = newDigest()
	in := bufio.NewReaderSize(io.TeeReader(file, r.digest), 64<<10)
	if probe, _ := in.Peek(binaryProbe); bytes.IndexByte(probe, 0) >= 0 {
		return failed(&problem{CodeNotText, r.place.Shown + " is a binary file; look at it with a command"})
	}
	if mark, _ := in.Peek(3); string(mark) == "\uFEFF" {
		_, _ = in.Discard(3)
	}
	for {
		err := r.line(in)
		if errors.Is(err, io.EOF) {
			res := r.result()
			res.Files = r.seen(f, files)
			return res
		}
		if err != nil {
			return failed(err)
		}
		if r.total%1024 == 0 && ctx.Err() != nil {
			return stopped()
		}
	}
}

// line takes the next line of the file, and shows it if it was asked for.
func (r *reader) line(in *bufio.Reader) error {
	var kept []byte
	size, last := 0, byte(0)
	for {
		piece, err := in.ReadSlice('\n')
		if room := maxReadLine + utf8.UTFMax - len(kept); room > 0 && r.wanted() {
			kept = append(kept, piece[:min(room, len(piece))]...)
		}
		size += len(piece)
		if len(piece) > 0 {
			last = piece[len(piece)-1]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", r.place.Shown, err)
		}
		if size == 0 {
			return io.EOF
		}
		break
	}
	if last == '\n' {
		size--
	}
	wanted := r.wanted()
	r.total++
	if wanted {
		return r.show(kept, size)
	}
	return nil
}

// wanted reports whether the line after those counted so far is shown.
func (r *reader) wanted() bool {
	n := r.total + 1
	return n >= r.first && r.shown < r.limit && r.next == 0
}

// show shows a line of size bytes, of which kept is the beginning.
func (r *reader) show(kept []byte, size int) error {
	text := strings.TrimSuffix(string(kept[:min(len(kept), size)]), "\r")
	if size > maxReadLine {
		text = prefix(text, maxReadLine)
	}
	if !utf8.ValidString(text) {
		return &problem{CodeNotText, fmt.Sprintf("%s is not UTF-8 text (line %d); convert or look at it with a command", r.place.Shown, r.total)}
	}
	if size > maxReadLine {
		text += fmt.Sprintf("… [line cut: %d of %d bytes shown]", len(text), size)
	}
	row := fmt.Sprintf("L%d:", r.total)
	if text != "" {
		row += " " + text
	}
	if r.out.Len()+len(row) > maxOutput {
		r.next = r.total
		return nil
	}
	r.out.WriteString(row + "\n")
	r.shown++
	if size > maxReadLine {
		r.cut++
	}
	return nil
}

// result completes the output.
func (r *reader) result() effects.Result {
	if r.shown == 0 && r.next == 0 {
		r.out.WriteString("(no lines)\n")
	}
	if r.cut > 0 {
		r.out.WriteString("[long lines were cut; grep finds text in them, and a command such as cut -b shows more of them]\n")
	}
	next := r.next
	if end := r.first + r.shown; next == 0 && !r.given && end <= r.total && r.shown > 0 {
		next = end
	}
	if next > 0 {
		fmt.Fprintf(&r.out, "[truncated: showing %d of %d lines; go on with offset=%d]\n", r.shown, r.total, next)
	}
	return effects.Result{Output: strings.TrimSuffix(r.out.String(), "\n"), Paged: true}
}

// seen is what the agent knows of the file now. One who asked for all of a file
// and could not be shown it no longer knows it; a part changes nothing.
func (r *reader) seen(f *fence.Fence, files []reducer.FileSeen) []reducer.FileSeen {
	switch {
	case !f.Writable(r.place):
	case r.cut == 0 && r.shown == r.total:
		return []reducer.FileSeen{{Path: r.place.Abs, Digest: r.digest.String()}}
	case r.first == 1 && !r.given && known(files, r.place) != "":
		return []reducer.FileSeen{{Path: r.place.Abs}}
	}
	return nil
}
