package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

func TestTablesAreAsGenerated(t *testing.T) {
	files, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "vocab", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./window/tokens", name)
		}
	}
}

// The table must answer for every token by its bytes, and by the two it was merged from.
func TestTablesFindEveryToken(t *testing.T) {
	for source, table := range map[string]*vocab.Table{"o200k_base.tiktoken": vocab.O200K(), "cl100k_base.tiktoken": vocab.CL100K()} {
		tokens, err := ranks(source)
		if err != nil {
			t.Fatal(err)
		}
		if table.Count() != len(tokens) {
			t.Fatalf("%s: %d tokens, the table has %d", source, len(tokens), table.Count())
		}
		for i, token := range tokens {
			id := uint32(i)
			hash := vocab.Hash([]byte(token))
			if got, ok := table.Find([]byte(token), hash); !ok || got != id {
				t.Fatalf("%s: %q is found as %d, %v, want %d", source, token, got, ok, id)
			}
			if string(table.Bytes(id)) != token {
				t.Fatalf("%s: token %d is %q, want %q", source, id, table.Bytes(id), token)
			}
			r := table.Record(id)
			if r.Left() == id {
				continue
			}
			if string(table.Bytes(r.Left()))+string(table.Bytes(r.Right())) != token {
				t.Fatalf("%s: %q is said to be made of %q and %q", source, token, table.Bytes(r.Left()), table.Bytes(r.Right()))
			}
			if got, ok := table.FindPair(r.Left(), r.Right(), hash); !ok || got != id {
				t.Fatalf("%s: the pair of %q is found as %d, %v", source, token, got, ok)
			}
		}
		for _, none := range []string{"\xff\xfe\xfd", "this is no token", "zzzzqqqq"} {
			if id, ok := table.Find([]byte(none), vocab.Hash([]byte(none))); ok {
				t.Errorf("%s: %q is found as %d", source, none, id)
			}
		}
	}
}

func TestClassesOfASCIIAgree(t *testing.T) {
	for b := range 128 {
		if got, want := vocab.ASCII[b], class(rune(b)); got != want || vocab.ClassOf(rune(b)) != want {
			t.Errorf("%q: class %b at hand, %b in the file, want %b", rune(b), got, vocab.ClassOf(rune(b)), want)
		}
	}
}
