package inventory

import "github.com/plimsoll/plimsoll/internal/argocd"

// LeastFields are the fields of the shortest row that still identifies an object and shows its state. A row has those of them that its kind
// has; if all rows have the same namespace it is left out (see [Widths]).
var LeastFields = []string{"name", "namespace", "health", "sync", "server", "connection"}

// Widths measure the objects of a question: all that match, not only those of a page, so that a page size that depends on them is the same
// for every page.
type Widths struct {
	// Whole is the size of the largest object as the server sent it, in bytes.
	Whole int
	// Namespace is the namespace of all objects but clusters, which have none; "" if they differ.
	Namespace string

	// named and bare count the rows with only [LeastFields] by length, with their namespace and without.
	named, bare lengths
	mixed, any  bool
}

// lengths counts rows by their length in bytes; longer ones are counted at the last index, which is longer than names get.
type lengths [1024]uint16

func (l *lengths) add(n int) {
	if count := &l[min(n, len(l)-1)]; *count < MaxPageSize { // more of one length are on no page
		*count++
	}
}

func (l *lengths) merge(o *lengths) {
	for i := range l {
		l[i] = min(l[i]+o[i], MaxPageSize)
	}
}

// Rows returns how many of the shortest rows fit into room bytes, each with a comma, even if they are the longest of these: at least 1 and
// at most [MaxPageSize]. A namespace that all of them have is not counted.
func (w *Widths) Rows(room int) (n int) {
	l := &w.named
	if w.Namespace != "" {
		l = &w.bare
	}
	for length := len(l) - 1; length >= 0; length-- {
		for range l[length] {
			if room -= length + len(","); room < 0 || n == MaxPageSize {
				return max(n, 1)
			}
			n++
		}
	}
	return MaxPageSize // all of them
}

func (w *Widths) add(e *entry, whole int) {
	w.bare.add(len(e.least(nil)))
	w.named.add(len(e.least(e.namespace)))
	w.Whole = max(w.Whole, whole)
	switch {
	case w.mixed, e.kind == argocd.Clusters:
		return
	case !w.any:
		w.Namespace = string(clip(e.namespace, maxName))
	case string(clip(e.namespace, maxName)) != w.Namespace:
		w.Namespace, w.mixed = "", true
	}
	w.any = true
}

// least returns the shortest row, with this namespace.
func (e *entry) least(namespace []byte) []byte {
	w := &writer{b: make([]byte, 0, 128)}
	w.raw("{")
	w.textOrEmpty("name", e.name)
	w.text("namespace", namespace)
	switch e.kind {
	case argocd.Applications:
		w.textOrEmpty("health", statusOrNone(e.health))
		w.textOrEmpty("sync", statusOrNone(e.sync))
	case argocd.ApplicationSets:
		w.text("health", e.health)
	case argocd.Clusters:
		w.textOrEmpty("server", address(e.server))
		w.textOrEmpty("connection", statusOrNone(e.sync))
	}
	w.raw("}")
	return w.b
}

// merge adds the measures of another kind.
func (w *Widths) merge(o *Widths) {
	w.named.merge(&o.named)
	w.bare.merge(&o.bare)
	w.Whole = max(w.Whole, o.Whole)
	switch {
	case !o.any:
		return
	case w.mixed || o.mixed || w.any && w.Namespace != o.Namespace:
		w.Namespace, w.mixed = "", true
	default:
		w.Namespace = o.Namespace
	}
	w.any = true
}

// Fit returns the page size at which every page fits into what the client accepts: asked is the requested size, total the number
// of matches, counts and widths describe them.
type Fit func(asked, total int, counts *Counts, widths *Widths) int
