package termination

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

func seen(used limit.Bytes, names ...string) sight {
	s := sight{
		at: time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC), group: group{dir: "/sys/fs/cgroup", version: 2, limit: 512 * limit.MiB}, used: used, inMemory: 64 * limit.MiB,
	}
	for i, n := range names {
		s.processes = append(s.processes, proc{100 + i, n, max(1, 400-40*limit.Bytes(i)) * limit.MiB})
	}
	return s
}

// The message answers what somebody asks who finds a dead container: which process, what it took, which limit, what to do.
func TestTextSaysWhoWhatWhichAndWhatToDo(t *testing.T) {
	got := formatMessage(seen(471*limit.MiB, "node", "npm"), nil, "claude may use 496 MiB (plimsoll run)", "")
	want := `plimsoll: this container uses 91 % of its memory, 471 MiB of 512 MiB. If it was OOMKilled, this is why.
Seen at 2026-11-25T18:00:00Z, limit memory.max in /sys/fs/cgroup.
What takes it:
  node (pid 100) with 400 MiB
  npm (pid 101) with 360 MiB
  files in memory (/dev/shm, tmpfs, volumes of medium Memory) with 64 MiB
Limits inside: claude may use 496 MiB (plimsoll run).
What to do: raise resources.limits.memory of this container (half as much again is 768Mi), or let it do less at once. At the limit the kernel ends every process of the container, not only the largest.
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	fell := seen(100*limit.MiB, "node")
	if got := formatMessage(seen(471*limit.MiB, "node"), &fell, "", ""); !strings.HasPrefix(got, "plimsoll: this container has used 91 % of its memory, 471 MiB of 512 MiB, and uses 19 % since ") {
		t.Errorf("after it fell: %s", got)
	}
	if got := formatMessage(sight{}, nil, "", "plimsoll: refused: it needs 4G"); got != "plimsoll: refused: it needs 4G" {
		t.Errorf("a reason alone: %q", got)
	}
	if got := formatMessage(seen(471*limit.MiB, "node"), nil, "", "claude died of memory"); !strings.HasPrefix(got, "plimsoll: claude died of memory\n\nthis container uses 91 %") {
		t.Errorf("a reason first: %s", got)
	}
}

// Whatever processes are called and however many there are, the message is one that is shown whole, and no name breaks out of its line.
func TestTextIsBounded(t *testing.T) {
	names := make([]string, maxProcesses)
	for i := range names {
		names[i] = strings.Repeat("\x1b]0;\n\xff", 200)
	}
	s := seen(500*limit.MiB, names...)
	s.group.dir = "/sys/fs/cgroup/" + strings.Repeat("käse\n", 2000)
	got := formatMessage(s, &s, strings.Repeat("inner ", 1000), strings.Repeat("reason ", 1000))
	if len(got) > MaxMessage || !utf8.ValidString(got) || !strings.Contains(got, "What to do: ") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
	if strings.Contains(got, "\x1b") || strings.Count(got, "\n") > named+12 {
		t.Errorf("a name breaks out:\n%q", got)
	}
}

// A process that the kernel has killed holds nothing while its pages are still charged; the file names it all the same.
func TestAVictimIsNamedWhileItsPagesAreCharged(t *testing.T) {
	before := seen(92*limit.MiB, "greedy")
	before.processes[0].held = 80 * limit.MiB
	for name, c := range map[string]struct {
		used, held limit.Bytes
		want       string
	}{
		"killed, still charged": {100 * limit.MiB, limit.MiB, "greedy"},
		"killed, given back":    {20 * limit.MiB, limit.MiB, "other"},
		"another holds it now":  {100 * limit.MiB, 70 * limit.MiB, "other"},
	} {
		now := seen(c.used, "other")
		now.processes[0].held = c.held
		now.keepVictims(before)
		if got := now.processes[0].name; got != c.want {
			t.Errorf("%s: %s is named, want %s", name, got, c.want)
		}
	}
}

func TestCrossedHasSlack(t *testing.T) {
	over := 0
	for _, step := range []struct{ percent, want int }{
		{74, 0}, {75, Soft}, {70, Soft}, {69, 0}, {74, 0}, {90, Hard}, {85, Hard}, {84, Soft}, {90, Hard}, {60, 0}, {101, Hard},
	} {
		if over = crossedLine(step.percent, over); over != step.want {
			t.Errorf("at %d %% it is over %d, want %d", step.percent, over, step.want)
		}
	}
}

// Looks come soon enough for what fills memory as fast as it can, and seldom while there is much.
func TestPause(t *testing.T) {
	w := &Watch{}
	g := group{limit: 64 * limit.GiB}
	if got := w.pause(g, 0, 0); got != calm {
		t.Errorf("far away: %s", got)
	}
	g.limit = 512 * limit.MiB
	if got := w.pause(g, 300*limit.MiB, 300*limit.MiB); got != rest {
		t.Errorf("at rest: %s", got)
	}
	if got := w.pause(g, 380*limit.MiB, 300*limit.MiB); got != hasty {
		t.Errorf("on the move: %s", got)
	}
	if got := w.pause(g, 2*g.limit, 0); got != hasty {
		t.Errorf("above the limit: %s", got)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Name:\tnode\nUmask:\t0022\nRssAnon:\t    1234 kB\n"))
	f.Add([]byte("Name:\nRssAnon:\t99999999999999999999 kB"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p := parseStatus(text); p.held < 0 {
			t.Errorf("%d bytes are held", p.held)
		}
	})
}
