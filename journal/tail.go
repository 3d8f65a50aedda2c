package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// Change is one step of a journal that is being followed: a record, or the
// news that records are gone.
type Change struct {
	// Record is the next record, unless Rewound. Its payload is borrowed
	// until the next step.
	Record Record
	// Rewound says that the records after To were cut off by a repair. They
	// had never been acknowledged. What follows To comes next, and may begin
	// below the number from which the follower started.
	Rewound bool
	To      Head
}

// TailOptions configures Tail. The zero value is usable.
type TailOptions struct {
	// Notifier is shared with other followers; nil means one of its own.
	Notifier *Notifier
	// Tick is how often to look without a notification; 0 means 250 ms. While
	// nothing happens it grows to 16 times that.
	Tick time.Duration
	// Poll is the same where there are no notifications; 0 means 50 ms.
	Poll time.Duration
	// Polling, if not nil, is called once when there are no notifications,
	// with the reason.
	Polling func(reason error)
}

const (
	defaultTick = 250 * time.Millisecond
	defaultPoll = 50 * time.Millisecond
	// idleTicks bounds how many ticks apart the looks at an idle journal get:
	// a thousand of them, watched, must not keep a processor busy.
	idleTicks = 16
	// patience is how long a failing line with more behind it may be the
	// shadow of a write or a repair in progress.
	patience = 2 * time.Second
	// recentHeads is how many heads a follower remembers to find its way
	// after a repair. Without a match it starts over, which is only slower.
	recentHeads = 1024
)

// Tail yields the records of the journal in dir with numbers above after, and
// then those that are appended, until ctx ends or the loop over it does. It
// takes no lock and never writes; it shows what is in the file, which may be a
// moment before it is durable.
//
// A *CorruptError, ErrNotFound after the journal was removed, or a failure to
// read ends the sequence; the end of ctx ends it without an error.
func Tail(ctx context.Context, dir string, after uint64, o TailOptions) iter.Seq2[Change, error] {
	return Dir{Path: dir}.Tail(ctx, after, o)
}

// Tail is the function Tail on the disk of d. Only the real disk notifies.
func (d Dir) Tail(ctx context.Context, after uint64, o TailOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := &follower{dir: d, skip: after, chain: chain{hash: true}}
		defer f.close()
		hints, pause, stop := d.hints(o)
		defer stop()
		rest := pause
		tick := time.NewTimer(rest)
		defer tick.Stop()
		for waited := time.Duration(0); ; {
			f.news = false
			more, err := f.look(waited, func(c Change) bool { f.news = true; return yield(c, nil) })
			if err != nil {
				yield(Change{}, err)
			}
			if err != nil || !more {
				return
			}
			rest = calm(rest, pause, f.news || waited == 0 || hints == nil)
			tick.Reset(rest)
			select {
			case <-ctx.Done():
				return
			case <-hints:
				waited = 0
			case <-tick.C:
				waited = rest
			}
		}
	}
}

// calm is how long to wait for the next tick after one of rest: as long as the
// first time while something goes on, else twice as long, within reason.
func calm(rest, pause time.Duration, active bool) time.Duration {
	if active {
		return pause
	}
	return min(2*rest, idleTicks*pause)
}

// hints sets up notifications, or explains why there are none. A nil channel
// never delivers.
func (d Dir) hints(o TailOptions) (hints <-chan struct{}, pause time.Duration, stop func()) {
	hints, stop, err := d.subscribe(o.Notifier)
	if err == nil {
		return hints, orDefault(o.Tick, defaultTick), stop
	}
	if o.Polling != nil {
		o.Polling(err)
	}
	return nil, orDefault(o.Poll, defaultPoll), func() {}
}

func (d Dir) subscribe(shared *Notifier) (<-chan struct{}, func(), error) {
	disk := d.disk()
	if _, local := disk.(osDisk); !local {
		return nil, nil, errNoNotify
	}
	if remote, err := disk.Network(d.Path); err == nil && remote {
		return nil, nil, errNoNotify
	}
	if shared != nil {
		return shared.subscribe(d.Path)
	}
	own, err := NewNotifier()
	if err != nil {
		return nil, nil, err
	}
	hints, stop, err := own.subscribe(d.Path)
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return hints, func() {
		stop()
		_ = own.Close() // nothing depends on it any more
	}, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// follower knows what it has yielded last, and where that stands.
type follower struct {
	dir  Dir
	skip uint64 // records up to here are read and not yielded

	file   File
	info   fs.FileInfo
	chain  chain // of the last record read
	at     int64 // where the next line starts
	from   int64 // where the last record's line starts
	recent []mark
	buf    []byte

	news    bool          // the last look found something, or found it unsettled
	missing bool          // the file was gone at the last tick
	stuckAt int64         // where a line fails
	stuck   time.Duration // and for how long it has
}

// mark is a Head in memory.
type mark struct {
	seq  uint64
	link [linkSize]byte
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing was written
	}
}

// look yields what is new. waited is the time since the last look, zero if a
// notification cut it short. more is false when the consumer has enough.
func (f *follower) look(waited time.Duration, emit func(Change) bool) (more bool, err error) {
	size, fresh, err := f.reopen()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && f.file != nil && (!f.missing || waited == 0) {
			f.missing, f.news = f.missing || waited > 0, true
			return true, nil // perhaps it is only being replaced
		}
		return false, wrap("follow", f.dir.path(), notFound(err))
	}
	f.missing = false
	if fresh || size < f.at {
		if more, err := f.resync(size, emit); err != nil || !more {
			return more, err
		}
	}
	rule, more, err := f.read(size, emit)
	if err != nil || !more || rule == RuleNone {
		return more, err
	}
	if same, err := f.standsStill(size); err != nil || same {
		return true, errors.Join(err, f.endure(size, rule, waited))
	}
	if more, err = f.resync(size, emit); err != nil || !more {
		return more, err
	}
	_, more, err = f.read(size, emit)
	return more, err
}

