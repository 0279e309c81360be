package transcripts

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/window/wire"
)

var unmark = func(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(`,{"cachePoint":{"type":"default"}}`), nil)
	return bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}

// What an agent sends at turn n is what it sent before, and more.
func TestSessionExtends(t *testing.T) {
	for _, d := range dialects {
		for _, content := range Contents {
			s := NewSession(SessionOptions{Dialect: d, Content: content, Seed: 3, Parallel: 3, Thinking: true, UserEvery: 4, ResultBytes: 1000})
			var before []byte
			for turn := range 20 {
				body := s.Request(turn)
				if err := wire.Validate(d, body); err != nil {
					t.Fatalf("%s %d turn %d: %v", d, content, turn, err)
				}
				if !utf8.Valid(body) || !bytes.Contains(body, []byte(Task)) {
					t.Fatalf("%s %d turn %d: not UTF-8, or no task", d, content, turn)
				}
				now := bytes.TrimSuffix(unmark(body), []byte(s.tail))
				if !bytes.HasPrefix(now, before) || len(now) <= len(before) {
					t.Fatalf("%s %d: turn %d does not extend turn %d", d, content, turn, turn-1)
				}
				before = now
			}
			again := NewSession(SessionOptions{Dialect: d, Content: content, Seed: 3, Parallel: 3, Thinking: true, UserEvery: 4, ResultBytes: 1000})
			if !bytes.Equal(again.Request(19), s.Request(19)) || !bytes.Equal(again.Request(7), s.Request(7)) {
				t.Errorf("%s %d: the same options give other bytes", d, content)
			}
		}
	}
}

func TestSessionSize(t *testing.T) {
	s := NewSession(SessionOptions{Dialect: wire.Chat})
	turn := s.TurnOf(300_000)
	if n := len(s.Request(turn)); n < 300_000 || n > 330_000 {
		t.Errorf("%d bytes at turn %d", n, turn)
	}
	if n := len(s.Request(turn - 1)); n >= 300_000 {
		t.Errorf("%d bytes a turn earlier", n)
	}
}

func TestMarksAndHeadMove(t *testing.T) {
	s := NewSession(SessionOptions{Dialect: wire.Messages, ChangingHead: true})
	a, b := s.Request(5), s.Request(6)
	if bytes.Count(a, []byte("cache_control")) != 3 || bytes.Count(b, []byte("cache_control")) != 3 {
		t.Errorf("%d and %d marks, want 3", bytes.Count(a, []byte("cache_control")), bytes.Count(b, []byte("cache_control")))
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if at := bytes.Index(a, []byte("cch=")); i < at || i > at+12 {
		t.Errorf("the bodies differ first at %d, want in the billing line at %d", i, at)
	}
}

func BenchmarkRequest(b *testing.B) {
	s := NewSession(SessionOptions{Dialect: wire.Messages})
	turn := s.TurnOf(300_000)
	for b.Loop() {
		s.Request(turn)
	}
}
