package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// sharedValues are [Replicas] in the memory of the test.
type sharedValues struct {
	mu       sync.Mutex
	values   map[string][]byte
	at       map[string]uint64
	revision uint64
	away     bool
	calls    int
	before   func(name string) // of each Put
	lag      int               // Gets that are answered as of an older request
	old      map[string][][]byte
}

func newSharedValues() *sharedValues {
	return &sharedValues{values: map[string][]byte{}, old: map[string][][]byte{}, at: map[string]uint64{}}
}

func (s *sharedValues) Name(kind, of string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + of))
	return kind + hex.EncodeToString(sum[:8])
}

func (s *sharedValues) Get(_ context.Context, name string) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.away {
		return nil, 0, errors.New("away")
	}
	if old := s.old[name]; s.lag > 0 && len(old) > 3 { // a request is told of twice
		s.lag--
		return old[len(old)-3], s.at[name] - 3, nil
	}
	return s.values[name], s.at[name], nil
}

func (s *sharedValues) Put(_ context.Context, name string, value []byte, revision uint64) (uint64, error) {
	if s.before != nil {
		s.before(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.away {
		return 0, errors.New("away")
	}
	if s.at[name] != revision {
		return 0, nil
	}
	s.revision++
	s.values[name], s.at[name] = append([]byte{}, value...), s.revision
	s.old[name] = append(s.old[name], s.values[name])
	return s.revision, nil
}

func (s *sharedValues) set(away bool) {
	s.mu.Lock()
	s.away = away
	s.mu.Unlock()
}

// TestReplicasSendWhatOneWouldSend: random conversations in five dialects whose requests go to any of three replicas, of which some are
// killed and lose what they had on their disk. The provider gets the bytes that it gets from one proxy.
func TestReplicasSendWhatOneWouldSend(t *testing.T) {
	t.Parallel()
	for d, model := range thoughtfulModels {
		seeds := []uint64{1, 2, 3}
		if testing.Short() {
			seeds = seeds[:1]
		}
		var cuts atomic.Int64
		for _, seed := range seeds {
			t.Run(fmt.Sprint(d, "/", seed), func(t *testing.T) {
				t.Parallel()
				one, _ := playReplicas(t, d, model, seed, 1)
				three, n := playReplicas(t, d, model, seed, 3)
				cuts.Add(int64(n))
				for i := range one {
					if !bytes.Equal(one[i], three[i]) {
						at := 0
						for at < len(one[i]) && at < len(three[i]) && one[i][at] == three[i][at] {
							at++
						}
						t.Fatalf("request %d differs at byte %d:\n…%.300s\nis of three\n…%.300s", i, at, one[i][max(0, at-100):], three[i][max(0, at-100):])
					}
				}
			})
		}
		t.Cleanup(func() {
			if cuts.Load() == 0 {
				t.Errorf("%s: nothing was cut: the test holds nothing", d)
			}
		})
	}
}

// playReplicas plays one conversation against so many replicas. It returns what the provider got and the number of cuts.
func playReplicas(t *testing.T, d wire.Dialect, model string, seed uint64, replicas int) (sent [][]byte, cuts int) {
	t.Helper()
	r, which := rand.New(rand.NewPCG(seed, uint64(d))), rand.New(rand.NewPCG(seed, 77))
	window := 12_000 + r.IntN(20_000)
	script := func(turn int, _ *scripted.Request) scripted.Reply {
		if turn%9 == 8 {
			return scripted.Reply{Text: fmt.Sprintf("That is done, as of turn %d.", turn)}
		}
		return scripted.Reply{Calls: []scripted.Call{{Shell: fmt.Sprint("make ", turn)}}}
	}
	provider := scripted.New(scripted.Options{Reasoning: scripted.RuleOf, Strict: true, Window: window, Script: scripted.Thoughtful(script)})
	upstream, shared := newServer(t, provider), newSharedValues()
	roots, journals := make([]string, replicas), make([]*journal.Journal, replicas)
	open := func(i int) {
		o := Options{
			Store: openStore(t, filepath.Join(t.TempDir(), "log")), Resolver: windowOf(window), Target: 0.2,
			Compactor: compact.New(compact.Options{ResultBytes: 4000}), OnLoop: LoopHint, Recaller: &remembering{says: func(p Prompt, _ int) string { return "Noted before: " + p.Text }},
		}
		if replicas > 1 {
			o.Replicas = shared
		}
		_, roots[i], journals[i] = start(t, upstream, o)
	}
	for i := range replicas {
		open(i)
	}
	a := &appender{dialect: d, model: model}
	a.says("The task: find out why the build of project Halcyon fails, and mend it.")
	for n := range 50 {
		i := which.IntN(replicas)
		if replicas > 1 && which.IntN(10) == 0 {
			open(i)
		}
		a.send(t, roots[i])
		cuts += len(events[journal.WindowCompacted](journals[i]))
		text := func(string) string { return lines(r, []int{40, 400, 1500, 9000}[r.IntN(4)]) }
		switch {
		case len(a.open) == 0:
			a.says(fmt.Sprintf("Now step %d.", n))
		case r.IntN(8) == 0: // interrupted
			a.says("Stop, do it otherwise.")
		case r.IntN(6) == 0:
			a.results(a.open, text, "And mind the tests.")
		default:
			a.results(a.open, text, "")
		}
	}
	if s := provider.Stats(); s.Refused > 0 || s.Dropped > 0 {
		t.Errorf("%d replicas: %+v", replicas, s)
	}
	for _, q := range asked(provider) {
		sent = append(sent, q.Body)
	}
	return sent, cuts
}

// pair is two replicas that know different things and cut differently, with a client whose requests go to either.
type pair struct {
	*appender
	provider *scripted.Provider
	shared   *sharedValues
	plain    string // a proxy that knows nothing of them
	roots    [2]string
	stores   [2]*checkpoint.Store
	journals [2]*journal.Journal
}

func newPair(t *testing.T, d wire.Dialect, window int) *pair {
	t.Helper()
	p := &pair{appender: &appender{dialect: d, model: thoughtfulModels[d]}, shared: newSharedValues()}
	p.provider = scripted.New(scripted.Options{
		Reasoning: scripted.RuleOf, Strict: true, Window: window, Script: scripted.Thoughtful(scripted.Shells("done", slicesOf("make", 60)...)),
	})
	upstream := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.provider.ServeHTTP(w, r) }))
	_, p.plain, _ = start(t, upstream, Options{})
	for i := range p.roots {
		p.stores[i] = openStore(t, t.TempDir())
		_, p.roots[i], p.journals[i] = start(t, upstream, Options{
			Store: p.stores[i], Resolver: windowOf(window), Target: 0.2 + 0.4*float64(i), Replicas: p.shared,
			Compactor: compact.New(compact.Options{ResultBytes: 4000 + 1000*i}), Recaller: &remembering{says: func(q Prompt, _ int) string { return fmt.Sprint("Noted by ", i, ": ", q.Text) }},
		})
	}
	return p
}

