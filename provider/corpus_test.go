package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/basisagent/basis/provider"
)

// TestCorpusErrors judges the recorded error responses of every wire.
func TestCorpusErrors(t *testing.T) {
	root := os.Getenv("BASIS_CORPUS")
	if root == "" {
		t.Log("not run: BASIS_CORPUS names no corpus")
		return
	}
	cases, err := filepath.Glob(filepath.Join(root, "providers", "*", "http-*", "case.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no case in %s: %v", root, err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { checkErrorCase(t, path) })
	}
}

func checkErrorCase(t *testing.T, path string) {
	t.Helper()
	var rec struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Expect  struct {
			Class string `json:"error_class"`
		} `json:"expect"`
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	bodies, err := filepath.Glob(filepath.Join(filepath.Dir(path), "body.*"))
	if err != nil || len(bodies) != 1 || rec.Status == 200 {
		return // a page under status 200 is the wire's to judge
	}
	body, err := os.ReadFile(bodies[0])
	if err != nil {
		t.Fatal(err)
	}
	header := func(name string) string { return rec.Headers[strings.ToLower(name)] }
	e := provider.Classify(provider.Failure{Status: rec.Status, Header: header, Body: body})
	if string(e.Kind) != rec.Expect.Class {
		t.Errorf("Classify(%d, %s) = %v, want %s", rec.Status, body, e.Kind, rec.Expect.Class)
	}
}
