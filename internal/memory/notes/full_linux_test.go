package notes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
)

// On a full disk each command that writes says so and changes nothing: the notes and the profile are as they were, and nothing is left half-written. When there
// is room again they go on.
func TestAFullDisk(t *testing.T) {
	dir := smalldisk.New(t, "size=256k")
	changed := 0
	d, err := notes.Open(notes.Options{Dir: filepath.Join(dir, "notes"), Changed: func(string, string, bool) { changed++ }})
	if err != nil {
		t.Fatal(err)
	}
	do := func(c notes.Command) error {
		_, err := d.Execute(t.Context(), c)
		return err
	}
	if err := do(notes.Command{Command: "create", Path: "/memories/a.md", FileText: "the first wording\n"}); err != nil {
		t.Fatal(err)
	}
	p := notes.NewProfile(notes.ProfileOptions{Dir: filepath.Join(dir, "profile")})
	if _, err := p.Pin(t.Context(), "Answer in English"); err != nil {
		t.Fatal(err)
	}
	empty := smalldisk.Fill(t, dir)
	before := changed
	long := strings.Repeat("more words of it\n", 1000)
	for _, c := range []notes.Command{
		{Command: "create", Path: "/memories/b.md", FileText: long},
		{Command: "str_replace", Path: "/memories/a.md", OldStr: "first", NewStr: long},
		{Command: "insert", Path: "/memories/a.md", InsertText: long},
	} {
		if err := do(c); err == nil || !strings.Contains(err.Error(), c.Path) || !strings.Contains(err.Error(), "Make room on the disk") || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", c.Command, err)
		}
	}
	if _, err := p.Pin(t.Context(), "Be short"); err == nil || !strings.Contains(err.Error(), "make room on the disk of "+dir) {
		t.Error(err)
	}
	same := func() {
		t.Helper()
		text, err := d.Read("/memories/a.md")
		list, listed := d.List()
		if err != nil || listed != nil || text != "the first wording\n" || len(list) != 1 || changed != before {
			t.Errorf("%q, %v, %v; %+v, %v", text, err, listed, list, changed-before)
		}
		if text, err := p.InForce(); err != nil || text != "- Answer in English" {
			t.Errorf("%q, %v", text, err)
		}
	}
	same()
	empty()
	same()
	for _, sub := range []string{"notes", "profile"} {
		names, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range names {
			if strings.Contains(e.Name(), ".tmp-") {
				t.Errorf("%s is left", e.Name())
			}
		}
	}
	if err := do(notes.Command{Command: "create", Path: "/memories/b.md", FileText: long}); err != nil {
		t.Error(err)
	}
	if _, err := p.Pin(t.Context(), "Be short"); err != nil {
		t.Error(err)
	}
}