// narrow makes the provider's window smaller than the replicas know.
func (p *pair) narrow(window int) {
	p.provider = scripted.New(scripted.Options{Window: window, Script: scripted.Shells("done", "make")})
}

// ask sends the history to a replica, without taking the answer into it, and returns the messages that the provider got.
func (p *pair) ask(t *testing.T, replica int) [][]byte {
	t.Helper()
	before := *p.appender
	p.send(t, p.roots[replica])
	*p.appender = before
	return p.newest(t)
}

func (p *pair) newest(t *testing.T) [][]byte {
	t.Helper()
	all := asked(p.provider)
	return messagesSent(t, p.dialect, all[len(all)-1].Body)
}

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// TestTheFasterReplicaDecides: while a replica decides another one has decided otherwise. It sends what that one decided: a text for a prompt,
// bound results of which nobody knows whether they were sent, a cut.
func TestTheFasterReplicaDecides(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"prompt", "results", "cut"} {
		t.Run(what, func(t *testing.T) {
			p := newPair(t, wire.Messages, map[string]int{"cut": 12_000}[what]+20_000)
			r := rand.New(rand.NewPCG(1, 2))
			p.says(task)
			if what != "prompt" {
				turns := map[string]int{"results": 3, "cut": 22}[what]
				for range turns {
					p.send(t, map[string]string{"results": p.plain, "cut": p.roots[0]}[what])
					p.results(p.open, func(string) string { return lines(r, 9000) }, "")
				}
			}
			if what == "cut" {
				p.says(lines(r, 40_000))
			}
			var theirs [][]byte
			first := what == "cut" // it is behind the text for the prompt
			p.shared.before = func(name string) {
				if name[:3] != "log" || first {
					first = first && name[:3] != "log"
					return
				}
				p.shared.before = nil
				theirs = p.ask(t, 1)
			}
			mine := p.ask(t, 0)
			if theirs == nil {
				t.Fatal("nothing was decided: this test holds nothing")
			}
			if !same(mine, theirs) {
				t.Errorf("the slower one sent\n%.2000s\nand the faster one\n%.2000s", bytes.Join(mine, []byte("\n")), bytes.Join(theirs, []byte("\n")))
			}
			if got := p.ask(t, 0); !same(got, theirs) {
				t.Error("later it sends its own")
			}
			for i, j := range p.journals {
				if breaks := events[journal.WindowBreak](j); what != "prompt" && len(breaks) == 0 {
					t.Errorf("replica %d made no cut: this test holds nothing", i)
				}
			}
		})
	}
}

