package jsonstream

import (
	"bytes"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

func FuzzUnquotingInPieces(f *testing.F) {
	for _, s := range []string{`a\n`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\u0041`, `\ud83dx`, `\ude00`, `\ud83d\`, `\u12`, `\u12\n`, `\x\u`, "\xff\\u00", `\ud83d\u00`, `\ud83d\uzz`, `\ud83d\"`} {
		f.Add(s, []byte{0})
	}
	f.Fuzz(func(t *testing.T, inside string, cuts []byte) {
		// The literal ends at the first quote that is not escaped.
		end, esc := -1, false
		for i := range len(inside) {
			if !esc && inside[i] == '"' {
				end = i
				break
			}
			esc = !esc && inside[i] == '\\'
		}
		literal := inside
		if end >= 0 {
			literal = inside[:end]
		} else if esc {
			literal = inside[:len(inside)-1]
		}
		want := rawjson.Unquote(nil, []byte(`"`+literal+`"`))
		var (
			u   Unquoter
			got []byte
		)
		rest := []byte(literal + `"`)
		for i, closed := 0, false; !closed; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, int(cuts[i%len(cuts)])+1)
			}
			text, used, done := u.Feed(rest[:n])
			got = append(got, text...)
			if closed = done; !done && used != n {
				t.Fatalf("%d of %d bytes taken", used, n)
			}
			rest = rest[used:]
		}
		if got = append(got, u.End()...); !bytes.Equal(got, want) || len(rest) != 0 {
			t.Errorf("%q: %q, want %q; %d bytes left", inside, got, want, len(rest))
		}
	})
}
