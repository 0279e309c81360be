package store_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Whatever byte of a line is wrong, or missing at its end, the line is not taken for another one.
func TestAnyWrongByteOfALineIsFound(t *testing.T) {
	text := []byte(`{"at":"2026-11-20T09:12:44Z"}`)
	line := bytes.TrimSuffix(store.AppendLine([]byte("before"), text)[len("before"):], []byte("\n"))
	if got, err := store.Text(line); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%s %v", got, err)
	}
	if n, ok := store.Length(line); !ok || n != len(line) {
		t.Errorf("%d %v", n, ok)
	}
	for i := range line {
		for bit := range 8 {
			wrong := bytes.Clone(line)
			wrong[i] ^= 1 << bit
			if bytes.EqualFold(wrong[:store.Frame], line[:store.Frame]) && i < store.Frame {
				continue // a digit in capitals is the same number
			}
			if _, err := store.Text(wrong); err == nil {
				t.Errorf("byte %d, bit %d is not noticed: %q", i, bit, wrong)
			}
		}
		if _, err := store.Text(line[:i]); err == nil {
			t.Errorf("cut at %d is not noticed", i)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("00000002 00000000 {}"))
	f.Add(store.AppendLine(nil, []byte("{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := store.Text(data); err == nil && !bytes.EqualFold(store.AppendLine(nil, text)[:store.Frame], data[:store.Frame]) {
			t.Errorf("%q passes as %q", data, text)
		}
		again := store.AppendLine(nil, data)
		if text, err := store.Text(again[:len(again)-1]); err != nil || !bytes.Equal(text, data) {
			t.Errorf("%q comes back as %q, %v", data, text, err)
		}
		in, line, total := bufio.NewReaderSize(bytes.NewReader(data), 16), []byte(nil), int64(0)
		for {
			size, whole, err := store.ReadLine(in, &line, 20)
			if err != nil || len(line) > 20 || int64(len(line)) > size {
				t.Fatalf("%d bytes of %d, %v", len(line), size, err)
			}
			total += size
			if !whole {
				break
			}
		}
		if total != int64(len(data)) {
			t.Errorf("%d of %d bytes", total, len(data))
		}
	})
}

func TestSetAside(t *testing.T) {
	dir := t.TempDir()
	root, err := statefile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.MkdirAll(filepath.Join(dir, "a.damaged-20000101T000000.000000000-ABCDEF", "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range store.KeptDamaged + 5 {
		path := filepath.Join(dir, fmt.Sprint("file", i))
		testfile.Write(t, path, fmt.Append(nil, i))
		aside, err := store.SetAsidePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(aside); err != nil || string(text) != fmt.Sprint(i) || !store.IsDamaged(filepath.Base(aside)) {
			t.Errorf("%s: %q %v", aside, text, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "file*"))
	if len(left) > store.KeptDamaged || len(left) < store.KeptDamaged-1 {
		t.Errorf("%d files are kept", len(left))
	}
	if newest, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("file%d.damaged-*", store.KeptDamaged+4))); len(newest) != 1 {
		t.Error("the newest is gone")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.damaged-20000101T000000.000000000-ABCDEF", "kept")); err != nil {
		t.Error("what is in a folder is gone: ", err)
	}
	if _, err := store.SetAside(root, "none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
