package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// ListRequest asks for one page of all objects of a kind, sorted by name and then by namespace (clusters: by address).
type ListRequest struct {
	Kind argocd.Kind
	// Query selects objects. The criteria that the server is known to ignore (all for projects, the name of
	// application sets, projects of clusters) or to apply only in part (names of several objects, repositories of
	// further sources) are applied here; a criterion that the kind does not have is an error. Fields is set by List.
	Query argocd.Query
	// Health and Sync select objects with one of these statuses, in any case; "none" is a status that is not set. Unknown ones are an error
	// that lists the known ones.
	Health, Sync []string
	// Namespace is the namespace of the destination for applications, and the object's own for other kinds.
	Namespace string
	// Page counts from 1; 0 means 1. PageSize 0 means [DefaultPageSize], or all of up to [OnePage] matches; other
	// values are moved into 1 to [MaxPageSize].
	Page, PageSize int
	// Fit makes PageSize smaller, equally for all pages; nil leaves it.
	Fit Fit
	// Fresh reads the server now, and replaces the snapshot if there is one.
	Fresh bool
	// Full returns an item of the page from the bytes of its object; nil makes summaries. It is only called for the objects of the page,
	// when all have been read.
	Full func(item []byte) ([]byte, error)
}

// Listing is one page.
type Listing struct {
	Items      []json.RawMessage
	Pagination Pagination
	Counts     *Counts   // over all matches; nil for projects
	Namespace  string    // the namespace of all matches; "" if they differ or have none
	Bytes      int64     // bytes that the server sent, decompressed
	Snapshot   time.Time // when the reading began
	Reread     bool      // an empty list was read twice, see argocd.ListInfo
}

// List returns one page of a listing, and the counts over all of it. Unless r.Fresh is set, the answer may come from a snapshot or be shared
// with another request. Errors are [NoPage], those for invalid filters, and those of the source, unchanged.
func (v *Inventory) List(ctx context.Context, src Source, r ListRequest) (*Listing, error) {
	f, err := newFilter(r)
	if err != nil {
		return nil, err
	}
	r.Query.Fields = nil
	if r.Full == nil {
		r.Query.Fields = argocd.SummaryFields(r.Kind)
	}
	w := newWindow(r.Page, r.PageSize)
	read := func(ctx context.Context, need int) (*answer, error) { return v.readList(ctx, src, r, &f, need) }
	key := digestKey("list", src, r.Kind, r.Query, f.health, f.sync, f.namespace, r.Full == nil)
	ans, release, err := v.answerFor(ctx, key, w.rowsNeeded(), r.Fresh, read)
	if err != nil {
		return nil, err
	}
	defer release()
	w.setSize(r.Fit, ans)
	p, from, to, err := w.locate(ans.total)
	if err != nil {
		return nil, err
	}
	items, err := ans.table.rowsBetween(from, to)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if r.Full == nil {
			break
		}
		if items[i], err = r.Full(items[i]); err != nil {
			return nil, fmt.Errorf("%s, item %d of page %d: %w", r.Kind, i+1, p.Page, err)
		}
	}
	return &Listing{
		Items: items, Pagination: p, Counts: ans.counts.clone(), Namespace: ans.widths.Namespace,
		Bytes: ans.bytes, Snapshot: ans.at, Reread: ans.reread,
	}, nil
}

// digestKey returns a digest of a question and of the user and server that it is for. Equal keys may share an answer.
func digestKey(what string, src Source, parts ...any) string {
	text, err := json.Marshal(append([]any{what, src.Who(), src.URL()}, parts...))
	if err != nil {
		return "" // does not happen with strings and lists; the key "" is never shared
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sorterFor returns a sorter that keeps the first need rows, or all for allRows.
func (v *Inventory) sorterFor(need int) *sorter {
	s := &sorter{d: v.disk, limit: int(v.o.RunBytes)}
	if need != allRows {
		s.keep = need
	}
	return s
}

// readList reads all objects of a kind from the server and returns those that match, sorted, of which it keeps the first need rows.
func (v *Inventory) readList(ctx context.Context, src Source, r ListRequest, f *filter, need int) (*answer, error) {
	s := v.sorterFor(need)
	defer s.close()
	c := newCounter(r.Kind, v.disk, int(v.o.RunBytes)/4)
	defer c.close()
	ans := &answer{}
	n := 0
	info, err := src.List(ctx, r.Kind, serverQuery(r.Kind, r.Query), func(item []byte) error {
		n++
		e, err := readEntry(r.Kind, item)
		if err != nil {
			return notAnObject(src, r.Kind, n, err)
		}
		if !f.match(e) {
			return nil
		}
		ans.total++
		ans.widths.measure(e, len(item))
		if err := c.countEntry(e); err != nil {
			return err
		}
		key := e.key()
		switch {
		case !s.wants(key):
			return nil
		case r.Full != nil:
			// Unchanged: Full is expensive, and only needed for one page.
			return s.addRecord(key, item)
		}
		return s.addRecord(key, e.row())
	})
	if err != nil {
		return nil, err
	}
	ans.bytes, ans.reread = info.Bytes, info.Reread
	if ans.counts, err = c.finish(); err != nil {
		return nil, err
	}
	ans.table, err = newTable(s, need == allRows)
	return ans, err
}

// notAnObject returns the error for item n of a list, which is not an object of its kind.
func notAnObject(src Source, kind argocd.Kind, n int, err error) error {
	return &argocd.Error{
		Instance: src.Name(), Op: fmt.Sprintf("list %s", kind), Kind: argocd.Broken,
		Message: fmt.Sprintf("item %d is not as Argo CD writes it: %v", n, err),
		Hint:    "something between may have changed the answer; nothing of it is shown", Err: err,
	}
}
