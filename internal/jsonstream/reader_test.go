package jsonstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzReader holds both ways over a value against encoding/json, in pieces of one byte.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{`[1,-0.5e+7,"a\u00e4\ud83d\ude00\ud83d",{"a":[null]}]`, `[]`, `[1,]`, `[01]`, `["\q"]`, "[\"\xff\xc3\"]", "[\"\x01\"]", `[1] x`, `{"a":1}`, `5`, ` `, `["` + strings.Repeat("long ", 20) + `"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []json.RawMessage
		valid := json.Unmarshal(text, &want) == nil && want != nil
		if err := Check(text, Options{}); (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v, and encoding/json says %t", text, err, json.Valid(text))
		}
		const most = 64
		var got [][]byte
		r := NewReader(iotest.OneByteReader(bytes.NewReader(text)), Options{Buffer: 16, MaxValue: most})
		err := r.Array(func() error {
			v, err := r.Kept()
			got = append(got, bytes.Clone(v))
			return err
		})
		if err == nil {
			err = r.End()
		}
		if errors.Is(err, ErrTooLarge) {
			return
		}
		if (err == nil) != valid || valid && len(got) != len(want) {
			t.Fatalf("%q: %q, %v, want %q", text, got, err, want)
		}
		if err != nil {
			return
		}
		r = NewReader(iotest.OneByteReader(bytes.NewReader(text)), Options{Buffer: 16})
		n := 0
		err = r.Array(func() error {
			i := n
			n++
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("%q: element %d is %q, want %q", text, i, got[i], want[i])
			}
			if !r.Is('"') {
				return r.Skip()
			}
			var says string
			c := Clip{Max: most}
			if err := r.Text(&c); err != nil {
				return err
			}
			if err := json.Unmarshal(want[i], &says); err != nil || c.Whole() != says && len(says) <= most || c.Size != int64(len(says)) {
				t.Fatalf("%q says %q of %d bytes, want %q", want[i], c.Text, c.Size, says)
			}
			return nil
		})
		if err != nil || n != len(want) {
			t.Fatalf("%q: %d of %d elements, %v", text, n, len(want), err)
		}
	})
}

func TestReaderIsBounded(t *testing.T) {
	o := Options{Buffer: 16, MaxValue: 100, MaxDepth: 5, MaxSpace: 50}
	for text, want := range map[string]string{
		`["` + strings.Repeat("x", 200) + `"]`: ErrTooLarge.Error(),
		`[[[[[[[1]]]]]]]`:                      "more than 5 levels",
		`[1,` + strings.Repeat(" ", 60) + `2]`: endlessSpace,
		`[[1` + strings.Repeat("\n", 60) + `]`: endlessSpace,
	} {
		r := NewReader(strings.NewReader(text), o)
		err := r.Array(func() error {
			_, err := r.Kept()
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", text, err, want)
		}
		if len(r.buf) > o.MaxValue+512 {
			t.Errorf("%.20s: a buffer of %d bytes", text, len(r.buf))
		}
	}
	late := errors.New("the line is cut")
	r := NewReader(io.MultiReader(strings.NewReader(`["`), iotest.ErrReader(late)), o)
	if err := r.Array(r.Skip); !errors.Is(err, late) {
		t.Errorf("the reader's error became %v", err)
	}
}
