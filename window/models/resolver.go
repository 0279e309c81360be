package models

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a [Resolver].
const (
	// MaxUpstreams is the number of upstreams kept in memory; the one not used for longest goes.
	MaxUpstreams = 64
	// MaxModels is the number of models kept of one upstream, in memory and on disk; the one
	// learned longest ago goes.
	MaxModels = 256
	// LearnedFor is the time for which a limit that a provider named is believed. Requests below it never show that it no longer holds: a local
	// server that was started again with a larger window, or a provider's slip, would count for ever. Afterwards the catalogue counts
	// again, and a refusal, which the client does not see, teaches anew.
	LearnedFor = 24 * time.Hour
	// GuessedFor is the time for which a limit that no refusal named is believed.
	GuessedFor = time.Hour
	// justAccepted is the time for which an accepted request is evidence against a smaller limit. A server may be started again with a smaller
	// window.
	justAccepted = 10 * time.Minute
	// recheck is the interval at which the file of an upstream is checked for limits that others learned.
	recheck = 5 * time.Second
)

// Options of a [Resolver]. The zero value keeps everything in memory and has no overrides.
type Options struct {
	// Dir is the directory of the files of learned limits; it is made (0700) when the first
	// is written. "" keeps them in memory.
	Dir string
	// Overrides are the windows that the user has set.
	Overrides Overrides
	// Ask returns the window that a server serves a model with, 0 when it does not know. It is called where the server might cut a longer
	// input silently ([MayTruncate]) and nothing else was set or learned; nil asks nobody. It may take a moment, and remembers its answers.
	Ask func(upstream, model string) int
	// Warn, if not nil, is called with a sentence when a file cannot be used: from any goroutine, and at most once for the same file and
	// reason.
	Warn func(text string)
}

// A Resolver resolves the window of a model from all its sources. Make one with [NewResolver].
type Resolver struct {
	o Options

	// mu guards what is in memory and is never held while a file is read, written or locked: every
	// request asks for its window.
	mu        sync.Mutex
	upstreams map[string]*upstream
	told      map[listedKey]Window

	reading, writing sync.Mutex // one goroutine at a time

	refreshed struct {
		sync.Mutex
		is      *Catalogue
		checked time.Time
	}

	warnings sync.Mutex
	warned   map[string]bool
}

// NewResolver returns a Resolver. It reads no file yet.
func NewResolver(o Options) *Resolver {
	o.Overrides.ByProvider, o.Overrides.ByModel = maps.Clone(o.Overrides.ByProvider), maps.Clone(o.Overrides.ByModel)
	return &Resolver{o: o, upstreams: map[string]*upstream{}, warned: map[string]bool{}}
}

// upstream holds the limits learned of one upstream.
type upstream struct {
	models  map[string]*learnedLimit
	used    time.Time
	checked time.Time // when the file was last looked at
	stamp   stamp     // the file's state then
	unsaved bool      // a learned limit is not in the file yet
	failed  time.Time // when writing it failed last
}

// A learnedLimit is the limit learned of one model.
type learnedLimit struct {
	Limit   int       `json:"limit"` // in tokens; 0 means that an earlier limit was wrong
	Learned time.Time `json:"learned"`

	guess      bool // not named by the provider: memory only
	accepted   int  // tokens of the largest input that went through lately
	acceptedAt time.Time
	doubted    int // the limit that was not believed the first time
}

// valid returns the learned limit in tokens, 0 if there is none or it is too old.
func (l *learnedLimit) valid(now time.Time) int {
	if l == nil || l.Limit == 0 {
		return 0
	}
	age := LearnedFor
	if l.guess {
		age = GuessedFor
	}
	if now.Sub(l.Learned) > age {
		return 0
	}
	return l.Limit
}

