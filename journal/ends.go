package journal

import (
	"bytes"
	"os"
)

// endsSize is how much of a journal's beginning and of its end Ends looks at.
const endsSize = 32 << 10

// Ends returns the records that a journal begins with, at most n, and its last
// one, for whoever can do without what stands between. Each has been checked by
// itself, and the first ones as a chain; the whole may be damaged nevertheless.
//
// There are fewer, and a last record of number 0, where they are larger than
// what is looked at, or where the file does not end with a whole record.
func Ends(dir string, n int) (first []Record, last Record, err error) {
	return Dir{Path: dir}.Ends(n)
}

// Ends is the function Ends on the disk of d.
func (d Dir) Ends(n int) (first []Record, last Record, err error) {
	f, err := d.disk().OpenFile(d.path(), os.O_RDONLY, 0)
	if err != nil {
		return nil, Record{}, wrap("read", d.path(), notFound(err))
	}
	defer f.Close() //nolint:errcheck // nothing was written
	st, err := f.Stat()
	if err != nil {
		return nil, Record{}, wrap("read", d.path(), err)
	}
	size := st.Size()
	head := make([]byte, min(size, endsSize))
	k, err := f.ReadAt(head, 0)
	if k < len(head) {
		return nil, Record{}, wrap("read", d.path(), err)
	}
	tail := head
	if size > endsSize {
		tail = make([]byte, endsSize)
		if k, err = f.ReadAt(tail, size-endsSize); k < len(tail) {
			return nil, Record{}, wrap("read", d.path(), err)
		}
	}
	rd := reader{}
	for all := size <= endsSize; all || len(first) < n; {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole {
			break
		}
		e, rule := rd.chain.step(line)
		if rule != RuleNone && all {
			return first, Record{}, nil
		}
		if rule != RuleNone {
			break
		}
		if last = rd.record(e, line); len(first) < n {
			first = append(first, last)
		}
		head = rest
	}
	return first, rd.last(tail, int64(len(tail)) == size), nil
}

// last is the record that the bytes at the end of a file end with. whole says
// that they are all of the file.
func (rd *reader) last(tail []byte, whole bool) Record {
	line, ended := bytes.CutSuffix(tail, []byte{'\n'})
	i := bytes.LastIndexByte(line, '\n')
	if !ended || i < 0 && !whole {
		return Record{}
	}
	e, rule := parseLine(line[i+1:])
	if rule != RuleNone {
		return Record{}
	}
	return rd.record(e, line[i+1:])
}
