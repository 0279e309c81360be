package tasklog

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func FuzzTaskFile(f *testing.F) {
	for _, t := range []Task{
		{ID: "t", Version: 1},
		{ID: "é\n\"", Context: "c", Owner: "o", State: "s", Ended: true, Time: time.Unix(1, 2).UTC(), Seq: 1 << 63, Version: 3, Changed: time.Unix(9, 9), Body: []byte("{\n}")},
	} {
		raw, err := encode(&t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("plimsoll-task 1 00000000 00000000000000000000\n"))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		// The checksum keeps nearly everything out; behind it anything may stand too.
		for _, rest := range [][]byte{raw, sealed(raw)} {
			got, err := decode(rest)
			if err != nil {
				if !errors.Is(err, errDamaged) {
					t.Fatalf("%q: %v", rest, err)
				}
				continue
			}
			if err := got.check(); err != nil || got.Version < 1 {
				t.Fatalf("%q gives %+v, %v", rest, got, err)
			}
			again, err := encode(&got)
			if err != nil {
				t.Fatalf("%q gives what cannot be written: %v", rest, err)
			}
			same, err := decode(again)
			if err != nil || same.ID != got.ID || same.Version != got.Version || same.Seq != got.Seq || !same.Time.Equal(got.Time) ||
				!same.Changed.Equal(got.Changed) || !bytes.Equal(same.Body, got.Body) || same.State != got.State || same.Ended != got.Ended {
				t.Fatalf("%q gives %+v and then %+v, %v", rest, got, same, err)
			}
		}
	})
}

// sealed puts the right first line before some bytes.
func sealed(rest []byte) []byte {
	task := Task{ID: "x", Version: 1}
	raw, _ := encode(&task)
	raw = append(raw[:firstLength], rest...)
	return writeChecksum(raw)
}

func FuzzPageToken(f *testing.F) {
	f.Add(listPosition{1, keyOf("t")}.token())
	f.Add("")
	f.Add("====")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseToken(text)
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Fatal(err)
			}
			return
		}
		if again, err := parseToken(p.token()); err != nil || again != p {
			t.Fatalf("%q is %+v and then %+v, %v", text, p, again, err)
		}
	})
}
