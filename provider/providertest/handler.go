package providertest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are a scripted server. Steps are answered in order, one per request;
// a request beyond them is refused and counts as a violation.
type Options struct {
	Steps []Step
	// Repeat answers the last step for ever.
	Repeat bool
	// Answer makes the step for a request where Steps has none left.
	Answer func(Request) Step
	// Wire is the only wire that is spoken; "" is all of them. Which one a
	// request means is told by its path.
	Wire string
	// Models are the ids that the listing has, oldest first; none is one
	// model named test-model.
	Models []string
	// KeepBodies is how many of the newest bodies Requests still has; 0 is all.
	// A long run's requests grow with the square of its rounds.
	KeepBodies int
	// Called is how many calls were given ids before, so that two servers of one
	// conversation give different ones.
	Called int
	// Lenient takes requests that CheckRequest refuses.
	Lenient bool
}

// Handler is a scripted server without a listener.
type Handler struct {
	opts   Options
	closed chan struct{}

	mu         sync.Mutex
	requests   []Request
	lookups    []string
	violations []error
	ledger     *ledger
	served     int
	active     int           // requests that are being answered
	changed    chan struct{} // closed and replaced at each change
}

// NewHandler makes a handler. Close it after use, else hanging answers hang.
func NewHandler(o Options) *Handler {
	h := &Handler{opts: o, closed: make(chan struct{}), changed: make(chan struct{}), ledger: newLedger()}
	h.ledger.calls = o.Called
	return h
}

// Close ends every answer that holds or hangs. It must be called once.
func (h *Handler) Close() { close(h.closed) }

// Requests are the requests for completions so far, in order of arrival.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Request(nil), h.requests...)
}

// Lookups are the paths of the requests for a list of models, or for one of
// them, so far.
func (h *Handler) Lookups() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lookups...)
}

// Violations are the faults of requests that a strict server would refuse.
func (h *Handler) Violations() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]error(nil), h.violations...)
}

// WaitFor returns as soon as n requests have arrived, or with ctx's error.
func (h *Handler) WaitFor(ctx context.Context, n int) error {
	if err := h.await(ctx, func() bool { return len(h.requests) >= n }); err != nil {
		return fmt.Errorf("wait for request %d of a scripted server: %w", n, err)
	}
	return nil
}

// WaitIdle returns as soon as no request is being answered, or with ctx's
// error. A client that cancels a request is seen by it.
func (h *Handler) WaitIdle(ctx context.Context) error {
	if err := h.await(ctx, func() bool { return h.active == 0 }); err != nil {
		return fmt.Errorf("wait for the end of a scripted answer: %w", err)
	}
	return nil
}

func (h *Handler) await(ctx context.Context, is func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := is(), h.changed
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter counts a request that is being answered; the result ends it.
func (h *Handler) enter() (leave func()) {
	h.count(1)
	return func() { h.count(-1) }
}

func (h *Handler) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active += n
	close(h.changed)
	h.changed = make(chan struct{})
}

// ServeHTTP answers what the endpoints of the wires are asked, by the script,
// and lists the models.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wire := wireOf(r)
	d := dialectOf(wire)
	switch {
	case d == nil, h.opts.Wire != "" && wire != h.opts.Wire && r.Method == http.MethodPost:
		h.violate(fmt.Errorf("%s %s: no such endpoint", r.Method, r.URL.Path))
		http.NotFound(w, r)
		return
	case r.Method == http.MethodGet:
		h.list(w, r, d)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	defer h.enter()()
	req := h.record(r, wire, body)
	step := h.step(req)
	if err := h.check(d, req); err != nil {
		h.violate(fmt.Errorf("request %d: %w", req.N, err))
		step = Fail(http.StatusBadRequest, "invalid_request_error", err.Error())
	}
	h.answer(w, r, req, step)
}

