package rate

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// shared opens a share that may not complain.
func shared(t *testing.T, dir string) *Share {
	t.Helper()
	s := Open(dir, func(err error) { t.Error(err) })
	t.Cleanup(s.Close)
	return s
}

func spent(requests, left int, reset string) http.Header {
	return header("x-ratelimit-limit-requests: "+strconv.Itoa(requests), "x-ratelimit-remaining-requests: "+strconv.Itoa(left), "x-ratelimit-reset-requests: "+reset)
}

// exhaust lets a share learn that a provider lets nothing more through for now.
func exhaust(t *testing.T, s *Share, h http.Header) {
	t.Helper()
	turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "first", Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	turn.Answered(h)
}

// Of those that wait people go first, however many others stood there before, and a batch is not left standing for good.
func TestPeopleBeforeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(60, 1e9)
		c.left[0] = 0
		dir := t.TempDir()
		exhaust(t, shared(t, dir), spent(60, 0, "60s"))
		var wg sync.WaitGroup
		var batch []*agent
		for i := range 12 {
			a := &agent{share: shared(t, dir), name: strconv.Itoa(i), patience: 55 * time.Second}
			batch = append(batch, a)
			wg.Go(func() { work(t, a, c, 3, func(int) int { return 1 }) })
		}
		time.Sleep(2 * time.Second)
		person := &agent{share: shared(t, dir), name: "person", people: true, patience: 55 * time.Second}
		work(t, person, c, 5, func(int) int { return 1 })
		wg.Wait()
		if person.longest > 2500*time.Millisecond || person.failed > 0 {
			t.Errorf("a person waited %v", person.longest)
		}
		for _, a := range batch {
			if a.failed > 0 || len(a.done) != 3 {
				t.Errorf("of a batch %d failed", a.failed)
			}
		}
	})
}

// After a pause one tries, and the others wait for what becomes of it: a provider that is down sees few requests, and none within the pause.
func TestOneTriesAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(1e6, 1e9)
		c.silent, c.down = true, time.Now().Add(10*time.Second)
		all, took := crowd(t, c, 60*time.Second, 40, 2, func(int, int) int { return 1 })
		failed := 0
		for _, a := range all {
			failed += a.failed
		}
		after := 0
		for _, at := range c.asked {
			if at.After(c.asked[0].Add(500*time.Millisecond)) && at.Before(c.down) {
				after++
			}
		}
		if failed > 0 || after > 10 || took > 20*time.Second {
			t.Errorf("%d failed, %d tried while it was down, %v", failed, after, took)
		}
	})
}

// A request goes when its patience ends, and at once where the pause is longer than that.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(t, t.TempDir())
		exhaust(t, s, spent(600, 0, "60s")) // ten a second
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: strconv.Itoa(i), Since: time.Now(), Patience: 5 * time.Second})
				if err != nil || time.Since(began) > 6*time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
					return
				}
				turn.Leave()
			})
		}
		wg.Wait()
		turn, _ := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Patience: time.Second})
		turn.Refused(http.StatusTooManyRequests, nil, Refusal{After: time.Minute})
		began = time.Now()
		turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Since: began, Patience: 5 * time.Second})
		if err != nil || !turn.Forced || time.Since(began) > time.Second {
			t.Errorf("it waited %v for a pause of a minute: %v", time.Since(began), err)
		}
		turn.Refused(http.StatusTooManyRequests, nil, Refusal{After: time.Minute})
	})
}

// Whoever gives up leaves the queue to the others.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(t, t.TempDir())
		exhaust(t, s, spent(60, 0, "60s"))
		why := errors.New("the client is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(why) })
		if _, err := s.Wait(ctx, Ask{Key: "k", Run: "r", Since: time.Now(), Patience: time.Minute}); !errors.Is(err, why) {
			t.Error(err)
		}
		var x table
		if s.line("k").readTable(&x); len(x.tickets) != 0 {
			t.Errorf("%d are left", len(x.tickets))
		}
	})
}

