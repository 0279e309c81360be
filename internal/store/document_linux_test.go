package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
)

// On a full disk a document stays as it was, nothing half-written stays beside it, and when there is room again it goes on.
func TestADocumentOnAFullDisk(t *testing.T) {
	dir := smalldisk.New(t, "size=64k")
	d := documentIn(dir)
	d.Max = 1 << 20
	if err := d.Change(t.Context(), count("grep")); err != nil {
		t.Fatal(err)
	}
	empty := smalldisk.Fill(t, dir)
	many := func(v *tally) error {
		for i := range 1000 {
			v.Calls[fmt.Sprint("tool", i)] = i
		}
		return nil
	}
	if err := d.Change(t.Context(), many); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	if v, err := d.Read(); err != nil || len(v.Calls) != 1 || v.Calls["grep"] != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if names, err := os.ReadDir(filepath.Dir(d.Path)); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	empty()
	if err := d.Change(t.Context(), many); err != nil {
		t.Error(err)
	}
	if v, err := d.Read(); err != nil || len(v.Calls) != 1001 {
		t.Errorf("%d, %v", len(v.Calls), err)
	}
}
