package inventory

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// narrowed is the list of applications as a real server sends it when fields are asked for.
const narrowed argocd.Kind = "applications-fields"

// recorded gives the objects of a list as a real server sent them.
var recorded = func() func(testing.TB, argocd.Kind) []json.RawMessage {
	type list struct {
		once  sync.Once
		items []json.RawMessage
		err   error
	}
	lists := map[argocd.Kind]*list{narrowed: {}}
	for _, kind := range argocd.Kinds() {
		lists[kind] = &list{}
	}
	return func(t testing.TB, kind argocd.Kind) []json.RawMessage {
		t.Helper()
		l := lists[kind]
		l.once.Do(func() {
			f, err := os.Open(filepath.Join("..", "testdata", "recorded", string(kind)+".json.gz"))
			if err != nil {
				l.err = err
				return
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				l.err = err
				return
			}
			var body struct{ Items []json.RawMessage }
			l.err = json.NewDecoder(z).Decode(&body)
			l.items = body.Items
		})
		if l.err != nil {
			t.Fatal(l.err)
		}
		return l.items
	}
}()

// server is a Source that gives out the lists it has.
type server struct {
	who   string
	items map[argocd.Kind][]json.RawMessage
	fail  map[argocd.Kind]error // after the items
	hold  chan struct{}         // when there is one, each list waits for it before its first object
	begun chan argocd.Kind      // when there is one, told as each list begins

	lists   atomic.Int64
	queries sync.Map // argocd.Kind to the last argocd.Query
}

func (s *server) Name() string { return "test" }
func (s *server) Who() string  { return s.who }
func (s *server) URL() string  { return "https://argocd.example.net" }

func (s *server) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func([]byte) error) (info argocd.ListInfo, err error) {
	s.lists.Add(1)
	s.queries.Store(kind, q)
	if s.begun != nil {
		s.begun <- kind
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return info, ctx.Err()
		}
	}
	var buf []byte
	for _, item := range s.items[kind] {
		if err := ctx.Err(); err != nil {
			return info, err
		}
		buf = append(buf[:0], item...) // the bytes of the one before are gone, as in the client
		if err := each(buf); err != nil {
			return info, err
		}
		info.Items++
		info.Bytes += int64(len(item))
	}
	return info, s.fail[kind]
}

// realServer has the recorded lists.
func realServer(t testing.TB) *server {
	t.Helper()
	s := &server{who: "test " + t.Name(), items: map[argocd.Kind][]json.RawMessage{}}
	for _, kind := range argocd.Kinds() {
		s.items[kind] = recorded(t, kind)
	}
	return s
}

// narrowServer has them with the fields of applications that lists and searches ask for.
func narrowServer(t testing.TB) *server {
	t.Helper()
	s := realServer(t)
	s.items[argocd.Applications] = recorded(t, narrowed)
	return s
}

func newInventory(t testing.TB, o Options) *Inventory {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	v := New(o)
	t.Cleanup(func() {
		v.Close()
		if s := v.Stats(); s.ScratchBytes != 0 || s.Snapshots != 0 || s.SnapshotBytes != 0 || s.Active != 0 {
			t.Errorf("after Close there is something left: %+v", s)
		}
		left, err := os.ReadDir(o.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%d files are left in the scratch folder (%v)", len(left), err)
		}
	})
	return v
}

func object(format string, args ...any) json.RawMessage {
	text := json.RawMessage(fmt.Sprintf(format, args...))
	if !json.Valid(text) {
		panic("no JSON: " + string(text))
	}
	return text
}

// lists makes a list of one object per kind.
func lists(texts map[argocd.Kind]string) map[argocd.Kind][]json.RawMessage {
	all := map[argocd.Kind][]json.RawMessage{}
	for kind, text := range texts {
		all[kind] = []json.RawMessage{object("%s", text)}
	}
	return all
}