// A clock that jumps makes nobody wait for longer than his patience, nor a pause last longer than it was to.
func TestClocksJump(t *testing.T) {
	for _, jump := range []time.Duration{-48 * time.Hour, -time.Minute, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := shared(t, t.TempDir())
			var off time.Duration
			var mu sync.Mutex
			s.store.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(off) }
			turn, _ := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Patience: time.Second})
			turn.Refused(http.StatusTooManyRequests, spent(60, 0, "60s"), Refusal{After: 3 * time.Second})
			time.AfterFunc(time.Second, func() { mu.Lock(); defer mu.Unlock(); off = jump })
			began := time.Now()
			turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Since: began, Patience: 20 * time.Second})
			if took := time.Since(began); err != nil || took > 6*time.Second {
				t.Errorf("by %v: it waited %v, %v", jump, took, err)
			}
			turn.Answered(spent(60, 59, "1s"))
		})
	}
}

// What cannot be used is said once, and stops nobody.
func TestFilesThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"a file in the place of the folder": func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) },
		"a folder in the place of a table":  func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "k"), 0o700)) },
		"a pipe in the place of a table": func(t *testing.T, dir string) {
			must(t, os.MkdirAll(dir, 0o700))
			if out, err := exec.Command("mkfifo", filepath.Join(dir, "k")).CombinedOutput(); err != nil {
				t.Skipf("%v: %s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rate")
			spoil(t, dir)
			var said []string
			s := Open(dir, func(err error) { said = append(said, err.Error()) })
			defer s.Close()
			for range 3 {
				turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Patience: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				turn.Answered(spent(60, 1, "59s"))
			}
			if len(said) != 1 || !strings.Contains(said[0], dir) {
				t.Errorf("said %q", said)
			}
			if !s.line("k").seen.buckets[Requests].known() {
				t.Error("it does not go by what it sees itself")
			}
		})
	}
}

// A process that is stopped while it has a file's lock stops nobody else.
func TestLockThatIsNotGivenUp(t *testing.T) {
	dir := t.TempDir()
	holder := shared(t, dir)
	exhaust(t, holder, spent(60, 0, "60s"))
	f, err := holder.store.lock("k")
	must(t, err)
	defer f.Close()
	var said []string
	s := Open(dir, func(err error) { said = append(said, err.Error()) })
	defer s.Close()
	s.store.locking = time.Millisecond
	for range 2 {
		turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Patience: time.Minute})
		must(t, err)
		turn.Answered(spent(60, 50, "10s"))
	}
	if len(said) != 1 || !strings.Contains(said[0], "does not give up the lock on k") {
		t.Errorf("said %q", said)
	}
}

// A queue has bounds: who finds no place in it goes.
func TestQueueIsFull(t *testing.T) {
	s := shared(t, t.TempDir())
	exhaust(t, s, spent(6, 0, "60s"))
	now := time.Now().UnixNano()
	s.line("k").change(func(x *table, _ int64) {
		for range maxTickets {
			x.tickets = append(x.tickets, ticket{id: randomID(), process: s.store.process, run: randomID(), arrived: now, leaves: now + int64(time.Hour)})
		}
	})
	turn, err := s.Wait(t.Context(), Ask{Key: "k", Run: "r", Since: time.Now(), Patience: time.Hour})
	if err != nil || !turn.Forced {
		t.Errorf("%+v, %v", turn, err)
	}
	if info, _ := os.Stat(filepath.Join(s.store.dir, "k")); info.Size() > maxTable {
		t.Errorf("the file has %d bytes", info.Size())
	}
}

