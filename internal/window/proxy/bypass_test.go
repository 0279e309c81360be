package proxy

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// When room is made in a request that is no whole history, or in which somebody compacts: the table of [wire.Bypass].
func TestRoomByReason(t *testing.T) {
	t.Parallel()
	member := func(d wire.Dialect, text string) func([]byte) []byte {
		return func(body []byte) []byte { return append([]byte("{"+text+","), body[1:]...) }
	}
	first := func(d wire.Dialect, item string) func([]byte) []byte {
		list := map[wire.Dialect]string{wire.Responses: `"input":[`, wire.Messages: `"messages":[`}[d]
		return func(body []byte) []byte {
			return bytes.Replace(body, []byte(list), []byte(list+item+","), 1)
		}
	}
	const words = "Your task is to create a detailed summary of "
	for _, tt := range []struct {
		name    string
		dialect wire.Dialect
		edit    func([]byte) []byte
		want    wire.Bypass
	}{
		{"chat", wire.Chat, func(b []byte) []byte { return b }, 0},
		{"responses", wire.Responses, func(b []byte) []byte { return b }, 0},
		{"messages", wire.Messages, func(b []byte) []byte { return b }, 0},
		{"gemini", wire.Gemini, func(b []byte) []byte { return b }, 0},
		{"previous_response_id", wire.Responses, member(wire.Responses, `"previous_response_id":"r"`), wire.Stored},
		{"item_reference", wire.Responses, first(wire.Responses, `{"type":"item_reference","id":"m"}`), wire.Referenced},
		{"cachedContent", wire.Gemini, member(wire.Gemini, `"cachedContent":"c"`), wire.Referenced},
		{"compaction item", wire.Responses, first(wire.Responses, `{"type":"compaction","encrypted_content":"eA=="}`), wire.Compacted},
		{"compaction block", wire.Messages, first(wire.Messages, `{"role":"assistant","content":[{"type":"compaction","content":"s","signature":"z"}]}`), wire.Compacted},
		{"threshold of OpenAI", wire.Responses, member(wire.Responses, `"context_management":[{"type":"compaction","compact_threshold":9}]`), wire.Compacting},
		{"edit of Anthropic", wire.Messages, member(wire.Messages, `"context_management":{"edits":[{"type":"compact_20260112"}]}`), wire.Compacting},
		{"on demand", wire.Messages, member(wire.Messages, `"compaction":{"type":"summarize"}`), wire.Compacting},
		{"the agent's own", wire.Messages, func(b []byte) []byte { return bytes.Replace(b, []byte("And this is"), []byte(words), 1) }, wire.Summarising},
		{"the agent's own, chat", wire.Chat, func(b []byte) []byte { return bytes.Replace(b, []byte("And this is"), []byte(words), 1) }, wire.Summarising},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := talkIn(tt.dialect)
			k.stream = false
			body := tt.edit(k.body(30))
			r, err := wire.Parse(tt.dialect, body)
			if err != nil || r.Bypass != tt.want {
				t.Fatalf("it is %s: %v", r.Bypass, err)
			}
			// send returns what arrived last, and how often something did.
			send := func(so scripted.Options, window int) (*scripted.Recorded, int) {
				so.Lenient = true
				resolver := windowOf(window)
				if window == 0 {
					resolver = models.NewResolver(models.Options{})
				}
				provider, _, root, _ := scripting(t, so, Options{Resolver: resolver, Target: 0.5, Store: memoryStore(t)})
				res, text := post(t, root+k.path(), string(body))
				list := asked(provider)
				if res.StatusCode != http.StatusOK || len(list) == 0 {
					t.Fatalf("%s %.300s", res.Status, text)
				}
				return list[len(list)-1], len(list)
			}
			sent, _ := send(scripted.Options{}, 10_000_000)
			size := sent.Input
			if !bytes.Equal(sent.Body, body) {
				t.Fatalf("it was edited without need: %d bytes became %d", len(body), len(sent.Body))
			}
			// Over the trigger and under the limit.
			got, _ := send(scripted.Options{}, size*112/100+k.output)
			if cut := len(got.Body) < len(body); cut != (tt.want.Room() == wire.RoomAtTrigger) {
				t.Errorf("at the trigger it was cut: %v", cut)
			}
			// Over the limit.
			got, _ = send(scripted.Options{}, size*6/10)
			if cut := len(got.Body) < len(body); cut != (tt.want.Room() != wire.RoomNever) {
				t.Errorf("at the limit it was cut: %v", cut)
			}
			// Refused as too long.
			got, n := send(scripted.Options{Window: size * 6 / 10}, 0)
			if n < 2 || len(got.Body) >= len(body) {
				t.Errorf("after a refusal it went %d times, at last with %d bytes of %d", n, len(got.Body), len(body))
			}
			if next, err := wire.Parse(tt.dialect, got.Body); err != nil || next.Bypass != tt.want {
				t.Errorf("after that it is %s: %v", next.Bypass, err)
			}
			if !bytes.Contains(got.Body, []byte("look at step")) {
				t.Error("the newest words of the user are gone")
			}
		})
	}
}
