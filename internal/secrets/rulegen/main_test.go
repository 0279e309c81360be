package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestFormatsOfARule(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`\b(abc_[a-zA-Z0-9]{36})(?:[\x60'"\s;]|\\[nr]|$)`:              "abc_ alnum 20 0",
		`(?i)\b(abc-[a-f0-9]{12})\b`:                                   "abc- hex 12 0",
		`(?:ab|cd)[xy]_[\w-]{40,50}`:                                   "abx_ url 20 0; aby_ url 20 0; cdx_ url 20 0; cdy_ url 20 0",
		`\b(?:ABCD|EFGH)[A-Z2-7]{16}\b`:                                "ABCD alnum 16 16; EFGH alnum 16 16",
		`(?i)vendor(?:.|[\n\r]){0,32}?\b(tk9\.v1_[0-9A-Za-z]{71}=)`:    "tk9.v1_ any 72 0",
		`(?i)vendor(?:.|[\n\r]){0,32}?(?:KEY|TOKEN)\b([0-9a-f]{32})\b`: "",
		`[a-z0-9]{14}\.atlas\.[a-z0-9]{60}`:                            "",
		`\bab[a-f0-9]{32}\b`:                                           "",
	} {
		list, err := formatsOf(expr)
		var got []string
		for _, f := range list {
			got = append(got, f.String())
		}
		if strings.Join(got, "; ") != want || (err != nil) != (want == "") {
			t.Errorf("%s gives %q and %v, want %q", expr, got, err, want)
		}
	}
}

func TestTheTableComesFromBothListsAndOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		testfile.Write(t, name, text)
		return name
	}
	gitleaks := write("gitleaks.toml", "[[rules]]\nid = \"a\"\nregex = '''\\baaa_[a-z0-9]{30}\\b'''\n")
	write("b.yml", "rules:\n  - id: b\n    pattern: |\n      (?xi)\n      \\b\n      ( bbb_[a-z0-9]{30} )  # it\n      \\b\n  - id: c\n    visible: false\n    pattern: ccc_[a-z0-9]{30}\n")
	out := filepath.Join(dir, "tokens.txt")
	if err := generate(gitleaks, dir, "2026-01-02", out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, out)
	for _, want := range []string{"\naaa_ alnum 20 0\n", "\nbbb_ alnum 20 0\n", "\nsk- url 20 0\n", "2026-01-02"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "ccc_") {
		t.Error("what is no secret is in the table")
	}
}

// Nobody has edited the table by hand, as far as can be known without the lists.
func TestTheTableHasOurOwnFormats(t *testing.T) {
	t.Parallel()
	text := testfile.Read(t, "../tokens.txt")
	table, _, err := parseTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	own, left, err := parseTable(extra)
	if err != nil {
		t.Fatal(err)
	}
	if again := reduce(append(own, table...)); len(again) != len(table) {
		t.Errorf("it has %d formats, and %d with our own: run rulegen", len(table), len(again))
	}
	for _, f := range table {
		for _, prefix := range left {
			if f.prefix == prefix && !strings.Contains(extra, "\n"+f.String()+"\n") {
				t.Errorf("%s was to be left out", f)
			}
		}
	}
}