// Window returns the window in force for a model at an upstream, which is the name of a provider or the address that requests go to; Learn
// must be given the same string. The result always has a Context and its Source.
func (x *Resolver) Window(upstream, model string, betas []string) Window {
	w, known := x.catalogue().Lookup(upstream, model, betas)
	if listed, ok := x.listed(upstream, modelKey(model, betas)); ok {
		listed.Output = cmp.Or(listed.Output, w.Output)
		w, known = listed, true
	}
	learned := x.learnedLimit(upstream, modelKey(model, betas))
	said := x.o.Overrides.forModel(model)
	override := said.Context
	if override == 0 {
		override = x.o.Overrides.window(upstream)
	}
	asked := 0
	if override == 0 && learned == 0 && x.o.Ask != nil && MayTruncate(upstream, model) {
		if n := x.o.Ask(upstream, model); n >= MinContext && n <= MaxContext {
			asked = n
		}
	}
	switch {
	case override > 0 && (learned == 0 || override <= learned):
		w = Window{Context: override, Output: w.Output, Source: SourceConfig}
	case learned > 0:
		input := w.Input
		if input >= learned {
			input = 0 // it is the input that the provider named
		}
		w = Window{Context: learned, Input: input, Output: w.Output, Source: SourceLearned}
	case asked > 0:
		w = Window{Context: asked, Output: w.Output, Source: SourceServer}
	case !known:
		w = Window{Context: x.o.Overrides.fallback(upstream), Source: SourceDefault}
	}
	if said.Output > 0 {
		w.Output = said.Output
	}
	if w.Output >= w.Context {
		w.Output = 0 // such an output says nothing: some entries repeat the window
	}
	return w
}

// catalogue returns the catalogue to use now. It looks for a refreshed one at most once in recheck; only the first callers wait for the
// disk.
func (x *Resolver) catalogue() *Catalogue {
	r := &x.refreshed
	r.Lock()
	defer r.Unlock()
	if r.is == nil {
		r.is, r.checked = x.openCatalogue(), time.Now()
	}
	is, now := r.is, time.Now()
	if x.o.Dir == "" || now.Sub(r.checked) < recheck {
		return is
	}
	r.checked = now
	r.Unlock()
	if !is.isCurrent(x.o.Dir) {
		is = x.openCatalogue()
	}
	r.Lock()
	r.is = is
	return is
}

// openCatalogue opens the catalogue. If a refreshed one cannot be used, it warns and returns the built-in one.
func (x *Resolver) openCatalogue() *Catalogue {
	c, err := Open(x.o.Dir)
	if err != nil {
		path := filepath.Join(x.o.Dir, refreshedFile)
		x.warnOnce(path, "the refreshed catalogue %s is not used: %v; plimsoll models --refresh writes it anew, --reset removes it", path, err)
	}
	return c
}

// learnedLimit returns the limit in tokens that was learned of a model and still counts, or 0.
func (x *Resolver) learnedLimit(name, key string) int {
	x.reload(name)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.upstream(name).models[key].valid(time.Now())
}

// Learn records a limit in tokens that a refusal has shown: named by the provider, or found out by trying (then it counts for [GuessedFor]
// and in this process only). It is accepted if it lies between [MinContext] and [MaxContext] (a server's bug once named 3) and no larger
// input went through within the last ten minutes; a limit that the provider names a second time is accepted even then. A guess below an
// input that went through is raised to that. A guess never replaces a smaller limit that was named. why is the reason if it is not
// accepted, else "".
func (x *Resolver) Learn(upstream, model string, betas []string, limit int, named bool) (accepted bool, why string) {
	if limit < MinContext || limit > MaxContext {
		return false, fmt.Sprintf("a window of %d tokens is not plausible (%d to %d are)", limit, MinContext, MaxContext)
	}
	x.reload(upstream)
	defer x.save(upstream)
	x.mu.Lock()
	defer x.mu.Unlock()
	now, u := time.Now(), x.upstream(upstream)
	l := u.limitOf(modelKey(model, betas))
	if limit < l.accepted && now.Sub(l.acceptedAt) < justAccepted && !named {
		limit = l.accepted
	}
	if limit < l.accepted && now.Sub(l.acceptedAt) < justAccepted {
		if l.doubted != limit {
			l.doubted = limit
			return false, fmt.Sprintf("an input of %d tokens went through %v ago", l.accepted, now.Sub(l.acceptedAt).Round(time.Second))
		}
		l.accepted = 0
	}
	if old := l.valid(now); !named && old > 0 && old <= limit && !l.guess {
		return false, fmt.Sprintf("the provider named %d tokens", old)
	}
	again := named && l.valid(now) == limit && !l.guess && now.Sub(l.Learned) < LearnedFor/2
	l.Limit, l.guess, l.doubted = limit, !named, 0
	if again {
		return true, "" // the file has it, or will have
	}
	l.Learned = now
	if named {
		u.unsaved, u.failed = true, time.Time{}
	}
	return true, ""
}

