package providertest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is a scripted model server, on loopback or in memory.
type Server struct {
	*Handler
	url       string
	transport http.RoundTripper
	stop      func() // cuts every connection
}

// NewServer starts a server on loopback that the end of the test closes.
// Requests that a strict server would refuse fail the test.
func NewServer(t testing.TB, o Options) *Server {
	t.Helper()
	h := NewHandler(o)
	listening := httptest.NewServer(h)
	s := &Server{Handler: h, url: listening.URL + "/", stop: func() {
		listening.CloseClientConnections()
		listening.Close()
	}}
	s.endWith(t)
	return s
}

// NewPipe is NewServer without a network: its connections are pipes in memory
// that only Transport reaches. Inside a bubble of testing/synctest it lives by
// the bubble's clock.
func NewPipe(t testing.TB, o Options) *Server {
	t.Helper()
	h := NewHandler(o)
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	transport := &http.Transport{DialContext: l.dial, DisableCompression: true}
	server := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	s := &Server{Handler: h, url: "http://model.example/", transport: transport, stop: func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	}}
	s.endWith(t)
	return s
}

// Script starts a server with the steps alone.
func Script(t testing.TB, steps ...Step) *Server {
	t.Helper()
	return NewServer(t, Options{Steps: steps})
}

func (s *Server) endWith(t testing.TB) {
	t.Cleanup(func() {
		s.Close()
		s.stop()
		for _, err := range s.Violations() {
			t.Errorf("scripted server: %v", err)
		}
	})
}

// URL is the server's base URL, with a slash at its end.
func (s *Server) URL() string { return s.url }

// Transport is the only way to a server in memory; nil for one on loopback.
func (s *Server) Transport() http.RoundTripper { return s.transport }

// pipes is a listener for connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "model.example", Net: "pipe"} }
