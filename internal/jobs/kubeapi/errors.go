package kubeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/printable"
)

// Error is the reason why a call did not succeed, as one sentence.
type Error struct {
	// Status is the one of the answer, 0 where there was none.
	Status int

	text    string
	lasting bool // another try brings the same
	unsent  bool // nothing has reached the server
	err     error
}

func (e *Error) Error() string { return e.text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// StatusOf returns the HTTP status of an [Error], else 0.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// Transient says that the same call may succeed later: the server was busy, had a fault or was not there.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.lasting && (e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// Uncertain says that the server may have done what it was asked to.
func Uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status >= 500 || e.Status == 0 && !e.unsent)
}

// noCredential is the reason why a call cannot say who asks.
type noCredential struct{ error }

// hints say what to do about an answer, by its status or the first digit of that, and by what it says.
var hints = []struct {
	status     int
	says, hint string
}{
	{http.StatusUnauthorized, "", "it does not know the credential of USER: log in again, and try kubectl --context CONTEXT get pods"},
	{http.StatusForbidden, "exceeded quota", "ask for less memory, or wait until others have ended"},
	{http.StatusForbidden, "PodSecurity", "the namespace forbids such pods: name another one"},
	{http.StatusForbidden, "", "ask whoever keeps the cluster for this right of USER: docs/kubernetes.md has the Role"},
	{http.StatusNotFound, "it answers with", "look whether HOST is a Kubernetes API"},
	{http.StatusNotFound, "namespaces", "create the namespace, or name another one"},
	{http.StatusConflict, "", "it is there already: a job is submitted once"},
	{http.StatusUnprocessableEntity, "", "change what the message names"},
	{http.StatusBadRequest, "", "change what the message names"},
	{http.StatusTooManyRequests, "", "the API is busy: try again in a minute"},
	{3, "", "it points elsewhere, where a credential must not go: write the API server's own address into the kubeconfig"},
	{5, "", "the cluster has a fault: try again, and look at kubectl get --raw /readyz"},
}

// refused is the error for an answer that is none of success.
func (c *Cluster) refused(method, path string, answer *http.Response) *Error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	message := fmt.Sprintf("it answers with status %d", answer.StatusCode)
	var said struct{ Kind, Message string }
	if json.Unmarshal(text, &said) == nil && said.Kind == "Status" && said.Message != "" {
		message = clean(said.Message, 1<<10)
	}
	for _, h := range hints {
		if (h.status == answer.StatusCode || h.status == answer.StatusCode/100) && strings.Contains(message, h.says) {
			return c.refusal(method, path, answer.StatusCode, message, h.hint)
		}
	}
	return c.refusal(method, path, answer.StatusCode, message, "")
}

// refusal puts an error into words. In the hint are names for parts of the cluster.
func (c *Cluster) refusal(method, path string, status int, message, hint string) *Error {
	verb := map[string]string{http.MethodGet: "show", http.MethodPost: "create", http.MethodDelete: "delete"}[method]
	text := fmt.Sprintf("Kubernetes (context %s) does not %s %s: %s", printable.Name(c.Context), verb, subject(path), message)
	if hint != "" {
		text += "; " + strings.NewReplacer("USER", fmt.Sprintf("%q", printable.Name(c.user.name)), "CONTEXT", c.Context, "HOST", c.server.Host).Replace(hint)
	}
	return &Error{Status: status, text: text}
}

// subject puts a path into words: "jobs in namespace agents".
func subject(path string) string {
	what, _ := url.PathUnescape(path)
	if _, within, ok := strings.Cut(what, "/namespaces/"); ok {
		namespace, resource, _ := strings.Cut(within, "/")
		what = resource + " in namespace " + namespace
	}
	return printable.Name(what)
}

// failed is the error for a call without an answer.
func (c *Cluster) failed(ctx context.Context, method, path string, err error) *Error {
	cause := err
	if u, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address
		err = u.Err
	}
	message, hint := clean(err.Error(), 1<<10), ""
	name, isName := errors.AsType[*net.DNSError](err)
	dial, isDial := errors.AsType[*net.OpError](err)
	unsent, lasting := is[*tls.CertificateVerificationError](err) || is[*noCredential](err), true
	switch {
	case errors.Is(ctx.Err(), context.Canceled), is[*noCredential](err):
	case ctx.Err() != nil:
		message, hint = c.server.Host+": "+context.Cause(ctx).Error(), "look whether the cluster is up and reached from here"
	case is[x509.UnknownAuthorityError](err):
		hint = "certificate-authority in the kubeconfig is another one: fetch the kubeconfig again"
	case is[x509.HostnameError](err):
		hint = "set tls-server-name in the kubeconfig to a name that the certificate has"
	case isName:
		hint, lasting = "look at server in the kubeconfig", !name.IsTemporary
	case !unsent:
		hint, lasting = "look whether HOST is up and reached from here", false
	}
	e := c.refusal(method, path, 0, message, hint)
	e.err, e.lasting, e.unsent = cause, lasting, unsent || isName || isDial && dial.Op == "dial"
	return e
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
