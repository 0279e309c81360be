package argocd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
)

// explainNoAnswer returns the error for a call without an answer, and whether the call may be repeated.
func (c *Client) explainNoAnswer(ctx context.Context, r request, err error) (*Error, bool) {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL: it is in Op, and has a query
	}
	e := &Error{Instance: c.Name(), Op: r.op, Kind: Unreachable, Err: err}
	if cause := context.Cause(ctx); cause != nil {
		c.explainGivenUp(e, cause)
		return e, false
	}
	e.Message = safeText(err.Error(), maxMessage)
	if hint := c.explainTLS(err); hint != "" {
		e.Kind, e.Hint = TLS, hint
		return e, false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		e.Hint = "check the host in the URL " + c.URL()
		return e, false
	}
	e.Hint = "check that the server at " + c.URL() + " is running and that this machine may connect to it"
	if r.changes() {
		e.Hint += "; it was not repeated: look at what it did before you repeat it"
	}
	return e, true
}

// explainGivenUp fills in the error for a call that this program has given up; cause is the reason.
func (c *Client) explainGivenUp(e *Error, cause error) {
	e.Err = cause
	switch {
	case errors.Is(cause, errSilent):
		e.Kind = Timeout
		e.Message = fmt.Sprintf("the server sent nothing for %s", c.shared.o.Timeout)
		e.Hint = "try again, ask for less (a project, a name), or raise the time-out"
	case errors.Is(cause, context.DeadlineExceeded):
		e.Kind = Timeout
		e.Message = "the time for this call was over"
		e.Hint = "ask for less (a project, a name), or give it more time"
	default:
		e.Kind, e.Message = Broken, "the call was cancelled"
	}
}

// explainTLS returns advice for a TLS error; "" for any other error.
func (c *Client) explainTLS(err error) string {
	if c.shared.base.Scheme == "http" {
		return ""
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "name its certificate authority in a CA file, or allow insecure connections if you know that it is the right server"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use the name that is in the certificate in the URL, or set the server name"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "renew the server's certificate, or set this machine's clock"
		}
		return "the server needs another certificate"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "the port does not speak TLS: write http:// in the URL (or plaintext) if that is meant, or use another port"
	}
	// An alert of the other side has this Op in crypto/tls, and no type of its own.
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		if strings.Contains(alert.Error(), "certificate") {
			return "the server, or a proxy in front, wants a client certificate: give a certificate file and its key"
		}
		return "the server and this program have no TLS version or cipher in common"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not to be trusted"
	}
	return ""
}

// explainBroken returns the error for an answer that began well but is incomplete, too large or malformed.
func (c *Client) explainBroken(r request, a *answer, err error) *Error {
	e := &Error{Instance: c.Name(), Op: r.op, Status: a.status, Kind: Broken, Err: err}
	if cause := context.Cause(a.ctx); cause != nil && !errors.Is(err, errTooLong) {
		c.explainGivenUp(e, cause)
		return e
	}
	if errors.Is(err, errTooLong) {
		e.Kind = TooLarge
		e.Message = fmt.Sprintf("an object is larger than %s", c.shared.o.MaxObject.Human())
		e.Hint = "ask for less of it, or raise the bound for one object"
		return e
	}
	if syntax, ok := errors.AsType[*jsonstream.SyntaxError](err); ok {
		if syntax.Offset == 0 && r.method == http.MethodGet {
			return c.explainShape(r, a, "the answer is no JSON")
		}
		e.Message = fmt.Sprintf("the answer is no JSON: %s at byte %d", syntax.What, syntax.Offset)
		e.Hint = "try again; if it stays, look for a proxy between here and " + c.URL() + " that changes answers"
		return e
	}
	e.Message = fmt.Sprintf("the answer broke off after %d bytes", a.bytes)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message += ": " + safeText(err.Error(), maxMessage/2)
	}
	e.Hint = "try again; look at the logs of argocd-server and of proxies in front of it if it stays"
	if r.changes() {
		e.Hint = "it was not repeated: look at what it did before you repeat it"
	}
	return e
}

// explainShape returns the error for an answer that is not Argo CD's, such as a web page or JSON of an unexpected form; what describes it.
func (c *Client) explainShape(r request, a *answer, what string) *Error {
	return &Error{
		Instance: c.Name(), Op: r.op, Status: a.status, Kind: NotArgoCD, Message: what,
		Hint: "check that " + c.URL() + " is the URL of an Argo CD server",
	}
}

func (c *Client) notJSONError(op string, err error) *Error {
	return &Error{
		Instance: c.Name(), Op: op, Status: http.StatusOK, Kind: NotArgoCD, Message: "the answer is not Argo CD's: " + safeText(err.Error(), maxMessage/2),
		Hint: "check that " + c.URL() + " is the URL of an Argo CD server", Err: err,
	}
}

