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
