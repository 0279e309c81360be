package window

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/window/models"
)

// fetchTime bounds the fetching of a catalogue.
const fetchTime = 2 * time.Minute

// Refreshed is the outcome of [Refresh].
type Refreshed = models.Refreshed

// Refresh puts a public catalogue of models, from a file or an address, in front of the built-in one. Only what the user names is
// asked. When it fails nothing changes.
func Refresh(ctx context.Context, app *core.Core, from string) (Refreshed, error) {
	data, err := readCatalogue(ctx, from)
	if err != nil {
		return Refreshed{}, err
	}
	state, err := app.Dirs.EnsureState()
	if err != nil {
		return Refreshed{}, fmt.Errorf("keep the catalogue: %w; set PLIMSOLL_STATE_DIR to a directory that is yours to write to", err)
	}
	r, err := models.Refresh(filepath.Join(state, "window", "limits"), shown(from), data)
	if err != nil {
		return r, fmt.Errorf("%s: %w; nothing was changed", shown(from), err)
	}
	return r, nil
}

// Reset takes out what [Refresh] has put in front of the built-in catalogue; had reports whether there was something.
func Reset(app *core.Core) (had bool, err error) { return models.Forget(limitsDir(app)) }

// shown returns where a catalogue comes from, without what may be a secret in an address.
func shown(from string) string {
	if u, err := url.Parse(from); err == nil && u.Host != "" {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	return from
}

// readCatalogue returns the content of a file, or of an address that mayFetch allows.
func readCatalogue(ctx context.Context, from string) ([]byte, error) {
	const forms = "write a file, or an address that begins with https://, of models.dev's api.json or LiteLLM's model_prices_and_context_window.json"
	if !strings.Contains(from, "://") {
		f, err := os.Open(from)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file %s; %s", from, forms)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder; %s", from, forms)
		}
		return readBounded(f, from)
	}
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no address; %s", shown(from), forms)
	}
	if err := mayFetch(u); err != nil {
		return nil, err
	}
	client := http.Client{Transport: forwardproxy.Transport(), Timeout: fetchTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("it leads on and on")
		}
		return mayFetch(r.URL)
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may hold a secret
		}
		return nil, fmt.Errorf("fetch %s: %w; save it by other means and name the file", shown(from), err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: it answers with %s; %s", shown(from), answer.Status, forms)
	}
	return readBounded(answer.Body, shown(from))
}

// mayFetch returns an error unless an address is one with TLS or of this machine: what comes from it decides what is cut, so nobody on the way may
// change it.
func mayFetch(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && core.OnLoopback(u.String()) {
		return nil
	}
	return fmt.Errorf("%s is not fetched: only https:// is, and http:// on this machine", shown(u.String()))
}

// readBounded reads all of r; more than models.MaxCatalogue bytes are an error.
func readBounded(r io.Reader, from string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, models.MaxCatalogue+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from, err)
	}
	if len(data) > models.MaxCatalogue {
		return nil, fmt.Errorf("%s is larger than %d MiB, which no catalogue of models is", from, models.MaxCatalogue>>20)
	}
	return data, nil
}
