// Package testfile writes and reads the files of tests. What fails ends the test.
//
//	testfile.Write(t, filepath.Join(dir, "sub", "settings.toml"), "memory_max = 1\n")
//	text := testfile.Read(t, path)
//
// A test that is about rights, links or missing folders calls package os.
package testfile

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes a file that only its owner reads, and makes the folders that it is in.
func Write[T ~string | ~[]byte](t testing.TB, path string, content T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
