package checkpoint_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

// decision returns a decision about message n of a chain.
func decision(chain [][16]byte, n int, text string) *checkpoint.Checkpoint {
	return &checkpoint.Checkpoint{Chain: chain[n], Covers: n + 1, Patches: []checkpoint.Patch{{From: n, To: n + 1, With: [][]byte{[]byte(text)}}}}
}

// What another store has decided is in force here, in memory and on the disk; a later cut stays, and one that the provider has taken.
func TestAdopt(t *testing.T) {
	chain, other := digests("a", 20), digests("b", 20)
	for name, o := range map[string]checkpoint.Options{"disk": {Dir: t.TempDir()}, "memory": {}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, o)
			scope := s.Scope([]byte("k"))
			log := func() []*checkpoint.Checkpoint { return checkpoint.Log(s, scope, chain, 0) }
			if _, err := s.Freeze(scope, decision(chain, 12, `"mine"`), nil); err != nil {
				t.Fatal(err)
			}
			later := made(chain, 10, 2)
			if _, err := s.Put(scope, later, checkpoint.Cut{}); err != nil {
				t.Fatal(err)
			}
			theirs := []*checkpoint.Checkpoint{made(chain, 10, 1), decision(chain, 12, `"theirs"`), decision(other, 3, `"elsewhere"`)}
			if !s.Adopt(scope, theirs, nil) || s.Adopt(scope, theirs, nil) {
				t.Error("the first time changes something, the second time nothing")
			}
			for range 2 {
				got := log()
				if len(got) != 2 || got[0].Generation != 2 || string(got[1].Patches[0].With[0]) != `"theirs"` {
					t.Fatalf("%+v", got)
				}
				if o.Dir != "" {
					s = open(t, o)
				}
			}
			if got := checkpoint.Log(s, scope, other, 0); len(got) != 1 {
				t.Errorf("%+v", got)
			}
			first := *later
			first.Tokens += 100_000
			if s.Adopt(scope, []*checkpoint.Checkpoint{&first}, log()[0]) || log()[0].Tokens != later.Tokens {
				t.Error("a cut that was refused is in the place of the one that was taken")
			}
			if !s.Adopt(scope, []*checkpoint.Checkpoint{&first}, nil) || log()[0].Tokens != first.Tokens {
				t.Error("the cut of this store stays although the other was first")
			}
		})
	}
	if (*checkpoint.Store)(nil).Adopt(checkpoint.Scope{}, []*checkpoint.Checkpoint{made(chain, 10, 1)}, nil) {
		t.Error("a store that keeps nothing adopts something")
	}
}

func TestPack(t *testing.T) {
	chain := digests("a", 20)
	list := []*checkpoint.Checkpoint{decision(chain, 3, `"three"`), decision(chain, 4, `"four"`), made(chain, 2, 1)}
	whole, left := checkpoint.Pack(list, 1<<20)
	got, err := checkpoint.Unpack(whole)
	equal := func(a, b []*checkpoint.Checkpoint) bool {
		one, _ := checkpoint.Pack(a, 1<<20)
		two, _ := checkpoint.Pack(b, 1<<20)
		return len(a) == len(b) && bytes.Equal(one, two) && reflect.DeepEqual(a[0].Patches, b[0].Patches)
	}
	if err != nil || left != 0 || !equal(got, list) {
		t.Errorf("%d left, %v: %+v", left, err, got)
	}
	less, left := checkpoint.Pack(list, len(whole)-1)
	if got, err := checkpoint.Unpack(less); err != nil || left != 1 || !equal(got, list[1:]) {
		t.Errorf("%d left, %v: %+v", left, err, got)
	}
	if none, left := checkpoint.Pack(list, 10); len(none) > 0 || left != 3 {
		t.Errorf("%d bytes, %d left", len(none), left)
	}
	for cut := range len(whole) {
		if got, err := checkpoint.Unpack(whole[:cut]); err == nil && len(got) == len(list) {
			t.Fatalf("%d of %d bytes are the whole", cut, len(whole))
		}
	}
}

func FuzzUnpack(f *testing.F) {
	chain := digests("a", 5)
	whole, _ := checkpoint.Pack([]*checkpoint.Checkpoint{decision(chain, 3, `"three"`), made(chain, 2, 1)}, 1<<20)
	f.Add(whole)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, value []byte) {
		list, err := checkpoint.Unpack(value)
		if err != nil {
			return
		}
		again, _ := checkpoint.Pack(list, 1<<30)
		if got, err := checkpoint.Unpack(again); err != nil || !reflect.DeepEqual(got, list) {
			t.Fatalf("%+v became %+v, %v", list, got, err)
		}
	})
}
