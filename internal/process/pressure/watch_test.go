package pressure

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

func TestTheYoungestAboveItsReservationGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("old", Freeze, 3*gib, 2*gib)
		young := h.add("young", Freeze, 2*gib, 300*mib, 900*mib)
		h.add("modest", Freeze, gib/2, 400*mib)
		h.watch()
		h.after(20*time.Second, "")
		h.memory(300 * mib)
		h.after(3*time.Second, "young stop young-1")
		h.after(3*time.Second, "young freeze")
		h.memory(2 * gib)
		h.after(time.Second, "")
		h.after(3*time.Second, "young thaw")
		h.after(3*time.Second, "young continue young-1")
		h.after(5*time.Minute, "")
		if got := strings.Join(young.said, ","); got != "stop" {
			t.Errorf("one line an episode is enough, got %s", got)
		}
	})
}

func TestAShortDipHasNoConsequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.memory(gib) // near: four looks a second
		h.add("run", Freeze, 2*gib, gib)
		h.watch()
		for range 50 {
			h.memory(300 * mib)
			h.after(DefaultFast, "")
			h.memory(gib)
			h.after(time.Second, "")
		}
	})
}

func TestHeldForItsTimeThenTheNextGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("old", Freeze, 3*gib, 2*gib)
		h.add("young", Freeze, 2*gib, gib)
		h.watch()
		h.memory(300 * mib)
		h.after(11*time.Second, "young stop young-0, young freeze, old stop old-0, old freeze")
		h.after(51*time.Second, "young thaw, young continue young-0")
		h.after(6*time.Second, "old thaw, old continue old-0")
		h.after(21*time.Second, "") // they have earned their rest
		h.after(4*time.Second, "young stop young-0")
	})
}

// However long memory stays short, and whatever it does, nothing is held for longer than
// Hold, all get to run, and the pause between actions is kept.
func TestNothingStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var all []*guest
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, h.add(id, Freeze, 2*gib, gib))
		}
		h.watch()
		rng := rand.New(rand.NewPCG(1, 2))
		actions := 0
		for range 3600 {
			if rng.IntN(10) == 0 {
				h.memory(limit.Bytes(rng.Int64N(int64(gib))))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			starts := 0
			for line := range strings.SplitSeq(h.happened(), ", ") {
				if strings.Contains(line, " stop ") || strings.HasSuffix(line, " freeze") {
					starts++
				}
			}
			if actions += starts; starts > 1 {
				t.Fatalf("%d runs were told to give way within a second", starts)
			}
		}
		if actions < 50 {
			t.Errorf("an hour of shortage with %d actions: this tested nothing", actions)
		}
		for _, g := range all {
			if most := DefaultHold + DefaultNormal; g.longest > most {
				t.Errorf("%s was held for %s", g.holder.ID, g.longest)
			}
			if g.ran < 10*time.Minute {
				t.Errorf("%s ran for %s of an hour", g.holder.ID, g.ran)
			}
		}
	})
}

func TestKillEndsOneChildAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("run", Kill, 3*gib, 700*mib, 900*mib, 600*mib, 5*mib)
		h.watch()
		h.memory(100 * mib)
		h.after(4*time.Second, "run kill run-1")
		h.after(3*time.Second, "run kill run-0")
		h.after(3*time.Second, "run kill run-2") // down to 872 MiB
		h.after(time.Minute, "run warn")
		if len(g.children) != 1 || strings.Join(g.said, ",") != "kill" {
			t.Errorf("left %v, said %v", g.children, g.said)
		}
	})
}

func TestAChildTooSmallIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("kills", Kill, 3*gib, 5*mib)
		h.watch()
		h.memory(100 * mib)
		h.after(10*time.Second, "kills warn")
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("freezes", Freeze, 3*gib, 5*mib)
		h.watch()
		h.memory(100 * mib)
		h.after(10*time.Second, "freezes freeze")
		if strings.Join(g.said, ",") != "freeze" {
			t.Errorf("said %v", g.said)
		}
	})
}

