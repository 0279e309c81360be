package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

func there(s *Spool, handle string) bool {
	r, err := s.Read(me, handle)
	if err == nil {
		_ = r.Close()
	}
	return err == nil
}

func entries(t testing.TB, dir string) (n int) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() {
			n++
		}
	}
	return n
}

// evictions sums the events of one reason.
func evictions(j *journal.Journal, why string) (n int) {
	for rec := range j.Since(0) {
		if e, ok := rec.Event.(journal.SpoolEvicted); ok && e.Why == why {
			n += e.Results
		}
	}
	return n
}

func TestWhoEverIsNotTheOwnerFindsNothing(t *testing.T) {
	s := open(t, Options{})
	h := keep(t, s, Source{}, "text", 10)
	if len(h) != 28 || !strings.HasPrefix(h, "r_") {
		t.Errorf("handle %q", h)
	}
	_, unknown := s.Read(me, newHandle())
	for _, c := range [][2]string{{"principal-2", h}, {"", h}, {me, ""}, {me, "r_../../etc/passwd"}, {me, h + "a"}, {me, h[:27]}} {
		r, err := s.Read(c[0], c[1])
		if _, ok := errors.AsType[*NotFound](err); !ok || r != nil || err.Error() != unknown.Error() {
			t.Errorf("%q: %v", c, err)
		}
	}
	if !there(s, " "+h+"\n") {
		t.Error("the owner finds nothing")
	}
	err := filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && path != s.Dir() {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), h) || strings.Contains(path, h) {
			t.Errorf("%s tells the handle", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEvictionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.New(journal.Options{})
		s := open(t, Options{MaxResults: 4, MaxAge: time.Hour, Journal: j})
		var h []string
		for range 4 {
			h = append(h, keep(t, s, Source{}, "text", 10))
			time.Sleep(time.Minute)
		}
		if !there(s, h[0]) { // used: h[1] is the oldest now
			t.Fatal("the first is gone")
		}
		time.Sleep(time.Minute)
		reader := read(t, s, h[1]) // and is being read
		if _, err := reader.Page(t.Context(), 1, 0); err != nil {
			t.Fatal(err)
		}
		_ = s.withLedger(func(l *ledger) error { // as if it had been used long ago
			i := reader.id
			l.find(i).used, l.changed = 0, true
			return nil
		})
		h = append(h, keep(t, s, Source{}, "text", 10))
		if there(s, h[2]) || !there(s, h[1]) || !there(s, h[0]) || !there(s, h[3]) || !there(s, h[4]) {
			t.Error("another one than the least recently used made room")
		}
		if evictions(j, "count") != 1 || entries(t, s.Dir()) != 4 {
			t.Errorf("%d events, %d entries", evictions(j, "count"), entries(t, s.Dir()))
		}
		_ = reader.Close()
		time.Sleep(time.Hour)
		for _, one := range h {
			if there(s, one) {
				t.Error("an expired result can be read")
			}
		}
		keep(t, s, Source{}, "text", 10)
		if evictions(j, "age") != 4 || entries(t, s.Dir()) != 1 {
			t.Errorf("%d expired, %d entries", evictions(j, "age"), entries(t, s.Dir()))
		}
	})
}

