package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/store"
)

const (
	schema = 1
	// maxFile bounds a file that is read: 256 models take 50 KiB.
	maxFile = 1 << 20
	// lockWait limits how long a refused request waits for other writers, each of whom holds the lock
	// until the disk has the file: milliseconds, or tenths of a second on a busy disk. After that what
	// was learned is written with what is learned next, or retrySave later.
	lockWait  = 2 * time.Second
	retrySave = 5 * time.Second
)

// document is the file of one upstream.
type document struct {
	Schema   int                      `json:"schema"`
	Upstream string                   `json:"upstream"`
	Models   map[string]*learnedLimit `json:"models"`
}

// stamp identifies the state of a file, to detect a change.
type stamp struct {
	size int64
	when time.Time
}

// path returns the path of the file for an upstream. Its name is readable, and different for different upstreams.
func (x *Resolver) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, strings.ToLower(name[:min(len(name), 40)]))
	return filepath.Join(x.o.Dir, "limits-"+strings.Trim(readable, ".")+"-"+hex.EncodeToString(sum[:4])+".json")
}

// reload reads what other processes have learned of an upstream, if the file was not checked for recheck. Callers wait for the first
// reading of an upstream; later ones delay only the caller that reads.
func (x *Resolver) reload(name string) {
	if x.o.Dir == "" {
		return
	}
	due := func(now time.Time) (u *upstream, yes bool) {
		u = x.upstream(name)
		if u.checked.IsZero() {
			return u, true
		}
		if yes = now.Sub(u.checked) >= recheck; yes {
			u.checked = now
		}
		return u, yes
	}
	x.mu.Lock()
	u, yes := due(time.Now())
	first := u.checked.IsZero()
	x.mu.Unlock()
	if !yes {
		return
	}
	x.reading.Lock()
	defer x.reading.Unlock()
	if first {
		x.mu.Lock()
		u, yes = due(time.Now()) // perhaps somebody has looked while we waited
		x.mu.Unlock()
		if !yes {
			return
		}
	}
	x.readLearned(name, u)
}

