package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What go generate would write is what is there.
func TestTableIsFresh(t *testing.T) {
	kept := filepath.Join("..", "..", "..", "..", "window", "models", "catalogue.json")
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalogue.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable("", "", dir); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(filepath.Join(dir, "table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if old, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "window", "models", "table.txt")); err != nil || string(old) != string(fresh) {
		t.Errorf("table.txt is not what the catalogue gives (%v): run go generate ./window/models", err)
	}
}

func TestBadCatalogues(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"date":"2026-07-02"}`, `{"date":"d","licence":"l","providers":{"p":{"m":"x"}}}`} {
		if table, err := tableOf([]byte(text)); err == nil {
			t.Errorf("%q gives %q", text, table)
		}
	}
}