// explainPage returns the error for an HTML page with a success status, for example a login page; nil if the answer is not HTML. It reads
// the beginning of the page for its title.
func (c *Client) explainPage(r request, a *answer) *Error {
	kind, _, _ := mime.ParseMediaType(a.contentType)
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	start := make([]byte, 4<<10)
	n, _ := io.ReadFull(a, start) // the page may be shorter
	e := c.explainShape(r, a, "the answer is a web page, not JSON"+pageTitle(start[:n]))
	e.Hint = "check the URL " + c.URL() + " (with its root path, without /api); a login page means that a proxy in front wants credentials of its own"
	return e
}

// pageTitle returns the title of a web page, in parentheses after a space; "" if there is none.
func pageTitle(page []byte) string {
	lower := bytes.ToLower(page)
	if len(lower) != len(page) { // letters that change their length: a title is not worth it
		return ""
	}
	i := bytes.Index(lower, []byte("<title>"))
	if i < 0 {
		return ""
	}
	from := i + len("<title>")
	length := bytes.Index(lower[from:], []byte("</title>"))
	if length < 0 {
		return ""
	}
	return fmt.Sprintf(" (%q)", safeText(string(page[from:from+length]), 80))
}

// refusal is the body of an error answer, or the only event of a stream that failed.
type refusal struct {
	text string
	code int
	json bool
	html bool
}

// readRefusal reads the error in the body of an answer: as JSON of Argo CD or its gateway, as an event, or as plain text or a web page.
func readRefusal(body []byte) refusal {
	body = bytes.TrimSpace(body)
	if rest, ok := bytes.CutPrefix(body, []byte("data:")); ok {
		body = bytes.TrimSpace(rest)
	}
	var said struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Code    int             `json:"code"`
	}
	if json.Unmarshal(body, &said) != nil {
		html := len(body) > 0 && body[0] == '<'
		text := string(body)
		if html {
			text = "a web page, not JSON" + pageTitle(body)
		}
		return refusal{text: safeText(text, maxMessage), html: html}
	}
	r := refusal{text: said.Message, code: said.Code, json: true}
	var inner struct {
		Message string `json:"message"`
		Code    int    `json:"grpc_code"`
	}
	var text string
	switch {
	case json.Unmarshal(said.Error, &text) == nil && r.text == "":
		r.text = text
	case json.Unmarshal(said.Error, &inner) == nil && inner.Message != "":
		r.text, r.code = inner.Message, inner.Code
	}
	r.text = safeText(r.text, maxMessage)
	return r
}

// explainRefusal returns the error for an answer with an error status; token is removed from it.
func (c *Client) explainRefusal(r request, at *url.URL, resp *http.Response, body []byte, token string) *Error {
	if len(token) >= 8 { // a shorter one would hide ordinary words
		body = bytes.ReplaceAll(body, []byte(token), []byte("***"))
	}
	said := readRefusal(body)
	e := &Error{Instance: c.Name(), Op: r.op, Status: resp.StatusCode, Code: said.code, Message: said.text}
	if e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		c.explainRedirect(e, at, resp)
	case resp.StatusCode == http.StatusBadRequest && c.shared.base.Scheme == "http" && wantsTLS(body):
		e.Kind = TLS
		e.Hint = "the port speaks TLS: write https:// in the URL"
	case said.html && resp.StatusCode < 500:
		e.Kind = NotArgoCD
		e.Hint = "check the URL " + c.URL() + "; a proxy in front of Argo CD may want credentials of its own"
	default:
		c.explainStatus(e, r, said, token != "")
	}
	return e
}

// wantsTLS reports whether an answer says that the port requires TLS, in the words of Go's server, nginx and Apache.
func wantsTLS(body []byte) bool {
	for _, words := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled"} {
		if bytes.Contains(body, []byte(words)) {
			return true
		}
	}
	return false
}

// explainRedirect fills in the error for a redirect that is not followed.
func (c *Client) explainRedirect(e *Error, at *url.URL, resp *http.Response) {
	e.Kind, e.Message = NotArgoCD, "the server redirects"
	to, err := resp.Location()
	if err != nil {
		e.Hint = "check the URL " + c.URL()
		return
	}
	shown := safeText(to.Scheme+"://"+to.Host+to.EscapedPath(), 200) // the query may hold secrets
	e.Message = "the server redirects to " + shown
	switch {
	case isLogin(to):
		e.Hint = "that is a login page: a proxy in front of Argo CD wants credentials of its own, or the URL " + c.URL() + " is not the API's"
	case at.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(at.Hostname(), to.Hostname()):
		e.Hint = "write https:// in the URL of this instance"
	case !sameOrigin(to, c.shared.base):
		e.Hint = "the token is not sent to another host; set the URL of this instance to that one if it is right"
	default:
		e.Hint = "set the URL of this instance to where it leads"
	}
}
