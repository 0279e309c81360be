package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Dashboards that are there leave a file each, below the runtime directory, which is locked as long as its writer lives.
const (
	addressDir = "dashboards"
	maxAddress = 16 << 10
)

// address describes where a dashboard is served.
type address struct {
	Kind string `json:"kind"` // "serve" or "watch"
	URL  string `json:"url"`  // with its token
	PID  int    `json:"pid"`
}

// announce writes the address of a dashboard into a file, until end is called, which is never nil.
func announce(c *core.Core, a address) (end func(), err error) {
	end = func() {}
	runtime, err := c.Dirs.EnsureRuntime()
	if err != nil {
		return end, err
	}
	dir := filepath.Join(runtime, addressDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return end, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return end, err
	}
	path := filepath.Join(dir, a.Kind+"-"+strconv.Itoa(a.PID)+".json")
	_ = os.Remove(path) // of a process that had this number
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return end, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := filelock.Lock(ctx, f, filelock.Exclusive|filelock.Readable); err != nil {
		return end, err
	}
	if _, err := f.Write(text); err != nil {
		_ = filelock.Release(f)
		return end, errors.Join(err, os.Remove(path))
	}
	return func() {
		_ = os.Remove(path)
		_ = filelock.Release(f)
	}, nil
}

// ErrNoDashboard means that no dashboard is running.
var ErrNoDashboard = errors.New("no dashboard is there: start one with plimsoll watch, or with plimsoll serve")

// URL returns the address of the running dashboard, with its token. One of `serve` is preferred to one of `watch`, then the newest. The error
// is [ErrNoDashboard] if none runs. Files of dashboards that are gone are removed.
func URL(c *core.Core) (string, error) {
	runtime, err := c.Dirs.Runtime()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(runtime, addressDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var best address
	var newest time.Time
	for _, e := range entries {
		a, at, ok := readAddress(filepath.Join(dir, e.Name()))
		if ok && (best.URL == "" || a.Kind == "serve" && best.Kind != "serve" || a.Kind == best.Kind && at.After(newest)) {
			best, newest = a, at
		}
	}
	if best.URL == "" {
		return "", ErrNoDashboard
	}
	return best.URL, nil
}

// readAddress reads an address and the time of its file. ok is false unless its process runs; the file of one that is gone is removed.
func readAddress(path string) (a address, at time.Time, ok bool) {
	f, err := statefile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return a, at, false
	}
	defer f.Close()
	if free, err := filelock.Try(f, filelock.Shared|filelock.Readable); err != nil || free {
		if free {
			_ = os.Remove(path)
		}
		return a, at, false
	}
	text, err := statefile.Read(path, maxAddress)
	if err != nil || json.Unmarshal(text, &a) != nil || a.URL == "" {
		return a, at, false
	}
	if info, err := f.Stat(); err == nil {
		at = info.ModTime()
	}
	return a, at, true
}

// String returns the address without its token, so that a message printed by mistake does not reveal it.
func (a address) String() string { return fmt.Sprintf("%s of process %d", a.Kind, a.PID) }