// readLearned reads the file of an upstream into u if it has changed since it was read last. No file is no error. One that cannot be used is left
// out with a warning; a damaged one is also renamed, so that learning begins anew.
func (x *Resolver) readLearned(name string, u *upstream) {
	path := x.path(name)
	info, err := os.Stat(path)
	var d *document
	if err == nil { // else there is none yet; what can't be read is said when it is written
		x.mu.Lock()
		same := u.stamp == stampOf(info)
		x.mu.Unlock()
		if !same {
			if read, err := fileAt(path).Read(); err == nil {
				d = &read
			} else {
				x.unreadable(path, err)
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	u.checked = time.Now()
	if d != nil {
		u.stamp = stampOf(info)
		u.merge(d)
	}
}

// stampOf returns the state of a file as its info shows it.
func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

// merge takes over limits from the file that were learned later than ours. Limits that are out of range or from the future are ignored.
func (u *upstream) merge(d *document) {
	for key, theirs := range d.Models {
		if theirs == nil || len(key) > maxKey+len("[1m]") || theirs.Limit != 0 && (theirs.Limit < MinContext || theirs.Limit > MaxContext) ||
			theirs.Learned.After(time.Now().Add(time.Hour)) {
			continue
		}
		ours := u.models[key]
		switch {
		case ours == nil:
			u.models[key] = &learnedLimit{Limit: theirs.Limit, Learned: theirs.Learned}
		case theirs.Learned.After(ours.Learned):
			ours.Limit, ours.Learned, ours.guess = theirs.Limit, theirs.Learned, false
		}
	}
	u.trim(MaxModels)
}

// fileAt returns access to the file with learned limits at a path.
func fileAt(path string) store.Document[document] {
	return store.Document[document]{File: store.File{Path: path, Max: maxFile, Kept: atomicfile.Durable}, Schema: schema, Check: (*document).check}
}

// check returns an error if the file has another schema than this version's.
func (d *document) check() error {
	if d.Schema != schema {
		return fmt.Errorf("its schema is %d, not %d", d.Schema, schema)
	}
	return nil
}

// warnAside warns that the damaged file path was renamed to aside.
func (x *Resolver) warnAside(path, aside string, why error) {
	x.warnOnce(path, "the learned limits in %s are damaged: %v; the file is set aside as %s and learning begins anew", path, why, filepath.Base(aside))
}

// unreadable warns about a file that cannot be used because of err, and renames it if it is damaged.
func (x *Resolver) unreadable(path string, err error) {
	d, ok := errors.AsType[*store.Damage](err)
	if !ok {
		x.warnOnce(path, "the learned limits in %s are not used: %v; what is learned now is forgotten at the end", path, err)
		return
	}
	aside, err := store.SetAsidePath(path)
	if err != nil {
		x.warnOnce(path, "the learned limits in %s are damaged (%v) and can't be set aside: %v; remove the file", path, d.Err, err)
		return
	}
	x.warnAside(path, aside, d.Err)
}

// save writes what was learned of an upstream, merged with what others have written meanwhile. It does nothing if there is nothing new.
// After a failure the limits count in memory, and a later save tries again.
func (x *Resolver) save(name string) {
	if x.o.Dir == "" {
		return
	}
	x.mu.Lock()
	u := x.upstream(name)
	due := u.unsaved && time.Since(u.failed) >= retrySave
	x.mu.Unlock()
	if !due {
		return
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	path := x.path(name)
	if err := x.write(u, name, path); err != nil {
		x.mu.Lock()
		u.unsaved, u.failed = true, time.Now()
		x.mu.Unlock()
		x.warnOnce("write "+path, "the learned limits can't be written to %s: %v; they count in this process, which tries again", path, err)
	}
}

// write merges the file of an upstream with u, under the file's lock, and stores the result in both.
func (x *Resolver) write(u *upstream, name, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	file := fileAt(path)
	file.Aside = func(aside string, why error) { x.warnAside(path, aside, why) }
	err := file.ChangeAnew(ctx, func(d *document) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		u.merge(d)
		*d = document{Schema: schema, Upstream: name, Models: map[string]*learnedLimit{}}
		for key, l := range u.models {
			if !l.guess && !l.Learned.IsZero() {
				kept := *l // others may change it while it is written
				d.Models[key] = &kept
			}
		}
		u.unsaved = false
		return nil
	})
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		x.mu.Lock()
		u.stamp = stampOf(info)
		x.mu.Unlock()
	}
	return nil
}

// SourceList is the source of a window from the provider's own list of models, which passed on its way to a client.
const SourceList = "list"

// maxTold bounds the number of models that are remembered from all lists; further ones are ignored.
const maxTold = 4096

// A Listing is a model's entry in a provider's list of models, in tokens; 0 is unknown.
type Listing struct {
	Model  string
	Window Window
}

// listedKey is a model at an upstream.
type listedKey struct{ upstream, model string }

// Tell records the windows in an upstream's own list of models, and returns how many of them it accepted. Such a window replaces a guess,
// and raises the catalogue's; it lowers that only for servers that cut a longer input silently ([MayTruncate]). Others refuse such an
// input, which teaches the window for that credential: the list may have been another's. Of several lists the largest window counts, for as
// long as the Resolver lives.
func (x *Resolver) Tell(upstream string, listed []Listing) (taken int) {
	for _, l := range listed {
		w := l.Window
		if w.Context < MinContext || w.Context > MaxContext || l.Model == "" || len(l.Model) > maxKey {
			continue
		}
		if w.Input < 0 || w.Input >= w.Context {
			w.Input = 0
		}
		w.Output = max(w.Output, 0)
		known, ok := x.catalogue().Lookup(upstream, l.Model, nil)
		if ok && !known.Guessed() && (w.Context == known.Context || w.Context < known.Context && !MayTruncate(upstream, l.Model)) {
			continue // memory only for what counts
		}
		w.Source = SourceList
		at := listedKey{upstream, modelKey(l.Model, nil)}
		x.mu.Lock()
		old, again := x.told[at]
		if (again || len(x.told) < maxTold) && w.Context > old.Context {
			if x.told == nil {
				x.told = map[listedKey]Window{}
			}
			x.told[at] = w
			taken++
		}
		x.mu.Unlock()
	}
	return taken
}

// listed returns the window that an upstream's list gave for a model; false if there is none.
func (x *Resolver) listed(upstream, key string) (Window, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w, ok := x.told[listedKey{upstream, key}]
	return w, ok
}
