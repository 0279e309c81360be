// Command rulegen writes tokens.txt, the table of token formats of package secrets.
//
//	go run ./internal/secrets/rulegen -gitleaks config/gitleaks.toml -kingfisher data/rules -date 2026-11-27 -out internal/secrets/tokens.txt
//
// It reads two lists that others keep: the rules of gitleaks (github.com/gitleaks/gitleaks, config/gitleaks.toml, MIT) and of
// Kingfisher (github.com/mongodb/kingfisher, data/rules, Apache 2.0), from files that were fetched before, and adds extra.txt,
// our own list of formats that neither has.
//
// Their rules are regular expressions of 300 KB each when compiled. Most say the same thing: a fixed prefix, then at least so many
// characters of an alphabet. Only that is taken, as one line of the table: prefix, alphabet, least and largest number of characters.
// A rule that has no fixed prefix ("the word adobe, and 32 hexadecimal digits after it") is left out: such values are found by the
// name that they are given under. With -v it tells which rules were left out, and why.
//
// Formats get longer over the years, and lists lag behind. So a prefix that stands for nothing else (it has six characters, or a
// sign that is not a letter) is taken with any number of characters from 20 on; one of few letters (AKIA) keeps its exact length.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

//go:embed extra.txt
var extra string

func main() {
	gitleaks := flag.String("gitleaks", "", "the file gitleaks.toml")
	kingfisher := flag.String("kingfisher", "", "the folder with Kingfisher's rules")
	date := flag.String("date", "", "when both were fetched")
	out := flag.String("out", "tokens.txt", "the file to write")
	verbose := flag.Bool("v", false, "tell which rules are left out")
	flag.Parse()
	said := io.Discard
	if *verbose {
		said = os.Stderr
	}
	if err := generate(*gitleaks, *kingfisher, *date, *out, said); err != nil {
		fmt.Fprintln(os.Stderr, "rulegen:", err)
		os.Exit(1)
	}
}

// A source is one regular expression of a list, with the name of its rule.
type source struct{ id, expr string }

// generate writes the table of the formats of both lists and of extra.txt to out. It tells said of the rules that it leaves out.
func generate(gitleaks, kingfisher, date, out string, said io.Writer) error {
	sources, err := readGitleaks(gitleaks)
	if err != nil {
		return err
	}
	more, err := readKingfisher(kingfisher)
	if err != nil {
		return err
	}
	own, left, err := parseTable(extra)
	if err != nil {
		return err
	}
	formats := own
	for _, s := range append(sources, more...) {
		found, err := formatsOf(s.expr)
		if err != nil {
			fmt.Fprintf(said, "%s: %v\n", s.id, err)
			continue
		}
		for _, f := range found {
			if !slices.Contains(left, f.prefix) {
				formats = append(formats, f)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Token formats: prefix, alphabet, least and largest number of characters after the prefix.\n"+
		"# Written by rulegen from the rules of gitleaks (MIT), Kingfisher (Apache 2.0), both as of %s, and extra.txt. Do not edit.\n", date)
	for _, f := range reduce(formats) {
		fmt.Fprintln(&b, f)
	}
	return os.WriteFile(out, []byte(b.String()), 0o644)
}

func readGitleaks(name string) ([]source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list struct {
		Rules []struct{ ID, Regex string }
	}
	if err := toml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var sources []source
	for _, r := range list.Rules {
		sources = append(sources, source{r.ID, r.Regex})
	}
	return sources, nil
}

// readKingfisher returns the rules in the files *.yml of a folder, without those that are not visible. No files are an error.
func readKingfisher(folder string) ([]source, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.yml"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no rules in the folder " + folder)
	}
	slices.Sort(names)
	var sources []source
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var list struct {
			Rules []struct {
				ID, Pattern string
				Visible     *bool
			}
		}
		if err := yaml.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range list.Rules {
			if r.Visible != nil && !*r.Visible {
				continue // it finds what belongs to a secret, as an account's name
			}
			sources = append(sources, source{r.ID, plainExpr(r.Pattern)})
		}
	}
	return sources, nil
}
