package inventory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// generated is a server with any number of applications, none of which exists before its
// turn. In a while it looks at how much memory is alive.
type generated struct {
	n     int
	lists atomic.Int64
	peak  atomic.Uint64
}

func (g *generated) Name() string { return "generated" }
func (g *generated) Who() string  { return "generated" }
func (g *generated) URL() string  { return "https://argocd.example.net" }

func (g *generated) List(_ context.Context, kind argocd.Kind, _ argocd.Query, each func([]byte) error) (info argocd.ListInfo, err error) {
	g.lists.Add(1)
	if kind != argocd.Applications {
		return info, nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	health := []string{"Healthy", "Degraded", "Progressing"}
	var item []byte
	for i := range g.n {
		// Every name once, in no order.
		name := (i*7919 + 13) % g.n
		item = fmt.Appendf(item[:0], `{"metadata":{"name":"app-%07d","namespace":"argocd","labels":{"n":"%d"}},"spec":{"project":"project-%d","source":{"repoURL":"https://git.example.net/team-%d/repository.git","path":"deploy/overlays/production","targetRevision":"main"},"destination":{"server":"https://kubernetes.default.svc","namespace":"ns-%d"}},"status":{"health":{"status":"%s"},"sync":{"status":"Synced"}}}`,
			name, name%7, name%9000, random.IntN(100), random.IntN(1000), health[name%3])
		if err := each(item); err != nil {
			return info, err
		}
		info.Items++
		info.Bytes += int64(len(item))
		if i%(g.n/4) == g.n/5 {
			g.look()
		}
	}
	return info, nil
}

func (g *generated) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	g.peak.Store(max(g.peak.Load(), m.HeapAlloc))
}

// Not parallel: it looks at the memory of the process.
func TestMemoryDoesNotGrowWithTheList(t *testing.T) {
	n := many
	src := &generated{n: n}
	base := &generated{}
	base.look()
	budget := base.peak.Load() + 12<<20
	check := func(what string, lists int64) {
		t.Helper()
		src.look()
		t.Logf("%s: %d KiB alive at most, %d before", what, src.peak.Load()>>10, base.peak.Load()>>10)
		if src.peak.Load() > budget {
			t.Errorf("%s: %d KiB are alive, %d before", what, src.peak.Load()>>10, base.peak.Load()>>10)
		}
		if got := src.lists.Swap(0); got != lists {
			t.Errorf("%s: %d lists were read, want %d", what, got, lists)
		}
	}
	for _, ttl := range []time.Duration{0, time.Hour} {
		v := newInventory(t, Options{SnapshotTTL: ttl})
		for i, page := range []int{1, n / 20} {
			l, err := v.List(t.Context(), src, apps(page))
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"name":"app-%07d"`, (page-1)*20)
			if !strings.HasPrefix(string(l.Items[0]), want) || len(l.Items) != 20 || l.Pagination.TotalItems != n {
				t.Errorf("page %d begins with %s, want %s", page, l.Items[0], want)
			}
			c, top := l.Counts, (n-1)/9000+1
			if c.Health["Healthy"] != (n+2)/3 || c.OtherProjects != 8990 || c.Projects[0] != (ProjectCount{"project-0", top}) || c.InOtherProjects != n-10*top {
				t.Errorf("counts %+v", c)
			}
			check(fmt.Sprintf("ttl %s, page %d", ttl, page), map[bool]int64{true: 0, false: 1}[ttl > 0 && i > 0])
		}
		if ttl > 0 {
			continue
		}
		f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "app-00001[0-9]{2}"})
		if err != nil || f.TotalItems != 100 || f.Scanned[argocd.Applications] != n {
			t.Fatalf("%v %+v", err, f)
		}
		check("a search", 4)
		if _, err := v.Search(t.Context(), src, SearchRequest{Pattern: "n=3"}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("matches (%d applications)", (n-4)/7+1)) {
			t.Errorf("%v", err)
		}
		check("a search with too many matches", 4)
	}
}
