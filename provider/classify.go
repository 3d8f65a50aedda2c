package provider

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/basisagent/basis/provider/internal/wirejson"
)

// maxMessage is how many bytes of a server's words an error keeps.
const maxMessage = 2000

// Failure is what a server answered instead of an answer: a response with an
// error status, or an error object inside a stream.
type Failure struct {
	Status int                      // 0 inside a stream
	Header func(name string) string // nil where there is none
	Body   []byte                   // the body or the object; may be anything
	Now    time.Time                // when it was received; resolves absolute times
}

// Classify says what kind of failure it is, in the order status, machine code,
// words, as every known vendor sends them. Message holds the server's words.
func Classify(f Failure) *Error {
	if f.Header == nil {
		f.Header = func(string) string { return "" }
	}
	n := readNotice(f.Body)
	status := f.Status
	if status < 400 && n.status >= 400 && n.status < 600 {
		status = n.status
	}
	e := &Error{Status: f.Status, Message: n.message}
	e.Kind = n.kind(status)
	if e.Message == "" {
		e.Message = plainMessage(f.Body)
	}
	e.RetryAfter = retryAfter(f, n)
	switch f.Header("x-should-retry") {
	case "true":
		e.Advice = AdviceRetry
	case "false":
		e.Advice = AdviceStop
	}
	return e
}

// notice is what an error body says, wherever it says it.
type notice struct {
	codes   string // type, code and status words, lower case, each between spaces
	message string // the words for people
	words   string // everything readable, lower case
	status  int    // a status code inside the body
	delay   string // Gemini's RetryInfo
}

// readNotice looks for error.type, .code, .status, .message, .metadata.raw and
// .details, for error as a string, and for the same at the top level.
func readNotice(body []byte) notice {
	var n notice
	c := wirejson.NewCursor(body)
	if c.Kind() == wirejson.Array { // Gemini without alt=sse
		c.Array(func() { n.members(&c, 0) })
	} else {
		n.members(&c, 0)
	}
	if c.Err() != nil {
		n.message = ""
	}
	n.codes = strings.ToLower(n.codes)
	n.words = strings.ToLower(n.message+" "+n.words) + " " + n.codes
	if n.message == "" && c.Err() != nil {
		n.words += strings.ToLower(string(body[:min(len(body), 4<<10)]))
	}
	return n
}

func (n *notice) members(c *wirejson.Cursor, depth int) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "error", "response", "innererror":
			n.nested(c, depth)
		case "type", "code", "status", "object":
			n.code(c)
		case "status_code":
			n.number(c)
		case "message", "detail", "msg":
			n.say(c)
		case "metadata":
			c.Object(func(key []byte) {
				if string(key) == "raw" {
					n.say(c)
				}
			})
		case "details":
			c.Array(func() { n.detail(c) })
		}
	})
}

func (n *notice) nested(c *wirejson.Cursor, depth int) {
	switch c.Kind() {
	case wirejson.Object:
		if depth < 3 {
			n.members(c, depth+1)
		}
	case wirejson.String:
		n.say(c)
	case wirejson.None, wirejson.Array, wirejson.Number, wirejson.True, wirejson.False, wirejson.Null:
	}
}

// detail reads one of Google's typed details.
func (n *notice) detail(c *wirejson.Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "retryDelay":
			n.delay = c.String()
		case "reason":
			n.code(c)
		}
	})
}

func (n *notice) code(c *wirejson.Cursor) {
	if c.Kind() == wirejson.Number {
		n.number(c)
		return
	}
	word, ok := c.Text()
	if !ok {
		return
	}
	if len(word) == 3 && word[0] >= '4' && word[0] <= '5' {
		n.status = int(word[0]-'0')*100 + int(word[1]-'0')*10 + int(word[2]-'0')
	}
	if len(n.codes) < maxMessage {
		n.codes += " " + string(word) + " "
	}
}

func (n *notice) number(c *wirejson.Cursor) {
	if code, ok := c.Int(); ok && code >= 400 && code < 600 {
		n.status = int(code)
	}
}

// say adds words for people, each only once.
func (n *notice) say(c *wirejson.Cursor) {
	text, ok := c.Text()
	words := clip(strings.TrimSpace(string(text)))
	if !ok || words == "" || strings.Contains(n.message, words) {
		return
	}
	if n.message != "" {
		words = n.message + ": " + words
	}
	n.message = clip(words)
}

// plainMessage is a body that is no error object, made fit to read.
func plainMessage(body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), 4<<10)]), "\uFFFD"))
	if isHTML(body) {
		if title := htmlTitle(text); title != "" {
			return "an HTML page titled " + title
		}
		return "an HTML page"
	}
	return clip(text)
}

func isHTML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\xEF\xBB\xBF"), []byte("<"))
}

func htmlTitle(page string) string {
	_, rest, ok := strings.Cut(page, "<title>")
	if !ok {
		return ""
	}
	title, _, ok := strings.Cut(rest, "</title>")
	if !ok {
		return ""
	}
	return clip(strings.TrimSpace(title))
}

// clip cuts text to maxMessage bytes, at a rune.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}
