package kubeapi

import (
	"bytes"
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
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	dialTime = 10 * time.Second
	// callTime bounds a call. A stream has the bound of who reads it: the first byte of a log comes with its first line.
	callTime = 30 * time.Second
	// maxAnswer bounds an answer, in bytes; maxBody bounds what is sent, since etcd keeps no larger object.
	maxAnswer, maxBody = 16 << 20, 1536 << 10
	// longestWait bounds the seconds that the server may ask to wait.
	longestWait = 10
)

var errSilent = fmt.Errorf("no answer within %s", callTime)

// Path returns the path of a resource in the cluster's namespace: version is that of its API, such as "batch/v1", and parts follow the
// namespace. Each part is escaped.
func (c *Cluster) Path(version string, parts ...string) string {
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	for _, part := range append([]string{"namespaces", c.Namespace}, parts...) {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// Get reads an object or a list, and decodes it into into unless that is nil.
func (c *Cluster) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, into)
}

// Create makes an object, and decodes the answer into into unless that is nil. A server that was busy is asked again; after any other failure the
// caller finds out whether the object was made.
func (c *Cluster) Create(ctx context.Context, path string, object, into any) error {
	return c.call(ctx, http.MethodPost, path, url.Values{"fieldManager": {"plimsoll"}}, object, into)
}

// Delete removes an object. options is its DeleteOptions, nil for none.
func (c *Cluster) Delete(ctx context.Context, path string, options any) error {
	return c.call(ctx, http.MethodDelete, path, nil, options, nil)
}

// Stream opens an answer that goes on: a log that is followed, or a watch. Who calls closes it.
func (c *Cluster) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	return c.send(ctx, http.MethodGet, path, query, nil)
}

// Version returns the version of a group that the server prefers, such as "kueue.x-k8s.io/v1beta1"; "" if the server does not have the
// group.
func (c *Cluster) Version(ctx context.Context, group string) (string, error) {
	var answer struct {
		PreferredVersion struct{ GroupVersion string }
	}
	err := c.Get(ctx, "/apis/"+url.PathEscape(group), nil, &answer)
	if HTTPStatus(err) == http.StatusNotFound {
		return "", nil
	}
	return answer.PreferredVersion.GroupVersion, err
}

// call makes a request with object as its JSON body (nil for none), and decodes the answer into into, unless that is nil. The request has callTime.
func (c *Cluster) call(ctx context.Context, method, path string, query url.Values, object, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	var body []byte
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return err
		}
	}
	if len(body) > maxBody {
		message := fmt.Sprintf("it would be an object of %s, and Kubernetes keeps at most %s", limit.Bytes(len(body)).Human(), limit.Bytes(maxBody).Human())
		return c.newError(method, path, Error{unsent: true}, message, "put long texts into files of the work directory")
	}
	answer, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	text, err := io.ReadAll(io.LimitReader(answer, maxAnswer+1))
	switch {
	case err != nil:
		return c.transportError(ctx, method, path, err)
	case len(text) > maxAnswer:
		return c.newError(method, path, Error{}, "it answers with more than "+limit.Bytes(maxAnswer).Human(), "name one object, or another namespace")
	case into != nil && json.Unmarshal(text, into) != nil:
		return c.newError(method, path, Error{}, "its answer is no JSON of this kind", "look whether HOST is a Kubernetes API")
	}
	return nil
}

// send makes a call and returns the body of an answer with a status of 2xx, which the caller closes. Refused credentials are renewed once.
// After 429, and for a GET after a failure that may pass, it tries again, with the pauses in c.Waits.
func (c *Cluster) send(ctx context.Context, method, path string, query url.Values, body []byte) (io.ReadCloser, error) {
	renewed := false
	for try := 0; ; try++ {
		answer, err := c.sendOnce(ctx, method, path, query, body)
		var e *Error
		wait := 0
		switch {
		case err != nil:
			e = c.transportError(ctx, method, path, err)
		case answer.StatusCode/100 == 2:
			return answer.Body, nil
		default:
			e = c.refusalError(method, path, answer)
			wait, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
			wait = max(wait, 0)
			_ = answer.Body.Close()
		}
		again := e.Status == http.StatusTooManyRequests || method == http.MethodGet && IsTransient(e)
		if e.Status == http.StatusUnauthorized && !renewed && c.secret.invalidate() {
			renewed = true
			c.http.CloseIdleConnections() // they were made with the certificate that is refused
			try--                         // the next one is the first with another credential
			continue
		}
		if !again || try == len(c.Waits) || Sleep(ctx, max(time.Duration(min(wait, longestWait))*time.Second, c.Waits[try])) != nil {
			return nil, e
		}
	}
}