func TestWhenNobodyIsAboveItsReservationAllWarnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a, b := h.add("a", Freeze, gib, gib), h.add("b", Kill, gib/2, gib/2)
		nested := h.add("in-b", Freeze, 3*gib, gib)
		nested.holder.Nested = true
		dead := h.add("dead", Freeze, 3*gib, gib)
		dead.holder.Dead = true
		h.watch("a", "b")
		h.memory(100 * mib)
		time.Sleep(time.Minute)
		h.memory(4 * gib)
		time.Sleep(DefaultCalm + 2*time.Second)
		synctest.Wait()
		if got := h.happened(); strings.Count(got, "warn") != 2 || strings.Count(got, ",") != 1 {
			t.Errorf("got %q", got)
		}
		h.memory(100 * mib) // a new episode
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(a.said) != 2 || len(b.said) != 2 {
			t.Errorf("one line an episode: %v, %v", a.said, b.said)
		}
		h.happened()
	})
}

func TestARunThatMayNotBeStoppedIsPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("old", Freeze, 3*gib, 2*gib)
		h.add("terminal", Warn, 2*gib, gib)
		h.add("off", Off, 2*gib, gib)
		h.watch()
		h.memory(300 * mib)
		h.after(4*time.Second, "old stop old-0")
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("terminal", Warn, 2*gib, gib)
		h.watch()
		h.memory(300 * mib)
		h.after(time.Minute, "terminal warn")
	})
}

func TestASupervisorThatDoesNotActIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("old", Freeze, 3*gib, 2*gib)
		h.add("asleep", Freeze, 2*gib, gib) // no watch: its supervisor is stopped
		h.watch("old")
		h.memory(300 * mib)
		h.after(DefaultTurn, "")
		h.after(4*time.Second, "old stop old-0")
	})
}

func TestAPeerThawsWhatItsSupervisorDoesNot(t *testing.T) {
	for name, frozenAt := range map[string]time.Duration{
		"by the clock on the wall":     0,
		"after the clock was set back": time.Hour, // frozen in what is now the future
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				g := h.add("asleep", Freeze, 2*gib, gib)
				g.holder.State.Frozen = time.Now().Add(frozenAt).Round(0)
				g.frozen = true
				h.add("peer", Warn, gib/2)
				h.watch("peer")
				h.after(DefaultHold, "")
				h.after(DefaultPeers+DefaultPeerGrace+DefaultSlow, "peer thaw-peer asleep")
				h.after(10*time.Minute, "") // once is enough
				if g.frozen {
					t.Error("it is still frozen")
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("orphan", Freeze, 2*gib, gib)
		g.holder.Dead, g.holder.State.Frozen, g.frozen = true, time.Now(), true
		h.add("peer", Warn, gib/2)
		h.watch("peer")
		h.after(DefaultPeers, "peer thaw-peer orphan") // nobody waits for a dead supervisor
	})
}

func TestStallsMoveTheDecisionForwardAndNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		reading Reading
		want    string
	}{
		"between the lines":           {Reading{Total: 600 * mib, Physical: 600 * mib}, "run warn"},
		"memory stalls":               {Reading{Total: 600 * mib, Physical: 600 * mib, MemoryStall: 25}, "run stop run-0, run freeze"},
		"only io stalls":              {Reading{Total: 600 * mib, Physical: 600 * mib, IOStall: 63}, "run stop run-0, run freeze"},
		"a busy disk, memory left":    {Reading{Total: 4 * gib, Physical: 4 * gib, IOStall: 99, MemoryStall: 99}, ""},
		"swap left, nothing stalls":   {Reading{Total: 4 * gib, Physical: 100 * mib}, ""},
		"swap left, but it is thrash": {Reading{Total: 4 * gib, Physical: 100 * mib, IOStall: 63}, "run stop run-0, run freeze"},
		"below hard without stalls":   {Reading{Total: 300 * mib, Physical: 300 * mib}, "run stop run-0, run freeze"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.add("run", Freeze, 2*gib, gib)
				h.watch()
				h.mu.Lock()
				h.reading = c.reading
				h.mu.Unlock()
				h.after(10*time.Second, c.want)
			})
		})
	}
}

func TestWhatCannotBeWrittenDownIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("run", Freeze, 2*gib, gib)
		h.watch()
		h.refuse = errors.New("disk full")
		h.memory(100 * mib)
		h.after(10*time.Second, "run stop run-0 failed")
		if g.frozen || len(g.stopped) > 0 {
			t.Error("it is held and nobody knows")
		}
	})
}

func TestASignalThawsAndIsGivenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("run", Freeze, 2*gib, gib)
		h.watch()
		h.memory(100 * mib)
		h.after(8*time.Second, "run stop run-0, run freeze")
		_ = g.Freeze(false) // as Attend does before it passes a signal on
		h.after(time.Second, "run thaw, run continue run-0")
		h.after(DefaultRest-2*time.Second, "")
	})
}

func TestTheEndOfTheRunLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("run", Freeze, 2*gib, gib)
		h.watch()
		h.memory(100 * mib)
		h.after(8*time.Second, "run stop run-0, run freeze")
		g.stop()
		if g.frozen || len(g.stopped) > 0 || !g.holder.State.heldSince().IsZero() {
			t.Errorf("still held: %+v", g.holder.State)
		}
	})
}

func TestWithoutALedgerItOnlyWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		g := h.add("run", Freeze, 2*gib, gib)
		g.stop = Start(Options{Mode: Freeze, Lines: testLines, Read: h.read, Run: g, Note: g.note})
		h.memory(100 * mib)
		h.after(time.Minute, "run warn")
	})
}

func TestHoldsEndAlsoWhenMemoryCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.add("run", Freeze, 2*gib, gib)
		h.watch()
		h.memory(100 * mib)
		h.after(8*time.Second, "run stop run-0, run freeze")
		h.mu.Lock()
		h.readErr = errors.New("no /proc")
		h.mu.Unlock()
		h.after(DefaultHold, "run thaw, run continue run-0")
	})
}

func TestLooksAreAsFrequentAsMemoryIsShort(t *testing.T) {
	for _, c := range []struct {
		mode     Mode
		total    limit.Bytes
		low, top int // looks a minute
	}{
		{Off, 100 * mib, 0, 0},
		{Warn, 12 * gib, 29, 31},
		{Warn, 4 * gib, 58, 61},
		{Warn, gib, 235, 241},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			h.memory(c.total)
			h.add("run", c.mode, gib/2)
			h.watch()
			time.Sleep(time.Minute)
			synctest.Wait()
			if h.reads < c.low || h.reads > c.top {
				t.Errorf("mode %s with %s: %d looks a minute, want %d to %d", c.mode, c.total.Human(), h.reads, c.low, c.top)
			}
			h.happened()
		})
	}
}

func TestLinesAreDerivedFromMinFree(t *testing.T) {
	for _, c := range []struct {
		name               string
		minFree, cap, soft limit.Bytes
	}{
		{"5 % of 16 GiB", 819 * mib, 16 * gib, 819 * mib},
		{"a large server", 2 * gib, 512 * gib, 2 * gib},
		{"nothing kept free", 0, 16 * gib, 256 * mib},
		{"far too much kept free", 12 * gib, 16 * gib, 2 * gib},
		{"a small container", 256 * mib, 512 * mib, 64 * mib},
		{"capacity unknown", 256 * mib, 0, 256 * mib},
		{"nothing known", 0, 0, 2},
	} {
		l := LinesFor(c.minFree, c.cap)
		if l.Soft != c.soft || l.Hard != c.soft/2 || l.Hard < 1 || l.relaxedLine() < l.Soft {
			t.Errorf("%s: got %+v, want soft %d", c.name, l, c.soft)
		}
	}
	levels := []level{}
	for _, total := range []limit.Bytes{300 * mib, 700 * mib, gib, 4 * gib, 12 * gib} {
		l, _ := testLines.findLevel(Reading{Total: total, Physical: total})
		levels = append(levels, l)
	}
	if !slices.Equal(levels, []level{hard, soft, near, normal, plenty}) {
		t.Errorf("levels %v", levels)
	}
	if _, why := testLines.findLevel(Reading{Total: 300 * mib, BoundBy: "/pod", IOStall: 63}); !strings.Contains(why, "in /pod") || !strings.Contains(why, "63 %") {
		t.Errorf("reason %q", why)
	}
}
