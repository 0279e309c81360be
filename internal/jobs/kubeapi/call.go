package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	dialTime = 10 * time.Second
	// callTime bounds a call. A stream has the bound of who reads it: the first byte of a log comes with its first line.
	callTime = 30 * time.Second
	// MaxAnswer bounds an answer, in bytes; MaxBody bounds what is sent, since etcd keeps no larger object.
	MaxAnswer, MaxBody = 16 << 20, 1536 << 10
	// longestWait bounds a wait that the server asks for.
	longestWait = 10 * time.Second
)

var errSilent = fmt.Errorf("no answer within %s", callTime)

// Path returns the path of an API: the version, the namespace ("" for none), and what follows. Each part is escaped.
func Path(version, namespace string, parts ...string) string {
	path := "/apis/" + version
	if !strings.Contains(version, "/") {
		path = "/api/" + version
	}
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// Get reads an object or a list. into may be nil.
func (c *Cluster) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, into)
}

// Create makes an object. A server that was busy is asked again; otherwise who calls finds out whether it was made.
func (c *Cluster) Create(ctx context.Context, path string, object, into any) error {
	return c.call(ctx, http.MethodPost, path, url.Values{"fieldManager": {"plimsoll"}}, object, into)
}

// Delete removes an object.
func (c *Cluster) Delete(ctx context.Context, path string, options any) error {
	return c.call(ctx, http.MethodDelete, path, nil, options, nil)
}

func (c *Cluster) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	answer, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return c.failed(ctx, method, path, err)
	case len(text) > MaxAnswer:
		return &Error{cluster: c, doing: doing(method, path), Message: "it answers with more than " + limit.Bytes(MaxAnswer).Human(), hint: "name one object, or another namespace"}
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &Error{cluster: c, doing: doing(method, path), Message: "its answer is no JSON of this kind", hint: "look whether " + c.server.Host + " is a Kubernetes API"}
	}
	return nil
}

// Stream opens an answer that goes on: a log that is followed, or a watch. Who calls closes it.
func (c *Cluster) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	answer, err := c.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// send makes a call, again where that is safe and of use, and returns the answer of one that was accepted.
func (c *Cluster) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
		if len(text) > MaxBody {
			return nil, &Error{
				cluster: c, doing: doing(method, path), unsent: true, hint: "put long texts into files of the work directory",
				Message: fmt.Sprintf("it would be an object of %s, and Kubernetes keeps at most %s", limit.Bytes(len(text)).Human(), limit.Bytes(MaxBody).Human()),
			}
		}
	}
	asked := false // again for a credential
	for try := 0; ; {
		answer, err := c.once(ctx, method, path, query, text)
		if err == nil && answer.StatusCode >= 200 && answer.StatusCode < 300 {
			return answer, nil
		}
		var wait time.Duration
		if err == nil {
			err = c.refusal(method, path, answer)
			wait = min(retryAfter(answer.Header), longestWait)
			_ = answer.Body.Close()
		} else {
			err = c.failed(ctx, method, path, err)
		}
		status := StatusOf(err)
		if status == http.StatusUnauthorized && !asked && c.secret.refused() {
			asked = true
			continue
		}
		again := status == http.StatusTooManyRequests || method == http.MethodGet && Transient(err)
		if !again || try >= len(c.waits) {
			return nil, err
		}
		if Pause(ctx, max(wait, c.waits[try])) != nil {
			return nil, err
		}
		try++
	}
}

func (c *Cluster) once(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := *c.server
	u.RawQuery = query.Encode()
	target := u.String()
	if i := strings.IndexByte(target, '?'); i >= 0 {
		target = target[:i] + path + target[i:]
	} else {
		target += path
	}
	token, err := c.secret.token(ctx)
	if err != nil {
		return nil, &noCredential{err}
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "plimsoll")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.user.As != "" {
		r.Header.Set("Impersonate-User", c.user.As)
		for _, group := range c.user.AsGroups {
			r.Header.Add("Impersonate-Group", group)
		}
		if c.user.AsUID != "" {
			r.Header.Set("Impersonate-Uid", c.user.AsUID)
		}
	}
	return c.http.Do(r)
}

// Transient says that the same call may succeed later: the server was busy, had a fault or was not there.
func Transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.lasting && (e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// Pause waits, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

// Version returns the version of a group that the server prefers, "kueue.x-k8s.io/v1beta1", and "" where it does not have the group.
func (c *Cluster) Version(ctx context.Context, group string) (string, error) {
	var answer struct {
		PreferredVersion struct{ GroupVersion string }
	}
	err := c.Get(ctx, "/apis/"+url.PathEscape(group), nil, &answer)
	if StatusOf(err) == http.StatusNotFound {
		return "", nil
	}
	return answer.PreferredVersion.GroupVersion, err
}
