package memory_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// diskBytes are what the files of segments take.
func diskBytes(t *testing.T, dir string) (total int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".seg") {
			info, err := e.Info()
			if err != nil {
				return err
			}
			total += info.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return total
}

// However much is added, the bounds hold, and what goes first is what is worth least. PLIMSOLL_TEST_MILLION=1 adds a million records
// under the bounds that the product has.
func TestTheBoundsHold(t *testing.T) {
	dir := t.TempDir()
	j := journal.New(journal.Options{})
	o := memory.Options{Dir: dir, MaxNamespace: limit.MiB, MaxRecords: 4000, MaxBytes: 2 * limit.MiB, Journal: j}
	count := 20_000
	if os.Getenv("PLIMSOLL_TEST_MILLION") != "" {
		o, count = memory.Options{Dir: dir, Journal: j}, 1_000_000
	}
	s, err := memory.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first := add(t, s,
		memory.Record{Text: "an instruction that is pinned", Origin: memory.OriginUser},
		memory.Record{Text: "a passage that somebody asked for"},
		memory.Record{Text: "a passage that nobody asked for"},
		memory.Record{Kind: memory.KindNote, Text: "a note"},
		memory.Record{Text: "a doubtful one", Quarantined: true},
	)
	pin, err := s.Pin(t.Context(), first.IDs[0])
	if err != nil {
		t.Fatal(err)
	}
	asked, err := s.Get(t.Context(), first.IDs[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecordUse(t.Context(), memory.Use{How: memory.UseSearch, Client: "claude"}, asked...); err != nil {
		t.Fatal(err)
	}
	batch := make([]memory.Record, 200)
	most := int64(0)
	for n := 0; n < count; n += len(batch) {
		for i := range batch {
			batch[i] = memory.Record{Namespace: "project/x", Text: fmt.Sprintf("passage %d of many, with words that are its own: %s", n+i, strconv.Itoa((n+i)*7919))}
		}
		if _, err := s.Add(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		if n%(10*len(batch)) == 0 {
			most = max(most, diskBytes(t, dir))
		}
	}
	most = max(most, diskBytes(t, dir))
	bound := int64(memory.DefaultMaxNamespace)
	if o.MaxNamespace != 0 {
		bound = int64(o.MaxNamespace)
	}
	if most > bound+bound/32 {
		t.Errorf("%d bytes on the disk, the bound is %d", most, bound)
	}
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maxRecords := memory.DefaultMaxRecords
	if o.MaxRecords != 0 {
		maxRecords = o.MaxRecords
	}
	if n := stats.Namespaces[0].Records; n > maxRecords || n < maxRecords/2 {
		t.Errorf("%d records, the bound is %d", n, maxRecords)
	}
	if stats.Evicted == 0 || j.Counts()["memory.evicted"] == 0 {
		t.Errorf("nothing tells of it: %+v, %v", stats, j.Counts())
	}
	for id, want := range map[string]bool{pin.ID: true, first.IDs[1]: true, first.IDs[2]: false, first.IDs[3]: true, first.IDs[4]: false} {
		if _, err := s.Get(t.Context(), id, 0); (err == nil) != want {
			t.Errorf("%s: %v, want it kept: %v", id, err, want)
		}
	}
}

// What the user said or vouched for stays, however much others add, here and in other namespaces; it goes only where it is too much by itself.
func TestTheUsersOwnIsNotDrivenOut(t *testing.T) {
	s, err := memory.Open(memory.Options{Dir: t.TempDir(), MaxNamespace: limit.MiB, MaxBytes: limit.MiB * 3 / 2, MaxRecords: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var own []memory.Record
	for n := range 1800 { // within the bound, and above what an eviction leaves
		own = append(own, memory.Record{Namespace: "project/x", Origin: memory.OriginUser, Kind: memory.KindNote, Text: fmt.Sprintf("my own note %d", n)})
	}
	mine := add(t, s, own...)
	old := add(t, s, memory.Record{Namespace: "project/old", Origin: memory.OriginUser, Text: "said in a project of long ago"})
	others := func(namespace string, origin memory.Origin) {
		t.Helper()
		for n := range 30 {
			var batch []memory.Record
			for i := range 200 {
				batch = append(batch, memory.Record{Namespace: namespace, Kind: memory.KindNote, Origin: origin, Text: fmt.Sprintf("%s %d %d %s", origin, n, i, strings.Repeat("word ", 40))})
			}
			add(t, s, batch...)
		}
	}
	others("project/x", memory.OriginAgent)
	others("project/y", memory.OriginAgent)
	page, err := s.List(t.Context(), memory.Filter{Namespaces: []string{"project/x"}, Origins: []memory.Origin{memory.OriginUser}})
	if err != nil || page.Total != len(mine.IDs) {
		t.Errorf("%d of %d of the user's are left; %v", page.Total, len(mine.IDs), err)
	}
	if _, err := s.Get(t.Context(), old.IDs[0], 0); err != nil {
		t.Error(err)
	}
	others("project/x", memory.OriginUser)
	page, err = s.List(t.Context(), memory.Filter{Namespaces: []string{"project/x"}, Origins: []memory.Origin{memory.OriginUser}})
	if err != nil || page.Total > 2000*65/64 || page.Total < 1000 {
		t.Errorf("%d are left; %v", page.Total, err)
	}
}

// All namespaces together have a bound; the one that was not written to for longest gives first.
func TestTheBoundOfAllTogether(t *testing.T) {
	dir := t.TempDir()
	s, err := memory.Open(memory.Options{Dir: dir, MaxNamespace: limit.MiB, MaxBytes: limit.MiB})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 30 {
		var batch []memory.Record
		for i := range 100 {
			batch = append(batch, memory.Record{Namespace: fmt.Sprintf("project/%d", n/10), Text: fmt.Sprintf("%d %d %s", n, i, strings.Repeat("word ", 90))})
		}
		if _, err := s.Add(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		if got := diskBytes(t, dir); got > int64(limit.MiB)*17/16 {
			t.Fatalf("%d bytes after %d batches", got, n+1)
		}
	}
	oldest, err := s.List(t.Context(), memory.Filter{Namespaces: []string{"project/0"}})
	if err != nil {
		t.Fatal(err)
	}
	newest, err := s.List(t.Context(), memory.Filter{Namespaces: []string{"project/2"}})
	if err != nil || newest.Total != 1000 || oldest.Total >= newest.Total {
		t.Errorf("%d are left of the oldest, %d of the newest; %v", oldest.Total, newest.Total, err)
	}
}

// Episodes end; what was learned from them and noted stays. The same passage may come again then.
func TestEpisodesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		add(t, s, memory.Record{Text: "the build takes nine minutes"}, memory.Record{Kind: memory.KindNote, Text: "builds are slow"})
		time.Sleep(memory.DefaultMaxAge + time.Hour)
		found, err := s.Search(t.Context(), memory.Query{Text: "builds"})
		if err != nil || found.Total != 1 || found.Items[0].Kind != memory.KindNote {
			t.Errorf("%+v, %v", found, err)
		}
		if done, err := s.GC(t.Context()); err != nil || done.Records != 1 || done.Bytes == 0 {
			t.Errorf("%+v, %v", done, err)
		}
		if again := add(t, s, memory.Record{Text: "the build takes nine minutes"}); again.New != 1 {
			t.Errorf("%+v", again)
		}
	})
}

// A guest's bounds, however small and short, take nothing of the user's own; those of another store do.
func TestAGuestDrivesOutNothingOfTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := memory.Options{Dir: t.TempDir(), MaxNamespace: 512 * limit.KiB, MaxBytes: 2 * limit.MiB}
		s, err := memory.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		var own []memory.Record
		for i := range 300 {
			own = append(own, memory.Record{Origin: memory.OriginUser, Text: fmt.Sprint(i, " ", strings.Repeat("my words ", 100))})
		}
		ids := add(t, s, own...).IDs
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		left := func(guest bool) (n int) {
			o := memory.Options{Dir: o.Dir, MaxNamespace: 256 * limit.KiB, MaxBytes: 256 * limit.KiB, MaxAge: time.Hour, Guest: guest}
			s, err := memory.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			add(t, s, memory.Record{Kind: memory.KindNote, Origin: memory.OriginAgent, Text: fmt.Sprint("a note, guest ", guest)})
			if _, err := s.GC(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = memory.Open(memory.Options{Dir: o.Dir, MaxAge: -1}); err != nil { // one that shows all there is
				t.Fatal(err)
			}
			defer s.Close()
			for _, id := range ids {
				if _, err := s.Get(t.Context(), id, 0); err == nil {
					n++
				}
			}
			return n
		}
		if n := left(true); n != len(ids) {
			t.Errorf("a guest has left %d of %d", n, len(ids))
		}
		if n := left(false); n != 0 {
			t.Errorf("of what is older than an hour %d are left", n)
		}
	})
}

// GC writes together what lines have added up to, and loses nothing of it.
func TestConsolidation(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := add(t, s, memory.Record{Text: "the same words"}).IDs[0]
	for range 5 {
		add(t, s, memory.Record{Text: "the same words"})
	}
	note := add(t, s, memory.Record{Kind: memory.KindNote, Text: "first draft"}).IDs[0]
	for i := range 3 {
		if err := s.Update(t.Context(), memory.Record{ID: note, Kind: memory.KindNote, Origin: memory.OriginTool, Namespace: "project/x", Text: fmt.Sprint("draft ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Get(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecordUse(t.Context(), memory.Use{How: memory.UseSearch}, got...); err != nil {
		t.Fatal(err)
	}
	before := diskBytes(t, dir)
	for range 3 {
		if _, err := s.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := diskBytes(t, dir); after >= before {
		t.Errorf("%d bytes before and %d after", before, after)
	}
	for _, s := range []*memory.Store{s, open(t, dir)} {
		got, err := s.Get(t.Context(), id, 0)
		if err != nil || got[0].Count != 6 || got[0].Recalled.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		found, err := s.Search(t.Context(), memory.Query{Text: "draft"})
		if err != nil || len(found.Items) != 1 || found.Items[0].Text != "draft 2" {
			t.Errorf("%+v, %v", found, err)
		}
	}
}
