package argocd

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrorKind distinguishes failures by what the user can do next.
type ErrorKind string

// The kinds of errors.
const (
	Unreachable     ErrorKind = "unreachable"     // no connection, also after the retries
	TLS             ErrorKind = "TLS"             // the connection cannot be trusted
	NotArgoCD       ErrorKind = "not Argo CD"     // HTML, a login page, another server, another path
	Unauthenticated ErrorKind = "unauthenticated" // no token, or one that is not accepted
	Forbidden       ErrorKind = "forbidden"       // or missing: Argo CD answers both in the same way
	Missing         ErrorKind = "missing"         // no such object, or no such call in this version
	Invalid         ErrorKind = "invalid"         // invalid arguments
	Conflict        ErrorKind = "conflict"        // the object exists, was changed meanwhile, or its state forbids the call
	TooLarge        ErrorKind = "too large"       // a bound here or in the server was exceeded
	Broken          ErrorKind = "broken off"      // the answer is incomplete, or the call was cancelled
	Timeout         ErrorKind = "timeout"         // the server was silent, or the call's time was over
	Server          ErrorKind = "server"          // the server itself failed
)

// Error is the error of every method of a [Client]. It contains no credential.
type Error struct {
	Instance string    // [Client.Name]
	Op       string    // the operation: "list applications", "get applications/guestbook"
	Status   int       // of the HTTP answer; 0 if there was none
	Code     int       // gRPC's code if the server sent one, else 0
	Message  string    // the server's message, or one made here; printable, at most 1 KiB
	Kind     ErrorKind // the kind of failure
	Hint     string    // what the user can do
	Err      error     // the cause; may be nil
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

// Is reports whether target is an Error with only a Kind and that is e's: for errors.Is(err, &Error{Kind: k}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Message == "" && t.Op == "" && t.Status == 0
}

// maxMessage bounds the message of a server, in bytes.
const maxMessage = 1 << 10

// safeText returns text of a server so that it is safe to show: one line, printable, without anything that may be a credential, at most maxBytes.
// Servers pass on messages of git, helm and clusters, with the URLs and headers of their requests.
func safeText(text string, maxBytes int) string {
	if len(text) > 4*maxBytes { // enough even if much is dropped below
		text = text[:4*maxBytes]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1 // would move the cursor or change the direction of writing
		}
		return r
	}, text)
	text = withoutUserinfo(secrets.Text(strings.TrimSpace(text)))
	return limit.Short(text, maxBytes)
}

// withoutUserinfo hides the user and password in URLs: "https://user:pass@host" becomes "https://***@host".
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
