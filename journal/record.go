package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Limits of the format and of this program.
const (
	// MaxRecord is the longest line, in bytes, its newline included. Readers
	// allocate no more than this for one line.
	MaxRecord = 32 << 20
	// MaxDepth is how deeply objects and arrays of a payload may nest.
	MaxDepth = 64
	// MaxType is the longest type, in bytes.
	MaxType = 64
	// MaxBytes is where a journal ends for good.
	MaxBytes = 4 << 30
	// MaxRecords is the highest number a record may have.
	MaxRecords = 16_000_000
	// WarnBytes is the size from which a caller should say that the journal
	// is large and continue in a new one soon.
	WarnBytes = 1 << 30
	// DefaultMinFree is Options.MinFree where that is 0.
	DefaultMinFree = 64 << 20
	// DefaultLockWait is Options.LockWait where that is 0.
	DefaultLockWait = 100 * time.Millisecond
)

// Types that belong to this package. All others are the caller's.
const (
	TypeCreated  = "journal.created"
	TypeRepaired = "journal.repaired"
	TypeSalvaged = "journal.salvaged"
)

// Names below a journal's directory.
const (
	// JournalFile is the journal itself.
	JournalFile = "events.jsonl"
	// LockFile is locked by the attached process. It is never replaced.
	LockFile = "attach.lock"
	// BlobDir holds large payloads, see Blobs.
	BlobDir = "blobs"
	// TornDir holds what repairs set aside.
	TornDir = "torn"
)

// Draft is what a caller wants recorded.
type Draft struct {
	// Type is two to four dotted segments of [a-z][a-z0-9_]*, at most MaxType
	// bytes. The journal.* types are not for callers.
	Type string
	// Data is one compact JSON object in valid UTF-8, see Compact.
	Data json.RawMessage
	// NextGen raises the attach generation from this record on. The first
	// draft after Open always does.
	NextGen bool
}

// Record is one line of a journal.
type Record struct {
	Seq  uint64    // from 1, without gaps
	Type string    // what the payload is
	Time time.Time // UTC, whole milliseconds, never before the record before
	Gen  uint64    // attach generation, from 1
	Pos  int       // place within the commit, from 0
	// Data is the payload. In a record from an iterator it is borrowed until
	// the next step; in one returned by Append it is the draft's own.
	Data json.RawMessage

	prev, link [linkSize]byte
	line       []byte // the stored bytes without newline, when link is not known yet
}

// Prev returns the link of the record before this one, as the line states it:
// 32 lower-case hex digits, all zero for the first record.
func (r Record) Prev() string { return hex.EncodeToString(r.prev[:]) }

// Link returns the link of this record: the first 16 bytes of the SHA-256 of
// its line, without newline, in hex. It is as short-lived as Data.
func (r Record) Link() string {
	link := r.link
	if r.line != nil {
		link = linkOf(r.line)
	}
	return hex.EncodeToString(link[:])
}

// Head names this record as the end of a journal. It is as short-lived as Data.
func (r Record) Head() Head { return Head{Seq: r.Seq, Link: r.Link()} }

// Head names a record by its number and link, and with it everything before.
// The zero Head is the empty journal's.
type Head struct {
	Seq  uint64 `json:"seq"`
	Link string `json:"link"`
}

// Anchor is a Head kept outside the journal, against which it is checked.
type Anchor = Head

// Options configures Create and Open. The zero value is usable.
type Options struct {
	// Disk is where files are; nil means the real one.
	Disk Disk
	// Now stamps records; nil means time.Now.
	Now func() time.Time
	// NewID makes the journal's random id: 32 lower-case hex digits. Nil
	// means 16 bytes from crypto/rand.
	NewID func() string
	// Program, Agent, Host and Boot go into journal.created: the program and
	// its version, the agent's id, the machine and its boot. An empty Host or
	// Boot is asked from the system, as far as it knows.
	Program, Agent, Host, Boot string
	// AllowNetworkFS lets Open and Create work on a network file system.
	AllowNetworkFS bool
	// LockWait bounds the wait for attach.lock in Open; 0 means
	// DefaultLockWait, negative means a single try.
	LockWait time.Duration
	// MinFree is how many bytes must be free on the disk; 0 means
	// DefaultMinFree, negative turns the check off.
	MinFree int64
	// Anchors are heads known from elsewhere. Open refuses a journal that
	// does not contain them.
	Anchors []Anchor
}

// withDefaults fills what the zero value leaves open.
func (o Options) withDefaults() Options {
	if o.Disk == nil {
		o.Disk = OSDisk()
	}
	if o.Now == nil {
		o.Now = time.Now // the one seam through which time enters a journal
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname() // only for people; unknown is empty
	}
	if o.Boot == "" {
		o.Boot = bootID()
	}
	if o.LockWait == 0 {
		o.LockWait = DefaultLockWait
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	return o
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}

// bootID names the running boot where the system has a name for it.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // only for people
	}
	return strings.TrimSpace(string(b))
}

// created is the payload of journal.created.
type created struct {
	Journal string `json:"journal"`
	Format  int    `json:"format"`
	Chain   string `json:"chain"`
	Agent   string `json:"agent,omitempty"`
	Program string `json:"program,omitempty"`
	Host    string `json:"host,omitempty"`
	Boot    string `json:"boot,omitempty"`
}

const (
	formatVersion = 1
	chainName     = "sha256-128"
)

// parseCreated reads the payload of the first record.
func parseCreated(data []byte) (created, error) {
	var c created
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("first record: %w", err)
	}
	if c.Format != formatVersion || c.Chain != chainName {
		return c, fmt.Errorf("%w: format %d, chain %.32q, written by %.64q", ErrFormat, c.Format, c.Chain, c.Program)
	}
	return c, nil
}

// repaired is the payload of journal.repaired: one per piece set aside, and
// one for a newline that was put back.
type repaired struct {
	Verdict  string `json:"verdict"`
	CutBytes int64  `json:"cut_bytes"`
	SHA256   string `json:"sha256,omitempty"`
	File     string `json:"file,omitempty"` // below the journal's directory, with slashes
	AfterSeq uint64 `json:"after_seq"`
}

// linkSize is how many bytes of a SHA-256 link one line to the next.
const linkSize = 16

// linkOf hashes a line without its newline.
func linkOf(line []byte) [linkSize]byte {
	sum := sha256.Sum256(line)
	return [linkSize]byte(sum[:linkSize])
}
