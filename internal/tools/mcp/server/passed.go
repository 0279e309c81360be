package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

var errGone = errors.New("the client is gone")

// readFailure returns err unless it is io.EOF, the regular end of a message.
func readFailure(err error) error {
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

// ownHeaders are the headers that belong to the connection with the sender of an answer (RFC 9110, 7.6.1), or that the answer here sets itself.
var ownHeaders = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authenticate": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Content-Length": true, "Content-Encoding": true, "Content-Type": true, "Date": true,
}

// setHeaders sets the headers of the answer and returns its status: the server's if the session is passed through, else the id and 200.
func (st *stream) setHeaders(c *conn) int {
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
	if a == nil { // the server has not answered yet
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
		if ownHeaders[name] || hop[name] {
			continue
		}
		header[name] = values
		if name == "Www-Authenticate" {
			changed := make([]string, len(values))
			for i, value := range values {
				changed[i] = s.h.rewriteChallenge(c.r, value)
			}
			header[name] = changed
		}
	}
	if a.Status < 200 || a.Status > 599 {
		return http.StatusBadGateway
	}
	return a.Status
}

// trackPassed adds or forgets a session that is passed through, according to the server's answer.
func (s *session) trackPassed(st *stream, a transport.Answer) {
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
		_, _ = s.register(id)
	case !st.known && len(st.sessionID) <= maxSessionID:
		_, _ = s.register(st.sessionID)
	}
}

// forgetPassed removes a passed session from the known ones; it ends when the last request that uses it does.
func (s *session) forgetPassed() {
	s.h.mu.Lock()
	s.h.forget(s)
	s.h.mu.Unlock()
}

// rewriteChallenge returns a WWW-Authenticate header in which the URL of the server's metadata is replaced by that of ours: the server's names a
// resource that the client did not ask for, which it must refuse (RFC 9728, 3.3). The server's URL is remembered. Without Options.Resource, or
// such a URL, the value is unchanged.
func (h *Handler) rewriteChallenge(r *http.Request, value string) string {
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