// sendOnce makes one HTTP request with the user's credential. The caller closes the body of the answer.
func (c *Cluster) sendOnce(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	token, err := c.secret.token(ctx)
	if err != nil {
		return nil, &noCredential{err}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.server.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = query.Encode()
	r.Header = http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "User-Agent": {"plimsoll"}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.user.As != "" {
		r.Header.Set("Impersonate-User", c.user.As)
		r.Header["Impersonate-Group"] = c.user.AsGroups
	}
	if c.user.AsUID != "" {
		r.Header.Set("Impersonate-Uid", c.user.AsUID)
	}
	return c.http.Do(r)
}

// Sleep waits for d or until ctx ends, and returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Error is the reason why a call did not succeed, as one sentence.
type Error struct {
	// Status is the one of the answer, 0 where there was none.
	Status int

	text    string
	lasting bool // another try brings the same
	unsent  bool // nothing has reached the server
}

func (e *Error) Error() string { return e.text }

// HTTPStatus returns the HTTP status of an [Error], else 0.
func HTTPStatus(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// IsTransient reports whether the same call may succeed later: the server was busy, had a fault or was not there.
func IsTransient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.lasting && (e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// MayHaveActed reports whether the server may have done what it was asked to, although the call failed.
func MayHaveActed(err error) bool {
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

// refusalError returns the error for an answer with another status than 2xx, with the server's message and, if one is known, a hint. It does not
// close the body.
func (c *Cluster) refusalError(method, path string, answer *http.Response) *Error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	message := fmt.Sprintf("it answers with status %d", answer.StatusCode)
	var said struct{ Kind, Message string }
	if json.Unmarshal(text, &said) == nil && said.Kind == "Status" && said.Message != "" {
		message = cleanLine(said.Message, 1<<10)
	}
	hint := ""
	for _, h := range hints {
		if hint == "" && (h.status == answer.StatusCode || h.status == answer.StatusCode/100) && strings.Contains(message, h.says) {
			hint = h.hint
		}
	}
	return c.newError(method, path, Error{Status: answer.StatusCode}, message, hint)
}

// newError returns e with its text: what the cluster does not do, the message, and the hint. USER, CONTEXT and HOST in the hint are
// replaced by the names of this cluster.
func (c *Cluster) newError(method, path string, e Error, message, hint string) *Error {
	verb := map[string]string{http.MethodGet: "show", http.MethodPost: "create", http.MethodDelete: "delete"}[method]
	e.text = fmt.Sprintf("Kubernetes (context %s) does not %s %s: %s", printable.Name(c.Context), verb, describePath(path), message)
	if hint != "" {
		e.text += "; " + strings.NewReplacer("USER", fmt.Sprintf("%q", printable.Name(c.user.name)), "CONTEXT", c.Context, "HOST", c.server.Host).Replace(hint)
	}
	return &e
}

// describePath returns a path of the API in words, such as "jobs in namespace agents".
func describePath(path string) string {
	what, _ := url.PathUnescape(path)
	if _, within, ok := strings.Cut(what, "/namespaces/"); ok {
		namespace, resource, _ := strings.Cut(within, "/")
		what = resource + " in namespace " + namespace
	}
	return printable.Name(what)
}

// transportError returns the error for a call that got no answer. It records whether the request was certainly not sent, and whether trying again
// is of no use.
func (c *Cluster) transportError(ctx context.Context, method, path string, err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address
		err = u.Err
	}
	message, hint := cleanLine(err.Error(), 1<<10), ""
	name, isName := errors.AsType[*net.DNSError](err)
	dial, isDial := errors.AsType[*net.OpError](err)
	unsent, lasting := isError[*tls.CertificateVerificationError](err) || isError[*noCredential](err), true
	switch {
	case errors.Is(ctx.Err(), context.Canceled), isError[*noCredential](err):
	case ctx.Err() != nil:
		message, hint = c.server.Host+": "+context.Cause(ctx).Error(), "look whether the cluster is up and reached from here"
	case isError[x509.UnknownAuthorityError](err):
		hint = "certificate-authority in the kubeconfig is another one: fetch the kubeconfig again"
	case isError[x509.HostnameError](err):
		hint = "set tls-server-name in the kubeconfig to a name that the certificate has"
	case isName:
		hint, lasting = "look at server in the kubeconfig", !name.IsTemporary
	case !unsent:
		hint, lasting = "look whether HOST is up and reached from here", false
	}
	unsent = unsent || isName || isDial && dial.Op == "dial"
	return c.newError(method, path, Error{lasting: lasting, unsent: unsent}, message, hint)
}

// isError reports whether an error is or wraps one of type T.
func isError[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