func TestQuotaOfBytes(t *testing.T) {
	j := journal.New(journal.Options{})
	s := open(t, Options{MaxBytes: 4 * limit.MiB, MaxResult: 3 * limit.MiB, Journal: j})
	text := strings.Repeat("0123456789abcde\n", 64<<10) // 1 MiB
	first := keep(t, s, Source{}, text, 1<<16)
	for range 6 {
		keep(t, s, Source{}, text, 1<<16)
		if used := size(t, s.Dir()); used > 4<<20 {
			t.Fatalf("%d bytes on the disk, more than 4 MiB", used)
		}
	}
	if there(s, first) || evictions(j, "bytes") == 0 {
		t.Error("nothing made room")
	}
	w := create(t, s, Source{})
	full := fill(t, w, text)
	if full.Why != "result" || full.Limit != int64(3*limit.MiB) || !strings.Contains(full.Error(), s.Dir()) {
		t.Errorf("%+v", full)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a full result takes more")
	}
	if err := w.Cut("the spool is full"); err != nil {
		t.Fatal(err)
	}
	r := read(t, s, w.Handle())
	if tot := r.Totals(); tot.Bytes < 2<<20 || tot.Cut == "" {
		t.Errorf("%+v", tot)
	}
	pages(t, r, 0)
	must(t, r.Close())
	// What is being written is not evicted; then there is no room.
	a, b := create(t, s, Source{}), create(t, s, Source{})
	write(t, a, text+text)
	if full := fill(t, b, text); full.Why != "quota" {
		t.Errorf("%+v", full)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := a.Complete(Final{}); err != nil {
		t.Fatal(err)
	}
	if !there(s, a.Handle()) || there(s, b.Handle()) {
		t.Error("the wrong one is there")
	}
}

func TestAResultThatIsCutByItsIndex(t *testing.T) {
	s := open(t, Options{MaxResult: limit.MiB})
	for _, text := range []string{strings.Repeat("1,", 1000), strings.Repeat("[]\n", 500)} {
		w := create(t, s, Source{PageItems: 1})
		write(t, w, "[")
		for range 1000 {
			if _, err := w.Write([]byte(text)); err != nil {
				break
			}
		}
		must(t, w.Cut("full"))
		r := read(t, s, w.Handle())
		tot := r.Totals()
		p, err := r.Page(t.Context(), int(tot.Pages), 0)
		if err != nil || tot.Items < 20_000 || p.To != tot.Items {
			t.Errorf("%+v %v", tot, err)
		}
		must(t, r.Close())
		if used := size(t, s.Dir()); used > 2<<20+spareSize {
			t.Errorf("%d bytes", used)
		}
	}
}

func fill(t *testing.T, w *Writer, text string) *Full {
	t.Helper()
	for range 100 {
		if _, err := w.Write([]byte(text)); err != nil {
			full, ok := errors.AsType[*Full](err)
			if !ok {
				t.Fatal(err)
			}
			return full
		}
	}
	t.Fatal("there is no end to the room")
	return nil
}

func size(t testing.TB, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestResultsSurviveARestartAndDamageToTheirIndex(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	var text strings.Builder
	text.WriteString(`{"rows":[`)
	for i := range 5000 {
		fmt.Fprintf(&text, `{"n":%d},`, i)
	}
	text.WriteString(`{"x":"` + strings.Repeat("y", 30_000) + `"}]}`)
	h := keep(t, s, Source{Server: "srv", Tool: "tool", Call: []byte(`{"a":1}`), ReadOnly: true}, text.String(), 1000)
	reader := read(t, s, h)
	want := pages(t, reader, 0)
	must(t, reader.Close())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(){
		func() {},
		func() { must(t, os.Remove(filepath.Join(dir, "ledger"))) },
		func() { must(t, os.WriteFile(filepath.Join(dir, "ledger"), []byte("junk"), 0o600)) },
		func() { flip(t, filepath.Join(dir, "*", "pages.1"), 500) },
		func() { must(t, os.Truncate(one(t, filepath.Join(dir, "*", "pages.1")), 100)) },
		func() { must(t, os.Remove(one(t, filepath.Join(dir, "*", "pages.1")))) },
		func() { must(t, os.Remove(one(t, filepath.Join(dir, "*", "large.1")))) },
	} {
		damage()
		s := open(t, Options{Dir: dir})
		r := read(t, s, h)
		got := pages(t, r, 0)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatal("the pages are not what they were")
		}
		if src := r.Source(); src.Server != "srv" || src.Tool != "tool" || string(src.Call) != `{"a":1}` || !src.ReadOnly {
			t.Errorf("%+v", src)
		}
		_ = r.Close()
	}
	// Without what says what it is it can only be removed.
	j := journal.New(journal.Options{})
	flip(t, filepath.Join(dir, "*", "meta"), 3)
	s = open(t, Options{Dir: dir, Journal: j})
	if there(s, h) || evictions(j, "crash") != 1 || entries(t, dir) != 0 {
		t.Errorf("there %v, %d events, %d entries", there(s, h), evictions(j, "crash"), entries(t, dir))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func one(t testing.TB, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %v %v", pattern, list, err)
	}
	return list[0]
}

func flip(t testing.TB, pattern string, at int) {
	t.Helper()
	name := one(t, pattern)
	b, err := os.ReadFile(name)
	must(t, err)
	b[at] ^= 0x55
	must(t, os.WriteFile(name, b, 0o600))
}

// FuzzIndex damages the files of an entry: pages are then right, or there are none.
func FuzzIndex(f *testing.F) {
	f.Add(uint8(0), uint16(10), byte(1), false)
	f.Add(uint8(1), uint16(300), byte(0x80), true)
	f.Add(uint8(2), uint16(3), byte(7), true)
	f.Add(uint8(3), uint16(77), byte(32), false)
	f.Fuzz(func(t *testing.T, which uint8, at uint16, with byte, short bool) {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir})
		text := `{"rows":[` + strings.Repeat(`{"a":[1,2,"]"]},`, 300) + `"` + strings.Repeat("z", 2000) + `"]}`
		h := keep(t, s, Source{PageBytes: 1024}, text, 1<<20)
		before := read(t, s, h)
		want := pages(t, before, 0)
		_ = before.Close()
		name := one(t, filepath.Join(dir, "*", []string{"head", "meta", "pages.1", "large.1"}[which%4]))
		b, err := os.ReadFile(name)
		must(t, err)
		k := int(at) % len(b)
		if b[k] ^= with; short {
			b = b[:k]
		}
		must(t, os.WriteFile(name, b, 0o600))
		r, err := s.Read(me, h)
		if err != nil {
			if which%4 > 1 {
				t.Fatalf("a damaged table was not made good: %v", err)
			}
			return
		}
		defer r.Close()
		for n := 1; n <= len(want); n++ {
			p, err := r.Page(t.Context(), n, 0)
			if err != nil {
				return // gone, or the meta file tells of fewer
			}
			if which%4 > 1 && string(p.Text) != string(want[n-1].Text) {
				t.Fatalf("page %d differs", n)
			}
			if len(p.Text) > 4096 {
				t.Fatalf("page %d has %d bytes", n, len(p.Text))
			}
		}
		_, _ = r.Search(t.Context(), SearchRequest{Pattern: "z"})
		_, _ = r.Page(t.Context(), 2, 7)
	})
}
