package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/basisagent/basis/provider"
	"github.com/basisagent/basis/provider/providertest"
)

// vendorKey is the key that the vendors of scripts are asked with.
const vendorKey = "canary-vendor-0123456789"

// vendorVars are all variables that vendor sets.
func vendorVars() []string {
	return []string{
		"BASIS_BASE_URL", "BASIS_MODEL", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
		"GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "OPENAI_API_KEY", "HTTPS_PROXY", "SSL_CERT_FILE",
	}
}

// vendor WIRE FILE is like model, for the vendor of a wire: its server speaks
// that wire alone, and nothing is set but what a user of that vendor sets. In
// the file VENDOR stands for the wire.
func vendor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: vendor WIRE FILE")
	}
	for _, name := range vendorVars() {
		ts.Setenv(name, "")
	}
	set := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			ts.Setenv(pairs[i], pairs[i+1])
		}
	}
	m := modelOf(ts)
	m.vendors++ // no two of them give a call the same id
	m.handler = providertest.NewHandler(providertest.Options{Steps: m.steps(ts, args[1], "VENDOR", args[0]), Wire: args[0], Called: 100 * m.vendors})
	switch args[0] {
	case provider.WireChat:
		set("BASIS_BASE_URL", serve(ts, m.handler), "BASIS_MODEL", "test-model")
	case provider.WireMessages:
		set("ANTHROPIC_BASE_URL", serve(ts, m.handler), "ANTHROPIC_API_KEY", vendorKey, "BASIS_MODEL", "claude-opus-5")
	case provider.WireGemini:
		set("GOOGLE_GEMINI_BASE_URL", serve(ts, m.handler), "GEMINI_API_KEY", vendorKey, "BASIS_MODEL", "gemini-3-pro")
	case provider.WireResponses: // this vendor's address can't be moved, only the way there
		proxy, cert := impersonate(ts, "api.openai.com", m.handler)
		set("HTTPS_PROXY", proxy, "SSL_CERT_FILE", cert, "OPENAI_API_KEY", vendorKey, "BASIS_MODEL", "gpt-5")
	default:
		ts.Fatalf("no wire %s", args[0])
	}
}

// serve is the base URL of a server that the script's end stops.
func serve(ts *testscript.TestScript, h *providertest.Handler) string {
	server := httptest.NewServer(h)
	ts.Defer(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/"
}

// impersonate serves h as a host: through a proxy, and to whoever trusts the
// certificates of a file.
func impersonate(ts *testscript.TestScript, host string, h *providertest.Handler) (proxy, certFile string) {
	cert, certFile := certificate(ts, host)
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	tunnel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			http.Error(w, "this way leads to "+host+" alone", http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		near, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			return
		}
		var there sync.WaitGroup
		there.Go(func() {
			_, _ = io.Copy(far, buffered)
			_ = far.Close()
		})
		_, _ = io.Copy(near, far)
		_ = near.Close()
		there.Wait()
	}))
	ts.Defer(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
		tunnel.Close()
	})
	return tunnel.URL, certFile
}

// certificate is one for a host that vouches for itself, also as a file.
func certificate(ts *testscript.TestScript, host string) (cert tls.Certificate, file string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	file = filepath.Join(ts.Getenv("WORK"), host+".pem")
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
