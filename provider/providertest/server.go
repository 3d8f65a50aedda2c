package providertest

import (
	"net/http/httptest"
	"testing"
)

// Server is a scripted model server on loopback.
type Server struct {
	*Handler
	http *httptest.Server
}

// NewServer starts a server that the end of the test closes. Requests that a
// strict server would refuse fail the test.
func NewServer(t testing.TB, o Options) *Server {
	t.Helper()
	h := NewHandler(o)
	s := &Server{Handler: h, http: httptest.NewServer(h)}
	t.Cleanup(func() {
		h.Close()
		s.http.CloseClientConnections()
		s.http.Close()
		for _, err := range h.Violations() {
			t.Errorf("scripted server: %v", err)
		}
	})
	return s
}

// Script starts a server with the steps alone.
func Script(t testing.TB, steps ...Step) *Server {
	t.Helper()
	return NewServer(t, Options{Steps: steps})
}

// URL is the server's base URL, with a slash at its end.
func (s *Server) URL() string { return s.http.URL + "/" }
