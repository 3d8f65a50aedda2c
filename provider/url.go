package provider

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// URLError is a base URL that can't be one.
type URLError struct {
	URL    string // without userinfo and query
	Reason string
}

// Error quotes the URL and says how one must look.
func (e *URLError) Error() string {
	return fmt.Sprintf("base URL %q: %s; it must look like https://host/ or http://127.0.0.1:11434/", e.URL, e.Reason)
}

// NormalizeBaseURL brings a base URL into the one form that wires append their
// paths to: no /v1 at its end, one slash. It fails with a [*URLError].
func NormalizeBaseURL(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", &URLError{hideUserinfo(raw), "it can't be parsed"}
	case u.Scheme != "http" && u.Scheme != "https":
		return "", &URLError{DisplayURL(raw), "it does not start with http:// or https://"}
	case u.Hostname() == "":
		return "", &URLError{DisplayURL(raw), "it has no host"}
	case u.RawQuery != "" || u.Fragment != "":
		return "", &URLError{DisplayURL(raw), "a query or fragment can't stand in it"}
	}
	base := strings.TrimRight(raw, "/")
	base = strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/")
	return base + "/", nil
}

// versioned matches a base URL that names an API version of its own, so that
// v1 must not be added: Z.ai's /api/paas/v4, Gemini's /v1beta/openai.
var versioned = regexp.MustCompile(`/v[0-9]+[a-z]*[0-9]*(/openai)?/$`)

// Endpoint is the address of path under a normalised base URL: with the version,
// such as v1, before it, unless the base ends in one of its own.
func Endpoint(base, version, path string) string {
	if versioned.MatchString(base) {
		return base + path
	}
	return base + version + "/" + path
}

// DisplayURL is a URL fit for errors and logs: without userinfo and query. In
// what is none, such as one that lacks its scheme, they are hidden all the same.
func DisplayURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return hideUserinfo(raw)
	}
	if u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return raw
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func hideUserinfo(raw string) string {
	if end := strings.IndexAny(raw, "?#"); end >= 0 {
		raw = raw[:end]
	}
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		return "…" + raw[at:]
	}
	return raw
}

// IsLoopback reports whether the URL's host is this machine, where a local
// server may be loading a model for minutes.
func IsLoopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
