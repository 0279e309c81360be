package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Pretend writes the values of a host with this many runs.
func Pretend(ctx context.Context, f *fleet.Fleet, k Key, many int) error {
	about, list := pretended(k, many, time.Now())
	b := f.Bucket(fleet.Hosts)
	if _, err := b.Put(ctx, k.host(), about); err != nil {
		return err
	}
	_, err := b.Put(ctx, k.runs(), list)
	return err
}

func pretended(k Key, many int, now time.Time) (about, list []byte) {
	all := make([]Run, many)
	for i := range all {
		all[i] = Run{
			ID: fmt.Sprintf("%s%04d", k.ID[:8], i), Kind: "run", Tool: "claude", Project: "shop", PID: 1000 + i, State: "running", Started: now.Add(-time.Hour),
			Memory: int64(i) << 20, Peak: 1 << 30, Limit: 4 << 30, Reservation: 2 << 30, CPUMS: 1000, Processes: 7, WindowTokens: 90_000, WindowLimit: 200_000, Used: Used{Tokens: 1000, Cost: 0.5},
		}
	}
	about, _ = json.Marshal(Host{Name: k.Name, ID: k.ID, Time: now, Load: Load{TotalBytes: 64 << 30, AvailableBytes: 8 << 30, Running: many}})
	list, _ = encodeRuns(all, now)
	return about, list
}

func viewAt() *View { return newView(nil, Key{"ownownown", "own"}, true) }

func (v *View) told(k Key, value []byte, at time.Time) {
	v.storeValue(fleet.Entry{Key: k.host(), Value: value}, at)
}

// A host that falls silent is gone, unless it said so or the fleet was away; one that speaks again is there again.
func TestGone(t *testing.T) {
	v, k := viewAt(), Key{"aaaaaaaa", "a"}
	start := time.Now().Add(-time.Hour)
	v.now.Since = start
	about, _ := pretended(k, 0, start)
	v.told(k, about, start)
	state := func(at time.Time) string {
		v.dropSilent(at)
		return fmt.Sprint(len(v.hosts), len(v.gone))
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{silent, "1 0"}, {silent + time.Second, "0 1"}, {goneFor, "0 1"}, {goneFor + time.Second, "0 0"}} {
		if got := state(start.Add(c.after)); got != c.want {
			t.Errorf("after %v: %s, not %s", c.after, got, c.want)
		}
	}
	v.told(k, about, start)
	v.dropSilent(start.Add(time.Minute))
	v.told(k, about, start.Add(time.Minute))
	if got := state(start.Add(time.Minute)); got != "1 0" {
		t.Errorf("it speaks again: %s", got)
	}
	v.now.Away = fleet.ErrAway
	if got := state(start.Add(2 * time.Minute)); got != "1 0" {
		t.Errorf("away: %s", got)
	}
	v.now.Away, v.now.Since = nil, start.Add(2*time.Minute)
	if got := state(start.Add(2*time.Minute + silent)); got != "1 0" {
		t.Errorf("back: %s", got)
	}
	left, _ := json.Marshal(Host{Name: "a", ID: k.ID, Time: start, Left: true})
	v.told(k, left, start.Add(2*time.Minute))
	if got := state(start.Add(5 * time.Minute)); got != "0 0" {
		t.Errorf("left: %s", got)
	}
	v.told(v.own, about, time.Now())
	if len(v.hosts) > 0 || v.Now().Own == nil {
		t.Error("a host sees itself among the others")
	}
}

// The use of the processor is that between two words of a host.
func TestUse(t *testing.T) {
	at := time.Now()
	before := &Host{told: at, Runs: []Run{{ID: "a", CPUMS: 1000}, {ID: "b", CPUMS: 1000}}}
	list := []Run{{ID: "a", CPUMS: 3500}, {ID: "b", CPUMS: 500}, {ID: "c", CPUMS: 7}}
	setCPU(before, list, at.Add(5*time.Second))
	if list[0].CPU < 49 || list[0].CPU > 50 || list[1].CPU != -1 || list[2].CPU != -1 {
		t.Errorf("%+v", list)
	}
}

