package basis

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/basisagent/basis/journal"
	"github.com/basisagent/basis/provider/providertest"
	"github.com/basisagent/basis/reducer"
)

// tightDisk is the real disk, on which journals have no room for more than
// some bytes until the ballast is given up.
type tightDisk struct {
	journal.Disk
	left  atomic.Int64
	short bool // a write that doesn't fit is written in part
}

func (d *tightDisk) OpenFile(name string, flag int, perm fs.FileMode) (journal.File, error) {
	f, err := d.Disk.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != journal.JournalFile {
		return f, err
	}
	return &tightFile{f, d}, nil
}

func (d *tightDisk) Remove(name string) error {
	err := d.Disk.Remove(name)
	if err == nil && filepath.Base(name) == "ballast" {
		d.left.Add(journal.BallastSize)
	}
	return err
}

type tightFile struct {
	journal.File
	disk *tightDisk
}

func (f *tightFile) Write(p []byte) (int, error) {
	left := f.disk.left.Add(-int64(len(p)))
	if left >= 0 {
		return f.File.Write(p)
	}
	f.disk.left.Store(0)
	n := 0
	if f.disk.short {
		n, _ = f.File.Write(p[:max(0, len(p)+int(left))])
	}
	return n, &fs.PathError{Op: "write", Path: "events.jsonl", Err: syscall.ENOSPC}
}

// JRN-85, JRN-33: a disk that fills up in mid-run stops the run. What was
// acknowledged stays, the ballast makes room for the word why, and with room
// the task goes on as after any other end of a run.
func TestDiskFullSuspends(t *testing.T) {
	suspended := 0
	for _, short := range []bool{false, true} {
		for room := int64(1800); room < 9000; room += 1100 {
			s := providertest.NewServer(t, providertest.Options{Answer: func(r providertest.Request) providertest.Step {
				if len(r.Messages()) > 1 {
					return providertest.Text("done")
				}
				return providertest.CallTool("spawn", `{"input":"!echo x >> n; yes | head -c 3000"}`)
			}})
			h, ws := newHome(t, nil), newWorkspace(t)
			d := &tightDisk{Disk: journal.OSDisk(), short: short}
			h.disk, h.o.MinFree = d, 1
			d.left.Store(room)
			out, err := h.Run(limited(t), asking(s, ws, "hi"), Drive{})
			if err == nil {
				break // there was room enough
			}
			if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "make room") || !strings.Contains(err.Error(), out.Ref.String()) {
				t.Fatalf("Run with room for %d = %v, want that the disk is full for %s", room, err, out.Ref)
			}
			if out.Ref.IsZero() {
				continue // not even the first commit fitted
			}
			suspended++
			last := lastEvent(t, h, out.Ref)
			if e, ok := last.(reducer.AgentDetached); !ok || e.Reason != "disk_full" {
				t.Errorf("room for %d: the last record is %s, want agent.detached{disk_full}", room, reducer.Describe(last))
			}
			if _, err := os.Stat(filepath.Join(h.Dir(), "ballast")); !os.IsNotExist(err) {
				t.Errorf("Stat(ballast) = %v, want it given up", err)
			}
			sound(t, h, out.Ref)
			d.left.Store(math.MaxInt64 / 2)
			out, err = h.Wait(limited(t), out.Ref, Drive{})
			if got := h.ended(t, out, err); got.Result != "done" {
				t.Errorf("Wait with room again = %+v, want it done", got)
			}
			if n, err := os.ReadFile(filepath.Join(ws, "n")); err != nil || len(n) > 2 {
				t.Errorf("the command left %q, %v, want that it ran at most once", n, err)
			}
			if st, err := os.Stat(filepath.Join(h.Dir(), "ballast")); err != nil || st.Size() != journal.BallastSize {
				t.Errorf("the ballast: %v, want it there again", err)
			}
		}
	}
	if suspended < 6 {
		t.Errorf("%d runs met a full disk, want at least 6", suspended)
	}
}

// JRN-86: an attach to a nearly full disk is refused in bytes; a task that has
// ended is answered all the same.
func TestAttachOnANearlyFullDisk(t *testing.T) {
	s := providertest.Script(t, providertest.Text("hello"))
	h, ws := newHome(t, nil), newWorkspace(t)
	ref, err := h.Spawn(asking(s, ws, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	full := openHome(t, Options{Dir: h.Dir(), Getenv: h.o.Getenv, MinFree: math.MaxInt64})
	if _, err := full.Wait(limited(t), ref, Drive{}); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "bytes are free") {
		t.Errorf("Wait = %v, want that the disk is full, in bytes", err)
	}
	if got := strings.Join(kinds(t, h, ref), " "); got != "journal.created agent.created" {
		t.Errorf("records = %s, want nothing added", got)
	}
	out, err := h.Wait(limited(t), ref, Drive{})
	h.ended(t, out, err)
	out, err = full.Wait(limited(t), ref, Drive{})
	if got := full.ended(t, out, err); got.Result != "hello" {
		t.Errorf("Wait for a task that has ended = %+v, want its answer", got)
	}
}
