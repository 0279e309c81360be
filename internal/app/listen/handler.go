package listen

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// Part serves the requests of some paths.
type Part interface {
	http.Handler
	// Takes reports whether a path is the part's. The token may stand in front.
	Takes(path string) bool
}

// TokenPart is a part that looks for its token itself: the checks of Host, Origin and the peer stand before it, that of the token does not.
type TokenPart interface {
	Part
	OwnToken()
}

// guard puts the checks of door before a part.
func guard(door *proxy.Proxy, p Part) http.Handler {
	if _, own := p.(TokenPart); own {
		return door.Guard(p)
	}
	return door.Protect(p)
}

// Guarded returns a handler that gives a request to the first of parts that takes its path, after the checks of door. Any other request goes
// to rest, without those checks.
func Guarded(door *proxy.Proxy, rest http.Handler, parts ...Part) http.Handler {
	protected := make([]http.Handler, len(parts))
	for i, p := range parts {
		protected[i] = guard(door, p)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, p := range parts {
			if p.Takes(r.URL.Path) {
				protected[i].ServeHTTP(w, r)
				return
			}
		}
		rest.ServeHTTP(w, r)
	})
}

// Handler returns the handler of a daemon: /healthz and /readyz for anybody, the metrics and parts behind the checks of door, and anything
// else for rest, which makes checks of its own. /readyz answers with 200 once ready is closed.
func Handler(door *proxy.Proxy, ready <-chan struct{}, metrics http.Handler, rest http.Handler, parts ...Part) http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n")
	}
	// A probe comes from another host with a Host header of its own; these two tell nothing
	// but that somebody is there.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
			say(w, http.StatusOK, "ready")
		default:
			say(w, http.StatusServiceUnavailable, "starting")
		}
	})
	scrape := door.Protect(metrics)
	mux.Handle("GET /metrics", scrape)
	others := Guarded(door, rest, parts...) // not through the mux: it would clean paths that belong to a provider
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz", r.URL.Path == "/metrics":
			mux.ServeHTTP(w, r)
			return
		case r.Method == http.MethodGet && underToken(r.URL.Path, "/metrics"):
			scrape.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

// underToken reports whether path is a token and then name.
func underToken(path, name string) bool {
	token, ok := strings.CutSuffix(path, name)
	return ok && len(token) > 1 && token[0] == '/' && !strings.Contains(token[1:], "/")
}

// Below returns path without its first element if that is token; else path as it is.
func Below(path, token string) string {
	if token != "" {
		if first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); subtle.ConstantTimeCompare([]byte(first), []byte(token)) == 1 {
			return "/" + rest
		}
	}
	return path
}
