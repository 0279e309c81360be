package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

var errGone = errors.New("the client is gone")

// ended makes the end of a message that was written nil.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// isEvents reports whether an answer is a stream of events.
func isEvents(header http.Header) bool {
	name, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && name == eventStream
}

// ours are the headers of an answer that are of the connection to its sender (RFC 9110,
// 7.6.1) or that the answer here sets itself.
var ours = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authenticate": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Content-Length": true, "Content-Encoding": true, "Content-Type": true, "Date": true,
}

// headers sets those of the answer and tells its status.
func (st *stream) headers(c *conn) int {
	s := st.s
	header := c.w.Header()
	if !s.Passed {
		if s.id != "" {
			header.Set(headerSession, s.id)
		}
		return http.StatusOK
	}
	s.mu.Lock()
	a := st.answer
	s.mu.Unlock()
	if a == nil { // made before the server was asked
		return http.StatusOK
	}
	hop := map[string]bool{}
	for _, value := range a.Header.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			hop[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	for name, values := range a.Header {
		name = http.CanonicalHeaderKey(name)
		if ours[name] || hop[name] {
			continue
		}
		header[name] = values
		if name == "Www-Authenticate" {
			changed := make([]string, len(values))
			for i, value := range values {
				changed[i] = s.h.challenge(c.r, value)
			}
			header[name] = changed
		}
	}
	if a.Status < 200 || a.Status > 599 {
		return http.StatusBadGateway
	}
	return a.Status
}

// takeAnswer looks at how a server answered, for the ids of its sessions.
func (s *session) takeAnswer(st *stream, a transport.Answer) {
	if !s.Passed || s.modern {
		return
	}
	switch id := a.Header.Get(headerSession); {
	case a.Status == http.StatusNotFound && s.id != "" && st.known:
		s.forgetPassed()
	case a.Status >= 300:
	case st.method == http.MethodDelete:
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
	case st.begins && len(id) <= maxSessionID:
		_, _ = s.add(id)
	case !st.known && len(st.sessionID) <= maxSessionID:
		_, _ = s.add(st.sessionID)
	}
}

// forgetPassed makes a passed session unknown; it ends when the last request that uses it does.
func (s *session) forgetPassed() {
	s.h.mu.Lock()
	s.h.forget(s)
	s.h.mu.Unlock()
}

// challenge puts the URL of our own metadata in place of the server's in a WWW-Authenticate
// header: that of the server names a resource that the client did not ask for, which it
// must refuse (RFC 9728, 3.3).
func (h *Handler) challenge(r *http.Request, value string) string {
	if h.o.Resource == nil {
		return value
	}
	const name = "resource_metadata="
	at := 0
	for ; at+len(name) <= len(value); at++ {
		if strings.EqualFold(value[at:at+len(name)], name) {
			break
		}
	}
	if at+len(name) > len(value) {
		return value
	}
	rest := value[at+len(name):]
	end := strings.IndexAny(rest, ", \t")
	if strings.HasPrefix(rest, `"`) {
		end = strings.IndexByte(rest[1:], '"')
		if end >= 0 {
			end += 2
		}
	}
	if end < 0 {
		end = len(rest)
	}
	h.named.Store(strings.Trim(rest[:end], `"`))
	return value[:at] + name + `"` + strings.ReplaceAll(h.o.Resource(r), `"`, "%22") + `"` + rest[end:]
}
