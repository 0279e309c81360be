package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

type tally struct {
	Schema int            `json:"schema"`
	Calls  map[string]int `json:"calls"`
}

func documentIn(dir string) store.Document[tally] {
	return store.Document[tally]{
		File:   store.File{Path: filepath.Join(dir, "below", "tally.json"), Max: 1 << 12, Kept: atomicfile.Durable},
		Schema: 2,
		Check: func(t *tally) error {
			for _, n := range t.Calls {
				if n < 0 {
					return errors.New("a count is negative")
				}
			}
			if t.Schema != 2 {
				return errors.New("another schema")
			}
			return nil
		},
	}
}

// count adds one.
func count(name string) func(*tally) error {
	return func(t *tally) error {
		if t.Calls == nil {
			*t = tally{Schema: 2, Calls: map[string]int{}}
		}
		t.Calls[name]++
		return nil
	}
}

// Of a document that is cut or has a wrong byte anywhere nothing is believed that does not pass its check. It is an error as long as it is
// there, and with Aside the next change begins anew and keeps it for people to look at.
func TestADamagedDocument(t *testing.T) {
	d := documentIn(t.TempDir())
	if v, err := d.Read(); err != nil || v.Calls != nil {
		t.Fatalf("of none: %+v, %v", v, err)
	}
	if err := d.Change(t.Context(), count("grep")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.Path)
	if err != nil || string(whole) != `{"schema":2,"calls":{"grep":1}}`+"\n" {
		t.Fatalf("%s, %v", whole, err)
	}
	bad := [][]byte{[]byte("null"), []byte("[]"), []byte(`{"calls":{}}`), []byte(`{"schema":1}`), []byte(`{"schema":2,"calls":{"grep":-1}}`), bytes.Repeat([]byte{' '}, 1<<12+1)}
	for i := range whole[:len(whole)-1] {
		wrong := bytes.Clone(whole)
		wrong[i] ^= 0x80
		bad = append(bad, whole[:i], wrong)
	}
	for _, text := range bad {
		testfile.Write(t, d.Path, text)
		damage, ok := (*store.Damage)(nil), false
		v, err := d.Read()
		if damage, ok = errors.AsType[*store.Damage](err); !ok || damage.Path != d.Path || v.Calls != nil {
			if bytes.IndexFunc(text, func(r rune) bool { return r == '\ufffd' }) >= 0 && err == nil {
				continue // within a name, which is another one then
			}
			t.Fatalf("%q: %+v, %v", text, v, err)
		}
		if err := d.Change(t.Context(), count("grep")); !errors.As(err, &damage) {
			t.Fatalf("%q: %v", text, err)
		}
		if now, err := os.ReadFile(d.Path); err != nil || !bytes.Equal(now, text) {
			t.Fatalf("%q became %q, %v", text, now, err)
		}
		var aside string
		begins := d
		begins.Aside = func(path string, why error) { aside = path }
		if err := begins.Change(t.Context(), count("grep")); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, text) {
			t.Fatalf("%q was kept as %q, %v", text, kept, err)
		}
		if now, err := os.ReadFile(d.Path); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("after %q: %q, %v", text, now, err)
		}
	}
}

// What a newer version has written is neither read nor set aside, whatever types it has.
func TestANewerDocument(t *testing.T) {
	d := documentIn(t.TempDir())
	d.Aside = func(path string, why error) { t.Errorf("%s is set aside: %v", path, why) }
	for _, text := range []string{`{"schema":3}`, `{"schema":3,"calls":[1]}`} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(d.Path), 0o700), os.WriteFile(d.Path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Read(); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v", text, err)
		}
		if err := d.Change(t.Context(), count("grep")); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v", text, err)
		}
		if now, err := os.ReadFile(d.Path); err != nil || string(now) != text {
			t.Errorf("%s became %s, %v", text, now, err)
		}
	}
}

// Writers that change a document at once lose nothing, and a reader sees whole values only. A killed one's half-written file is in nobody's way.
func TestWritersOfADocument(t *testing.T) {
	d := documentIn(t.TempDir())
	if err := errors.Join(os.MkdirAll(filepath.Dir(d.Path), 0o700), os.WriteFile(d.Path+".tmp-KILLED", []byte(`{"sch`), 0o600)); err != nil {
		t.Fatal(err)
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	readers.Go(func() {
		for {
			if _, err := d.Read(); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 8 {
		writers.Go(func() {
			for range 10 {
				if err := d.Change(t.Context(), count(fmt.Sprint("tool", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	v, err := d.Read()
	for i := range 8 {
		if n := v.Calls[fmt.Sprint("tool", i)]; n != 10 || err != nil {
			t.Errorf("tool%d: %d, %v", i, n, err)
		}
	}
	if info, err := os.Stat(d.Path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// An edit that fails or changes nothing writes nothing.
func TestADocumentStays(t *testing.T) {
	d := documentIn(t.TempDir())
	if err := d.Change(t.Context(), count("grep")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if err := d.Change(t.Context(), func(v *tally) error { v.Calls = nil; return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := d.Change(t.Context(), func(*tally) error { return nil }); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(d.Path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written anew, or %v", err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(d.Path), "*"))
	if err != nil || len(names) != 2 || !strings.HasSuffix(names[1], ".lock") {
		t.Errorf("%q, %v", names, err)
	}
}
