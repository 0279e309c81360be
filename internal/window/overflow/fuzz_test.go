package overflow

import (
	"bytes"
	"strings"
	"testing"
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
// texts, deep nesting. A search that was quadratic would not end before the test does.
func TestHostileBodies(t *testing.T) {
	for _, body := range []string{
		strings.Repeat("maximum context length is 1 tokens ", 1<<20/35),
		`{"error":[` + strings.Repeat(`{"message":"prompt is too long: 1 tokens > x"},`, 1<<15) + `{}]}`,
		strings.Repeat(`{"error":`, 1<<17),
		strings.Repeat("[", 1<<20),
		`"` + strings.Repeat(`\ud800`, 1<<17) + `"`,
		"prompt is too long: " + strings.Repeat("1,111", 1<<17),
		strings.Repeat("data: {\"error\":\n", 1<<16),
	} {
		for _, contentType := range []string{"application/json", "text/event-stream"} {
			if o, ok := Classify(400, contentType, []byte(body)); ok && (o.Actual > 2*maxTokens || o.Limit > maxTokens) {
				t.Errorf("%.40q… as %s: %+v", body, contentType, o)
			}
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	body := []byte(refusals[0].body)
	for b.Loop() {
		Classify(400, "application/json", body)
	}
}