// TestReplicasWithoutTheirStore: while nobody shares anything each replica goes on by itself, and the provider refuses and drops nothing. What
// one decides meanwhile the other one has as soon as there is something to share it through.
func TestReplicasWithoutTheirStore(t *testing.T) {
	t.Parallel()
	for d := range thoughtfulModels {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, d, 24_000)
			r := rand.New(rand.NewPCG(3, 4))
			next := func(replica int) {
				if p.send(t, p.roots[replica]); len(p.open) == 0 || r.IntN(4) == 0 {
					p.says("Now the next step.")
					return
				}
				p.results(p.open, func(string) string { return lines(r, 6000) }, "")
			}
			p.says(task)
			for n := range 30 {
				p.shared.set(n%10 >= 5)
				next(r.IntN(2))
			}
			p.shared.set(true)
			for range 3 {
				next(0)
				p.says("And the next one.")
			}
			before := p.ask(t, 0)
			p.shared.set(false)
			p.ask(t, 0)
			if got := p.ask(t, 1); !same(got, before) {
				t.Errorf("replica 1 does not have what was decided while it could not be told")
			}
			if s := p.provider.Stats(); s.Refused > 0 || s.Dropped > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestReplicasWaitForWhatIsOnItsWay: a copy of the store that lags behind tells of an older request, and is asked again.
func TestReplicasWaitForWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	p := newPair(t, wire.Messages, 100_000)
	p.says(task)
	for range 4 {
		p.send(t, p.roots[0])
		p.results(p.open, func(string) string { return "ok" }, "Go on.")
	}
	p.shared.lag = 2
	p.send(t, p.roots[1])
	if p.shared.lag > 0 {
		t.Error("nothing lagged behind")
	}
	if breaks := events[journal.WindowBreak](p.journals[1]); len(breaks) > 0 {
		t.Errorf("%+v", breaks)
	}
}

// TestNothingIsSharedWithoutALog: a proxy that changes nothing, or keeps nothing, does not ask.
func TestNothingIsSharedWithoutALog(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Mode: Observe, Store: memoryStore(t)}, {Mode: Enforce}} {
		shared := newSharedValues()
		o.Replicas = shared
		_, _, root, _ := scripting(t, scripted.Options{}, o)
		k := talkIn(wire.Messages)
		k.ask(t, root, 3)
		if shared.calls > 0 {
			t.Errorf("%s: %d calls", o.Mode, shared.calls)
		}
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte(`[{"Clients":1,"Messages":1,"Log":3,"Input":5}]`))
	f.Add([]byte(`[{"Clients":-1,"Messages":-2147483648}]`))
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, r := range parseReports(value) {
			if r.describesPrefix(make([]tokens.Digest, 3)) && (r.Clients < 1 || r.Clients > 3 || r.Messages < 1) {
				t.Errorf("%+v is on a chain of 3", r)
			}
		}
	})
}

// TestALogIsReadAgain: what a replica had of a shared log is gone, as after plimsoll gc. It finds that what was sent is not what it would send, and
// reads it again.
func TestALogIsReadAgain(t *testing.T) {
	t.Parallel()
	p := newPair(t, wire.Messages, 100_000)
	p.says(task)
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 4 {
		p.send(t, p.roots[n%2])
		p.results(p.open, func(string) string { return lines(r, 9000) }, "")
	}
	before := p.ask(t, 0)
	if _, _, err := p.stores[1].Remove(checkpoint.Which{All: true}); err != nil {
		t.Fatal(err)
	}
	p.ask(t, 1) // which knows the newest revision of the log
	if _, _, err := p.stores[1].Remove(checkpoint.Which{All: true}); err != nil {
		t.Fatal(err)
	}
	if got := p.ask(t, 1); !same(got, before) {
		t.Error("it sends other bytes")
	}
	if breaks := events[journal.WindowBreak](p.journals[1]); len(breaks) > 0 {
		t.Errorf("%+v", breaks)
	}
}

// TestACutThatWasRefusedIsReplaced: a replica cuts, the provider refuses that, and takes a smaller cut. The others have that one.
func TestACutThatWasRefusedIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPair(t, wire.Chat, 40_000)
	p.narrow(16_000)
	r := rand.New(rand.NewPCG(7, 8))
	p.says(task)
	for range 40 {
		p.says(lines(r, 4000))
	}
	before := p.ask(t, 1)
	if over := events[journal.WindowOverflow](p.journals[1]); len(over) != 2 || over[1].Action != "recovered" {
		t.Fatalf("%+v: this test holds nothing", over)
	}
	for _, replica := range []int{0, 1} {
		if got := p.ask(t, replica); !same(got, before) {
			t.Errorf("replica %d sends other bytes than those that were taken", replica)
		}
	}
	if s := p.provider.Stats(); s.Refused != 1 {
		t.Errorf("%+v", s)
	}
}
