package journal

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// torture says how hard to try: make torture sets BASIS_TORTURE.
func torture() bool { return os.Getenv("BASIS_TORTURE") != "" }

// scale is small by default, and large under BASIS_TORTURE.
func scale(small, large int) int {
	if torture() {
		return large
	}
	return small
}

// sample is a journal in memory and where its lines and commits begin.
type sample struct {
	bytes   []byte
	lines   []int // offset of each line, and the end
	commits []int // index of the first line of each commit, and the count
}

// makeSample builds a journal of mixed commits. foreign makes another chain.
func makeSample(records, payload int, foreign string) sample {
	s := sample{}
	c := chain{hash: true}
	rng := rand.New(rand.NewPCG(1, uint64(records)))
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	id := fmt.Sprintf(`{"journal":"%032x%s","format":1,"chain":"sha256-128"}`, 7, foreign)
	recs := []Record{}
	s.bytes = appendRecord(nil, &recs, &c, Draft{Type: TypeCreated, Data: []byte(id), NextGen: true}, now)
	s.lines, s.commits = []int{0}, []int{0}
	left := 1
	for len(s.lines) < records {
		if left == 0 {
			left = 1 + rng.IntN(5)
			recs = nil
			s.commits = append(s.commits, len(s.lines))
		}
		left--
		s.lines = append(s.lines, len(s.bytes))
		text := strings.Repeat("payload é ", 1+rng.IntN(payload/5))
		d := Draft{Type: "note.text", Data: fmt.Appendf(nil, `{"n":%d,"text":%q}`, len(s.lines), text)}
		d.NextGen = left == 0 && rng.IntN(3) == 0
		s.bytes = appendRecord(s.bytes, &recs, &c, d, now.Add(time.Duration(len(s.lines))*time.Second))
	}
	s.lines = append(s.lines, len(s.bytes))
	s.commits = append(s.commits, len(s.lines)-1)
	return s
}

// whole returns how many lines lie completely, newline included, in n bytes.
func (s sample) whole(n int) int {
	i := 0
	for i+1 < len(s.lines) && s.lines[i+1] <= n {
		i++
	}
	return i
}

func recovered(b []byte) Result { return Recover(bytes.NewReader(b), int64(len(b))) }

// JRN-42, JRN-96: every truncation leaves exactly the complete records.
func TestRecoverEveryTruncation(t *testing.T) {
	s := makeSample(40, 60, "")
	for n := range len(s.bytes) + 1 {
		got := recovered(s.bytes[:n])
		wantSeq, want := s.whole(n), Torn
		switch {
		case n == s.lines[wantSeq]:
			want = Clean
		case wantSeq+1 < len(s.lines) && n == s.lines[wantSeq+1]-1:
			wantSeq, want = wantSeq+1, NoNewline
		}
		if got.Verdict != want || got.Head.Seq != uint64(wantSeq) || got.Err != nil {
			t.Fatalf("Recover(%d of %d bytes) = %s at %d, want %s at %d", n, len(s.bytes), got.Verdict, got.Head.Seq, want, wantSeq)
		}
	}
}

// JRN-7, JRN-42, JRN-96: no flipped bit is accepted or taken for a torn tail.
func TestRecoverEveryBitFlip(t *testing.T) {
	s := makeSample(40, 60, "")
	step := scale(7, 1) // odd, so that every place in a byte has its turn
	for bit := 0; bit < 8*len(s.bytes); bit += step {
		b := bytes.Clone(s.bytes)
		b[bit/8] ^= 1 << (bit % 8)
		line := s.whole(bit / 8)
		if got := recovered(b); got.Verdict != Damaged || got.Head.Seq != uint64(line) {
			t.Fatalf("Recover(bit %d flipped in line %d) = %s %q at %d, want damaged at %d",
				bit, line+1, got.Verdict, got.Reason, got.Head.Seq, line)
		}
	}
}

