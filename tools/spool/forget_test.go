package spool

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// word is one that is to be forgotten.
type word string

// In implements [Words].
func (w word) In(text []byte) bool { return bytes.Contains(text, []byte(w)) }

// Read implements [Words].
func (w word) Read(r io.Reader) (bool, error) {
	text, err := io.ReadAll(r)
	return w.In(text), err
}

// Overwrite implements [Words].
func (w word) Overwrite(f interface {
	io.ReaderAt
	io.WriterAt
},
) (n int, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	for at := 0; err == nil; n++ {
		i := bytes.Index(text[at:], []byte(w))
		if i < 0 {
			break
		}
		_, err = f.WriteAt(bytes.Repeat([]byte("*"), len(w)), int64(at+i))
		at += i + len(w)
	}
	return n, err
}

// What holds the words is removed; what somebody reads has them written over, and is read on; what is being written says so.
func TestForget(t *testing.T) {
	s := open(t, Options{})
	const secret = word("amber lantern")
	long := strings.Repeat("a line of words\n", 5000)
	gone := keep(t, s, Source{}, long+"the amber lantern\n"+long, 1<<20)
	called := keep(t, s, Source{Call: []byte(`{"text":"amber lantern"}`)}, "nothing of it", 100)
	stays := keep(t, s, Source{}, "lantern, amber", 100)
	held := keep(t, s, Source{Call: []byte(`{"text":"amber lantern"}`)}, "first line\nthe amber lantern\nlast line\n", 100)
	r, err := s.Read(me, held)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(Source{Principal: me, Server: "x", Tool: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(strings.Repeat("the amber lantern\n", 20_000))); err != nil {
		t.Fatal(err)
	}
	would, err := s.Forget(secret, true)
	if err != nil || len(would) != 4 || !there(s, gone) {
		t.Fatalf("%+v, %v", would, err)
	}
	did, err := s.Forget(secret, false)
	if err == nil || !strings.Contains(err.Error(), "forget again") || len(did) != 4 {
		t.Errorf("%+v, %v", did, err)
	}
	if there(s, gone) || there(s, called) || !there(s, stays) || !there(s, held) {
		t.Error("not what holds it is gone")
	}
	if page, err := r.Page(t.Context(), 1, 0); err != nil || !strings.Contains(string(page.Text), "the *************\nlast line") {
		t.Errorf("%+v, %v", page, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Complete(Final{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(secret, false); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(s.Dir(), "*", "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err != nil || secret.In(text) || bytes.Contains(text, []byte("YW1iZXIgbGFudGVybg")) || bytes.Contains(text, []byte("ImFtYmVyIGxhbnRlcm4i")) {
			t.Errorf("%s has it, %v", name, err)
		}
	}
	if again, err := s.Forget(secret, false); err != nil || len(again) != 0 {
		t.Errorf("%+v, %v", again, err)
	}
}
