package reasoning

import (
	"slices"
	"strings"
)

// version is that of a model within its family.
type version struct{ major, minor int }

// newest is the version of a name that has none.
var newest = version{1 << 20, 0}

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

// maxName bounds what is read of a name, in bytes.
const maxName = 256

// parse finds the family of the table that a model's name has a word of, and the version behind or before
// that word; no family where there is none. In a name with vendors and platforms around it the last word
// counts: "openrouter/anthropic/claude-opus-5.5".
func parse(model string) (string, version) {
	model = strings.ToLower(model[:min(len(model), maxName)])
	words := strings.FieldsFunc(model, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(open, w) }) {
		return "", version{}
	}
	for i := len(words) - 1; i >= 0; i-- {
		letters := strings.TrimRight(words[i], "0123456789")
		if !slices.ContainsFunc(table[:], func(l line) bool { return l.family == letters }) {
			continue
		}
		digits := words[i][len(letters):]
		if letters == "o" {
			if digits == "" || i > 0 && words[i-1] == "4" {
				continue // not the name of a model: "gpt-4-o"
			}
			return letters, version{}
		}
		return letters, find(digits, words[i+1:])
	}
	return "", version{}
}

// find reads a version: that which is written to the family's word ("gpt5.5"), else the first number
// among the words behind it, other words between them skipped ("claude-3-5-sonnet", "claude-opus-5-5").
// A date is none.
func find(digits string, words []string) version {
	at := 0
	if digits == "" {
		if len(words) > 0 {
			words[0] = strings.TrimPrefix(words[0], "v") // Bedrock's "claude-v2:1"; the v1 at the end of others is none
		}
		for at < len(words) && number(words[at]) < 0 && !isDate(words[at]) {
			at++
		}
		if at == len(words) || isDate(words[at]) {
			return newest
		}
		digits = words[at]
		at++
	}
	v := version{major: number(digits)}
	if v.major >= 20 { // Azure's "gpt-35-turbo"
		return version{v.major / 10, v.major % 10}
	}
	if at < len(words) && len(words[at]) <= 2 && isDigits(words[at]) {
		v.minor = number(words[at])
	}
	return v
}

// number reads a word such as 5 or 4o; -1 when it is no version.
func number(word string) int {
	word = strings.TrimSuffix(word, "o")
	if len(word) == 0 || len(word) > 2 || !isDigits(word) {
		return -1
	}
	n := 0
	for i := range len(word) {
		n = n*10 + int(word[i]-'0')
	}
	return n
}

func isDate(word string) bool { return len(word) >= 4 && isDigits(word) }

func isDigits(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}
	return word != ""
}
