package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/limit"
)

// small is a server with n applications.
func small(who string, n int) *server {
	s := &server{who: who, items: map[argocd.Kind][]json.RawMessage{}}
	for i := range n {
		s.items[argocd.Applications] = append(s.items[argocd.Applications], object(`{"metadata":{"name":"app-%04d","namespace":"argocd"},"spec":{"project":"p%d"}}`, n-i, i%3))
	}
	return s
}

func apps(page int) ListRequest {
	return ListRequest{Kind: argocd.Applications, Page: page, PageSize: DefaultPageSize}
}

func TestPagesOfOneSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		v, src := newInventory(t, Options{Dir: dir, SnapshotTTL: time.Minute}), small("me", 50)
		list := func(src Source, r ListRequest) *Listing {
			t.Helper()
			l, err := v.List(t.Context(), src, r)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		passes := func(want int64) {
			t.Helper()
			if n := v.Stats().Passes; n != want {
				t.Errorf("%d passes, want %d", n, want)
			}
		}
		first := list(src, apps(1))
		time.Sleep(time.Second)
		src.items = small("me", 10).items
		if l := list(src, apps(3)); l.Pagination.TotalItems != 50 || len(l.Items) != 10 || !l.Snapshot.Equal(first.Snapshot) || l.Bytes != first.Bytes {
			t.Errorf("page 3 is from another reading: %+v", l)
		}
		l := list(src, apps(2))
		l.Counts.Health["none"] = -1 // the caller's own
		if l = list(src, apps(2)); l.Counts.Health["none"] != 50 {
			t.Errorf("counts %v", l.Counts)
		}
		passes(1)
		// Another question, another user and another kind of rows are other snapshots.
		list(src, ListRequest{Kind: argocd.Applications, Health: []string{"none"}})
		list(small("you", 3), apps(1))
		full := ListRequest{Kind: argocd.Applications, Full: func(item []byte) ([]byte, error) { return append([]byte(nil), item...), nil }}
		list(src, full)
		passes(4)
		if l := list(src, full); len(l.Items) != 10 || !strings.HasPrefix(string(l.Items[0]), `{"metadata"`) {
			t.Errorf("full rows: %s", l.Items)
		}
		full.Full = func(item []byte) ([]byte, error) { return []byte(`{"other":true}`), nil }
		if l := list(src, full); len(l.Items) != 10 || string(l.Items[9]) != `{"other":true}` {
			t.Errorf("rows made otherwise: %s", l.Items)
		}
		passes(4)
		if s := v.Stats(); s.Snapshots != 4 || s.SnapshotBytes == 0 {
			t.Errorf("%+v", s)
		}
		// Fresh takes the place of what is kept.
		fresh := apps(1)
		fresh.Fresh = true
		if l := list(src, fresh); l.Pagination.TotalItems != 10 || !l.Snapshot.After(first.Snapshot) {
			t.Errorf("fresh: %+v", l)
		}
		if l := list(src, apps(1)); l.Pagination.TotalItems != 10 {
			t.Errorf("after fresh: %+v", l)
		}
		passes(5)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := v.Stats(); s.Snapshots != 0 || s.ScratchBytes != 0 || s.Expired != 4 {
			t.Errorf("after a minute: %+v", s)
		}
		list(src, apps(1))
		passes(6)
		// A search is a listing too.
		r := SearchRequest{Pattern: "app-0", Kinds: []argocd.Kind{argocd.Applications}, PageSize: 3}
		for r.Page = 1; r.Page <= 4; r.Page++ {
			if f, err := v.Search(t.Context(), src, r); err != nil || f.TotalItems != 10 {
				t.Errorf("%v %+v", err, f)
			}
		}
		passes(7)
	})
}

