package overflow

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func FuzzClassify(f *testing.F) {
	for _, s := range refusals {
		f.Add(s.status, "application/json", []byte(s.body))
		f.Add(200, "text/event-stream", []byte("data: "+s.body+"\n\n"))
	}
	f.Add(400, "", []byte(strings.Repeat("[", 100_000)))
	f.Add(400, "text/plain", []byte("prompt is too long: "+strings.Repeat("9", 5000)))
	f.Add(413, "application/json", []byte(`{"error":"\ud800\udc00\ud800"}`))
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		before := bytes.Clone(body)
		for _, o := range both(status, contentType, body) {
			if o.Limit < 0 || o.Limit > maxTokens || o.Actual < 0 || o.Actual > 2*maxTokens || o.Output < 0 || o.Output > maxTokens {
				t.Errorf("%+v has numbers out of range", o)
			}
			if o.LowerOutput && o.Actual >= o.Limit {
				t.Errorf("%+v: lower output can't help", o)
			}
			if o.Form == "" || o.Provider == "" {
				t.Errorf("%+v has no name", o)
			}
		}
		if status == 429 || status > 500 {
			if o, ok := Classify(status, contentType, body); ok {
				t.Errorf("status %d is taken for %+v", status, o)
			}
		}
		if !bytes.Equal(before, body) {
			t.Error("the body was changed")
		}
	})
}

func both(status int, contentType string, body []byte) []Overflow {
	var list []Overflow
	if o, ok := Classify(status, contentType, body); ok {
		list = append(list, o)
	}
	if o, ok := Event(body); ok {
		list = append(list, o)
	}
	return list
}

// Bodies made to be slow: the nearly matching beginnings of phrases over and over, many
// texts, deep nesting. The bound is a hundred times what they take.
func TestHostileBodiesEnd(t *testing.T) {
	for _, body := range []string{
		strings.Repeat("maximum context length is 1 tokens ", 1<<20/35),
		`{"error":[` + strings.Repeat(`{"message":"prompt is too long: 1 tokens > x"},`, 1<<15) + `{}]}`,
		strings.Repeat(`{"error":`, 1<<17),
		strings.Repeat("[", 1<<20),
		`"` + strings.Repeat(`\ud800`, 1<<17) + `"`,
		"prompt is too long: " + strings.Repeat("1,111", 1<<17),
		strings.Repeat("data: {\"error\":\n", 1<<16),
	} {
		start := time.Now()
		Classify(400, "application/json", []byte(body))
		Classify(200, "text/event-stream", []byte(body))
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%.40q… took %v", body, d)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	body := []byte(refusals[0].body)
	for b.Loop() {
		Classify(400, "application/json", body)
	}
}
