package argocd

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrorKind classifies failures by the user's next step.
type ErrorKind string

// The kinds of errors.
const (
	Unreachable     ErrorKind = "unreachable"     // no connection, also after the retries
	TLS             ErrorKind = "TLS"             // a connection that is not to be trusted
	NotArgoCD       ErrorKind = "not Argo CD"     // HTML, a login page, another server, another path
	Unauthenticated ErrorKind = "unauthenticated" // no token, or one that is not taken
	Forbidden       ErrorKind = "forbidden"       // or missing: Argo CD does not tell them apart
	Missing         ErrorKind = "missing"         // the object, or the call in this version
	Invalid         ErrorKind = "invalid"         // arguments
	Conflict        ErrorKind = "conflict"        // it exists, or was changed meanwhile
	TooLarge        ErrorKind = "too large"       // for a bound here, or for one of the server
	Broken          ErrorKind = "broken off"      // an answer that is not whole, or a call that was cancelled
	Timeout         ErrorKind = "timeout"         // the server was silent, or the time of the call was over
	Server          ErrorKind = "server"          // the server's own trouble
)

// Error is the error of every method of a [Client]. It holds no credential.
type Error struct {
	Instance string    // [Client.Name]
	Op       string    // what was done: "list applications", "get applications/guestbook"
	Status   int       // of the HTTP answer; 0: there was none
	Code     int       // gRPC's, where the server gave one
	Message  string    // the server's, or what happened here; printable, at most 1 KiB
	Kind     ErrorKind // what to go by
	Hint     string    // what the user can do
	Err      error     // what is behind it, where there is something
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Argo CD %s: %s: ", e.Instance, e.Op)
	if e.Message != "" {
		b.WriteString(e.Message)
	} else {
		b.WriteString(string(e.Kind))
	}
	if e.Status >= 300 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &Error{Kind: k}) ask for the kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Message == "" && t.Op == "" && t.Status == 0
}

// maxMessage bounds the message of a server, in bytes.
const maxMessage = 1 << 10

// clean makes text of a server safe to show: one line, printable, without what may be a
// credential, at most most bytes. Servers pass on what git, helm and clusters told them, with
// the URL and the header that those were asked with.
func clean(text string, maxBytes int) string {
	if len(text) > 4*maxBytes { // enough for whatever is dropped below
		text = text[:4*maxBytes]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1 // would move the cursor or turn the writing around
		}
		return r
	}, text)
	text = withoutUserinfo(secrets.Text(strings.TrimSpace(text)))
	return limit.Short(text, maxBytes)
}

// withoutUserinfo hides what stands before the host of URLs: "https://user:pass@host".
func withoutUserinfo(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			break
		}
		b.WriteString(text[:i+3])
		text = text[i+3:]
		end := strings.IndexAny(text, " /?#\"'<>")
		if end < 0 {
			end = len(text)
		}
		if at := strings.LastIndexByte(text[:end], '@'); at >= 0 {
			b.WriteString("***")
			text = text[at:]
		}
	}
	b.WriteString(text)
	return b.String()
}
