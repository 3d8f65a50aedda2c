package basis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/basisagent/basis/projections"
	"github.com/basisagent/basis/reducer"
)

// spool is where other processes leave things for a run: one immutable file
// each, named <ordinal>-<id>.<kind>. Whoever drops one holds the lock for the
// check and the drop; the run holds it while it closes the intake. So what was
// accepted is never stranded.
type spool interface {
	// sweep lists what is there, cancels first, then in the order of arrival.
	// Each arrival's recorded removes its file.
	sweep() ([]arrival, error)

	// watch calls found while something is there, until ctx ends.
	watch(ctx context.Context, found func())

	// lock waits for the lock and returns how to let go of it.
	lock() (unlock func(), err error)
}

// The kinds of spooled files.
const (
	spoolMessage = "message"
	spoolCancel  = "cancel"
)

// spoolDir is the spool of one agent's directory.
type spoolDir struct {
	dir  string
	done map[string]bool // recorded by this run; a file that can't be removed is not read twice
}

func newSpoolDir(agent string) *spoolDir { return &spoolDir{dir: agent, done: map[string]bool{}} }

func (s *spoolDir) inbox() string { return filepath.Join(s.dir, "inbox") }

func (s *spoolDir) lock() (func(), error) {
	l := flock.New(filepath.Join(s.dir, "inbox.lock"), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return nil, fmt.Errorf("lock the inbox of %s: %w", s.dir, err)
	}
	return func() { _ = l.Unlock() }, nil // the lock goes with the process in any case
}

// spooled is the name of a file, taken apart.
type spooled struct {
	name    string
	ordinal int
	id      string
	kind    string
}

func parseSpooled(name string) (spooled, bool) {
	stem, kind, ok := strings.Cut(name, ".")
	ord, id, ok2 := strings.Cut(stem, "-")
	n, err := strconv.Atoi(ord)
	if !ok || !ok2 || err != nil || len(ord) != 6 || !isHex(id, 32) || (kind != spoolMessage && kind != spoolCancel) {
		return spooled{}, false
	}
	return spooled{name: name, ordinal: n, id: id, kind: kind}, true
}

// list is what is spooled, cancels first, then by ordinal. Whoever drops
// something drops a file: anything else under such a name is left alone, since
// opening it could wait for ever.
func (s *spoolDir) list() ([]spooled, error) {
	entries, err := os.ReadDir(s.inbox())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	var files []spooled
	for _, e := range entries {
		if f, ok := parseSpooled(e.Name()); ok && e.Type().IsRegular() && !s.done[f.name] {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b spooled) int {
		if a.kind != b.kind {
			if a.kind == spoolCancel {
				return -1
			}
			return 1
		}
		return a.ordinal - b.ordinal
	})
	return files, nil
}

func (s *spoolDir) sweep() ([]arrival, error) {
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	var all []arrival
	for _, f := range files {
		path := filepath.Join(s.inbox(), f.name)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the inbox: %w", err)
		}
		e, err := decodeSpooled(data, f)
		if err != nil {
			// Nobody accepted this one: what is dropped by rename is whole.
			s.done[f.name] = true
			_ = os.Rename(path, path+".bad")
			continue
		}
		all = append(all, arrival{events: []reducer.Event{e}, recorded: func() {
			s.done[f.name] = true
			_ = os.Remove(path) // left behind, it is known by its id
		}})
	}
	return all, nil
}

func decodeSpooled(data []byte, f spooled) (reducer.Event, error) {
	if f.kind == spoolCancel {
		var e reducer.CancelRequested
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, err
		}
		e.Scope = "task"
		return e, nil
	}
	var e reducer.MessageReceived
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	if len(e.Parts) == 0 || slices.ContainsFunc(e.Parts, nothing) {
		return nil, errors.New("a message that says nothing")
	}
	e.Message, e.From = f.id, "inbox"
	return e, nil
}

// nothing reports whether a part holds neither words nor the name of anything.
func nothing(p reducer.Part) bool {
	if p.Type == reducer.PartImage {
		return p.Image.Digest == ""
	}
	return p.Type != reducer.PartText || p.Text.IsZero()
}

// drop puts one file into the spool. The caller holds the lock.
func (s *spoolDir) drop(id, kind string, body any) error {
	files, err := s.list()
	if err != nil {
		return err
	}
	ordinal := 1
	for _, f := range files {
		ordinal = max(ordinal, f.ordinal+1)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if err := makePrivate(s.inbox()); err != nil {
		return err
	}
	return projections.Replace(filepath.Join(s.inbox(), fmt.Sprintf("%06d-%s.%s", ordinal, id, kind)), data, true)
}

// spoolTick is how often a run looks into its inbox. Notification does not
// work everywhere, and a look costs one directory read.
const spoolTick = 100 * time.Millisecond

func (s *spoolDir) watch(ctx context.Context, found func()) {
	tick := time.NewTicker(spoolTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.waiting() {
				found()
			}
		case <-ctx.Done():
			return
		}
	}
}

// waiting reports whether there is something that looks like a dropped file. It
// runs beside the loop, so it asks nothing of what was recorded.
func (s *spoolDir) waiting() bool {
	entries, err := os.ReadDir(s.inbox())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		_, ok := parseSpooled(e.Name())
		return ok
	})
}
