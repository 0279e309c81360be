package simulator

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// route is one call of the API. "{}" in a pattern is a part that varies.
type route struct {
	method  string
	pattern []string
	open    bool // answers without a token
	stream  bool // errors are events
	handle  func(c *call) error
}

// call is one request on its way.
type call struct {
	*Simulator

	w      http.ResponseWriter
	r      *http.Request
	out    io.Writer // compressed where the client takes it
	query  url.Values
	args   []string // what "{}" stands for
	user   *Access  // nil: the administrator
	anon   bool     // nobody is logged in
	faults Faults

	started bool // a stream has sent its headers
}

const loginPage = `<!doctype html><html lang="en"><head><meta charset="UTF-8"><title>Log in to Argo CD</title><base href="/"></head>` +
	`<body><noscript><p>Your browser does not support JavaScript.</p></noscript><div id="app"></div><form action="/auth/login" method="post">` +
	`<input name="username"><input name="password" type="password"><button>Sign in</button></form></body></html>` + "\n"

// wait lets time pass; false: the client has gone.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Simulator) serve(w http.ResponseWriter, r *http.Request, f Faults) {
	path := r.URL.Path
	switch {
	case f.HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, loginPage) // a client that has gone needs no answer
		return
	case path == "/healthz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // a client that has gone needs no answer
		return
	case !strings.HasPrefix(path, "/api/"):
		w.Header().Set("Vary", "Accept-Encoding")
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && !strings.EqualFold(r.Header.Get("Content-Type"), "application/json"):
		http.Error(w, "Invalid content type", http.StatusUnsupportedMediaType)
		return
	}
	if f.Status != 0 && strings.HasPrefix(path, "/api/v1") {
		failAll(w, f.Status)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	rt, args, status := s.route(r)
	if rt == nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	c := &call{Simulator: s, w: w, r: r, out: w, query: r.URL.Query(), args: args, faults: f}
	err := c.authenticate()
	if err == nil || rt.open {
		err = c.run(rt)
	}
	var told *refusal
	switch {
	case err == nil:
	case errors.As(err, &told) && rt.stream && !told.early:
		c.failStream(told)
	case errors.As(err, &told):
		told.write(w)
	default:
		panic(http.ErrAbortHandler) // the client has gone, or is to see a broken answer
	}
}

// run answers, compressed if the client takes it.
func (c *call) run(rt *route) error {
	if rt.stream || !strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
		return rt.handle(c)
	}
	z := &compressed{w: c.w}
	c.out = z
	err := rt.handle(c)
	if err != nil {
		return err
	}
	return z.close()
}

// compressed starts to compress with the first byte, so that an error before is plain.
type compressed struct {
	w http.ResponseWriter
	z *gzip.Writer
}

func (c *compressed) Write(p []byte) (int, error) {
	if c.z == nil {
		c.w.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(c.w, gzip.BestSpeed)
		if err != nil {
			return 0, err
		}
		c.z = z
	}
	return c.z.Write(p)
}

func (c *compressed) flush() error {
	if c.z == nil {
		return nil
	}
	return c.z.Flush()
}

func (c *compressed) close() error {
	if c.z == nil {
		return nil
	}
	return c.z.Close()
}

// route finds the call. A colon that is not escaped ends the last part of a path, as the
// gateway has it: what is behind is a verb, and no call has one.
func (s *Simulator) route(r *http.Request) (found *route, args []string, status int) {
	path := r.URL.Path
	raw := r.URL.RawPath
	escaped := false
	for _, prefix := range []string{"/api/v1/clusters/", "/api/v1/repositories/", "/api/v1/repocreds/"} {
		if strings.HasPrefix(raw, prefix) {
			path, escaped = raw, true
		}
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if strings.Contains(parts[len(parts)-1], ":") {
		return nil, nil, http.StatusNotFound
	}
	other := false
	for i := range s.routes {
		rt := &s.routes[i]
		if args = rt.match(parts, args[:0]); args == nil {
			continue
		}
		if rt.method != r.Method {
			other = true
			continue
		}
		for j := range args {
			if plain, err := url.QueryUnescape(args[j]); escaped && err == nil {
				args[j] = plain
			}
		}
		return rt, args, 0
	}
	if other {
		return nil, nil, http.StatusMethodNotAllowed
	}
	return nil, nil, http.StatusNotFound
}

// match returns what stands where the pattern varies; nil: it is another path.
func (rt *route) match(parts, args []string) []string {
	args = append(args, "")[:0]
	// As the API has it, {**} is all of what is left, slashes included.
	if last := len(rt.pattern) - 1; last >= 0 && rt.pattern[last] == "{**}" && len(parts) > last+1 {
		parts = append(parts[:last:last], strings.Join(parts[last:], "/"))
	}
	if len(parts) != len(rt.pattern) {
		return nil
	}
	for i, p := range rt.pattern {
		switch p {
		case parts[i]:
		case "{}", "{**}":
			args = append(args, parts[i])
		default:
			return nil
		}
	}
	return args
}

// failAll answers as a broken server or a proxy before it does.
func failAll(w http.ResponseWriter, status int) {
	switch status {
	case http.StatusUnauthorized:
		refuse(unauthenticated, "no session information").write(w)
	case http.StatusForbidden:
		denied().write(w)
	case http.StatusInternalServerError:
		refuse(unknown, "rpc error: code = Unknown desc = connection error").write(w)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		http.Error(w, http.StatusText(status), status)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><head><title>"+http.StatusText(status)+"</title></head><body><center><h1>"+http.StatusText(status)+"</h1></center></body></html>\n") // a client that has gone needs no answer
	}
}
