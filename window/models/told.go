package models

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

// Tell records the windows in an upstream's own list of models, and returns how many it took. A window replaces a guess, and raises what
// the catalogue has; it lowers that only for servers that cut a longer input silently ([MayTruncate]). Others refuse such an input, which
// teaches the window for that credential: the list may have been another's. Of several lists the largest window counts, for as long as the
// Resolver lives.
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

// listed returns the window that a list gave for a model; false for none.
func (x *Resolver) listed(upstream, key string) (Window, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w, ok := x.told[listedKey{upstream, key}]
	return w, ok
}