// check judges a request, with what this server has issued in mind.
func (h *Handler) check(d dialect, req Request) error {
	if h.opts.Lenient {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return d.check(req, h.ledger)
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, d dialect) {
	h.mu.Lock()
	h.lookups = append(h.lookups, r.URL.Path)
	h.mu.Unlock()
	models := h.opts.Models
	if models == nil {
		models = []string{"test-model"}
	}
	body := d.listing(models)
	if _, id, one := strings.Cut(r.URL.Path, "/v1beta/models/"); one {
		if !slices.Contains(models, id) {
			http.NotFound(w, r)
			return
		}
		body = gemini{}.row(id)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func (h *Handler) record(r *http.Request, wire string, body []byte) Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	req := Request{N: len(h.requests) + 1, Wire: wire, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	h.requests = append(h.requests, req)
	if keep := h.opts.KeepBodies; keep > 0 && len(h.requests) > keep {
		h.requests[len(h.requests)-1-keep].Body = nil
	}
	close(h.changed)
	h.changed = make(chan struct{})
	return req
}

func (h *Handler) violate(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, err)
}

// step is the next one of the script.
func (h *Handler) step(req Request) Step {
	h.mu.Lock()
	n := h.served
	h.served++
	h.mu.Unlock()
	switch steps := h.opts.Steps; {
	case n < len(steps):
		return steps[n]
	case h.opts.Answer != nil:
		return h.opts.Answer(req)
	case h.opts.Repeat && len(steps) > 0:
		return steps[len(steps)-1]
	}
	err := fmt.Errorf("request %d: the script has no step for it", req.N)
	h.violate(err)
	return Fail(http.StatusBadRequest, "script_exhausted", err.Error())
}

// answer plays one step.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, req Request, step Step) {
	if step.Hold != nil && !h.wait(r, step.Hold) {
		return
	}
	if step.Hang == HangHeaders {
		h.wait(r, nil)
		return
	}
	d := dialectOf(req.Wire)
	p := player{h: h, w: w, r: r, step: step, eol: d.eol(), left: -1}
	if step.CutBytes > 0 {
		p.left = step.CutBytes
	}
	p.headers()
	if step.Body != "" || step.Status >= 400 {
		p.write(step.errorBody(d))
		return
	}
	p.stream(h.events(d, req, step))
}

// events are a step's stream; what is issued in it is remembered.
func (h *Handler) events(d dialect, req Request, step Step) []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return step.events(d, req, h.ledger)
}

// wait blocks until hold is closed; false means that the client left or the
// server was closed.
func (h *Handler) wait(r *http.Request, hold <-chan struct{}) bool {
	select {
	case <-hold:
		return true
	case <-r.Context().Done():
	case <-h.closed:
	}
	return false
}

// player writes one response.
type player struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	step Step
	eol  string
	left int // bytes until the connection breaks; negative is never
}

func (p *player) headers() {
	kind := "text/event-stream"
	if p.step.Body != "" || p.step.Status >= 400 {
		kind = "application/json"
	}
	p.w.Header().Set("Content-Type", kind)
	for k, v := range p.step.Header {
		p.w.Header().Set(k, v)
	}
	status := p.step.Status
	if status == 0 {
		status = http.StatusOK
	}
	p.w.WriteHeader(status)
	p.flush()
}

func (p *player) flush() {
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// write sends text, or breaks the connection within it.
func (p *player) write(text string) {
	if p.left >= 0 && len(text) >= p.left {
		_, _ = io.WriteString(p.w, text[:p.left])
		p.flush()
		panic(http.ErrAbortHandler)
	}
	if p.left >= 0 {
		p.left -= len(text)
	}
	_, _ = io.WriteString(p.w, text)
}

// stream sends events, with what the step has in store on the way.
func (p *player) stream(events []event) {
	for i, e := range events {
		if p.step.stops(i) && !p.pause() {
			return
		}
		if i > 0 && p.step.Every > 0 && !p.tick() {
			return
		}
		p.write(e.text(p.eol))
		p.flush()
	}
	if p.step.Hang != HangNot && p.step.CutFrames >= len(events) {
		p.pause()
	}
}

// stops reports whether something happens before the i-th event.
func (s Step) stops(i int) bool {
	planned := s.CutFrames > 0 || s.HoldAfter != nil || s.Hang != HangNot
	return planned && i == s.CutFrames
}

// pause is what happens there; false ends the response.
func (p *player) pause() bool {
	switch p.step.Hang {
	case HangBody:
		return p.h.wait(p.r, nil)
	case HangComments:
		for p.tick() {
			p.write(": keep-alive\n\n")
			p.flush()
		}
		return false
	case HangNot, HangHeaders:
	}
	return p.step.HoldAfter != nil && p.h.wait(p.r, p.step.HoldAfter)
}

// tick waits for the step's interval; false means that the client left or the
// server was closed.
func (p *player) tick() bool {
	timer := time.NewTimer(p.step.Every)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.r.Context().Done():
	case <-p.h.closed:
	}
	return false
}
