package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// mender does what a verdict calls for. Each step can be killed and repeated:
// what was cut is in torn/ before it leaves the journal, and a copy that no
// record names yet is named by the next attach.
type mender struct {
	disk   Disk
	dir    string
	now    func() time.Time
	survey survey

	size  int64    // of the journal afterwards
	files []string // copies that the records name
}

// mend repairs the file and returns the records that say so.
func (m *mender) mend() ([]Draft, error) {
	orphans, err := m.orphans()
	if err != nil {
		return nil, err
	}
	if m.survey.Verdict == Torn {
		if orphans, err = m.setAside(orphans); err != nil {
			return nil, err
		}
	}
	if err := m.rearm(); err != nil {
		return nil, err
	}
	return m.report(orphans)
}

// report makes the journal.repaired drafts.
func (m *mender) report(orphans []repaired) ([]Draft, error) {
	if m.survey.Verdict == NoNewline {
		orphans = append(orphans, repaired{
			Verdict: string(NoNewline), CutBytes: m.survey.Size - m.survey.Good, AfterSeq: m.survey.Head.Seq,
		})
	}
	var drafts []Draft
	for _, r := range orphans {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, Draft{Type: TypeRepaired, Data: data})
		if r.File != "" {
			m.files = append(m.files, r.File)
		}
	}
	return drafts, nil
}

// tornName is how copies are called: the record they followed, and when.
var tornName = regexp.MustCompile(`^(\d{1,18})-\d{1,18}\.bin$`) // immutable

// orphans lists the copies in torn/ that no record names.
func (m *mender) orphans() ([]repaired, error) {
	entries, err := m.disk.ReadDir(filepath.Join(m.dir, TornDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []repaired
	for _, e := range entries {
		name := path.Join(TornDir, e.Name())
		match := tornName.FindStringSubmatch(e.Name())
		if match == nil || m.survey.named[name] {
			continue
		}
		after, err := strconv.ParseUint(match[1], 10, 64)
		if err != nil {
			return nil, err
		}
		sum, size, err := m.digest(name)
		if err != nil {
			return nil, err
		}
		found = append(found, repaired{Verdict: string(Torn), CutBytes: size, SHA256: sum, File: name, AfterSeq: after})
	}
	return found, nil
}

// setAside copies what follows the good records to torn/, unless an attach
// that died has done so already, and adds it to the orphans.
func (m *mender) setAside(orphans []repaired) ([]repaired, error) {
	s := m.survey
	sum, err := m.hashTail()
	if err != nil {
		return nil, err
	}
	want := repaired{Verdict: string(Torn), CutBytes: s.Size - s.Good, SHA256: sum, AfterSeq: s.Head.Seq}
	same := func(r repaired) bool {
		r.File = ""
		return r == want
	}
	if slices.ContainsFunc(orphans, same) {
		return orphans, nil
	}
	dir := filepath.Join(m.dir, TornDir)
	if err := mkdir(m.disk, dir, m.dir); err != nil {
		return nil, err
	}
	name, err := m.freeName(dir)
	if err != nil {
		return nil, err
	}
	temp := filepath.Join(dir, "new.tmp")
	if err := m.disk.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = m.withTail(func(tail io.Reader) error { return writeNew(m.disk, temp, tail, true) })
	if err != nil {
		return nil, err
	}
	if err := m.disk.Rename(temp, filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	if err := m.disk.SyncDir(dir); err != nil {
		return nil, err
	}
	want.File = path.Join(TornDir, name)
	return append(orphans, want), nil
}

// freeName picks a name that is not taken.
func (m *mender) freeName(dir string) (string, error) {
	for ms := max(m.now().UnixMilli(), 0); ; ms++ {
		name := fmt.Sprintf("%d-%d.bin", m.survey.Head.Seq, ms)
		taken, err := exists(m.disk, filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if !taken {
			return name, nil
		}
	}
}

// withTail hands out the bytes after the good records.
func (m *mender) withTail(use func(io.Reader) error) error {
	return m.reading(JournalFile, func(f File) error {
		return use(io.NewSectionReader(f, m.survey.Good, m.survey.Size-m.survey.Good))
	})
}

func (m *mender) hashTail() (string, error) {
	h := sha256.New()
	err := m.withTail(func(tail io.Reader) error {
		_, err := io.Copy(h, tail)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// digest hashes a file below the journal's directory.
func (m *mender) digest(name string) (sum string, size int64, err error) {
	h := sha256.New()
	err = m.reading(name, func(f File) error {
		size, err = io.Copy(h, io.NewSectionReader(f, 0, 1<<62))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), size, err
}

func (m *mender) reading(name string, use func(File) error) (err error) {
	f, err := m.disk.OpenFile(filepath.Join(m.dir, filepath.FromSlash(name)), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return use(f)
}

// rearm cuts the file to its good records and writes the last commit again in
// place. After an earlier failed sync the system may show bytes that the disk
// does not have; from here on it has them. The handle does not append, since
// a positioned write through an appending one goes to the end.
func (m *mender) rearm() (err error) {
	s := m.survey
	f, err := m.disk.OpenFile(filepath.Join(m.dir, JournalFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s.Verdict == Torn {
		if err := f.Truncate(s.Good); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := rewrite(f, s.Commit, s.Good); err != nil {
		return err
	}
	m.size = s.Good
	if s.Verdict == NoNewline {
		// In this order every disk that a crash can leave still holds the
		// record, followed by nothing but NUL.
		if _, err := f.WriteAt([]byte{'\n'}, s.Good); err != nil {
			return err
		}
		m.size++
		if s.Size > m.size {
			if err := f.Truncate(m.size); err != nil {
				return err
			}
		}
	}
	return f.Sync()
}

// rewrite writes a range of a file over itself.
func rewrite(f File, from, to int64) error {
	buf := make([]byte, min(to-from, blockSize))
	for from < to {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			return fmt.Errorf("read back the last commit: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		if _, err := f.WriteAt(buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
