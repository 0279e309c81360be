package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/argocd"
)

// ListRequest asks for one page of all objects of a kind, sorted by name and then by
// namespace (clusters: by address).
type ListRequest struct {
	Kind argocd.Kind
	// Query selects objects. The criteria that the server is known to ignore (all for
	// projects, the name of application sets, projects of clusters) or to apply in part (names
	// that several have, repositories of further sources) are applied here; one that a kind does
	// not have at all is an error. Fields is set here.
	Query argocd.Query
	// Health and Sync keep objects with one of these statuses, in any case; "none" is the
	// status that the server has not set. Unknown ones are an error that lists them.
	Health, Sync []string
	// Namespace is that of the destination for applications, and the object's own else.
	Namespace string
	// Cluster is the address or the name that the destination gives, in any case. An
	// address does not find applications whose destination is a name, nor the reverse, but
	// for Argo CD's own cluster.
	Cluster string
	// Page counts from 1, which 0 is too. PageSize 0 is [DefaultPageSize]; others are
	// brought into 1 to [MaxPageSize].
	Page, PageSize int
	// Fit makes PageSize smaller, for all pages of the question alike; nil leaves it.
	Fit Fit
	// Fresh reads the server now, and replaces the snapshot that there is.
	Fresh bool
	// Full makes the items of the page from the bytes of the objects; nil makes summaries. It
	// is called for these objects only, when all have been read.
	Full func(item []byte) ([]byte, error)
}

// Listing is one page.
type Listing struct {
	Items      []json.RawMessage
	Pagination Pagination
	Counts     *Counts   // over all matches; nil for projects
	Namespace  string    // of all matches; "" where they differ or have none
	Bytes      int64     // what the server sent for it, decompressed
	Snapshot   time.Time // when the reading began
	Reread     bool      // an empty list was read twice, see argocd.ListInfo
}

// List returns one page of a listing, and the totals over all of it. Errors are those of
// the source as they are, [NoPage], and filters that cannot be.
func (v *Inventory) List(ctx context.Context, src Source, r ListRequest) (*Listing, error) {
	f, err := filterOf(r)
	if err != nil {
		return nil, err
	}
	r.Query.Fields = nil
	if r.Full == nil {
		r.Query.Fields = argocd.SummaryFields(r.Kind)
	}
	w := windowOf(r.Page, r.PageSize)
	read := func(ctx context.Context, need int) (*answer, error) { return v.readList(ctx, src, r, &f, need) }
	key := keyOf("list", src, r.Kind, r.Query, f.health, f.sync, f.namespace, f.cluster, r.Full == nil)
	ans, release, err := v.get(ctx, key, w.need(), r.Fresh, read)
	if err != nil {
		return nil, err
	}
	defer release()
	w.fit(r.Fit, ans)
	p, from, to, err := w.locate(ans.total)
	if err != nil {
		return nil, err
	}
	items, err := ans.table.page(from, to)
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

// keyOf returns a digest of a question and of who asks it.
func keyOf(what string, src Source, parts ...any) string {
	text, err := json.Marshal(append([]any{what, src.Who(), src.URL()}, parts...))
	if err != nil {
		return "" // strings and lists of them: it cannot be; and "" is shared with nobody
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sorterFor makes a sorter for so many of the first rows.
func (v *Inventory) sorterFor(need int) *sorter {
	s := &sorter{d: v.disk, limit: int(v.o.RunBytes)}
	if need != allRows {
		s.keep = need
	}
	return s
}

func (v *Inventory) readList(ctx context.Context, src Source, r ListRequest, f *filter, need int) (*answer, error) {
	s := v.sorterFor(need)
	defer s.close()
	c := newCounter(r.Kind, v.disk, int(v.o.RunBytes)/4)
	defer c.close()
	ans := &answer{}
	n := 0
	info, err := src.List(ctx, r.Kind, serverQuery(r.Kind, r.Query), func(item []byte) error {
		n++
		e, err := read(r.Kind, item)
		if err != nil {
			return notAnObject(src, r.Kind, n, err)
		}
		if !f.match(e) {
			return nil
		}
		ans.total++
		ans.widths.add(e, len(item))
		if err := c.add(e); err != nil {
			return err
		}
		key := e.key()
		switch {
		case !s.wants(key):
			return nil
		case r.Full != nil:
			// As it is: what Full makes of it is dear, and of use for one page.
			return s.add(key, item)
		}
		return s.add(key, e.row())
	})
	if err != nil {
		return nil, err
	}
	ans.bytes, ans.reread = info.Bytes, info.Reread
	if ans.counts, err = c.counts(); err != nil {
		return nil, err
	}
	ans.table, err = tableOf(s, need == allRows)
	return ans, err
}

// notAnObject returns the error for a list element that is not an object of its kind.
func notAnObject(src Source, kind argocd.Kind, n int, err error) error {
	return &argocd.Error{
		Instance: src.Name(), Op: fmt.Sprintf("list %s", kind), Kind: argocd.Broken,
		Message: fmt.Sprintf("item %d is not as Argo CD writes it: %v", n, err),
		Hint:    "something between may have changed the answer; nothing of it is shown", Err: err,
	}
}
