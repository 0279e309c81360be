package proxy

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What is over a window that is only guessed goes out as it came: the provider may take it. Once it has refused, its limit holds.
func TestAGuessedWindowCutsNothing(t *testing.T) {
	t.Parallel()
	k := talkIn(wire.Messages)
	k.model = "claude-saga" // nobody knows it, or a sibling
	large := strings.Repeat("what was said before is said again ", 3*models.DefaultContext/7)
	body := bytes.Replace(k.body(3), []byte("You are an agent."), []byte("You are an agent. "), 1)
	body = bytes.Replace(body, []byte(task), []byte(task+" "+large), 1)

	provider, _, root, j := scripting(t, scripted.Options{Window: 10 * models.DefaultContext}, Options{Store: memoryStore(t), Resolver: models.NewResolver(models.Options{})})
	if res, text := post(t, root+k.path(), string(body)); res.StatusCode != http.StatusOK {
		t.Fatalf("%s %.300s", res.Status, text)
	}
	if list := asked(provider); len(list) != 1 || !bytes.Equal(list[0].Body, body) {
		t.Errorf("%d requests; the first has %d bytes of %d", len(list), len(list[0].Body), len(body))
	}
	if e := events[journal.WindowRequest](j); len(e) != 1 || e[0].LimitSource != models.SourceDefault || e[0].Tokens <= int64(models.DefaultContext) {
		t.Fatalf("the journal has %+v: it would hold nothing", e)
	}

	// A provider that has less room says so, and is asked for less from then on.
	provider, _, root, j = scripting(t, scripted.Options{Window: 20_000}, Options{Store: memoryStore(t), Resolver: models.NewResolver(models.Options{})})
	k.ask(t, root, 120)
	first := len(asked(provider))
	k.ask(t, root, 121)
	if n := len(asked(provider)) - first; first < 2 || n != 1 {
		t.Errorf("%d requests at first, then %d; want a refusal, and one request after it", first, n)
	}
	if over := events[journal.WindowOverflow](j); len(over) == 0 || over[0].Action != "retried" {
		t.Errorf("the journal has %+v", over)
	}
}

// TestALargerWindowKeepsACut: what was cut stays cut when the window turns out larger: what a model has read is not changed again.
func TestALargerWindowKeepsACut(t *testing.T) {
	t.Parallel()
	store, k := memoryStore(t), talkIn(wire.Chat)
	provider, _, root, _ := scripting(t, scripted.Options{}, Options{Store: store, Resolver: windowOf(9000)})
	k.ask(t, root, 40)
	first := asked(provider)[0].Body
	if len(first) >= len(k.body(40)) {
		t.Fatal("nothing was cut: this test would hold nothing")
	}
	before := messagesOf(parsed(t, wire.Chat, first))
	before = before[:bytes.LastIndexByte(before[:len(before)-1], '\n')+1] // the client takes its newest word back
	for _, window := range []int{9500, 1_000_000} {
		provider, _, root, _ := scripting(t, scripted.Options{}, Options{Store: store, Resolver: windowOf(window)})
		k.ask(t, root, 41)
		if after := messagesOf(parsed(t, wire.Chat, asked(provider)[0].Body)); !bytes.HasPrefix(after, before) {
			t.Errorf("with a window of %d tokens the conversation does not begin with what was sent", window)
		}
	}
}
