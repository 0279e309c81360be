package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

const mb = limit.MiB

// machine is a host with 64G of memory and 16G of swap, of which physical and swap are free.
func machine(physical, swap limit.Bytes) func() (headroom.Reading, error) {
	return func() (headroom.Reading, error) {
		return headroom.Reading{MemTotal: 64 * limit.GiB, MemAvailable: physical, SwapTotal: 16 * limit.GiB, SwapFree: swap}, nil
	}
}

// open makes a ledger of its own that fails the test on a warning it was not told to expect.
func open(t testing.TB, change ...func(*Options)) *Ledger {
	t.Helper()
	o := Options{Dir: t.TempDir(), alwaysPoll: true, Warn: func(w Warning) {
		if t.Context().Err() == nil {
			t.Errorf("warning about %s: %s", w.About, w.Text)
		}
	}}
	for _, c := range change {
		c(&o)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func acquire(t testing.TB, l *Ledger, r Request) *Claim {
	t.Helper()
	if r.Tool == "" {
		r.Tool = "codex"
	}
	c, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestSum(t *testing.T) {
	type held struct{ reserved, used limit.Bytes }
	for _, test := range []struct {
		name           string
		held           []held
		asks, reserve  limit.Bytes
		physical, swap limit.Bytes
		noSwap         bool
		missing        limit.Bytes // 0: admitted
	}{
		{name: "the known example: 4096 + 2560 = 6656 of 6144 + 2048 = 8192", asks: 4096 * mb, reserve: 2560 * mb, physical: 6144 * mb, swap: 2048 * mb},
		{name: "the same without swap", asks: 4096 * mb, reserve: 2560 * mb, physical: 6144 * mb, swap: 2048 * mb, noSwap: true, missing: 512 * mb},
		{name: "exactly", asks: 4096 * mb, reserve: 1024 * mb, physical: 5120 * mb},
		{name: "one byte short", asks: 4096*mb + 1, reserve: 1024 * mb, physical: 5120 * mb, missing: 1},
		{name: "what a holder does not use yet is held back", held: []held{{4096 * mb, 1024 * mb}}, asks: 1024 * mb, reserve: -1, physical: 4096 * mb},
		{name: "and one more byte is not there", held: []held{{4096 * mb, 1024 * mb}}, asks: 1024*mb + 1, reserve: -1, physical: 4096 * mb, missing: 1},
		{name: "a holder above its reservation gives nothing back", held: []held{{1024 * mb, 3072 * mb}, {512 * mb, 0}}, asks: 512 * mb, reserve: -1, physical: 1024 * mb},
		{name: "more is claimed than there is", held: []held{{4096 * mb, 0}}, asks: 1 * mb, reserve: -1, physical: 1024 * mb, missing: 3073 * mb},
		{name: "nothing asked, nothing there", asks: 0, reserve: -1},
		{name: "min_free of a 64G host is 2G", asks: 1024 * mb, physical: 3072 * mb},
		{name: "min_free of a 64G host is not less", asks: 1024*mb + 1, physical: 3072 * mb, missing: 1},
		{name: "giant reservations do not wrap", held: []held{{1 << 62, 0}, {1 << 62, 0}, {1 << 62, 0}}, asks: 1 * mb, reserve: -1, physical: 1024 * mb, missing: 1 << 61},
	} {
		t.Run(test.name, func(t *testing.T) {
			used := map[string]limit.Bytes{}
			l := open(t, func(o *Options) { o.Current = func(h Holder) limit.Bytes { return used[h.ID] } })
			for _, h := range test.held {
				c := acquire(t, l, Request{Reservation: h.reserved})
				used[c.ID()] = h.used
			}
			r := Request{
				Tool: "codex", Reservation: test.asks, MinFree: test.reserve, CountSwap: !test.noSwap,
				Headroom: machine(test.physical, test.swap),
			}
			terms, previewErr := l.Preview(t.Context(), r)
			c, err := l.Acquire(t.Context(), r)
			if (previewErr == nil) != (err == nil) {
				t.Errorf("Preview says %v, Acquire %v", previewErr, err)
			}
			if test.missing == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if terms.Missing() != 0 {
					t.Errorf("admitted, and %d missing", terms.Missing())
				}
				if err := c.Release(); err != nil {
					t.Fatal(err)
				}
				return
			}
			refused, ok := errors.AsType[*Refused](err)
			if !ok {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Reason != Memory || refused.Never {
				t.Errorf("refused for %q, never %v", refused.Reason, refused.Never)
			}
			if got := refused.Terms.Missing(); got != test.missing && (got < test.missing || test.missing < 1<<61) {
				t.Errorf("%d missing, want %d", got, test.missing)
			}
		})
	}
}

func TestCgroupBoundsTheSumAndIsNamed(t *testing.T) {
	l := open(t)
	inside := func() (headroom.Reading, error) {
		r, _ := machine(32*limit.GiB, 0)()
		r.Cgroups = []headroom.Cgroup{{
			Path: "/user.slice", Limit: 4 * limit.GiB, Usage: 2 * limit.GiB, InactiveFile: 512 * mb,
			SwapLimit: headroom.Unlimited, BothLimit: headroom.Unlimited,
		}}
		return r, nil
	}
	_, err := l.Acquire(t.Context(), Request{Tool: "codex", Reservation: 3 * limit.GiB, MinFree: -1, Headroom: inside})
	refused, ok := errors.AsType[*Refused](err)
	if !ok || refused.Terms.BoundBy != "/user.slice" || refused.Terms.Physical != 2560*mb || refused.Never {
		t.Fatalf("got %+v", err)
	}
	_, err = l.Acquire(t.Context(), Request{Tool: "codex", Reservation: 5 * limit.GiB, MinFree: -1, Headroom: inside, Wait: Forever})
	if refused, ok = errors.AsType[*Refused](err); !ok || !refused.Never {
		t.Fatalf("5G can never be in a cgroup of 4G; got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "there will never be more than 4 GiB") || !strings.Contains(text, "/user.slice") {
		t.Errorf("the message does not tell: %s", text)
	}
}

func TestWhatCanNeverBeAdmittedFailsAtOnceThoughItMayWait(t *testing.T) {
	l := open(t)
	for name, r := range map[string]Request{
		"more than memory and swap": {Reservation: 80 * limit.GiB, MinFree: mb, CountSwap: true},
		"more than memory":          {Reservation: 64 * limit.GiB, MinFree: mb},
		"no slots for the tool":     {SlotsPerTool: -1},
		"no slots":                  {SlotsTotal: -1},
	} {
		r.Tool, r.Wait, r.Headroom = "codex", Forever, machine(64*limit.GiB, 16*limit.GiB)
		_, err := l.Acquire(t.Context(), r)
		if refused, ok := errors.AsType[*Refused](err); !ok || !refused.Never {
			t.Errorf("%s: got %v", name, err)
		} else if strings.Contains(err.Error(), "--wait") {
			t.Errorf("%s: waiting is recommended: %v", name, err)
		}
	}
	if c := acquire(t, l, Request{Reservation: 80 * limit.GiB, Headroom: machine(0, 0), SlotsTotal: -1, Force: true}); !c.Forced() {
		t.Error("a forced claim is not marked")
	}
}

func TestSlots(t *testing.T) {
	l := open(t)
	first := acquire(t, l, Request{Tool: "codex", Project: "/src/a", SlotsPerTool: 2, SlotsTotal: 3})
	acquire(t, l, Request{Tool: "codex", SlotsPerTool: 2, SlotsTotal: 3})
	refusedFor := func(tool string, want Reason) {
		t.Helper()
		_, err := l.Acquire(t.Context(), Request{Tool: tool, SlotsPerTool: 2, SlotsTotal: 3})
		if refused, ok := errors.AsType[*Refused](err); !ok || refused.Reason != want {
			t.Errorf("%s: got %v, want a refusal for %s", tool, err, want)
		}
	}
	refusedFor("codex", ToolSlots)
	acquire(t, l, Request{Tool: "claude", SlotsPerTool: 2, SlotsTotal: 3})
	refusedFor("claude", TotalSlots)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, l, Request{Tool: "codex", SlotsPerTool: 2, SlotsTotal: 3})
	acquire(t, l, Request{Tool: "codex"}) // no limit asked for
	if forced := acquire(t, l, Request{Tool: "codex", SlotsPerTool: 1, Force: true}); !forced.Forced() {
		t.Error("a forced claim is not marked")
	}
}

func TestNestedRunsDrawOnTheirParent(t *testing.T) {
	var warnings []Warning
	l := open(t, func(o *Options) { o.Warn = func(w Warning) { warnings = append(warnings, w) } })
	outer := acquire(t, l, Request{Reservation: 2 * limit.GiB, SlotsPerTool: 1, MinFree: -1, Headroom: machine(2*limit.GiB, 0)})
	if err := outer.Record("outer remains"); err != nil {
		t.Fatal(err)
	}
	inner := acquire(t, l, Request{Parent: outer.ID(), Reservation: 1 * limit.GiB, SlotsPerTool: 1, MinFree: -1, Headroom: machine(0, 0)})
	innermost := acquire(t, l, Request{Parent: inner.ID(), Reservation: 3 * limit.GiB, SlotsTotal: 1, MinFree: -1, Headroom: machine(0, 0)})
	if h, ok := inner.Parent(); !ok || h.ID != outer.ID() || string(h.Remains) != `"outer remains"` {
		t.Errorf("the inner run's parent is %+v, %v", h, ok)
	}
	if len(warnings) != 1 || warnings[0].About != "nested" {
		t.Errorf("an estimate above the parent's reservation is to be noted once; got %v", warnings)
	}
	if _, err := l.Acquire(t.Context(), Request{Tool: "codex", SlotsPerTool: 2}); err != nil {
		t.Errorf("three nested runs take one slot, and a second is not given: %v", err)
	}
	if terms := innermost.Terms(); terms.Claimed != 2*limit.GiB || terms.Total != 1 {
		t.Errorf("claimed %s by %d runs, want the outer run's 2G alone", terms.Claimed, terms.Total)
	}
	// When the outer run has ended, what is left of it inside stands for itself.
	if err := outer.Release(); err != nil {
		t.Fatal(err)
	}
	terms, err := l.Preview(t.Context(), Request{Tool: "codex", SlotsPerTool: 2})
	if err == nil || terms.Claimed != 1*limit.GiB || terms.Tool != 2 {
		t.Errorf("claimed %s by %d runs of the tool (%v), want the inner run's 1G in place of the outer's", terms.Claimed, terms.Tool, err)
	}
	for _, unknown := range []string{"no-such-claim", outer.ID(), "../../etc/passwd", "\xff"} {
		if c := acquire(t, l, Request{Parent: unknown}); c.entry.Parent != "" {
			t.Errorf("the parent %q is not there, and the run draws on it", unknown)
		}
	}
}

func TestRefusalSaysWhatIsNeededWhoHoldsAndWhatToDo(t *testing.T) {
	l := open(t, func(o *Options) { o.Current = func(Holder) limit.Bytes { return 900 * mb } })
	holder := acquire(t, l, Request{Tool: "claude", Project: "/src/app", Reservation: 4096 * mb})
	_, err := l.Acquire(t.Context(), Request{
		Tool: "codex", Reservation: 4096 * mb, MinFree: 2560 * mb, CountSwap: true, Headroom: machine(6144*mb, 2048*mb),
	})
	if err == nil {
		t.Fatal("admitted")
	}
	text := err.Error()
	for _, want := range []string{
		"codex is not admitted: 1.62 GiB of memory are missing",
		"needs      4 GiB + 2.5 GiB kept free              =  6.5 GiB",
		"available  6 GiB + 2 GiB swap - 3.12 GiB claimed  = 4.88 GiB",
		"held by", "claude", "/src/app", "4 GiB reserved", "900 MiB used", "--wait", "--force", "end claude (pid ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for range 2 { // the second does nothing
		if err := holder.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := holder.Record(1); !errors.Is(err, ErrReleased) {
		t.Errorf("record after release: %v", err)
	}
	if err := holder.Observe(1); !errors.Is(err, ErrReleased) {
		t.Errorf("observe after release: %v", err)
	}
}

// What can never be is refused by the name of what asked for it, or with the flag that says what the run needs.
func TestRefusalNamesWhatAskedForTooMuch(t *testing.T) {
	l := open(t)
	for by, want := range map[string]string{
		"--reserve": "lower --reserve, which asks for 99 GiB, or min_free", "": "say what codex needs (--reserve 2G), or lower min_free",
	} {
		_, err := l.Acquire(t.Context(), Request{Tool: "codex", Reservation: 99 * limit.GiB, AskedBy: by, MinFree: limit.GiB, Headroom: machine(6144*mb, 0)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "it needs 100 GiB and there will never be more than 64 GiB here") {
			t.Errorf("asked for by %q: %v, want %q", by, err, want)
		}
	}
}

func TestObservedUseCountsWhereNobodyElseCanTell(t *testing.T) {
	l := open(t)
	c := acquire(t, l, Request{Reservation: 1024 * mb})
	for _, n := range []limit.Bytes{1000 * mb, 1 * mb} { // the second comes too soon and is not written
		if err := c.Observe(n); err != nil {
			t.Fatal(err)
		}
	}
	terms, err := l.Preview(t.Context(), Request{Tool: "x", Reservation: mb, Headroom: machine(8192*mb, 0)})
	if err != nil || terms.Claimed != 24*mb {
		t.Errorf("claimed %s (%v), want the 24M that are not used yet", terms.Claimed, err)
	}
	if terms.Holders[0].Current != 1000*mb {
		t.Errorf("the holder is said to use %s", terms.Holders[0].Current)
	}
}

func TestUnreadableMemoryIsAWarningAndSlotsStillCount(t *testing.T) {
	var warnings []Warning
	l := open(t, func(o *Options) { o.Warn = func(w Warning) { warnings = append(warnings, w) } })
	broken := func() (headroom.Reading, error) { return headroom.Reading{}, errors.New("no /proc") }
	acquire(t, l, Request{Reservation: 1 << 60, Headroom: broken, SlotsTotal: 1})
	if len(warnings) != 1 || warnings[0].About != "headroom" || !strings.Contains(warnings[0].Text, "no /proc") {
		t.Errorf("warnings: %v", warnings)
	}
	if _, err := l.Acquire(t.Context(), Request{Tool: "codex", Headroom: broken, SlotsTotal: 1}); err == nil {
		t.Error("a second run got the only slot")
	}
}

func TestBadRequests(t *testing.T) {
	l := open(t)
	acquire(t, l, Request{ID: "mine"})
	for name, test := range map[string]struct {
		r    Request
		want error
	}{
		"taken id":             {Request{ID: "mine", Tool: "x"}, ErrTaken},
		"id with a slash":      {Request{ID: "../x", Tool: "x"}, ErrRequest},
		"no tool":              {Request{}, ErrRequest},
		"negative reservation": {Request{Tool: "x", Reservation: -1}, ErrRequest},
		"endless name":         {Request{Tool: strings.Repeat("x", maxName+1)}, ErrRequest},
	} {
		if _, err := l.Acquire(t.Context(), test.r); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := l.Acquire(ctx, Request{Tool: "x"}); !errors.Is(err, why) {
		t.Errorf("a cancelled context: got %v", err)
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	l := open(b)
	for b.Loop() {
		c, err := l.Acquire(b.Context(), Request{
			Tool: "codex", Reservation: limit.GiB, SlotsPerTool: 5,
			Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAcquireReleaseBeside1000(b *testing.B) {
	l := open(b)
	for range 1000 {
		acquire(b, l, Request{})
	}
	for b.Loop() {
		c, err := l.Acquire(b.Context(), Request{Tool: "codex", Headroom: machine(limit.GiB, 0), MinFree: -1})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

// A reservation that yields is lowered to what there is, not below what was shown and could fit, nor below half of what could be there.
func TestWhatYieldsIsLoweredAndNotKeptOut(t *testing.T) {
	const free = 40 * limit.GiB // of 64, 1 of which is kept free
	for name, c := range map[string]struct {
		asks, least limit.Bytes
		stated      bool
		held, used  limit.Bytes // by another run
		free        limit.Bytes
		admitted    limit.Bytes // 0: refused
		never       bool
	}{
		"what fits is not lowered":                     {asks: 30 * limit.GiB, admitted: 30 * limit.GiB},
		"more than there ever is":                      {asks: 90 * limit.GiB, least: 90 * limit.GiB, admitted: 39 * limit.GiB},
		"the same, and somebody asked for it":          {asks: 90 * limit.GiB, stated: true, never: true},
		"more than there is now, all of it shown":      {asks: 50 * limit.GiB, least: 50 * limit.GiB},
		"more than there is now, learned from a death": {asks: 50 * limit.GiB, least: 10 * limit.GiB, admitted: 39 * limit.GiB},
		"never less than was shown":                    {asks: 60 * limit.GiB, least: 45 * limit.GiB},
		"other programs have most of it: they may end": {asks: 90 * limit.GiB, free: 20 * limit.GiB},
		"beside another run":                           {asks: 90 * limit.GiB, held: 10 * limit.GiB, used: 5 * limit.GiB, admitted: 34 * limit.GiB},
		"another run has most of it: it is waited for": {asks: 90 * limit.GiB, held: 10 * limit.GiB},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, func(o *Options) { o.Current = func(Holder) limit.Bytes { return c.used } })
			if c.held > 0 {
				acquire(t, l, Request{Reservation: c.held})
			}
			if c.free == 0 {
				c.free = free
			}
			r := Request{Tool: "codex", Reservation: c.asks, Least: c.least, Yields: !c.stated, MinFree: limit.GiB, Headroom: machine(c.free, 0)}
			claim, err := l.Acquire(t.Context(), r)
			if err == nil {
				defer claim.Release()
			}
			refused, _ := errors.AsType[*Refused](err)
			switch {
			case c.admitted == 0 && (refused == nil || refused.Never != c.never):
				t.Errorf("want a refusal, never %v; got %v", c.never, err)
			case c.admitted > 0 && err != nil:
				t.Error(err)
			case c.admitted > 0 && claim.Terms().Estimate != c.admitted:
				t.Errorf("admitted with %s, want %s", claim.Terms().Estimate.Human(), c.admitted.Human())
			}
		})
	}
}
