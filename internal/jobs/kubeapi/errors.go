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
	// Status is the one of the answer, 0 where there was none. Reason is the API's word for it.
	Status          int
	Reason, Message string

	cluster *Cluster
	doing   string // "create jobs in namespace agents"
	hint    string
	lasting bool // another try brings the same
	unsent  bool // nothing has reached the server
	err     error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("Kubernetes (context %s) does not %s: %s", printable.Name(e.cluster.Context), e.doing, e.Message)
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// StatusOf returns the HTTP status of an [Error], else 0.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// Uncertain says that the server may have done what it was asked to.
func Uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status >= 500 || e.Status == 0 && !e.unsent)
}

// noCredential is the reason why a call cannot say who asks.
type noCredential struct{ error }

// doing puts a call into words: "create jobs in namespace agents".
func doing(method, path string) string {
	verb := map[string]string{http.MethodGet: "show", http.MethodPost: "create", http.MethodDelete: "delete"}[method]
	parts := strings.Split(strings.Trim(path, "/"), "/")
	where := ""
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			where, parts = " in namespace "+parts[i+1], parts[i+2:]
			break
		}
	}
	what := strings.Join(parts, "/")
	if text, err := url.PathUnescape(what); err == nil {
		what = text
	}
	return verb + " " + printable.Name(what+where)
}

// refusal is the error for an answer that is none of success.
func (c *Cluster) refusal(method, path string, answer *http.Response) error {
	e := &Error{cluster: c, doing: doing(method, path), Status: answer.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	var said struct{ Kind, Message, Reason string }
	if json.Unmarshal(text, &said) == nil && said.Kind == "Status" {
		e.Reason, e.Message = said.Reason, clean(said.Message, 1<<10)
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("it answers with status %d", answer.StatusCode)
	}
	user := printable.Name(c.user.name)
	switch s := answer.StatusCode; {
	case s == http.StatusUnauthorized:
		e.hint = fmt.Sprintf("it does not know the credential of %q: log in again, and try kubectl --context %s get pods", user, c.Context)
	case s == http.StatusForbidden && strings.Contains(e.Message, "exceeded quota"):
		e.hint = "ask for less memory, or wait until others have ended"
	case s == http.StatusForbidden && strings.Contains(e.Message, "PodSecurity"):
		e.hint = "the namespace forbids such pods: name another one"
	case s == http.StatusForbidden:
		e.hint = fmt.Sprintf("ask whoever keeps the cluster for this right of %q: docs/kubernetes.md has the Role", user)
	case s == http.StatusNotFound && e.Message == fmt.Sprintf("it answers with status %d", s):
		e.hint = "look whether " + c.server.Host + " is a Kubernetes API"
	case s == http.StatusNotFound && strings.Contains(e.Message, "namespaces"):
		e.hint = "create the namespace, or name another one"
	case s == http.StatusConflict:
		e.hint = "it is there already: a job is submitted once"
	case s == http.StatusUnprocessableEntity || s == http.StatusBadRequest:
		e.hint = "change what the message names"
	case s == http.StatusTooManyRequests:
		e.hint = "the API is busy: try again in a minute"
	case s >= 300 && s < 400:
		e.Message, e.hint = fmt.Sprintf("it points elsewhere (status %d), where a credential must not go", s), "write the API server's own address into the kubeconfig"
	case s >= 500:
		e.hint = "the cluster has a fault: try again, and look at kubectl get --raw /readyz"
	}
	return e
}

// failed is the error for a call without an answer.
func (c *Cluster) failed(ctx context.Context, method, path string, err error) error {
	e := &Error{cluster: c, doing: doing(method, path), err: err}
	if u, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address
		err = u.Err
	}
	e.Message = clean(err.Error(), 1<<10)
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var name *net.DNSError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var none *noCredential
	e.unsent = errors.As(err, &certificate) || errors.As(err, &none) || errors.As(err, &name) || errors.As(err, &dial) && dial.Op == "dial"
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.lasting = true
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Message, e.lasting = c.server.Host+": "+context.Cause(ctx).Error(), true
		e.hint = "look whether the cluster is up and reached from here"
	case errors.As(err, &unknown):
		e.hint, e.lasting = "certificate-authority in the kubeconfig is another one: fetch the kubeconfig again", true
	case errors.As(err, &host):
		e.hint, e.lasting = "set tls-server-name in the kubeconfig to a name that the certificate has", true
	case errors.As(err, &name):
		e.hint, e.lasting = "look at server in the kubeconfig", !name.IsTemporary
	case errors.As(err, &certificate), errors.As(err, &none):
		e.lasting = true
	default:
		e.hint = "look whether " + c.server.Host + " is up and reached from here"
	}
	return e
}
