package index

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// leastInflected is the number of bytes that two forms of a word have in common at least.
const leastInflected = 5

// Similarity returns how surely a word of a question means another one, from 0 to 1. It is above 0 for the same word with a letter off, a beginning
// of it (kube, kubernetes), one with a number for its inner letters (k8s), or another form. Both are in lower case.
func Similarity(asked, word string) float64 {
	switch {
	case asked == word:
		return 1
	case asked == "" || word == "" || asked[0] != word[0]:
		return 0
	case len(asked) <= 4 && isNumeronym(asked):
		return oneIf(numeronym(word) == asked)
	case len(word) <= 4 && isNumeronym(word):
		return oneIf(numeronym(asked) == word)
	case Inflected(asked, word):
		return 0.9
	}
	short, long := asked, word
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) < 4 || hasSign(asked) || hasSign(word) {
		return 0
	}
	switch longer := len(long) - len(short); {
	case strings.HasPrefix(word, asked), strings.HasPrefix(asked, word) && isNameEnding(asked[len(word):]):
		return 0.9
	case len(short) >= 5 && longer <= 1 && editsWithin(asked, word, 1):
		return oneIf(longer == 1 || asked[1] == word[1] || asked[1] == word[2]) * 0.9 // a mango is no Mongo
	case len(short) >= 9 && longer <= 2 && editsWithin(asked, word, 2):
		return 0.9
	}
	return 0
}

// isNameEnding reports whether names are as often written with this ending as without: ReactJS, PostgreSQL. With another ending it is another word: a
// reactor is not about React.
func isNameEnding(end string) bool {
	switch end {
	case "js", "db", "sql", "ql", "lang", "app", "hub":
		return true
	}
	return false
}

// hasSign reports whether a word has a digit or a sign: with another one it is another name.
func hasSign(word string) bool {
	for i := range len(word) {
		if c := word[i]; c < utf8.RuneSelf && (class[c] == isDigit || class[c] == isJoiner) {
			return true
		}
	}
	return false
}

// oneIf returns 1 if the condition holds, else 0.
func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// Inflected reports whether two words differ in a short ending only, as the forms of one word do in many languages: Datenbank, Datenbanken.
func Inflected(a, b string) bool {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return same >= leastInflected && len(a)-same <= 3 && len(b)-same <= 3 && 4*same >= 3*max(len(a), len(b))
}

// isNumeronym reports whether a word is a letter, the number of those that are left out, and the last letter.
func isNumeronym(word string) bool {
	n := len(word)
	if n < 3 || n > 4 || word[1] < '0' || word[1] > '9' || word[0] < 'a' || word[n-1] < 'a' || word[0] > 'z' || word[n-1] > 'z' {
		return false
	}
	_, err := strconv.ParseUint(word[1:n-1], 10, 8)
	return err == nil
}

// numeronym returns a word with a number for its inner letters: k8s for kubernetes; "" if it is shorter than 5 bytes.
func numeronym(word string) string {
	if len(word) < 5 {
		return ""
	}
	return word[:1] + strconv.Itoa(len(word)-2) + word[len(word)-1:]
}

// editsWithin reports whether at most most letters of a are changed, missing, too many or swapped with the next one in b. It is
// false for words of more than 64 bytes.
func editsWithin(a, b string, most int) bool {
	const longest = 64
	if len(a) > longest || len(b) > longest || most < max(len(a)-len(b), len(b)-len(a)) {
		return false
	}
	var rows [3][longest + 2]int
	for j := range min(len(b), most) + 1 {
		rows[0][j] = j
	}
	rows[0][min(len(b), most)+1] = most + 1
	for i := 1; i <= len(a); i++ {
		row, up, upper := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		// A letter that is further off its place than most has more edits. So only those about the diagonal are looked at, and what is beside them
		// counts as too many.
		from, to := max(i-most, 1), min(i+most, len(b))
		row[from-1], row[to+1] = most+1, most+1
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], upper[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return false
		}
	}
	return rows[len(a)%3][len(b)] <= most
}
