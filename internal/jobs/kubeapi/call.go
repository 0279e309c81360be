package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
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
	// maxAnswer bounds an answer, in bytes; maxBody bounds what is sent, since etcd keeps no larger object.
	maxAnswer, maxBody = 16 << 20, 1536 << 10
	// longestWait bounds the seconds that the server may ask to wait.
	longestWait = 10
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

func (c *Cluster) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	answer, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.failed(ctx, method, path, err)
	case len(text) > maxAnswer:
		return c.refusal(method, path, 0, "it answers with more than "+limit.Bytes(maxAnswer).Human(), "name one object, or another namespace")
	case into != nil && json.Unmarshal(text, into) != nil:
		return c.refusal(method, path, 0, "its answer is no JSON of this kind", "look whether HOST is a Kubernetes API")
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
		if len(text) > maxBody {
			e := c.refusal(method, path, 0, fmt.Sprintf("it would be an object of %s, and Kubernetes keeps at most %s", limit.Bytes(len(text)).Human(), limit.Bytes(maxBody).Human()),
				"put long texts into files of the work directory")
			e.unsent = true
			return nil, e
		}
	}
	asked := false // again for a credential
	for try := 0; ; {
		answer, err := c.once(ctx, method, path, query, text)
		var e *Error
		wait := 0
		switch {
		case err != nil:
			e = c.failed(ctx, method, path, err)
		case answer.StatusCode/100 == 2:
			return answer, nil
		default:
			e = c.refused(method, path, answer)
			wait, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
			_ = answer.Body.Close()
		}
		if e.Status == http.StatusUnauthorized && !asked && c.secret.refused() {
			asked = true
			c.http.CloseIdleConnections() // they were made with the certificate that is refused
			continue
		}
		again := e.Status == http.StatusTooManyRequests || method == http.MethodGet && Transient(e)
		if !again || try >= len(c.waits) || Pause(ctx, max(time.Duration(min(wait, longestWait))*time.Second, c.waits[try])) != nil {
			return nil, e
		}
		try++
	}
}

func (c *Cluster) once(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	token, err := c.secret.token(ctx)
	if err != nil {
		return nil, &noCredential{err}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.server.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = query.Encode()
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "plimsoll")
	if len(body) > 0 {
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

// Pause waits, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