// JRN-42: a power cut loses any units of the last commit; it is never called
// damage, and loses nothing that was acknowledged.
func TestRecoverPowerCuts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range scale(1500, 60_000) {
		s := makeSample(2+rng.IntN(30), 10+rng.IntN(400), "")
		last := s.commits[len(s.commits)-2]
		durable := s.lines[last]
		unit := []int{512, 4096}[round%2]
		b := bytes.Clone(s.bytes)
		for at := durable / unit * unit; at < len(b); at += unit {
			if rng.IntN(2) == 0 {
				clear(b[max(at, durable):min(at+unit, len(b))])
			}
		}
		b = b[:durable+rng.IntN(len(b)-durable+1)]
		got := recovered(b)
		if got.Verdict == Damaged || got.Head.Seq < uint64(last) {
			t.Fatalf("round %d: Recover(power cut, %d acknowledged) = %s %q at %d, want all acknowledged and no damage",
				round, last, got.Verdict, got.Reason, got.Head.Seq)
		}
	}
}

// JRN-42: a zeroed sector in data that later records prove is damage.
func TestRecoverZeroedSectors(t *testing.T) {
	for seed := range scale(6, 60) {
		s := makeSample(40+seed, 200, "")
		proof := s.lines[s.commits[len(s.commits)-2]] // the last commit proves all before
		for at := 0; at+sectorSize <= proof; at += sectorSize {
			b := bytes.Clone(s.bytes)
			clear(b[at : at+sectorSize])
			if got := recovered(b); got.Verdict != Damaged || got.Head.Seq != uint64(s.whole(at)) {
				t.Fatalf("Recover(sector at %d zeroed) = %s at %d, want damaged at %d", at, got.Verdict, got.Head.Seq, s.whole(at))
			}
		}
	}
}

// JRN-42, JRN-96: lines deleted, doubled, swapped or brought in from elsewhere.
func TestRecoverLineEdits(t *testing.T) {
	s, other := makeSample(40, 60, ""), makeSample(40, 60, "f")
	line := func(s sample, i int) []byte { return s.bytes[s.lines[i]:s.lines[i+1]] }
	n := len(s.lines) - 1
	join := func(order ...[]byte) []byte { return bytes.Join(order, nil) }
	check := func(what string, b []byte, seq int) {
		t.Helper()
		if got := recovered(b); got.Verdict != Damaged || got.Head.Seq != uint64(seq) {
			t.Fatalf("Recover(%s) = %s at %d, want damaged at %d", what, got.Verdict, got.Head.Seq, seq)
		}
	}
	for i := range n {
		before, after := s.bytes[:s.lines[i]], s.bytes[s.lines[i+1]:]
		if i < n-1 {
			check(fmt.Sprintf("line %d deleted", i+1), join(before, after), i)
		}
		check(fmt.Sprintf("line %d doubled", i+1), join(before, line(s, i), line(s, i), after), i+1)
		good := i
		if i == 0 {
			good = 1 // a first line is as good as any other; the next one is not
		}
		check(fmt.Sprintf("foreign line before line %d", i+1), join(before, line(other, i), line(s, i), after), good)
		for j := i + 1; j < n; j++ {
			between := s.bytes[s.lines[i+1]:s.lines[j]]
			check(fmt.Sprintf("lines %d and %d swapped", i+1, j+1),
				join(before, line(s, j), between, line(s, i), s.bytes[s.lines[j+1]:]), i)
		}
	}
}

// FR-002: a block of NUL in the middle made a resume go on from an old prefix.
func TestFR002NulBlockInTheMiddleIsDamageNamingTheLine(t *testing.T) {
	s := makeSample(10, 200, "")
	b := bytes.Join([][]byte{s.bytes[:s.lines[4]], make([]byte, 300), {'\n'}, s.bytes[s.lines[5]:]}, nil)
	got := recovered(b)
	if got.Verdict != Damaged || got.Head.Seq != 4 {
		t.Fatalf("Recover(line 5 is NUL) = %s at %d, want damaged after 4", got.Verdict, got.Head.Seq)
	}
	if text := got.corrupt("f").Error(); !strings.Contains(text, "line 5") {
		t.Errorf("error = %q, want it to name line 5", text)
	}
}

