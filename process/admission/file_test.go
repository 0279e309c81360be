package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/store"
)

func TestDamagedLedgerIsSetAsideAndRebuilt(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut short":        func(table []byte) []byte { return table[:len(table)/2] },
		"empty":            func([]byte) []byte { return nil },
		"no table":         func([]byte) []byte { return []byte("\xff\x00 what") },
		"a flipped bit":    func(table []byte) []byte { table[2*recordSize+100] ^= 4; return table },
		"a flipped header": func(table []byte) []byte { table[16] ^= 4; return table },
		"half a record":    func(table []byte) []byte { return append(table, make([]byte, 100)...) },
		"the same twice":   func(table []byte) []byte { return append(table, table[recordSize:2*recordSize]...) },
		"a negative claim": func(table []byte) []byte {
			e := entry{ID: "x", State: Holding, Tool: "x", Reservation: -7}
			e.encode(table[recordSize:])
			writeChecksum(table[recordSize:])
			return table
		},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []Warning
			l := open(t, func(o *Options) { o.Warn = func(w Warning) { warnings = append(warnings, w) } })
			outer := acquire(t, l, Request{Project: "/p", Reservation: 7 * mb})
			if err := outer.Record("remains"); err != nil {
				t.Fatal(err)
			}
			inner := acquire(t, l, Request{Parent: outer.ID()})
			text, err := os.ReadFile(l.tablePath())
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(bytes.Clone(text))
			if err := os.WriteFile(l.tablePath(), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := l.Holders(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) != 2 || list[0].ID != outer.ID() || list[0].Reservation != 7*mb || string(list[0].Remains) != `"remains"` ||
				list[1].ID != inner.ID() || list[1].Parent != outer.ID() {
				t.Errorf("recovered %+v", list)
			}
			if len(warnings) != 1 || warnings[0].About != "ledger" {
				t.Fatalf("warnings: %v", warnings)
			}
			if kept, err := os.ReadFile(warnings[0].Path); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file is not kept: %q (%v)", kept, err)
			}
			if err := outer.Release(); err != nil {
				t.Fatal(err)
			}
			if list, err := l.Holders(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("after a release: %+v (%v)", list, err)
			}
			if len(warnings) != 1 {
				t.Errorf("warned again: %v", warnings)
			}
		})
	}
}

