package journaltest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/journal/journaltest"
)

// script does one thing of each kind and says what came of it, without paths.
func script(d journal.Disk, root string) (log []string) {
	say := func(what string, err error) {
		for _, kind := range []error{fs.ErrNotExist, fs.ErrExist, journal.ErrLocked} {
			if errors.Is(err, kind) {
				err = kind
			}
		}
		log = append(log, fmt.Sprint(what, ": ", err))
	}
	at := func(name string) string { return filepath.Join(root, name) }
	open := func(name string, flag int) journal.File {
		f, err := d.OpenFile(at(name), flag, 0o600)
		say("open "+name, err)
		return f
	}
	open("missing", os.O_RDONLY)
	say("mkdir", d.Mkdir(at("dir"), 0o700))
	say("mkdir again", d.Mkdir(at("dir"), 0o700))
	say("mkdir nowhere", d.Mkdir(at("none/dir"), 0o700))
	f := open("dir/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND)
	n, err := f.Write([]byte("hello "))
	say(fmt.Sprint("write ", n), err)
	g := open("dir/f", os.O_RDWR)
	_, err = g.WriteAt([]byte("J"), 0)
	say("writeat", err)
	_, err = f.Write([]byte("world"))
	say("append", errors.Join(err, f.Sync(), g.Truncate(9)))
	buf := make([]byte, 20)
	n, _ = g.ReadAt(buf, 2)
	say("read "+string(buf[:n]), nil)
	open("dir/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	say("rename", errors.Join(d.Rename(at("dir/f"), at("dir/g")), d.SyncDir(at("dir"))))
	st, err := d.Stat(at("dir/g"))
	open1, err1 := g.Stat()
	say(fmt.Sprint("same ", d.SameFile(st, open1), st.Size()), errors.Join(err, err1))
	say("remove full", errors.Join(d.Remove(at("none"))))
	l, err := d.Lock(at("dir/g"), false)
	say("lock", err)
	_, err = d.Lock(at("dir/g"), true)
	say("lock again", err)
	say("unlock", l.Unlock())
	_, err = d.Lock(at("dir/none"), true)
	say("probe missing", err)
	entries, err := d.ReadDir(at("dir"))
	say(fmt.Sprint("list ", len(entries), entries[0].Name()), err)
	say("close", errors.Join(f.Close(), g.Close()))
	return log
}

// JRN-97: the disk in memory answers as the real one does.
func TestDiskBehavesAsTheRealOne(t *testing.T) {
	want := script(journal.OSDisk(), t.TempDir())
	if diff := cmp.Diff(want, script(journaltest.New(), "/")); diff != "" {
		t.Errorf("memory disk: -real +memory\n%s", diff)
	}
}

// JRN-97: what is not synced may be lost in any part, what is synced stays,
// and what a failed sync dropped never comes back.
func TestCrashes(t *testing.T) {
	d := journaltest.New()
	f, err := d.OpenFile("/f", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	write := func(c string) {
		if _, err := f.Write([]byte(strings.Repeat(c, journaltest.Sector))); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	if got := outcomes(d); len(got) != 4 || !got["-"] {
		t.Errorf("outcomes without any sync = %v, want the file missing, empty, lost or whole", got)
	}
	if err := errors.Join(f.Sync(), d.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	write("b")
	write("c")
	if got := outcomes(d); len(got) != 7 || !got["a"] || !got["a0c"] || !got["abc"] || !got["ab"] {
		t.Errorf("outcomes with two lost sectors = %v, want 7, with a, ab, a0c and abc", got)
	}
	d.Fault = func(c journaltest.Call) journaltest.Outcome {
		if c.Op == "sync" {
			return journaltest.Outcome{Err: syscall.EIO, Drop: true}
		}
		return journaltest.Outcome{}
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Sync = %v, want EIO", err)
	}
	d.Fault = nil
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := outcomes(d); len(got) != 1 || !got["a00"] {
		t.Errorf("outcomes after a dropped sync and a good one = %v, want a00", got)
	}
}

// outcomes abbreviates the files that may be left, one letter for a sector.
func outcomes(d *journaltest.Disk) map[string]bool {
	got := map[string]bool{}
	for img := range d.Crashes(journaltest.CrashOptions{}) {
		f, err := img.OpenFile("/f", os.O_RDONLY, 0)
		if err != nil {
			got["-"] = true
			continue
		}
		buf := make([]byte, 10*journaltest.Sector)
		n, _ := f.ReadAt(buf, 0)
		s := ""
		for i := 0; i < n; i += journaltest.Sector {
			if buf[i] == 0 {
				s += "0"
			} else {
				s += string(buf[i : i+1])
			}
		}
		got[s] = true
	}
	return got
}