// FR-003: a record that lacks only its newline was thrown away, and half a
// character kept the file from opening.
func TestFR003OnlyARecordThatDoesNotParseIsTorn(t *testing.T) {
	c, recs := chain{hash: true}, []Record{}
	now := time.Unix(1e9, 0)
	b := appendRecord(nil, &recs, &c, Draft{Type: TypeCreated, Data: []byte(`{}`), NextGen: true}, now)
	first := len(b)
	b = appendRecord(b, &recs, &c, Draft{Type: "note.text", Data: []byte(`{"text":"🙂"}`)}, now)
	if got := recovered(b[:len(b)-1]); got.Verdict != NoNewline || got.Head.Seq != 2 {
		t.Errorf("Recover(no newline) = %s at %d, want no_newline at 2", got.Verdict, got.Head.Seq)
	}
	cut := bytes.Index(b, []byte("🙂")) + 2
	if got := recovered(b[:cut]); got.Verdict != Torn || got.Head.Seq != 1 || got.Good != int64(first) {
		t.Errorf("Recover(cut in a character) = %s at %d, want torn at 1", got.Verdict, got.Head.Seq)
	}
}

// JRN-26, JRN-54: what the rules conclude from whole records behind the good
// prefix.
func TestRecoverEvidence(t *testing.T) {
	s := makeSample(40, 100, "")
	last := s.lines[len(s.lines)-2]
	tests := []struct {
		name string
		b    []byte
		want Verdict
		rule Rule
	}{
		{"good record, then junk", append(bytes.Clone(s.bytes[:len(s.bytes)-1]), "junk"...), Damaged, RuleTrailing},
		{"good record, then a lost sector", append(bytes.Clone(s.bytes[:len(s.bytes)-1]), make([]byte, 2*sectorSize)...), NoNewline, RuleNone},
		{"good record, then a lost sector and more", append(append(bytes.Clone(s.bytes[:len(s.bytes)-1]), make([]byte, 2*sectorSize)...), 'x'), Torn, RuleNone},
		{"first line again, unterminated", append(bytes.Clone(s.bytes), s.bytes[:s.lines[1]-1]...), Damaged, RuleSequence},
		{"a lost sector, then an old record", append(append(bytes.Clone(s.bytes), make([]byte, 2*sectorSize)...), s.bytes[:s.lines[1]]...), Damaged, RuleSequence},
		{"garbage line", append(bytes.Clone(s.bytes), "garbage\n"...), Damaged, RuleShape},
		{"partial garbage", append(bytes.Clone(s.bytes), "garbage"...), Torn, RuleNone},
		{"lower generation", forge(s, func(e *entry) { e.gen-- }), Damaged, RuleGeneration},
		{"generation jumps", forge(s, func(e *entry) { e.gen += 2 }), Damaged, RuleGeneration},
		{"time goes back", forge(s, func(e *entry) { e.stamp = []byte("2020-01-01T00:00:00.000Z") }), Damaged, RuleTime},
		{"position out of turn", forge(s, func(e *entry) { e.pos = 9 }), Damaged, RulePosition},
		{"other link", forge(s, func(e *entry) { e.prev[0]++ }), Damaged, RuleLink},
		{"no journal.created", s.bytes[s.lines[1]:], Damaged, RuleFirst},
		{"last line cut at the front", append(bytes.Clone(s.bytes[:last]), s.bytes[last+5:]...), Damaged, RuleShape},
	}
	for _, tt := range tests {
		if got := recovered(tt.b); got.Verdict != tt.want || got.Rule != tt.rule {
			t.Errorf("%s: Recover = %s %q, want %s %q", tt.name, got.Verdict, got.Rule, tt.want, tt.rule)
		}
	}
}

// forge appends a record with a right checksum and something else wrong.
func forge(s sample, change func(*entry)) []byte {
	res := recovered(s.bytes)
	e := entry{
		seq: res.Head.Seq + 1, gen: res.Gen, kind: []byte("note.text"),
		stamp: []byte("2027-01-01T00:00:00.000Z"), prev: res.state.link, data: []byte("{}"),
	}
	change(&e)
	return appendLine(bytes.Clone(s.bytes), e)
}

