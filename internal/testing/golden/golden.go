package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const update = "update"

func init() {
	if flag.Lookup(update) == nil { // a library for tests may have one of its own, which then counts for both
		flag.Bool(update, false, "write what is expected anew")
	}
}

// Update reports whether -update was given: expectations are to be written, not compared.
func Update() bool {
	given, ok := flag.Lookup(update).Value.(flag.Getter)
	return ok && given.Get() == true
}

// Check compares got with the file, or writes the file when -update was given.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if Update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if want := string(body); got != want {
		t.Errorf("%s is another one (-: recorded, +: now; if that is meant, -update writes it anew):\n%s", file, difference(want, got))
	}
}

// difference lists the lines that only one of both has, in the order in which they come, at most 40 of them.
func difference(want, got string) string {
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]++
	}
	var added, removed []string
	for line := range strings.Lines(got) {
		if count[line]--; count[line] < 0 {
			added = append(added, "+ "+strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(want) {
		if count[line] > 0 {
			count[line]--
			removed = append(removed, "- "+strings.TrimSuffix(line, "\n"))
		}
	}
	lines := append(removed, added...)
	if len(lines) == 0 {
		return "(the same lines in another order, or another end)"
	}
	if len(lines) > 40 {
		lines = append(lines[:40], "…")
	}
	return strings.Join(lines, "\n")
}
