package tokens

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// provider is a tokenizer of another kind than ours: words of at most five letters, digits
// one by one or by three, its own prices for signs and other scripts, and its own markers.
// Its numbers stand to o200k as the published ones of the families do.
type provider struct {
	name   string
	family Family
	factor map[string]float64 // by kind of content
	marker int
}

func (p *provider) message(kind, text string) int {
	return int(float64(O200K().Count([]byte(text)))*p.factor[kind]+0.5) + p.marker
}

var providers = []provider{
	{"claude", FamilyClaude, map[string]float64{"english": 1.16, "json": 1.22, "base64": 1.12, "hexdump": 0.82, "mixed": 1.57}, 5},
	{"claude 4.7", FamilyClaude47, map[string]float64{"english": 1.68, "json": 1.58, "base64": 1.2, "hexdump": 0.88, "mixed": 1.6}, 5},
	{"gemini", FamilyGemini, map[string]float64{"english": 1.02, "json": 1.3, "base64": 1.25, "hexdump": 1.45, "mixed": 1.05}, 4},
	{"unknown, frugal", FamilyUnknown, map[string]float64{"english": 0.95, "json": 0.9, "base64": 0.8, "hexdump": 0.8, "mixed": 0.85}, 3},
	{"unknown, lavish", FamilyUnknown, map[string]float64{"english": 1.5, "json": 1.5, "base64": 1.4, "hexdump": 1.5, "mixed": 1.9}, 6},
}