func TestDamagedLedgersKeptAreBounded(t *testing.T) {
	l := open(t, func(o *Options) { o.Warn = func(Warning) {} })
	for range store.KeptDamaged + 3 {
		if err := os.WriteFile(l.tablePath(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Holders(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(l.Dir(), "ledger*.damaged-*"))
	if err != nil || len(kept) != store.KeptDamaged {
		t.Errorf("%d are kept (%v)", len(kept), err)
	}
}

func TestLostFilesForgetNobodyWhoLives(t *testing.T) {
	l := open(t, func(o *Options) { o.Warn = func(Warning) {} })
	c := acquire(t, l, Request{Reservation: 7 * mb, SlotsTotal: 1})
	mustHold := func(what string) {
		t.Helper()
		if _, err := l.Acquire(t.Context(), Request{Tool: "codex", SlotsTotal: 1}); err == nil {
			t.Errorf("%s is gone, and the slot was given twice", what)
		}
	}
	remove := func(path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	remove(l.tablePath())
	mustHold("the table")
	remove(l.claimFilePath(c.ID()))
	mustHold("the claim's card")
	remove(l.tablePath())
	mustHold("the table and the claim's card")
	if startTime(os.Getpid()) != 0 {
		if err := l.writeClaimFile(claimFile{Entry: &c.entry}); err != nil {
			t.Fatal(err)
		}
		remove(l.tablePath())
		remove(l.claimLockPath(c.ID()))
		mustHold("the claim's lock file (a cleaner of temporary files did it)")
	}
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Errorf("release after everything was removed: %v", err)
	}
	acquire(t, l, Request{SlotsTotal: 1})
}

func TestUnusableDirectoryIsATypedError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "below")} {
		_, err := Open(Options{Dir: dir})
		if unavailable, ok := errors.AsType[*UnavailableError](err); !ok || unavailable.Dir == "" {
			t.Errorf("Open(%q): %v", dir, err)
		}
	}
	l := open(t)
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Dir(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(t.Context(), Request{Tool: "codex", Wait: Forever})
	if _, ok := errors.AsType[*UnavailableError](err); !ok {
		t.Errorf("Acquire: %v", err)
	}
}

func TestNewerLedgerIsNotTouched(t *testing.T) {
	newer := make([]byte, recordSize)
	header{}.encode(newer)
	newer[8] = tableVersion + 1
	l := open(t)
	if err := os.WriteFile(l.tablePath(), newer, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(t.Context(), Request{Tool: "codex"})
	if off, ok := errors.AsType[*UnavailableError](err); !ok || !errors.Is(err, ErrNewer) || off.Unwritable() {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(l.tablePath()); err != nil || !bytes.Equal(text, newer) {
		t.Errorf("it reads %q now (%v)", text, err)
	}
}

func TestModesAndBootDirectories(t *testing.T) {
	dir := t.TempDir()
	week := time.Now().Add(-bootKept - time.Hour)
	boots := map[string]bool{"old": false, "old-but-held": true, "young": true} // stays?
	for name := range boots {
		claims := filepath.Join(dir, "ledger", name, "claims")
		if err := os.MkdirAll(claims, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"../lock", "../ledger.table", "../bell", "x.lock", "x.json"} {
			if err := os.WriteFile(filepath.Join(claims, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if name != "young" {
			if err := os.Chtimes(filepath.Join(dir, "ledger", name), week, week); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := os.OpenFile(filepath.Join(dir, "ledger", "old-but-held", "claims", "x.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if ok, err := filelock.Try(held, filelock.Exclusive); err != nil || !ok {
		t.Fatal(ok, err)
	}
	l := open(t, func(o *Options) { o.Dir = dir })
	for name, stays := range boots {
		if _, err := os.Stat(filepath.Join(dir, "ledger", name)); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %v", name, err, stays)
		}
	}
	c := acquire(t, l, Request{})
	if err := errors.Join(c.Record(1), c.Observe(1)); err != nil {
		t.Fatal(err)
	}
	l.wakeWaiters(&book{})
	err = filepath.WalkDir(filepath.Join(dir, "ledger", l.owner.Boot), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; at.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, at.Mode(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killOwner gives a claim's lock up, as the kernel does when the owner dies.
func killOwner(t *testing.T, l *Ledger, r Request) {
	t.Helper()
	c, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Record(c.ID()), c.lock.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestMoreDeadClaimsThanAreTakenAtOnce(t *testing.T) {
	l := open(t)
	const number = 2*reapAtOnce + 7
	fill := func() {
		t.Helper()
		reap := l.opts.Reap
		l.opts.Reap = func(Holder) error { return errors.New("later") } // so that filling does not clean up
		l.opts.Warn = func(Warning) {}
		for range number {
			killOwner(t, l, Request{Tool: "codex"})
		}
		l.opts.Reap = reap
	}
	var reaped int
	l.opts.Reap = func(Holder) error { reaped++; return nil }
	fill()
	if swept, err := l.Sweep(t.Context(), l.opts.Reap); err != nil || len(swept.Removed) != number || reaped != number {
		t.Errorf("swept %d, reaped %d of %d (%v)", len(swept.Removed), reaped, number, err)
	}
	fill()
	acquire(t, l, Request{SlotsTotal: 1})
	if reaped != 2*number {
		t.Errorf("an admission reaped %d of %d", reaped-number, number)
	}
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d are left (%v)", len(list), err)
	}
}

func TestAdmissionSpendsABoundedTimeOnWhatOthersLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t)
		for range 4 {
			killOwner(t, l, Request{Tool: "codex", Parent: "none", Force: true})
			l.opts.Reap, l.opts.Warn = func(Holder) error { return errors.New("later") }, func(Warning) {}
		}
		time.Sleep(2 * retryStale)
		if _, err := l.Preview(t.Context(), Request{Tool: "codex", SlotsPerTool: 1}); err == nil || !strings.Contains(err.Error(), "owner is gone") ||
			!strings.Contains(err.Error(), "plimsoll gc") || strings.Contains(err.Error(), "end codex") {
			t.Errorf("a refusal for runs whose owner is gone says %v", err)
		}
		reaped := 0
		l.opts.Reap = func(Holder) error { reaped++; time.Sleep(2 * time.Second); return errors.New("busy") }
		began := time.Now()
		acquire(t, l, Request{SlotsTotal: 9})
		if took := time.Since(began); reaped != 2 || took > 5*time.Second {
			t.Errorf("%d reaps of 2s in %v; after 3s no further one is begun", reaped, took)
		}
		if swept, err := l.Sweep(t.Context(), func(Holder) error { return nil }); err != nil || len(swept.Removed) != 4 {
			t.Errorf("swept %+v (%v)", swept, err)
		}
	})
}

func TestRecordIsBounded(t *testing.T) {
	l := open(t)
	c := acquire(t, l, Request{})
	if err := c.Record(strings.Repeat("x", MaxRemains)); err == nil {
		t.Error("an endless record was taken")
	}
	if err := c.Record(func() {}); err == nil {
		t.Error("a record that is no JSON was taken")
	}
	if err := c.Record(json.RawMessage(`{"unit":"a.scope"}`)); err != nil {
		t.Error(err)
	}
}

// FuzzTable seals each record anew, so that what is fuzzed is behind the checksums.
func FuzzTable(f *testing.F) {
	b := &book{ledger: &Ledger{}, file: ledgerFile{Schema: schema, Ticket: 3, Entries: []*entry{
		{ID: "a", State: Holding, Ticket: 1, Tool: "codex", Reservation: 7},
		{ID: "b", State: Waiting, Parent: "a", Ticket: 2},
		{ID: "c", State: Holding, Parent: "a", Reservation: math.MaxInt64},
	}}}
	table := b.encodeTable()
	if err := (&book{ledger: &Ledger{}}).decodeTable(table); err != nil {
		f.Fatal(err)
	}
	f.Add(table)
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, image []byte) {
		image = bytes.Clone(image)
		for at := 0; at+recordSize <= len(image); at += recordSize {
			writeChecksum(image[at : at+recordSize])
		}
		b := &book{ledger: &Ledger{}, now: time.Now()}
		if b.decodeTable(image) != nil {
			return
		}
		if len(b.waiters())+len(b.holders()) != len(b.file.Entries) {
			t.Fatal("an entry neither holds nor waits")
		}
		g := &capacity{known: true, tools: map[string]int{}}
		for _, e := range b.file.Entries {
			if !ValidID(e.ID) || e.Reservation < 0 {
				t.Fatalf("accepted %+v", e)
			}
			b.isNested(e)
			g.reserveFor(e)
			if g.claimed < 0 {
				t.Fatal("the sum wrapped")
			}
		}
	})
}

func FuzzParseCard(f *testing.F) {
	f.Add([]byte(`{"schema":1,"entry":{"id":"a","state":"holding","tool":"x"},"remains":{"unit":"u"}}`), []byte("00000000000000000017\n"))
	f.Add([]byte(`{"schema":1}`), []byte("-1"))
	f.Fuzz(func(t *testing.T, text, use []byte) {
		if c, err := parseClaimFile(text, "a"); err == nil && (c.Entry == nil || c.Entry.ID != "a") {
			t.Fatalf("accepted %+v", c)
		}
		if n := parseUse(use); n < 0 {
			t.Fatalf("a use of %d", n)
		}
	})
}
