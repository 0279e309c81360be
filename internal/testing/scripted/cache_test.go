package scripted

import (
	"testing"
	"testing/synctest"
	"time"
)

// A prefix lives for five minutes after it was read last; a request beyond them writes it anew.
func TestCacheLivesByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Reasoning: RuleOf, Marked: true, Script: Replies(Reply{Text: "next", Calls: []Call{{Shell: "ls"}}})})
		server := served(p)
		c := newTalk(t, server, "claude-fable-5-1")
		mark := func() {
			for i, raw := range c.messages {
				if content, ok := raw.(m)["content"].([]any); ok {
					for _, b := range content {
						delete(b.(m), "cache_control")
						if i == len(c.messages)-1 {
							b.(m)["cache_control"] = m{"type": "ephemeral"}
						}
					}
				}
			}
		}
		used := func() (input, read, written float64) {
			mark()
			u := c.turn()["usage"].(m)
			return u["input_tokens"].(float64), u["cache_read_input_tokens"].(float64), u["cache_creation_input_tokens"].(float64)
		}
		c.edit(0, []any{m{"type": "text", "text": "the task is T-1"}})
		_, read, written := used()
		if read != 0 || written == 0 {
			t.Fatalf("the first request: %v read, %v written", read, written)
		}
		total := written
		for range 3 { // each within five minutes of the one before, all together longer
			time.Sleep(4 * time.Minute)
			input, read, written := used()
			if read != total || written == 0 || input != 0 {
				t.Errorf("warm: %v read, want %v; %v written, %v beside", read, total, written, input)
			}
			total = read + written
		}
		time.Sleep(5 * time.Minute)
		if _, read, written := used(); read != 0 || written < total {
			t.Errorf("cold: %v read, %v written", read, written)
		}
		if s := p.Stats(); s.CacheRead == 0 || s.Input != s.CacheRead+s.CacheWritten {
			t.Errorf("%+v", s)
		}
		// Without a mark nothing is cached, and what was refused has written nothing.
		for _, raw := range c.messages {
			for _, b := range raw.(m)["content"].([]any) {
				delete(b.(m), "cache_control")
			}
		}
		if u := c.turn()["usage"].(m); u["cache_read_input_tokens"] != 0.0 || u["cache_creation_input_tokens"] != 0.0 {
			t.Errorf("without marks: %v", u)
		}
	})
}

func TestCacheMarksMayAskForAnHour(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := New(Options{Reasoning: RuleOf, Marked: true, Now: func() time.Time { return now }})
	c := newTalk(t, served(p), "claude-fable-5-1")
	c.edit(0, []any{m{"type": "text", "text": "the task is T-1", "cache_control": m{"type": "ephemeral", "ttl": "1h"}}})
	c.request(nil)
	now = now.Add(50 * time.Minute)
	if _, v := c.request(nil); at(v, "usage", "cache_read_input_tokens").(float64) == 0 {
		t.Errorf("after 50 minutes: %v", v["usage"])
	}
	now = now.Add(time.Hour)
	if _, v := c.request(nil); at(v, "usage", "cache_read_input_tokens").(float64) != 0 {
		t.Errorf("an hour after that: %v", v["usage"])
	}
}

// A refused request, and a count, put nothing into the cache.
func TestOnlyAnswersAreCached(t *testing.T) {
	p := New(Options{Window: 10})
	c := newTalk(t, served(p), "m")
	c.request(nil)
	p.o.Window = 0
	if _, v := c.request(nil); at(v, "usage", "cache_read_input_tokens") != 0.0 {
		t.Errorf("after a refusal: %v", v["usage"])
	}
}
