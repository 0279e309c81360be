package spend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/window/models"
)

// TestMain lets tests run this binary as another process that spends.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SPEND_IN"); dir != "" {
		b := OpenBook(dir, "p", Budget{Day: 1000})
		for i := 0; ; i++ {
			h, _, err := b.holdAmount(context.Background(), Amount{Tokens: 100, Cost: 0.01})
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(i) // held; killed anywhere from here on
			h.settle(&Amount{Tokens: 100, Cost: 0.01})
		}
	}
	os.Exit(m.Run())
}

func spent(t *testing.T, b *Book, name string) float64 {
	t.Helper()
	list, err := b.Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if a.Name == name {
			return a.Spent
		}
	}
	t.Fatalf("there is no %s in %+v", name, list)
	return 0
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// pay holds and settles an amount.
func pay(t *testing.T, b *Book, cost float64) []Line {
	t.Helper()
	h, _, err := b.holdAmount(t.Context(), Amount{Cost: cost})
	if err != nil {
		t.Fatal(err)
	}
	return h.settle(&Amount{Cost: cost})
}

func TestBudgets(t *testing.T) {
	dir := t.TempDir()
	budget := Budget{Day: 10, Month: 20, ProjectDay: 6}
	one, two := OpenBook(dir, "one", budget), OpenBook(dir, "two", budget)
	now := time.Date(2026, 10, 24, 23, 50, 0, 0, time.Local)
	one.now, two.now = func() time.Time { return now }, func() time.Time { return now }
	var told []Line
	told = append(told, pay(t, one, 4)...)
	told = append(told, pay(t, two, 3)...)
	if len(told) != 0 {
		t.Errorf("told early: %+v", told)
	}
	told = pay(t, one, 1) // 5 of 6 here, 8 of 10 in all
	if len(told) != 2 || told[0].Name != BudgetDay || told[1].Name != BudgetProjectDay || told[0].Hard || told[1].Hard {
		t.Errorf("told %+v", told)
	}
	if told = pay(t, two, 0.5); len(told) != 0 {
		t.Errorf("told again: %+v", told)
	}
	pay(t, one, 1)
	if _, name, err := one.holdAmount(t.Context(), Amount{Cost: 1}); !isOver(err) || name != BudgetProjectDay {
		t.Errorf("project: %s, %v", name, err)
	}
	pay(t, two, 1)
	_, name, err := two.holdAmount(t.Context(), Amount{Cost: 1})
	if !isOver(err) || name != BudgetDay || !strings.Contains(err.Error(), "plimsoll config explain budget.day") {
		t.Errorf("all: %s, %v", name, err)
	}
	// A new day, and a clock that was set back, which opens nothing.
	now = now.Add(time.Hour)
	pay(t, one, 5)
	now = now.Add(-3 * time.Hour)
	if got := spent(t, one, BudgetDay); !near(got, 5+4.5) { // the new day of one and the old one of two
		t.Errorf("the day before counts %v", got)
	}
	if got := spent(t, one, BudgetMonth); !near(got, 15.5) {
		t.Errorf("the month has %v", got)
	}
	now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.Local)
	if got := spent(t, one, BudgetMonth); got != 0 {
		t.Errorf("a new month begins with %v", got)
	}
}

func isOver(err error) bool {
	_, ok := errors.AsType[*Over](err)
	return ok
}

// Dead at any write: what was held counts once, as it was held or as it was settled, and never not at all or twice.
func TestADeathAtAnyWrite(t *testing.T) {
	deaths := 0
	for stop := 1; ; stop++ {
		dir := t.TempDir()
		b := OpenBook(dir, "p", Budget{Day: 100})
		pay(t, b, 1)
		b.Close()
		b.owner.PID = 1 << 30 // a process that there is not
		writes := 0
		b.fail = func() error {
			if writes++; writes >= stop {
				return errors.New("died")
			}
			return nil
		}
		held := false
		h, _, err := b.holdAmount(t.Context(), Amount{Cost: 2})
		if err == nil {
			held = true
			h.settle(&Amount{Cost: 3})
		}
		after := OpenBook(dir, "p", Budget{Day: 100})
		got := spent(t, after, BudgetDay)
		switch {
		case held && !near(got, 3) && !near(got, 4):
			t.Errorf("died at write %d: %v was spent", stop, got)
		case !held && !near(got, 1):
			t.Errorf("died at write %d, nothing held: %v was spent", stop, got)
		}
		if writes < stop {
			break
		}
		deaths++
	}
	if deaths < 4 {
		t.Errorf("only %d writes", deaths)
	}
}

