package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// console is the only writer of both streams. Sinks, warnings, questions and
// the clock write from goroutines of their own, hence the mutex.
//
// On a terminal one quiet line below everything else says what is going on. It
// is taken away before anything else is written and drawn again afterwards,
// and it never reaches a pipe or a log.
type console struct {
	mu             sync.Mutex
	stdout, stderr io.Writer
	outTTY         bool
	live           bool // the live line may be drawn
	width          func() int
	now            func() time.Time

	lost    bool // standard output took a write no more: nothing is written to it again
	midline bool // standard output is a terminal and stands in mid-line
	asking  bool // a question stands on the screen
	drawn   int  // columns of the live line on the screen
	shows   activity

	ticks  sync.WaitGroup
	ticked chan struct{} // closed to stop the clock; nil is not running
}

// activity is what the live line shows.
type activity struct {
	begun  time.Time // zero: nothing is going on
	tokens int64
	doing  string
}

func newConsole(e Env) *console {
	c := &console{
		stdout: e.Stdout, stderr: e.Stderr, outTTY: is(e.StdoutTTY), now: e.Now, width: e.Width,
		live: is(e.StderrTTY) && !e.dumb(),
	}
	if c.width == nil {
		c.width = func() int { return 0 }
	}
	return c
}

// print writes to standard output as it is.
func (c *console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == "" {
		return
	}
	c.erase()
	c.write(text)
	c.midline = c.outTTY && !strings.HasSuffix(text, "\n")
	c.draw()
}

// reply prints a whole message for a person, with one newline at its end.
func (c *console) reply(text string) {
	if c.outTTY {
		text = printable(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	c.print(text)
}

// endLine ends a line of standard output that was begun.
func (c *console) endLine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakLine()
	c.draw()
}

// say writes whole lines to standard error.
func (c *console) say(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.breakLine()
	_, _ = io.WriteString(c.stderr, text+"\n") // nobody is left to be told
	c.draw()
}

// ask writes the end of a question; the cursor stays behind it. done is called
// once it is answered or given up.
func (c *console) ask(text string) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.breakLine()
	c.asking = true
	_, _ = io.WriteString(c.stderr, text) // as above
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = false
		c.draw()
	}
}

// begin starts the live line.
func (c *console) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live || c.ticked != nil {
		return
	}
	c.shows.begun = c.now()
	c.ticked = make(chan struct{})
	c.ticks.Go(func() { c.tick(c.ticked) })
	c.draw()
}

// liveTick is how often the live line's clock moves.
const liveTick = time.Second

func (c *console) tick(stop <-chan struct{}) {
	t := time.NewTicker(liveTick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			c.update(func(*activity) {})
		case <-stop:
			return
		}
	}
}

// update changes what the live line shows.
func (c *console) update(change func(*activity)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.shows)
	c.draw()
}

// close takes the live line away for good and ends a line that was begun.
func (c *console) close() {
	c.mu.Lock()
	stop := c.ticked
	c.ticked = nil
	c.erase()
	c.shows = activity{}
	c.breakLine()
	c.mu.Unlock()
	if stop != nil {
		close(stop)
		c.ticks.Wait()
	}
}

// out and err are the streams for code that wants a writer.
func (c *console) out() io.Writer { return writerFunc(c.print) }

func (c *console) err() io.Writer {
	return writerFunc(func(s string) { c.say(strings.TrimSuffix(s, "\n")) })
}

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// The methods below are called with the mutex held.

func (c *console) write(text string) {
	if c.lost || text == "" {
		return
	}
	if _, err := io.WriteString(c.stdout, text); err != nil {
		c.lost = true
	}
}

func (c *console) breakLine() {
	if c.midline {
		c.write("\n")
		c.midline = false
	}
}

// erase takes the live line from the screen.
func (c *console) erase() {
	if c.drawn == 0 {
		return
	}
	_, _ = io.WriteString(c.stderr, "\r"+strings.Repeat(" ", c.drawn)+"\r") // as in say
	c.drawn = 0
}

// draw puts the live line on the screen as it now reads.
func (c *console) draw() {
	if !c.live || c.shows.begun.IsZero() || c.midline || c.asking {
		return
	}
	text := c.shows.line(c.now(), c.columns())
	width := utf8.RuneCountInString(text)
	pad := max(c.drawn-width, 0)
	_, _ = io.WriteString(c.stderr, "\r"+text+strings.Repeat(" ", pad)+strings.Repeat("\b", pad)) // as in say
	c.drawn = width
}

func (c *console) columns() int {
	if w := c.width(); w > 0 {
		return w
	}
	return 80
}

// line is the live line, short enough not to wrap.
func (a activity) line(now time.Time, columns int) string {
	parts := []string{elapsed(now.Sub(a.begun))}
	if a.tokens > 0 {
		parts = append(parts, tokens(a.tokens)+" tokens")
	}
	if a.doing != "" {
		parts = append(parts, flat(a.doing))
	}
	return cut("  "+strings.Join(parts, " · "), max(columns-2, 8))
}

// elapsed is a running time as a clock shows it: 7s, 2m07s, 1h02m.
func elapsed(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return two(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	}
	return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
}

func two(a time.Duration, unit string, b time.Duration, smaller string) string {
	return fmt.Sprintf("%d%s%02d%s", int64(a), unit, int64(b), smaller)
}

// cut keeps at most n characters, the last an ellipsis if any were cut.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printable replaces what a terminal would obey instead of showing it: words
// of a model or of a file must not move the cursor or change what was written.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !reorders(r) {
			return r
		}
		return '�'
	}, s)
}

// reorders reports whether a character changes the order in which others are
// shown, so that a command can read otherwise than it runs.
func reorders(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// flat is printable text on one line: words of a server, a model or a file
// must not make lines of their own among those that basis says.
func flat(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' })
	return printable(strings.Join(lines, " "))
}
