package proctree

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const statTail = " S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 4711 1000 200 18446744073709551615\n"

func TestParseStatReadsAnyName(t *testing.T) {
	for _, name := range []string{"sh", "", ") R 1 1", "(", "))", "a\nb", "\xff\x00", " ", ") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"} {
		p, err := parseStat([]byte("42 (" + name + ")" + statTail))
		want := Process{PID: 42, PPID: 7, PGID: 8, SID: 9, Start: 4711, Name: name, State: 'S', Threads: 3, CPU: 110 * time.Millisecond, Waited: 150 * time.Millisecond}
		if err != nil || p != want {
			t.Errorf("name %q: %+v, %v; want %+v", name, p, err, want)
		}
	}
}

func TestParseStatKnowsTheFlagsOfAProcess(t *testing.T) {
	for flags, want := range map[string]Process{
		"4194304": {}, "4194308": {ending: true}, "2129984": {kernel: true}, "2129988": {kernel: true, ending: true},
	} {
		p, err := parseStat([]byte("42 (sh)" + strings.Replace(statTail, "4194304", flags, 1)))
		if err != nil || p.ending != want.ending || p.kernel != want.kernel {
			t.Errorf("flags %s: ending %v, kernel %v, %v; want %+v", flags, p.ending, p.kernel, err, want)
		}
	}
}

func TestParseStatRefusesWhatIsNone(t *testing.T) {
	whole := "42 (sh)" + statTail
	end := strings.Index(whole, "4711")
	for i := range end {
		if p, err := parseStat([]byte(whole[:i])); err == nil {
			t.Errorf("%q was read as %+v", whole[:i], p)
		}
	}
	for _, text := range []string{"x (sh)" + statTail, "42 sh" + statTail, "99999999999 (sh)" + statTail, "(sh)" + statTail, strings.Replace(whole, " 7 ", " 2147483648 ", 1)} {
		if p, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
}

func TestParseRollup(t *testing.T) {
	recorded := `559e - 7fff ---p 00000000 00:00 0                          [rollup]
Rss:                5120 kB
Pss:                3000 kB
Pss_Dirty:          1500 kB
Pss_Anon:           1000 kB
Pss_File:           1900 kB
Pss_Shmem:           100 kB
Private_Dirty:      1200 kB
Swap:                600 kB
SwapPss:             500 kB
`
	want := rollup{3000 * limit.KiB, 1000 * limit.KiB, 1900 * limit.KiB, 100 * limit.KiB, 500 * limit.KiB}
	if r, err := parseRollup([]byte(recorded)); err != nil || r != want {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	old := "Pss:  3000 kB\nPrivate_Dirty:  1200 kB\nSwapPss: 0 kB\n"
	if r, err := parseRollup([]byte(old)); err != nil || r.anon != 1200*limit.KiB || r.file != 1800*limit.KiB {
		t.Errorf("before Linux 5.4: %+v, %v", r, err)
	}
	for _, bad := range []string{"", "Pss: kB", "Pss: 5", "Pss: 99999999999999999999 kB", "Rss: 5 kB"} {
		if r, err := parseRollup([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, r)
		}
	}
}

func TestSumsStayAtTheLargestSize(t *testing.T) {
	if got := addSaturating(math.MaxInt64-1, 5); got != math.MaxInt64 {
		t.Errorf("the sum is %d", got)
	}
}

// own adds a real file of this process to a fuzz corpus.
func own(f *testing.F, name string) []byte {
	b, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func FuzzStat(f *testing.F) {
	f.Add(own(f, "stat"))
	f.Add([]byte("42 () R 1 1)" + statTail))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseStat(b)
		if err != nil {
			return
		}
		if p.PID < 0 || p.PPID < 0 || p.PGID < 0 || p.SID < 0 || p.Threads < 0 || !bytes.Contains(b, []byte(p.Name)) {
			t.Errorf("%q was read as %+v", b, p)
		}
	})
}

func FuzzSizes(f *testing.F) {
	for _, name := range []string{"statm", "status", "smaps_rollup"} {
		f.Add(own(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStatm(b); err == nil && (s.privatePages() > s.resident || limit.Bytes(s.resident)*65536 < 0) {
			t.Errorf("statm %q: %+v", b, s)
		}
		if v, ok := parseKilobytes(b, "VmHWM"); ok && v < 0 {
			t.Errorf("status %q: %d", b, v)
		}
		if r, err := parseRollup(b); err == nil && (min(r.rss, r.anon, r.file, r.shmem, r.swap) < 0) {
			t.Errorf("smaps_rollup %q: %+v", b, r)
		}
	})
}

func FuzzCookie(f *testing.F) {
	f.Add([]byte("A=1\x00"+cookie+"\x00B=2\x00"), 5)
	f.Add([]byte(cookie+"x\x00"), 1)
	f.Fuzz(func(t *testing.T, environ []byte, cut int) {
		search := cookieSearch{cookie: cookie}
		cut = max(0, min(cut, len(environ)))
		got := search.feed(environ[:cut]) || search.feed(environ[cut:]) || search.endsWithCookie()
		want := slices.Contains(strings.Split(string(environ), "\x00"), cookie)
		if got != want {
			t.Errorf("environment %q, cut at %d: found %v, want %v", environ, cut, got, want)
		}
	})
}

func FuzzDirents(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 24, 0, 4, '4', '2', 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for pid := range direntPIDs(b) {
			if pid <= 0 || pid > math.MaxInt32 {
				t.Errorf("%q holds %d", b, pid)
			}
		}
	})
}