// Real processes that spend and are killed at any moment lose nothing, and their holds end.
func TestKilledSpenders(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 40 processes")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	held := 0
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "SPEND_IN="+dir)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			lines := bufio.NewScanner(out)
			n := 0
			for lines.Scan() {
				if n++; n == 5+i {
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait()
			mu.Lock()
			defer mu.Unlock()
			held += n
		})
	}
	all.Wait()
	b := OpenBook(dir, "p", Budget{Day: 1000})
	// Each printed line is a hold; one may have been made and not printed by each.
	got := spent(t, b, BudgetDay) * 100
	if got < float64(held)-0.5 || got > float64(held)+40.5 {
		t.Errorf("%d holds of a cent, %.2f cents spent", held, got)
	}
	list, _ := b.Accounts(t.Context())
	if list[0].Held != 0 {
		t.Errorf("%v is held by nobody", list[0].Held)
	}
}

// A book that can't be read or written is no open budget.
func TestADamagedBookRefuses(t *testing.T) {
	dir := t.TempDir()
	b := OpenBook(dir, "p", Budget{Day: 1})
	pay(t, b, 0.5)
	b.Close()
	pay(t, b, 0.1)
	b.Close()
	image := testfile.Read(t, b.path)
	for name, damage := range map[string]func([]byte) []byte{
		"a wrong byte": func(b []byte) []byte { b[2*recordSize+40] ^= 1; return b },
		"a free one":   func(b []byte) []byte { b[9*recordSize+40] ^= 1; return b },
		"cut":          func(b []byte) []byte { return b[:recordSize+5] },
		"empty":        func([]byte) []byte { return nil },
		"another file": func(b []byte) []byte { copy(b, "#!/bin/sh"); return b },
	} {
		testfile.Write(t, b.path, damage([]byte(string(image))))
		_, _, err := OpenBook(dir, "p", Budget{Day: 1}).holdAmount(t.Context(), Amount{Cost: 0.1})
		if !errors.Is(err, ErrBook) || !strings.Contains(err.Error(), b.path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	testfile.Write(t, b.path, image)
	full := errors.New("no space left on device")
	b.fail = func() error { return full }
	if _, _, err := b.holdAmount(t.Context(), Amount{Cost: 0.1}); !errors.Is(err, ErrBook) || !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
	elsewhere := OpenBook(filepath.Join(b.path, "no"), "p", Budget{Day: 1})
	if _, _, err := elsewhere.holdAmount(t.Context(), Amount{}); !errors.Is(err, ErrBook) {
		t.Errorf("no directory: %v", err)
	}
}

// Two runs of different processes wait for each other, and an unknown price is refused.
func TestAMeterWithABook(t *testing.T) {
	dir := t.TempDir()
	meter := func() *Meter { return New(Options{Book: OpenBook(dir, "p", Budget{Day: 0.05})}) }
	one, two := meter(), meter()
	price := models.Price{Rate: models.Rate{Input: 3, Output: 15}}
	r := Request{Model: "m", Input: 1000, Price: price, Priced: true}
	first, err := one.Hold(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		h, err := two.Hold(t.Context(), r)
		h.Release()
		got <- err
	}()
	select {
	case err := <-got:
		t.Errorf("the second did not wait: %v", err)
	case <-time.After(3 * poll):
	}
	first.Release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	r.Priced = false
	if _, err := one.Hold(t.Context(), r); !isOver(err) || !strings.Contains(err.Error(), "budget.day") {
		t.Errorf("no price: %v", err)
	}
}

func FuzzBook(f *testing.F) {
	b := OpenBook(f.TempDir(), "p", Budget{Day: 100})
	for range 2 {
		h, _, err := b.holdAmount(f.Context(), Amount{Cost: 2})
		if err != nil {
			f.Fatal(err)
		}
		h.settle(&Amount{Cost: 1})
	}
	b.team = &teamwork{} // so that shares count
	if err := b.whileLocked(f.Context(), func(p *page) error {
		return p.setShare(&account{month: 202611, day: 20261129, share: share{Granted: 3, Published: 4, Told: 1, Others: 2, Max: 5, Left: 1, Hosts: 2, Returned: true, At: 9, Lowered: 8}})
	}); err != nil {
		f.Fatal(err)
	}
	image := testfile.Read(f, b.path)
	f.Add(image[:5*recordSize])
	f.Fuzz(func(t *testing.T, image []byte) {
		records, err := decodeBook(image)
		if err != nil {
			return
		}
		for _, a := range b.accounts(records) {
			if !(a.spent >= 0 && a.held >= 0 && a.share.Granted >= 0 && a.share.Others >= 0) {
				t.Errorf("%+v", a)
			}
		}
		for i := range records {
			var text [recordSize]byte
			records[i].encode(text[:])
			if again, err := decodeRecord(text[:]); err != nil || again != records[i] {
				t.Errorf("%+v became %+v, %v", records[i], again, err)
			}
		}
	})
}
