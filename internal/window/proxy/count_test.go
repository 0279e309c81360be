package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

func TestProviderIsAskedWhenTheBandSpansTheLines(t *testing.T) {
	t.Parallel()
	const window = 20_000
	provider, _, root, j := scripting(t, scripted.Options{Window: window}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	counted := false
	for turn := 1; turn < 30; turn++ {
		// A credential of its own each: no usage is known from the turn before.
		r, _ := http.NewRequest(http.MethodPost, root+k.path(), bytes.NewReader(k.body(turn)))
		r.Header.Set("X-Api-Key", fmt.Sprint("key", turn))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("turn %d: %s", turn, res.Status)
		}
	}
	for _, e := range events[journal.WindowRequest](j) {
		counted = counted || e.Counted == "provider"
	}
	n := 0
	for _, r := range provider.Requests() {
		if r.Kind == "count" {
			n++
			if r.Header.Get("X-Api-Key") == "" {
				t.Error("it was asked without the client's credential")
			}
		}
	}
	if !counted || n == 0 {
		t.Errorf("the provider was asked %d times, and its count used: %v", n, counted)
	}
	if provider.Refused() > 0 {
		t.Errorf("%d requests were over the limit", provider.Refused())
	}
}

func TestOutputAloneIsLowered(t *testing.T) {
	t.Parallel()
	const window = 20_000
	provider, _, root, _ := scripting(t, scripted.Options{Window: window, WithOutput: true}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Chat)
	k.output = 16_000
	res, text := k.ask(t, root, 8)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", res.Status, text)
	}
	list := asked(provider)
	got := list[len(list)-1]
	if len(got.Body) < len(k.body(8))-10 || got.Request.MaxOutput >= k.output || got.Request.MaxOutput < minOutput {
		t.Errorf("%d bytes of %d, output %d: want the output lowered and nothing else", len(got.Body), len(k.body(8)), got.Request.MaxOutput)
	}
	if actions := res.Header.Get(ActionsHeader); actions != "output-lowered" {
		t.Errorf("%s is %q", ActionsHeader, actions)
	}
}

// Once a provider has reported usage, nothing under the trigger is touched and nothing over
// the limit is sent, by the provider's own count, whatever the history is made of.
func TestLinesHoldByTheProvidersCount(t *testing.T) {
	t.Parallel()
	const window = 30_000
	noise := func(turn, n int) []byte { // the same at every resend
		random := rand.New(rand.NewPCG(1, uint64(turn)))
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	for name, text := range map[string]func(turn int) string{
		"english": func(turn int) string { return talk{size: 2500}.result(turn) },
		"json": func(turn int) string {
			return strings.Repeat(fmt.Sprintf(`{"id":%d,"name":"pod-%d","ready":true},`, turn, turn*7), 50)
		},
		"base64":  func(turn int) string { return base64.StdEncoding.EncodeToString(noise(turn, 1500)) },
		"hexdump": func(turn int) string { return hex.Dump(noise(turn, 500)) },
		"mixed": func(turn int) string {
			return strings.Repeat(fmt.Sprintf("данные %d 数据が足りない, données ñ, ", turn), 40)
		},
		"counters": func(turn int) string { return strings.Repeat(fmt.Sprint(turn*7919, " "), 300) },
	} {
		t.Run(name, func(t *testing.T) {
			provider := scripted.New(scripted.Options{Window: window, Tokenizer: scripted.Claude(func(s string) int { return tokens.O200K().Count([]byte(s)) })})
			upstream := httptest.NewServer(provider)
			defer upstream.Close()
			_, root, j := start(t, upstream.URL, Options{Resolver: windowOf(window), Store: memoryStore(t)})
			k := talkIn(wire.Messages)
			k.text = text
			compacted := 0
			for turn := range 50 {
				if res, text := k.ask(t, root, turn); res.StatusCode != http.StatusOK {
					t.Fatalf("turn %d: %s %.300s", turn, res.Status, text)
				}
				now := len(events[journal.WindowCompacted](j))
				if now > 0 && compacted == 0 {
					// What came in was what would have gone out: was it over the trigger?
					res, count := post(t, upstream.URL+"/v1/messages/count_tokens", string(k.body(turn)))
					var counted struct {
						Tokens float64 `json:"input_tokens"`
					}
					if err := json.Unmarshal([]byte(count), &counted); err != nil || res.StatusCode != http.StatusOK {
						t.Fatalf("%s %s", res.Status, count)
					}
					if line := DefaultTrigger * float64(window-k.output); counted.Tokens <= line {
						t.Errorf("turn %d was cut at %v tokens, the trigger is at %v", turn, counted.Tokens, line)
					}
				}
				compacted = now
			}
			if compacted == 0 {
				t.Error("nothing was cut: this test holds nothing")
			}
			for i, r := range asked(provider) {
				if r.Input > window {
					t.Errorf("request %d had %d tokens of %d", i, r.Input, window)
				}
			}
		})
	}
}

// Two hundred turns of a client that moves its cache mark: outside compactions each body
// extends the one before.
func TestPrefixIsStableOverALongConversation(t *testing.T) {
	t.Parallel()
	const window = 12_000
	provider, _, root, j := scripting(t, scripted.Options{Window: window}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	k.size, k.marks = 700, true
	last, before := "", 0
	for turn := range 200 {
		if res, text := k.ask(t, root, turn); res.StatusCode != http.StatusOK {
			t.Fatalf("turn %d: %s %.300s", turn, res.Status, text)
		}
		list := asked(provider)
		now := aConversation(t, k.dialect, list[len(list)-1].Body)
		cut := len(events[journal.WindowCompacted](j))
		if cut == before && !strings.HasPrefix(now, last) {
			t.Fatalf("turn %d does not extend the one before", turn)
		}
		last, before = now, cut
	}
	if before < 2 || before > 20 {
		t.Errorf("%d compactions in 200 turns", before)
	}
	if provider.Refused() > 0 {
		t.Errorf("%d requests were refused", provider.Refused())
	}
}

// Requests of one conversation that come together are compacted once, and are the same.
func TestOneCompactionForManyRequests(t *testing.T) {
	t.Parallel()
	const window = 20_000
	provider, p, root, j := scripting(t, scripted.Options{Window: window}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Chat)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { k.ask(t, root, 40) })
	}
	all.Wait()
	if n := len(events[journal.WindowCompacted](j)); n != 1 {
		t.Errorf("%d compactions, want 1", n)
	}
	for _, r := range asked(provider) {
		if !bytes.Equal(r.Body, asked(provider)[0].Body) {
			t.Error("two requests differ")
		}
	}
	if !p.budget.sem.TryAcquire(p.budget.size) {
		t.Error("the budget has not come back")
	}
}
