package journaltest

import (
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
)

// Sector is the unit in which unsynced data is lost, in bytes.
const Sector = 512

// write changes what is seen and remembers each sector as unsynced.
func (n *node) write(p []byte, off int64) {
	n.data = overlay(n.data, p, off)
	for len(p) > 0 {
		k := min(int64(len(p)), Sector-off%Sector)
		n.dirty = append(n.dirty, dataOp{off: off, bytes: append([]byte(nil), p[:k]...), size: int64(len(n.data))})
		p, off = p[k:], off+k
	}
}

func (n *node) truncate(size int64) {
	n.data = resize(n.data, size, 0)
	n.dirty = append(n.dirty, dataOp{off: size, cut: true, size: size})
}

// sync makes what is seen durable, except what an earlier sync has dropped:
// there the disk keeps what it had.
func (n *node) sync() {
	for _, op := range n.dirty {
		n.disk = op.apply(n.disk, 0)
	}
	n.disk = resize(n.disk, int64(len(n.data)), 0)
	n.dirty = nil
}

func (op dataOp) apply(b []byte, filler byte) []byte {
	if op.cut {
		return resize(b, min(op.off, int64(len(b))), filler)
	}
	if op.off > int64(len(b)) {
		b = resize(b, op.off, filler)
	}
	return overlay(b, op.bytes, op.off)
}

func overlay(b, p []byte, off int64) []byte {
	if end := off + int64(len(p)); end > int64(len(b)) {
		b = resize(b, end, 0)
	}
	copy(b[off:], p)
	return b
}

// resize cuts b or fills it up.
func resize(b []byte, size int64, filler byte) []byte {
	if old := int64(len(b)); old < size {
		b = append(b, make([]byte, size-old)...)
		for i := old; filler != 0 && i < size; i++ {
			b[i] = filler
		}
	}
	return b[:size]
}

// CrashOptions say which disks Crashes makes.
type CrashOptions struct {
	// Samples bounds how many disks are made when there are more than All;
	// 0 means 200. Seed chooses them.
	Samples int
	Seed    uint64
	// All is up to how many possible disks every one is made; 0 means 1024.
	All int
	// Stale fills sectors that were never written with old bytes instead of
	// NUL, as a file system without ordering may.
	Stale bool
}

// Crashes yields the disks that may be found after a power cut at this moment.
// They are independent of d, unlocked and without faults.
func (d *Disk) Crashes(o CrashOptions) iter.Seq[*Disk] {
	d.mu.Lock()
	defer d.mu.Unlock()
	radix := d.choices()
	all, samples := o.All, o.Samples
	if all == 0 {
		all = 1024
	}
	if samples == 0 {
		samples = 200
	}
	rng := rand.New(rand.NewPCG(o.Seed, uint64(len(radix))))
	return func(yield func(*Disk) bool) {
		if total := product(radix, all); total > 0 {
			for i := range total {
				if !yield(d.image(digits(i, radix), o.Stale)) {
					return
				}
			}
			return
		}
		for range samples {
			pick := make([]int, len(radix))
			for i, r := range radix {
				pick[i] = rng.IntN(r)
			}
			if !yield(d.image(pick, o.Stale)) {
				return
			}
		}
	}
}

// choices lists how many ways each unsynced thing can turn out: first the
// entries, then for each file its sectors and its size.
func (d *Disk) choices() []int {
	var radix []int
	for range d.pending {
		radix = append(radix, 2)
	}
	for _, n := range d.nodes {
		for range n.dirty {
			radix = append(radix, 2)
		}
		radix = append(radix, len(n.sizes()))
	}
	return radix
}

// sizes lists the sizes a file may have.
func (n *node) sizes() []int64 {
	sizes := []int64{int64(len(n.disk))}
	for _, op := range n.dirty {
		if op.size != sizes[len(sizes)-1] {
			sizes = append(sizes, op.size)
		}
	}
	return sizes
}

// product multiplies, or returns 0 beyond limit.
func product(radix []int, limit int) int {
	p := 1
	for _, r := range radix {
		if p *= r; p > limit {
			return 0
		}
	}
	return p
}

func digits(i int, radix []int) []int {
	out := make([]int, len(radix))
	for k, r := range radix {
		out[k] = i % r
		i /= r
	}
	return out
}

// image makes the disk of one outcome.
func (d *Disk) image(pick []int, stale bool) *Disk {
	next := func() int {
		p := pick[0]
		pick = pick[1:]
		return p
	}
	img := &Disk{FreeBytes: d.FreeBytes, Remote: d.Remote}
	kept := make([]map[string]*node, len(d.nodes))
	for i, n := range d.nodes {
		img.nodes = append(img.nodes, &node{id: i, mode: n.mode})
		kept[i] = map[string]*node{}
		maps.Copy(kept[i], n.kept)
	}
	for _, op := range d.pending {
		if next() == 0 {
			continue
		}
		if op.from != nil && kept[op.from.id][op.fromName] == op.what {
			delete(kept[op.from.id], op.fromName)
		}
		if op.to != nil {
			kept[op.to.id][op.toName] = op.what
		}
	}
	for i, n := range d.nodes {
		img.nodes[i].data = n.outcome(next, stale)
		img.nodes[i].disk = append([]byte(nil), img.nodes[i].data...)
	}
	for i, n := range img.nodes {
		if n.mode&fs.ModeDir != 0 {
			n.names, n.kept = map[string]*node{}, map[string]*node{}
			for name, child := range kept[i] {
				n.names[name], n.kept[name] = img.nodes[child.id], img.nodes[child.id]
			}
		}
	}
	img.root = img.nodes[0]
	return img
}

// outcome is a file's content after the cut.
func (n *node) outcome(next func() int, stale bool) []byte {
	filler := byte(0)
	if stale {
		filler = 'x'
	}
	b := append([]byte(nil), n.disk...)
	for _, op := range n.dirty {
		if next() == 1 {
			b = op.apply(b, filler)
		}
	}
	return resize(b, n.sizes()[next()], filler)
}

// Snapshot returns an independent copy of what is seen now, as if everything
// had been synced.
func (d *Disk) Snapshot() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	img := &Disk{FreeBytes: d.FreeBytes, Remote: d.Remote}
	for i, n := range d.nodes {
		img.nodes = append(img.nodes, &node{
			id: i, mode: n.mode,
			data: append([]byte(nil), n.data...), disk: append([]byte(nil), n.data...),
		})
	}
	for i, n := range d.nodes {
		if !n.mode.IsDir() {
			continue
		}
		img.nodes[i].names, img.nodes[i].kept = map[string]*node{}, map[string]*node{}
		for name, child := range n.names {
			img.nodes[i].names[name], img.nodes[i].kept[name] = img.nodes[child.id], img.nodes[child.id]
		}
	}
	img.root = img.nodes[0]
	return img
}
