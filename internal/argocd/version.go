package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Version is the version of a server. The zero value is an unknown one.
type Version struct {
	Major, Minor, Patch int
	Text                string // the server's text: "v3.5.1+109ca7c"
}

// The times after which a version, or the result that it is not known, is requested again (servers get upgraded), and the bound of
// the answer in bytes.
const (
	versionAge  = 10 * time.Minute
	unknownAge  = time.Minute
	versionSize = 64 << 10
)

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// String returns the server's text of the version; "an unknown version" if there is none.
func (v Version) String() string {
	if v.Text == "" {
		return "an unknown version"
	}
	return v.Text
}

// ParseVersion parses a version as servers write it: "v3.5.1+109ca7c", "2.10.0-rc1". Text without two or three numbers is an error.
func ParseVersion(text string) (Version, error) {
	v := Version{Text: text}
	numbers, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "+")
	numbers, _, _ = strings.Cut(numbers, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 || len(parts) > 3 || len(text) > 200 {
		return Version{}, fmt.Errorf("%.60q is no version like v3.5.1", text)
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%.60q is no version like v3.5.1", text)
		}
		*to = int(n)
	}
	return v, nil
}

// Version asks the server for its version, which needs no credential, and remembers it for ten minutes. It is an [*Error] if the server
// does not answer with one, or with one that has no numbers ("latest").
func (c *Client) Version(ctx context.Context) (Version, error) {
	v, err := c.version(ctx)
	if err == nil && v.Major == 0 {
		err = &Error{Instance: c.Name(), Op: "version", Kind: NotArgoCD, Message: fmt.Sprintf("the server says that its version is %.60q", v.Text), Hint: "check that the URL is that of Argo CD"}
	}
	return v, err
}

// version returns the server's version, asked for at most once in versionAge; only Text is set if that has no numbers. An error is not
// remembered.
func (c *Client) version(ctx context.Context) (Version, error) {
	s := c.shared
	s.mu.Lock()
	v, until := s.version, s.versionUntil
	s.mu.Unlock()
	if time.Now().Before(until) {
		return v, nil
	}
	body, err := c.readValue(ctx, request{op: "version", method: "GET", path: []string{"api", "version"}, gzip: true}, versionSize)
	if err != nil {
		return Version{}, err
	}
	var said struct{ Version string }
	age := versionAge
	if err := json.Unmarshal(body, &said); err != nil {
		return Version{}, c.notJSONError("version", err)
	}
	if v, err = ParseVersion(said.Version); err != nil {
		// A custom build: its lists work all the same.
		v, age = Version{Text: safeText(said.Version, 200)}, unknownAge
	}
	s.mu.Lock()
	s.version, s.versionUntil = v, time.Now().Add(age)
	s.mu.Unlock()
	return v, nil
}

// versionForFields returns the version, or the zero one if the server refuses to tell it; that is remembered for unknownAge. It returns
// only an error that the list itself would also meet: no connection, or a ctx that has ended.
func (c *Client) versionForFields(ctx context.Context) (Version, error) {
	v, err := c.version(ctx)
	if e, ok := err.(*Error); ok {
		switch e.Kind {
		case Unreachable, TLS, Timeout:
			return Version{}, err
		}
		if ctx.Err() != nil {
			return Version{}, err // this caller has left, which says nothing about the server
		}
		s := c.shared
		s.mu.Lock()
		s.version, s.versionUntil = Version{}, time.Now().Add(unknownAge)
		s.mu.Unlock()
		return Version{}, nil // the list itself will fail with the reason
	}
	return v, err
}
