package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/secrets"
)

func FuzzMask(f *testing.F) {
	for _, raw := range hiding {
		f.Add([]byte(raw), "password")
	}
	f.Add([]byte(`{"a":[1,2,{"b":"\ud800\n"}],"c":"x: |\n  y"}`), "API_KEY")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		safe, n, err := Mask(raw)
		if (err == nil) != json.Valid(raw) {
			t.Fatalf("valid %v, but %v", json.Valid(raw), err)
		}
		if err != nil {
			return
		}
		if !json.Valid(safe) {
			t.Fatalf("no JSON any more: %s", safe)
		}
		if again, more, err := Mask(safe); err != nil || !bytes.Equal(again, safe) {
			t.Fatalf("masked twice (%d, %d) is not once: %s and %s, %v", n, more, safe, again, err)
		}
		if n == 0 {
			var compact bytes.Buffer
			if err := json.Compact(&compact, raw); err != nil || !bytes.Equal(compact.Bytes(), safe) {
				t.Fatalf("nothing masked, yet %s is not %s", safe, compact.Bytes())
			}
		}
		if slim, _, err := Slim(raw, Keep{}); err != nil || !json.Valid(slim) || len(slim) > len(safe) {
			t.Fatalf("slim: %s, %v", slim, err)
		}
		plant(t, raw, name)
	})
}

// plant puts a secret beside whatever raw is, in a Secret, in a variable and below a
// secret name, and looks for it in what comes out.
func plant(t *testing.T, raw []byte, name string) {
	if !utf8.ValidString(name) || strings.Contains(string(raw), planted) {
		return
	}
	key, err := json.Marshal(name)
	if err != nil {
		return
	}
	docs := []string{
		`{"x":` + string(raw) + `,"data":{` + string(key) + `:"` + planted + `"},"kind":"Secret","y":` + string(raw) + `}`,
		`[` + string(raw) + `,{"a":` + string(raw) + `,"value":"` + planted + `","name":"X_PASSWORD"}]`,
		`{"password":"` + planted + `","then":` + string(raw) + `}`,
	}
	if secrets.Named(name) {
		docs = append(docs, `{`+string(key)+`:"`+planted+`"}`)
	}
	for _, doc := range docs {
		safe, n, err := Mask([]byte(doc))
		if err != nil && strings.Contains(err.Error(), "depth") {
			return
		}
		if err != nil || n == 0 || bytes.Contains(safe, []byte(planted)) {
			t.Fatalf("%s became %s: %d, %v", doc, safe, n, err)
		}
	}
}
