package checkpoint

import (
	"reflect"
	"testing"
)

func FuzzDecode(f *testing.F) {
	c := &Checkpoint{Chain: Digest{1}, Covers: 9, Generation: 2, Patches: []Patch{{From: 1, To: 4, With: [][]byte{[]byte(`{}`), nil}}, {From: 4, To: 4, With: [][]byte{[]byte(`{"a":1}`)}}}, Recalled: []string{"", "text"}}
	f.Add(c.encode(), false)
	f.Add(Cut{Entry: Entry{Conversation: "c"}, Text: []byte("text")}.encode(key{}, c, 1<<20), false)
	f.Add([]byte("\x00\x01\xff"), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed { // get past the checksum
			b = addChecksum(compress(b))
		}
		if got, err := decode(b); err == nil {
			again, err := decode(got.encode())
			if err != nil || !reflect.DeepEqual(got, again) {
				t.Fatalf("%+v became %+v, %v", got, again, err)
			}
			last := 0
			for _, p := range got.Patches {
				if p.From < last || p.To < p.From || p.To > got.Covers {
					t.Fatalf("patches out of order: %+v", got.Patches)
				}
				last = p.To
			}
		}
		if cut, err := decodeCut(b); err == nil && cut.StoredBytes != int64(len(b)) {
			t.Fatalf("%+v", cut.Entry)
		}
	})
}
