package embed

import (
	"strings"
	"testing"
)

// FuzzAnswer holds that whatever a service answers is either as many vectors of one size as were asked for, or an error that repeats nothing of it.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[0.5,-2e3]}]}`,
		`{"data":[{"embedding":[1]},{"embedding":[1,2]}]}`, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":-1,"embedding":null},{}]}`, `{"error":{"message":"said"}}`, `[`, ``, `{"data":[{"embedding":[1e39]},{"embedding":["x"]}]}`,
	} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		n = 1 + (n&0x7fffffff)%MaxBatch
		vectors, err := parseAnswer(body, n)
		if err != nil {
			if len(err.Error()) > 200 || strings.Contains(err.Error(), "said") {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(vectors) != n {
			t.Fatalf("%d vectors for %d texts", len(vectors), n)
		}
		for _, v := range vectors {
			if len(v.Values) == 0 || len(v.Values) != len(vectors[0].Values) || !(v.Scale > 0) {
				t.Fatalf("%+v", v)
			}
			if c := v.Cosine(v); c < 0.9 || c > 1.1 {
				t.Fatalf("the cosine of a vector with itself is %g", c)
			}
		}
	})
}