// Runs beyond what is held are counted, and so are hosts.
func TestBounds(t *testing.T) {
	v := viewAt()
	const room = 50 // hosts whose runs can be held
	v.held = maxHeld - room*60
	now := time.Now().Add(time.Hour) // nobody falls silent meanwhile
	_, sixty := pretended(Key{"hosthost", "h"}, 60, now)
	for i := range maxHosts + 10 {
		k := Key{fmt.Sprintf("host%06d", i), fmt.Sprint("h", i)}
		about, _ := pretended(k, 0, now)
		v.told(k, about, now)
		if i < 2*room {
			v.storeValue(fleet.Entry{Key: k.runs(), Value: sixty}, now)
		}
	}
	got := v.Now()
	held := 0
	for _, h := range got.Hosts {
		held += len(h.Runs)
	}
	if len(got.Hosts) != maxHosts || held != room*60 || got.LeftOut != room+10 {
		t.Errorf("%d hosts, %d runs, %d left out", len(got.Hosts), held, got.LeftOut)
	}

	many := make([]Run, 5000)
	for i := range many {
		many[i] = Run{ID: fmt.Sprint(i), Memory: int64(i), Reason: strings.Repeat("x", maxReason)}
	}
	value, left := encodeRuns(many, now)
	list, _, err := decodeRuns(value, now)
	if err != nil || len(value) > maxRunsValue || len(list)+left != 5000 || list[0].ID != "4999" || left == 0 {
		t.Errorf("%d bytes, %d runs, %d left out, the first is %s, %v", len(value), len(list), left, list[0].ID, err)
	}
	d := &Day{Tools: map[string]*Spent{}}
	for i := range 200 {
		d.add(&runs.Entry{Tool: fmt.Sprint(i), Observed: runs.Observed{Usage: []runs.Usage{{Model: "m", Input: 1}}}})
	}
	if n := len(d.Tools); n != maxTools+1 || d.Tools[other].Runs != 200-maxTools || d.Runs != 200 {
		t.Errorf("%d tools: %+v", n, d.Tools[other])
	}
}

// A clock that is off by an hour shifts nothing.
func TestClocks(t *testing.T) {
	now := time.Now()
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		about, err := json.Marshal(Host{Name: "a", ID: "aaaaaaaa", Time: now.Add(off), Load: Load{Oldest: now.Add(off - time.Minute)}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := decodeHost(about, now)
		if err != nil || now.Sub(h.Oldest).Round(time.Second) != time.Minute || !h.Time.Equal(now) {
			t.Errorf("off by %v: %+v %v", off, h, err)
		}
		_, list := pretended(Key{"aaaaaaaa", "a"}, 1, now.Add(off))
		all, _, err := decodeRuns(list, now)
		if err != nil || now.Sub(all[0].Started).Round(time.Second) != time.Hour {
			t.Errorf("off by %v: %+v %v", off, all, err)
		}
	}
}

// FuzzValues reads what another host may have written: nothing of it is long, negative, or moves a terminal.
func FuzzValues(f *testing.F) {
	k := Key{"aaaaaaaa", "a"}
	about, list := pretended(k, 2, time.Now())
	f.Add(about)
	f.Add(list)
	f.Add([]byte(`{"id":"aaaaaaaa","name":"\u001b]0;x\u0007\u202e","time":"2026-11-29T00:00:00Z","running":-1,"oldest_wait":"9999-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"time":"0001-01-02T00:00:00Z","runs":[{"id":"\u0000","tool":"` + strings.Repeat("ü", 300) + `","memory":-5}]}`))
	f.Add([]byte(`{"id":"aaaaaaaa","day":"2026-11-29","tools":{"\u001b[2J":{"runs":-1,"usage":[{"model":"m","input_tokens":1,"cost_usd":-1}]},"x":null}}`))
	now := time.Now()
	f.Fuzz(func(t *testing.T, value []byte) {
		text := func(s string, most int) {
			if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) {
				t.Errorf("%q", s)
			}
		}
		if h, err := decodeHost(value, now); err == nil {
			text(h.Name, maxName)
			if h.Running < 0 || h.Cost < 0 || h.Oldest.After(now) || !ValidID(h.ID) {
				t.Errorf("%+v", h)
			}
		}
		if list, _, err := decodeRuns(value, now); err == nil {
			for _, r := range list {
				for _, s := range []string{r.ID, r.Parent, r.Kind, r.State} {
					text(s, maxID)
				}
				for _, s := range []string{r.Tool, r.Variant, r.Project} {
					text(s, maxName)
				}
				text(r.Reason, maxReason)
				if r.Memory < 0 || r.Started.After(now) || now.Sub(r.Started) > maxAge && !r.Started.IsZero() {
					t.Errorf("%+v", r)
				}
			}
		}
		if d, err := decodeDay(value); err == nil {
			for name, tool := range d.Tools {
				text(name, maxName)
				for _, u := range tool.Usage {
					text(u.Model, maxName)
					if u.Cost < 0 || u.Input < 0 || tool.Runs < 0 {
						t.Errorf("%+v", u)
					}
				}
			}
		}
	})
}