// reopen makes sure that the open file is the one that the path names. fresh
// says that it is another than before.
func (f *follower) reopen() (size int64, fresh bool, err error) {
	d := f.dir.disk()
	info, err := d.Stat(f.dir.path())
	if err != nil {
		return 0, false, err
	}
	if f.file != nil && d.SameFile(f.info, info) {
		return info.Size(), false, nil
	}
	file, err := d.OpenFile(f.dir.path(), os.O_RDONLY, 0)
	if err != nil {
		return 0, false, err
	}
	if info, err = file.Stat(); err != nil {
		return 0, false, errors.Join(err, file.Close())
	}
	f.close()
	fresh = f.file != nil
	f.file, f.info = file, info
	return info.Size(), fresh, nil
}

// read yields the good lines up to size and says which rule the next one, if
// there is one, breaks.
func (f *follower) read(size int64, emit func(Change) bool) (Rule, bool, error) {
	rd := reader{lines: lines{r: f.file, at: f.at, end: size, buf: f.buf}, chain: f.chain, good: f.at}
	defer func() {
		if f.buf = rd.lines.buf; len(f.buf) > blockSize {
			f.buf = nil // one long line must not be paid for ever
		}
	}()
	for {
		r, err := rd.next(false)
		if errors.Is(err, io.EOF) {
			return rd.rule, true, nil
		}
		if err != nil {
			return RuleNone, false, wrap("follow", f.dir.path(), err)
		}
		f.chain, f.at, f.from = rd.chain, rd.good, rd.from
		f.remember()
		if r.Seq > f.skip && !emit(Change{Record: r}) {
			return RuleNone, false, nil
		}
	}
}

func (f *follower) remember() {
	if len(f.recent) == 2*recentHeads {
		f.recent = append(f.recent[:0], f.recent[recentHeads:]...)
	}
	f.recent = append(f.recent, mark{f.chain.seq, f.chain.link})
}

// standsStill says whether the last record read is still where it was, so
// that nothing before it was cut.
func (f *follower) standsStill(size int64) (bool, error) {
	if f.chain.seq == 0 {
		return true, nil
	}
	if size < f.at {
		return false, nil
	}
	line := make([]byte, f.at-f.from)
	if n, err := f.file.ReadAt(line, f.from); n < len(line) {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, wrap("follow", f.dir.path(), err)
	}
	return line[len(line)-1] == '\n' && linkOf(line[:len(line)-1]) == f.chain.link, nil
}

// resync finds the newest record that the file still shares with what was
// yielded, goes back to it, and says so if anything is lost.
func (f *follower) resync(size int64, emit func(Change) bool) (more bool, err error) {
	rd := reader{lines: lines{r: f.file, end: size}, chain: chain{hash: true}}
	common := follower{chain: chain{hash: true}}
	kept := 0
	for rd.chain.seq < f.chain.seq {
		_, err := rd.next(false)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, wrap("follow", f.dir.path(), err)
		}
		if i, ok := f.find(rd.chain); ok {
			common.chain, common.at, common.from, kept = rd.chain, rd.good, rd.from, i+1
		}
	}
	lost := common.chain.seq < f.chain.seq
	f.chain, f.at, f.from = common.chain, common.at, common.from
	f.recent = f.recent[:kept]
	f.stuck = 0
	if !lost {
		return true, nil
	}
	f.skip = min(f.skip, f.chain.seq)
	to := Head{}
	if f.chain.seq > 0 {
		to = Head{Seq: f.chain.seq, Link: hex.EncodeToString(f.chain.link[:])}
	}
	return emit(Change{Rewound: true, To: to}), nil
}

// find looks a record up among the recent ones, which are consecutive.
func (f *follower) find(c chain) (int, bool) {
	if len(f.recent) == 0 || c.seq < f.recent[0].seq {
		return 0, false
	}
	i := int(c.seq - f.recent[0].seq)
	return i, i < len(f.recent) && f.recent[i].link == c.link
}

// endure bears a failing line for a while: it may be written or repaired at
// this moment. One that stays, and is damage by the rules of Recover, ends the
// following.
func (f *follower) endure(size int64, rule Rule, waited time.Duration) error {
	f.news = true
	l := lines{r: f.file, at: f.at, end: size}
	if _, _, err := l.next(); err != nil && !errors.Is(err, errTooLong) && !errors.Is(err, io.EOF) {
		return wrap("follow", f.dir.path(), err)
	}
	if l.at == size {
		f.stuckAt = -1 // the last line is merely not finished
		return nil
	}
	if f.stuckAt != f.at {
		f.stuckAt, f.stuck = f.at, 0
		return nil
	}
	if f.stuck += waited; f.stuck < patience {
		return nil
	}
	f.stuck = 0
	b := bad{r: f.file, from: f.at, to: size, state: f.chain}
	verdict, broken, err := b.judge(rule)
	if err != nil {
		return wrap("follow", f.dir.path(), err)
	}
	res := Result{Verdict: verdict, Rule: broken, Reason: broken.words(), Good: f.at, Size: size, state: f.chain}
	return res.finish().corrupt(f.dir.path())
}
