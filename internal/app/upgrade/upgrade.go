// Package upgrade finds out whether a newer release of Plimsoll is there. It downloads and replaces nothing: that is for
// install.sh or the package manager that put the program where it is.
//
//	found, err := upgrade.Check(ctx, upgrade.Options{Version: "v0.1.0"})
//	if err == nil && found.Newer { fmt.Println(found.Latest, found.Page) }
//
// One GET without a token is sent, to GitHub's releases API or to an address of the same form. It takes at most [Timeout], and at most
// [MaxBody] bytes of the answer are read. Redirects never lead from https to http. Errors are one sentence with the next step.
//
// Safe for concurrent use. The tests ask real servers; the reader of answers is fuzzed.
package upgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/printable"
)

const (
	// DefaultFrom is the URL that is used where Options name nothing else
	// (https://docs.github.com/en/rest/releases/releases#get-the-latest-release).
	DefaultFrom = "https://api.github.com/repos/plimsoll/plimsoll/releases/latest"
	// Timeout is the longest that a check takes.
	Timeout = 10 * time.Second
	// MaxBody is the most that is read of an answer, in bytes. The notes of a release are in it, at most 125,000 characters.
	MaxBody = 1 << 20
)

// Options of a check.
type Options struct {
	// Version is that of this program: "v0.1.0", or anything else for a build without one.
	Version string
	// From is the address to ask; "" is DefaultFrom.
	From string
}

// Found is the result of a check for a newer release.
type Found struct {
	Version string `json:"version"` // of this program
	Latest  string `json:"latest"`  // the newest release: "v0.2.0"
	Newer   bool   `json:"newer"`   // Latest is newer than Version, or Version is none
	Page    string `json:"page"`    // of the release, to be read; may be ""
}

// Check asks for the newest release and compares it with this program by the rules of semantic versions (https://semver.org/#spec-item-11).
func Check(ctx context.Context, o Options) (Found, error) {
	o.From = cmp.Or(o.From, DefaultFrom)
	from, err := url.Parse(o.From)
	if err != nil || from.Host == "" {
		return Found{}, fmt.Errorf("%q is no address; write it as in %s", printable.Name(o.From), DefaultFrom)
	}
	if err := mayAsk(from); err != nil {
		return Found{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return Found{}, err
	}
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("User-Agent", "plimsoll")
	client := http.Client{Transport: forwardproxy.Transport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("it leads on and on")
		}
		if from.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("it leads to an address without TLS")
		}
		return mayAsk(r.URL)
	}}
	answer, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which is told once
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
		return Found{}, fmt.Errorf("ask %s for the newest release: %w; try again with a network, or look at the page of the project", shown(from), err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return Found{}, fmt.Errorf("ask %s for the newest release: it answers with %s; try again later, or name another address with --from", shown(from), printable.Name(answer.Status))
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxBody+1))
	if err != nil {
		return Found{}, fmt.Errorf("read the answer of %s: %w; try again", shown(from), err)
	}
	f, err := parseRelease(text)
	if err != nil {
		return Found{}, fmt.Errorf("%s says nothing of a release: %w; name another address with --from", shown(from), err)
	}
	f.Version = o.Version
	f.Newer = semver.Compare(f.Latest, canonical(o.Version)) > 0 // what is no version is older than any
	return f, nil
}

// parseRelease takes the version and the page out of an answer of the releases API. A page that is not https is left out; an answer without a
// version, or larger than MaxBody, is an error.
func parseRelease(text []byte) (Found, error) {
	if len(text) > MaxBody {
		return Found{}, fmt.Errorf("its answer is larger than %d MiB", MaxBody>>20)
	}
	var release struct {
		Tag  string `json:"tag_name"`
		Page string `json:"html_url"`
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return Found{}, errors.New("its answer is no JSON object")
	}
	f := Found{Latest: canonical(release.Tag)}
	if f.Latest == "" {
		return Found{}, fmt.Errorf("its tag_name is %.40q, which is no version", release.Tag)
	}
	if page, err := url.Parse(release.Page); err == nil && page.Scheme == "https" {
		f.Page = page.String() // which escapes what a terminal would heed
	}
	return f, nil
}

// canonical returns a version as in "v0.1.0", without a build's metadata; "" is for what is none.
func canonical(version string) string {
	if !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	return semver.Canonical(version)
}

// mayAsk returns an error unless an address is one with TLS or of this machine: nobody on the way may say what the newest release is.
func mayAsk(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && core.OnLoopback(u.String()) {
		return nil
	}
	return fmt.Errorf("%s is not asked: only https:// is, and http:// on this machine", shown(u))
}

// shown returns an address without what may be secret in it.
func shown(u *url.URL) string {
	return printable.Name((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