// Accepted records that an input of that many tokens, as the provider counts, went through. A learned limit below it was wrong and is
// forgotten.
func (x *Resolver) Accepted(upstream, model string, betas []string, input int) {
	if input <= 0 || input > MaxContext {
		return
	}
	x.reload(upstream)
	defer x.save(upstream)
	x.mu.Lock()
	defer x.mu.Unlock()
	now, u := time.Now(), x.upstream(upstream)
	l := u.limitOf(modelKey(model, betas))
	if input >= l.accepted || now.Sub(l.acceptedAt) >= justAccepted {
		l.accepted, l.acceptedAt = input, now
	}
	if limit := l.valid(now); limit > 0 && input > limit {
		if !l.guess {
			u.unsaved, u.failed = true, time.Time{}
		}
		l.Limit, l.Learned, l.guess = 0, now, false
	}
}

// upstream returns the state of an upstream, a new one if there is none. The caller holds mu.
func (x *Resolver) upstream(name string) *upstream {
	name = name[:min(len(name), 256)]
	u := x.upstreams[name]
	if u == nil {
		if len(x.upstreams) >= MaxUpstreams {
			delete(x.upstreams, slices.MinFunc(slices.Collect(maps.Keys(x.upstreams)), func(a, b string) int {
				return x.upstreams[a].used.Compare(x.upstreams[b].used)
			}))
		}
		u = &upstream{models: map[string]*learnedLimit{}}
		x.upstreams[strings.Clone(name)] = u // the caller's may be a view of a body
	}
	u.used = time.Now()
	return u
}

// limitOf returns the learned limit of a model; a new, empty one if there is none, for which an old one may be removed. The caller holds
// mu.
func (u *upstream) limitOf(key string) *learnedLimit {
	l := u.models[key]
	if l == nil {
		u.trim(MaxModels - 1)
		l = &learnedLimit{}
		u.models[strings.Clone(key)] = l
	}
	return l
}

// trim removes models until at most n are left: first those without a learned limit, then those learned longest ago.
func (u *upstream) trim(n int) {
	for len(u.models) > n {
		delete(u.models, slices.MinFunc(slices.Sorted(maps.Keys(u.models)), func(a, b string) int {
			return u.models[a].Learned.Compare(u.models[b].Learned)
		}))
	}
}

// maxKey bounds a model's name in a file.
const maxKey = 128

// modelKey returns the key under which limits of a model are learned. With the beta for a million tokens it is another.
func modelKey(model string, betas []string) string {
	key := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(model[:min(len(model), maxKey)])))
	if asksForLong(betas) && !strings.HasSuffix(key, "[1m]") {
		key += "[1m]"
	}
	return key
}

// warnOnce calls Options.Warn, but only once for each value of about.
func (x *Resolver) warnOnce(about, format string, args ...any) {
	x.warnings.Lock()
	said := x.o.Warn == nil || x.warned[about] || len(x.warned) >= 4*MaxUpstreams
	if !said {
		x.warned[about] = true
	}
	x.warnings.Unlock()
	if said {
		return
	}
	x.o.Warn(fmt.Sprintf(format, args...))
}