// JRN-61, as amended to 32 MiB: an endless line neither counts nor is held in
// memory, and what stands behind it is still evidence.
func TestRecoverLongLine(t *testing.T) {
	s := makeSample(6, 60, "")
	cut := s.lines[3]
	hole := &sparse{head: s.bytes[:cut], gap: MaxRecord + 1<<20, tail: s.bytes[cut:]}
	if got := Recover(hole, hole.size()); got.Verdict != Torn || got.Head.Seq != 3 {
		t.Errorf("Recover(lost gap before the commit after) = %s %q at %d, want torn at 3", got.Verdict, got.Rule, got.Head.Seq)
	}
	behind := forgeAt(s, func(e *entry) { e.seq += 5 })
	hole.tail = append([]byte{'\n'}, behind...)
	if got := Recover(hole, hole.size()); got.Verdict != Damaged || got.Rule != RuleProof {
		t.Errorf("Recover(gap with proof behind) = %s %q, want damaged by proof", got.Verdict, got.Rule)
	}
	hole.fill = 'x'
	hole.tail = nil
	if got := Recover(hole, hole.size()); got.Verdict != Damaged || got.Head.Seq != 3 {
		t.Errorf("Recover(endless line) = %s at %d, want damaged at 3", got.Verdict, got.Head.Seq)
	}
}

func forgeAt(s sample, change func(*entry)) []byte { return forge(s, change)[len(s.bytes):] }

// sparse is a file with a gap of one byte repeated.
type sparse struct {
	head, tail []byte
	gap        int64
	fill       byte
}

func (s *sparse) size() int64 { return int64(len(s.head)) + s.gap + int64(len(s.tail)) }

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) && off < s.size() {
		var k int
		switch h := int64(len(s.head)); {
		case off < h:
			k = copy(p[n:], s.head[off:])
		case off < h+s.gap:
			part := p[n:min(int64(len(p)), int64(n)+h+s.gap-off)]
			copy(part, bytes.Repeat([]byte{s.fill}, len(part)))
			k = len(part)
		default:
			k = copy(p[n:], s.tail[off-h-s.gap:])
		}
		n += k
		off += int64(k)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// JRN-41, JRN-95: Recover never panics, never reports more than it holds, and
// what it calls good it calls good again.
func FuzzRecover(f *testing.F) {
	s := makeSample(8, 60, "")
	f.Add(s.bytes)
	f.Add(s.bytes[:len(s.bytes)-1])
	f.Add(s.bytes[:len(s.bytes)-20])
	f.Add(append(bytes.Clone(s.bytes), make([]byte, 700)...))
	f.Add(append(bytes.Clone(s.bytes), s.bytes...))
	f.Add([]byte(`{"type":"mess`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := recovered(b)
		if got.Err != nil || got.Good > int64(len(b)) || got.Commit > got.Good {
			t.Fatalf("Recover = %+v for %d bytes, want bounds within", got, len(b))
		}
		if n := bytes.Count(b, []byte("\n")); got.Head.Seq > uint64(n)+1 {
			t.Fatalf("Recover = %d records in %d lines", got.Head.Seq, n)
		}
		again := recovered(b[:got.Good])
		if again.Head != got.Head || (again.Verdict != Clean && again.Verdict != NoNewline) {
			t.Fatalf("Recover(good prefix) = %s at %v, want %v", again.Verdict, again.Head, got.Head)
		}
	})
}

// JRN-56, JRN-57: a replay allocates for what is kept, not for each record.
func TestReplayDoesNotAllocatePerRecord(t *testing.T) {
	data := makeSample(2000, 60, "").bytes
	got := testing.AllocsPerRun(3, func() {
		rd := reader{lines: lines{r: bytes.NewReader(data), end: int64(len(data))}, chain: chain{hash: true}}
		for {
			if _, err := rd.next(false); err != nil {
				break
			}
		}
		if rd.chain.seq != 2000 {
			t.Errorf("replay ends at %d, want 2000", rd.chain.seq)
		}
	})
	if got > 20 {
		t.Errorf("replay of 2000 records = %v allocations, want a few", got)
	}
}