func texts(rng *rand.Rand, kind string, n int) string {
	random := make([]byte, n)
	for i := range random {
		random[i] = byte(rng.IntN(256))
	}
	switch kind {
	case "english":
		return string(mixture(rng, vocabularyOf["english"], n))
	case "json":
		return string(jsonText(rng, n))
	case "base64":
		return base64.StdEncoding.EncodeToString(random[:n*3/4])
	case "hexdump":
		return hex.Dump(random[:n/4])
	}
	var b strings.Builder
	for b.Len() < n {
		for _, name := range []string{"cjk", "cyrillic", "arabic", "english", "emoji", "indic"} {
			b.Write(mixture(rng, vocabularyOf[name], 80))
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// The promise: after the first report nothing that may be under the trigger is touched, and
// nothing over the limit is sent, by the provider's own count, whatever the content; and
// nearly always the provider need not even be asked.
func TestBandsHoldByTheProvidersOwnCount(t *testing.T) {
	kinds := []string{"english", "json", "base64", "hexdump", "mixed"}
	for _, p := range providers {
		for _, history := range append(kinds, "changing") {
			t.Run(p.name+"/"+history, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(9, 9))
				c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
				const limit = 60000
				trigger := limit * 8 / 10
				var messages []any
				truth, turns, asked := 40, 0, 0
				for i := 0; truth < limit; i++ {
					kind := history
					if history == "changing" {
						kind = kinds[rng.IntN(len(kinds))]
					}
					said, got := texts(rng, "english", 200), texts(rng, kind, 2000+rng.IntN(4000))
					messages = append(messages, say("assistant", said), say("user", got))
					truth += p.message("english", said) + p.message(kind, got)
					tally := c.Tally(parse(t, wire.Messages, object{"model": "m", "messages": messages}), p.family)
					in := u.Input("s", tally)
					if i == 0 {
						if truth > in.High || in.Counted != CountedEstimate {
							t.Errorf("first request: the provider counts %d, expected was %+v", truth, in)
						}
					} else {
						turns++
						if in.Counted != CountedUsage || in.Known != len(messages)-2 {
							t.Fatalf("turn %d: the reported prefix is not known: %+v", i, in)
						}
						if truth > in.High || truth < in.Low {
							t.Errorf("turn %d: the provider counts %d, expected was %+v", i, truth, in)
						}
						over, sure := in.Over(trigger, limit)
						if !sure {
							asked++
						}
						if sure && over && truth <= trigger {
							t.Errorf("turn %d: touched at %d, the trigger is %d: %+v", i, truth, trigger, in)
						}
						if !over && truth > limit {
							t.Errorf("turn %d: sent at %d, the limit is %d: %+v", i, truth, limit, in)
						}
					}
					if !u.Report("s", tally, truth) {
						t.Fatalf("turn %d: the report of %d was not believed: %+v", i, truth, in)
					}
				}
				if asked > 3 {
					t.Errorf("the provider was asked %d times in %d turns", asked, turns)
				}
				if s := u.Stats(); s.Above != 0 || s.Error > 0.15 || s.Reports == 0 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

func known(t *testing.T, c *Counter, system string, texts ...string) Tally {
	t.Helper()
	var messages []any
	for i, text := range texts {
		messages = append(messages, say([]string{"user", "assistant"}[i%2], text))
	}
	return c.Tally(parse(t, wire.Messages, anthropic(system, messages...)), FamilyClaude)
}

func TestKnownIsTheLongestReportedPrefix(t *testing.T) {
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	u.Report("s", known(t, c, "sys", "a"), 500)
	u.Report("s", known(t, c, "sys", "a", "b", "c"), 520)
	through, e, ok := u.Known("s", known(t, c, "sys", "a", "b", "c", "d", "e"))
	if !ok || through != 3 || e != Exactly(520) {
		t.Errorf("%d messages with %+v, %v", through, e, ok)
	}
	if through, e, _ := u.Known("s", known(t, c, "sys", "a", "x", "c")); through != 1 || e != Exactly(500) {
		t.Errorf("behind another answer: %d messages with %+v", through, e)
	}
	if _, _, ok := u.Known("other", known(t, c, "sys", "a")); ok {
		t.Error("another credential knows the number")
	}
	other := known(t, c, "sys", "a")
	other.Model = "claude-opus-4-1"
	if _, _, ok := u.Known("s", other); ok {
		t.Error("another model has the number")
	}
}

func TestAChangedHeadKeepsThePrefix(t *testing.T) {
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	u.Report("s", known(t, c, "billing cch=aaa1 "+strings.Repeat("be brief. ", 400), "a"), 2500)
	through, e, ok := u.Known("s", known(t, c, "billing cch=b2cd "+strings.Repeat("be brief. ", 400), "a", "b"))
	if !ok || through != 1 || e.Best < 2480 || e.Best > 2520 || e.High > 2700 || e.Low > 2500 || e.High < 2500 {
		t.Errorf("%d messages with %+v, %v", through, e, ok)
	}
	_, e, _ = u.Known("s", known(t, c, "billing cch=b2cd "+strings.Repeat("be brief. ", 800), "a"))
	if e.Low < 3300 || e.High < 4000 || e.High > 4700 { // 400 times three tokens more, give or take
		t.Errorf("a head of twice the size makes %+v of 2500", e)
	}
}

func TestReportsThatCannotBeAreIgnored(t *testing.T) {
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	long := known(t, c, "sys", strings.Repeat("many words here ", 2000))
	long.Family = FamilyLlama
	for _, n := range []int{0, -5, 2048} { // a server that cut silently at 2,048
		if u.Report("s", long, n) {
			t.Errorf("a report of %d for %+v was believed", n, long.Total)
		}
	}
	if _, _, ok := u.Known("s", long); ok || u.Stats().Ignored != 3 {
		t.Errorf("%+v", u.Stats())
	}
	// Anthropic does not cut silently: it cleared old results, as it was asked to.
	long.Family = FamilyClaude
	if !u.Report("s", long, 2048) {
		t.Error("Anthropic's number was not believed")
	}
	if _, e, _ := u.Known("s", long); e != Exactly(2048) {
		t.Errorf("known is %+v", e)
	}
}

func TestUsageIsBounded(t *testing.T) {
	const budget = 32 << 10
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{Bytes: budget})
	for i := range 2000 {
		tally := known(t, c, "sys", fmt.Sprint(i))
		u.Report(fmt.Sprint("scope", i), tally, tally.Total.Best)
	}
	if s := u.Stats(); s.Bytes > budget+2*maxScopes*scopeEntry || s.Evictions == 0 {
		t.Errorf("a ledger of %d bytes: %+v", budget, s)
	}
}

func TestOver(t *testing.T) {
	for _, c := range []struct {
		e          Estimate
		over, sure bool
	}{
		{Estimate{10, 20, 80}, false, true},
		{Estimate{70, 80, 90}, false, false},
		{Estimate{70, 80, 101}, true, false},
		{Estimate{81, 85, 90}, true, true},
	} {
		if over, sure := c.e.Over(80, 100); over != c.over || sure != c.sure {
			t.Errorf("%+v: %v, %v", c.e, over, sure)
		}
	}
}

// Whatever is reported, the band stays a band and the report is inside it next time.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"},{"role":"user","content":"ho"}]}`), 100, 150)
	f.Add([]byte(`{"system":"s","messages":[{"role":"user","content":[]}]}`), 1<<30, -1)
	f.Fuzz(func(t *testing.T, body []byte, first, second int) {
		r, err := wire.Parse(wire.Messages, body)
		if err != nil || !json.Valid(body) {
			return
		}
		first, second = min(first, 1<<31-1), min(second, 1<<31-1)
		u, c := NewUsage(UsageOptions{}), NewCounter(Options{})
		for _, n := range []int{first, second, first, second, first} {
			tally := c.Tally(r, FamilyUnknown)
			believed := u.Report("s", tally, n)
			in := u.Input("s", tally)
			if in.Low < 0 || in.Low > in.Best || in.Best > in.High {
				t.Fatalf("%+v", in)
			}
			if believed && len(r.Messages) > 0 && (in.Best != n || in.Counted != CountedUsage) {
				t.Fatalf("reported %d, expected %+v", n, in)
			}
		}
	})
}

// Claude Code's first system block has a line that changes every turn.
func TestCalibrationSurvivesAHeadThatChangesALittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	var said []string
	truth := 1900
	var first, last Input
	for i := range 8 {
		text := texts(rng, "english", 3000)
		said = append(said, text)
		truth += int(float64(O200K().Count([]byte(text)))*1.3) + 5
		tally := known(t, c, fmt.Sprintf("billing cch=%x%s", rng.Uint32(), strings.Repeat(" be brief", 900)), said...)
		last = u.Input("s", tally)
		if i == 1 {
			first = last
		}
		if i > 0 && (truth < last.Low || truth > last.High) {
			t.Errorf("turn %d: the provider counts %d, expected was %+v", i, truth, last)
		}
		if !u.Report("s", tally, truth) {
			t.Fatalf("turn %d: %d was not believed of %+v", i, truth, tally.Total)
		}
	}
	if a, b := first.High-first.Low, last.High-last.Low; b > a*2/3 {
		t.Errorf("eight reports narrowed the band from %d to %d only", a, b)
	}
	if d := last.Best - truth; d > truth/50 || d < -truth/50 {
		t.Errorf("expected %d, the provider counts %d", last.Best, truth)
	}
	if mean, n := u.Error("s", "claude-sonnet-4-5", FamilyClaude); n != 8 || mean <= 0 || mean > 0.2 {
		t.Errorf("an error of %v over %d reports", mean, n)
	}
}

// After a compaction the conversation is another one, but the provider is the same.
func TestAShortenedConversationKeepsTheCalibration(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	count := func(said []string) (n int) {
		for _, text := range said {
			n += int(float64(O200K().Count([]byte(text)))*1.05) + 5
		}
		return n + 360
	}
	var said []string
	for range 10 {
		said = append(said, texts(rng, "english", 3000))
		u.Report("s", known(t, c, "sys", said...), count(said))
	}
	short := append([]string{"what was said before, in short"}, said[6:]...)
	tally := known(t, c, "sys", short...)
	in, truth := u.Input("s", tally), count(short)
	if in.Known != 0 || in.Counted != CountedEstimate || truth < in.Low || truth > in.High {
		t.Errorf("the provider counts %d, expected was %+v", truth, in)
	}
	if a, b := tally.Total.High-tally.Total.Low, in.High-in.Low; b >= a*3/4 {
		t.Errorf("without the provider's reports the band is %d wide, with them %d", a, b)
	}
}

// The first messages of a tally are the tally of a request with those alone: what the provider counted for it is known.
func TestFirstIsTheTallyOfLess(t *testing.T) {
	c := NewCounter(Options{})
	body := func(messages string) *wire.Request {
		r, err := wire.Parse(wire.Messages, []byte(`{"model":"claude-sonnet-4-5","system":"Be brief.","messages":[`+messages+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	short := c.Tally(body(`{"role":"user","content":"One"},{"role":"assistant","content":"Two"}`), FamilyClaude)
	long := c.Tally(body(`{"role":"user","content":"One"},{"role":"assistant","content":"Two"},{"role":"user","content":"Three"}`), FamilyClaude)
	if got := long.First(2); got.Total != short.Total || len(got.Chain) != 2 || got.Chain[1] != short.Chain[1] || len(long.Chain) != 3 {
		t.Errorf("%+v, want %+v", got, short)
	}
	u := NewUsage(UsageOptions{})
	if !u.Report("s", long.First(2), 40) {
		t.Fatal("not believed")
	}
	if through, tokens, ok := u.Known("s", short); !ok || through != 2 || tokens != Exactly(40) {
		t.Errorf("%d %+v %v", through, tokens, ok)
	}
}
