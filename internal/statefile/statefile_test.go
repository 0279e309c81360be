package statefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

func TestRegularFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if _, err := statefile.Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("0123456789"); err != nil {
		t.Error(err)
	}
	_ = f.Close()
	if text, err := statefile.Read(path, 10); err != nil || string(text) != "0123456789" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := statefile.Read(path, 9); err == nil {
		t.Error("a file over the bound was read")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if f, err = statefile.OpenIn(root, "f", os.O_RDWR|os.O_TRUNC, 0); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if text, err := statefile.Read(path, 10); err != nil || len(text) != 0 {
		t.Errorf("after O_TRUNC: %q, %v", text, err)
	}
}
