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
					t.Fatalf("%s %s turn %d: %v", d, content, turn, err)
				}
				if !utf8.Valid(body) || !bytes.Contains(body, []byte(Task)) {
					t.Fatalf("%s %s turn %d: not UTF-8, or no task", d, content, turn)
				}
				now := bytes.TrimSuffix(unmark(body), []byte(s.tail))
				if !bytes.HasPrefix(now, before) || len(now) <= len(before) {
					t.Fatalf("%s %s: turn %d does not extend turn %d", d, content, turn, turn-1)
				}
				before = now
			}
			again := NewSession(SessionOptions{Dialect: d, Content: content, Seed: 3, Parallel: 3, Thinking: true, UserEvery: 4, ResultBytes: 1000})
			if !bytes.Equal(again.Request(19), s.Request(19)) || !bytes.Equal(again.Request(7), s.Request(7)) {
				t.Errorf("%s %s: the same options give other bytes", d, content)
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

func TestFactsArePlanted(t *testing.T) {
	for _, d := range dialects {
		s := NewSession(SessionOptions{Dialect: d, Facts: 200, Turns: 100, Content: JSON, ResultBytes: 400})
		whole, kinds := s.Request(100), map[string]int{}
		if len(s.Facts()) != 200 {
			t.Fatalf("%d facts", len(s.Facts()))
		}
		for i, f := range s.Facts() {
			kinds[f.Kind]++
			if n := bytes.Count(whole, []byte(f.Text)); n != 1 || !f.In(whole) {
				t.Errorf("%s: %+v is there %d times", d, f, n)
			}
			if i%20 == 0 && (f.In(s.Request(f.Turn-1)) || !f.In(s.Request(f.Turn))) {
				t.Errorf("%s: %+v does not come with its turn", d, f)
			}
		}
		for _, kind := range FactKinds {
			if kinds[kind] != 50 {
				t.Errorf("%s: %d of kind %s", d, kinds[kind], kind)
			}
		}
		if err := wire.Validate(d, whole); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	s := NewSession(SessionOptions{Dialect: wire.Messages})
	turn := s.TurnOf(300_000)
	for b.Loop() {
		s.Request(turn)
	}
}
