package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Notifier tells followers that something happened in their directories. A
// system grants few of its sources, so a process that follows many journals
// makes one Notifier and gives it to each Tail. It may be used by any number
// of goroutines.
type Notifier struct {
	watcher *fsnotify.Watcher
	work    sync.WaitGroup

	mu   sync.Mutex // guards subs, and adding against removing
	subs map[string]map[chan struct{}]struct{}
}

// NewNotifier starts a notifier. It fails where the system has no more to
// give; followers then poll.
func NewNotifier() (*Notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch directories: %w", err)
	}
	n := &Notifier{watcher: w, subs: map[string]map[chan struct{}]struct{}{}}
	n.work.Go(n.run)
	return n, nil
}

// Close ends the notifier and waits for its goroutine. Followers that use it
// go on by their slow tick.
func (n *Notifier) Close() error {
	err := n.watcher.Close()
	n.work.Wait()
	if err != nil {
		return fmt.Errorf("stop watching directories: %w", err)
	}
	return nil
}

// run passes events on until the watcher is closed. An error may mean that
// events were dropped, so that everything may have changed.
func (n *Notifier) run() {
	for {
		select {
		case e, ok := <-n.watcher.Events:
			if !ok {
				return
			}
			n.wake(filepath.Dir(e.Name), e.Name)
		case _, ok := <-n.watcher.Errors:
			if !ok {
				return
			}
			n.wakeAll()
		}
	}
}

func (n *Notifier) wake(dirs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, dir := range dirs {
		for ch := range n.subs[dir] {
			poke(ch)
		}
	}
}

func (n *Notifier) wakeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, subs := range n.subs {
		for ch := range subs {
			poke(ch)
		}
	}
}

// poke leaves one hint; a second one says nothing more.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// subscribe delivers hints about a directory. It is the directory that is
// watched: a watch on a file is lost when the file is replaced.
func (n *Notifier) subscribe(dir string) (<-chan struct{}, func(), error) {
	dir = filepath.Clean(dir)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs[dir] == nil {
		if err := n.watcher.Add(dir); err != nil {
			return nil, nil, fmt.Errorf("watch %s: %w", dir, err)
		}
		n.subs[dir] = map[chan struct{}]struct{}{}
	}
	ch := make(chan struct{}, 1)
	n.subs[dir][ch] = struct{}{}
	return ch, func() { n.unsubscribe(dir, ch) }, nil
}

func (n *Notifier) unsubscribe(dir string, ch chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.subs[dir], ch)
	if len(n.subs[dir]) == 0 {
		delete(n.subs, dir)
		_ = n.watcher.Remove(dir) // it may be gone already
	}
}

// errNoNotify says that a disk has no notifications by nature.
var errNoNotify = errors.New("this file system does not notify across machines")