// Requests for one listing share a pass: any, where snapshots are allowed; else one that
// has not begun, so that nobody gets what was read before it asked.
func TestSharedPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl    time.Duration
		passes int64
	}{{0, 2}, {time.Minute, 1}} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			v, src := newInventory(t, Options{Dir: dir, SnapshotTTL: c.ttl, MaxSorts: 1}), small("me", 500)
			src.hold = make(chan struct{})
			var wg sync.WaitGroup
			ask := func(page int) {
				wg.Go(func() {
					l, err := v.List(t.Context(), src, apps(page))
					if err != nil || len(l.Items) != 20 || !strings.Contains(string(l.Items[0]), fmt.Sprintf("app-%04d", page*20-19)) {
						t.Errorf("page %d: %v %+v", page, err, l)
					}
				})
			}
			ask(1)
			synctest.Wait()
			for i := range 50 {
				ask(i%25 + 1)
			}
			synctest.Wait()
			close(src.hold)
			wg.Wait()
			if s := v.Stats(); s.Passes != c.passes || s.Requests != 51 || s.Shared != 51-c.passes {
				t.Errorf("%s: %+v", c.ttl, s)
			}
		})
	}
}

func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		v, src := newInventory(t, Options{Dir: dir, SnapshotTTL: time.Minute}), small("me", 30)
		src.hold = make(chan struct{})
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		ask := func(ctx context.Context) {
			go func() {
				_, err := v.List(ctx, src, apps(1))
				errs <- err
			}()
			synctest.Wait()
		}
		// The pass goes on for the one that stays.
		ask(ctx)
		ask(t.Context())
		cancel(gone)
		if err := <-errs; !errors.Is(err, gone) {
			t.Errorf("who left got %v", err)
		}
		close(src.hold)
		if err := <-errs; err != nil {
			t.Errorf("who stayed got %v", err)
		}
		// With the last it ends, and is no snapshot.
		src.hold = make(chan struct{})
		ctx, cancel = context.WithCancelCause(t.Context())
		other := small("you", 3)
		other.hold = src.hold
		go func() {
			_, err := v.List(ctx, other, apps(1))
			errs <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-errs; !errors.Is(err, gone) {
			t.Errorf("the last got %v", err)
		}
		synctest.Wait()
		if s := v.Stats(); s.Active != 0 || s.Waiting != 0 || s.Snapshots != 1 {
			t.Errorf("%+v", s)
		}
		// Close ends what runs.
		other.hold = make(chan struct{})
		src = other
		ask(t.Context())
		v.Close()
		if err := <-errs; !errors.Is(err, errClosed) {
			t.Errorf("at the end: %v", err)
		}
		if _, err := v.List(t.Context(), src, apps(1)); !errors.Is(err, errClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestSnapshotBounds(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{SnapshotTTL: time.Hour, MaxSnapshots: 2, MaxSnapshotBytes: 16 * limit.KiB})
	ask := func(who string, n int) {
		t.Helper()
		if _, err := v.List(t.Context(), small(who, n), apps(1)); err != nil {
			t.Fatal(err)
		}
	}
	ask("a", 5)
	ask("b", 5)
	ask("a", 5) // used
	ask("c", 5) // b goes
	ask("a", 5)
	if s := v.Stats(); s.Passes != 3 || s.Snapshots != 2 || s.Evicted != 1 || s.FromSnapshot != 2 {
		t.Errorf("by number: %+v", s)
	}
	ask("d", 158) // about 15 KB: all others go
	if s := v.Stats(); s.Snapshots != 1 || s.Evicted != 3 || s.SnapshotBytes > 16<<10 || s.ScratchBytes != s.SnapshotBytes {
		t.Errorf("by size: %+v", s)
	}
	ask("e", 500)
	if s := v.Stats(); s.Snapshots != 1 || s.TooLarge != 1 || s.ScratchBytes != s.SnapshotBytes {
		t.Errorf("one that is too large: %+v", s)
	}
}

func TestScratchErrors(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{RunBytes: 16 * limit.KiB, MaxScratchBytes: 20 * limit.KiB})
	src := small("me", 1000)
	_, err := v.List(t.Context(), src, apps(40))
	if err == nil || !strings.Contains(err.Error(), v.o.Dir) || !strings.Contains(err.Error(), "20 KiB") || v.Stats().ScratchRefused == 0 {
		t.Errorf("beyond the bound: %v", err)
	}
	if s := v.Stats(); s.ScratchBytes != 0 {
		t.Errorf("%+v", s)
	}
	if l, err := v.List(t.Context(), src, apps(1)); err != nil || len(l.Items) != 20 {
		t.Errorf("page 1 needs no disk: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	v = New(Options{Dir: missing, SnapshotTTL: time.Hour})
	defer v.Close()
	if _, err := v.List(t.Context(), src, apps(1)); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
