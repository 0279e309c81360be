// Command vocabgen writes the tables of package vocab.
//
//	go run ./internal/vocabgen -out internal/vocab      from the folder of package tokens
//
// It reads the published rank files of o200k_base and cl100k_base from the module
// github.com/pkoukk/tiktoken-go-loader and the character classes from package unicode
// (Unicode 15.0, which is also what the compared library uses), replays the merges to find
// from which two tokens each was made, and writes o200k.bin, cl100k.bin, text.bin and class.bin. The
// output depends on nothing else, so running it again changes nothing; its test says so.
package main

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkoukk/tiktoken-go-loader/assets"

	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

func main() {
	out := flag.String("out", ".", "the folder to write the tables to")
	flag.Parse()
	files, err := tables()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vocabgen:", err)
		os.Exit(1)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(*out, name), content, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "vocabgen:", err)
			os.Exit(1)
		}
	}
}

// tables returns the content of every file to write, by its name.
func tables() (map[string][]byte, error) {
	sources := map[string]string{
		"o200k.bin":  "o200k_base.tiktoken",
		"cl100k.bin": "cl100k_base.tiktoken",
	}
	vocabularies := map[string][]string{}
	var all []string
	for name, source := range sources {
		tokens, err := ranks(source)
		if err != nil {
			return nil, err
		}
		vocabularies[name] = tokens
		all = append(all, tokens...)
	}
	text := sharedText(all)
	files := map[string][]byte{
		"class.bin": classes(),
		"text.bin":  append([]byte(text), make([]byte, vocab.PadBytes)...),
	}
	for name, tokens := range vocabularies {
		var err error
		if files[name], err = table(tokens, text); err != nil {
			return nil, fmt.Errorf("%s: %w", sources[name], err)
		}
	}
	return files, nil
}

// ranks returns the tokens of a rank file by rank: a line is the base64 of a token's bytes, a space, its rank. The ranks must be 0 to n-1.
func ranks(source string) ([]string, error) {
	text, err := assets.Assets.ReadFile(source)
	if err != nil {
		return nil, err
	}
	byRank := map[int]string{}
	for line := range strings.Lines(string(text)) {
		encoded, number, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		token, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", source, line, err)
		}
		rank, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", source, line, err)
		}
		byRank[rank] = string(token)
	}
	tokens := make([]string, len(byRank))
	for i := range tokens {
		token, ok := byRank[i]
		if !ok {
			return nil, fmt.Errorf("%s: rank %d is missing: the table needs ranks without gaps", source, i)
		}
		tokens[i] = token
	}
	return tokens, nil
}