// Tables that nobody has used for a day, and marks of processes that have ended, do not gather.
func TestOldFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	exhaust(t, shared(t, dir), spent(60, 0, "60s"))
	old := time.Now().Add(-2 * maxAge)
	for i := range maxFiles {
		for _, folder := range []string{"", liveFolder} {
			name := filepath.Join(dir, folder, "old"+strconv.Itoa(i))
			must(t, os.WriteFile(name, nil, 0o600))
			must(t, os.Chtimes(name, old, old))
		}
	}
	must(t, os.Chtimes(filepath.Join(dir, liveFolder), old, old))
	shared(t, dir).Digest("a key")
	tables, _ := os.ReadDir(dir)
	marks, _ := os.ReadDir(filepath.Join(dir, liveFolder))
	if len(tables) != 3 || len(marks) != 1 { // a table, the key, the marks; the mark of a process that lives
		t.Errorf("%d files, %d marks", len(tables), len(marks))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A table that was written half, or by somebody else, is begun anew.
func TestDamagedTable(t *testing.T) {
	dir := t.TempDir()
	s := shared(t, dir)
	exhaust(t, s, spent(60, 0, "60s"))
	name := filepath.Join(dir, "k")
	whole, err := os.ReadFile(name)
	must(t, err)
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for n := range len(whole) / 8 {
		text := append([]byte(nil), whole...)
		text[rand.IntN(len(text))] ^= byte(1 + rand.IntN(255))
		must(t, os.WriteFile(name, text[:len(text)-n%2*8], 0o600))
		turn, err := shared(t, dir).Wait(t.Context(), Ask{Key: "k", Run: "r", Patience: 0})
		if err != nil {
			t.Fatal(err)
		}
		turn.Answered(spent(60, 0, "60s"))
	}
}

// The keys that come to the files are digests: the same in all processes of this host, and not those of another.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	a, b, elsewhere := shared(t, dir), shared(t, dir), shared(t, t.TempDir())
	if x := a.Digest("sk-secret"); x != b.Digest("sk-secret") || x == elsewhere.Digest("sk-secret") || x == a.Digest("sk-other") || len(x) != 24 {
		t.Errorf("%q", x)
	}
	if info, err := os.Stat(filepath.Join(dir, secretFile)); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("%v, %v", info, err)
	}
}

// A process that is killed leaves its places at once, before the queue and behind it.
func TestKilledProcessLeavesTheQueue(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("RATE_HOLDER") != "" { // the process that will be killed
		s := Open(os.Getenv("RATE_HOLDER"), nil)
		for i := range 5 {
			go func() {
				_, _ = s.Wait(context.Background(), Ask{Key: "k", Run: "holder" + strconv.Itoa(i), People: true, Patience: time.Hour})
			}()
		}
		select {}
	}
	s := shared(t, dir)
	exhaust(t, s, spent(6, 0, "60s")) // one in ten seconds
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLeavesTheQueue$")
	cmd.Env = append(os.Environ(), "RATE_HOLDER="+dir)
	must(t, cmd.Start())
	wait.Until(t, "five stand in the queue", func() bool {
		var x table
		s.line("k").readTable(&x)
		return len(x.tickets) == 5
	})
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	wait.Until(t, "their places are free", func() bool {
		s.line("k").change(func(*table, int64) {})
		var x table
		s.line("k").readTable(&x)
		return len(x.tickets) == 0
	})
	if left, _ := os.ReadDir(filepath.Join(dir, liveFolder)); len(left) != 1 { // ours
		t.Errorf("%d marks are left", len(left))
	}
}

// Two hundred runs that end at one time leave no place and no mark.
func TestManyEndAtOnce(t *testing.T) {
	dir := t.TempDir()
	exhaust(t, shared(t, dir), spent(60, 0, "60s"))
	ctx, end := context.WithCancel(t.Context())
	var wg, standing sync.WaitGroup
	for i := range 200 {
		standing.Add(1)
		wg.Go(func() {
			s := Open(dir, func(err error) { t.Error(err) })
			defer s.Close()
			var once sync.Once
			_, _ = s.Wait(ctx, Ask{Key: "k", Run: strconv.Itoa(i), Patience: time.Hour, Waits: func(Wait) { once.Do(standing.Done) }})
			once.Do(standing.Done)
		})
	}
	standing.Wait()
	end()
	wg.Wait()
	s := shared(t, dir)
	var x table
	s.line("k").readTable(&x)
	left, _ := os.ReadDir(filepath.Join(dir, liveFolder))
	if len(x.tickets) != 0 || len(left) > 1 {
		t.Errorf("%d places and %d marks are left", len(x.tickets), len(left))
	}
}

func FuzzTable(f *testing.F) {
	var x table
	x.buckets[0] = bucket{limit: 60, left: 1, speed: 1}
	x.runs, x.tickets = []service{{run: 1, served: 2}}, []ticket{{id: 1, run: 1}}
	f.Add(x.encode(nil))
	f.Add([]byte("ratepl01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var x table
		if x.decode(text) != nil {
			return
		}
		now := time.Now().UnixNano()
		x.advance(now)
		x.grant(now)
		x.recordAnswer(&said{readings: [units]reading{{known: true, limit: 5, left: 4, full: time.Second}}}, now, now)
		x.recordRefusal(&said{}, Refusal{}, true, now, now)
		if len(x.tickets) > maxTickets || len(x.runs) > maxRuns {
			t.Error("too many")
		}
	})
}
