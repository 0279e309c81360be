package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAServersLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers", "notes.log")
	line := []byte(strings.Repeat("x", 1000) + "\n")
	for range 2 { // two processes, one after the other
		l := &serverLog{path: path}
		for range 3000 {
			if n, err := l.Write(line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, path + ".1"} {
		text, err := os.ReadFile(p)
		if err != nil || len(text) == 0 || len(text) > maxServerLog || !bytes.HasSuffix(text, line) {
			t.Errorf("%s: %v, %d bytes", p, err, len(text))
		}
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: others may read it: %v, %v", p, info.Mode(), err)
		}
	}
	// A server does not stop for a log that cannot be written.
	l := &serverLog{path: filepath.Join(path, "no.log")}
	if n, err := l.Write(line); n != len(line) || err != nil {
		t.Error(n, err)
	}
}
