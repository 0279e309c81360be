package extract

import "math"

// A token is a word that a later turn may need literally.
type token struct {
	hash   uint64
	weight float32
	from   int32
	to     int32 // in the line
}

// Weights of a token by what it looks like. Paths and identifiers cannot be guessed again;
// a bare number means something only with its line.
const (
	weightPath       = 3.0
	weightIdentifier = 3.0
	weightNumber     = 2.0
	weightCapital    = 1.0 // a name: "Grafana", "KubeCon"
	weightShort      = 0.3 // two digits: a day, a byte of a dump
)

// maxTokens bounds the tokens of one line.
const maxTokens = 16

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// class maps a byte to its role in a word: 'd' a digit, 'U' and 'l' a capital and a small letter, 'x' not ASCII, 'p' a sign that may stand
// in a word; 0 ends the word.
var class = func() (c [256]byte) {
	for i := range c {
		switch {
		case i >= '0' && i <= '9':
			c[i] = 'd'
		case i >= 'A' && i <= 'Z':
			c[i] = 'U'
		case i >= 'a' && i <= 'z':
			c[i] = 'l'
		case i >= 0x80:
			c[i] = 'x'
		case i == '_' || i == '-' || i == '.' || i == '/' || i == '\\' || i == ':' || i == '@' || i == '#' || i == '+' || i == '%' || i == '~':
			c[i] = 'p'
		}
	}
	return c
}()

// scanTokens sets the template of a line (a hash of it with every word that has a digit replaced), its shape (a hash of it with every word
// replaced), its tokens, in buf, and the number of its words that a person would read.
func (l *line) scanTokens(buf []token) {
	text := l.text
	template, shape := uint64(fnvOffset), uint64(fnvOffset)
	l.tokens = buf[:0]
	for i := 0; i < len(text); {
		c := class[text[i]]
		if c == 0 {
			template = (template ^ uint64(text[i])) * fnvPrime
			if text[i] != ' ' && text[i] != '\t' { // tables are padded
				shape = (shape ^ uint64(text[i])) * fnvPrime
			}
			i++
			continue
		}
		end := i
		hash := uint64(fnvOffset)
		var digit, lower, upper, other, hump, under, slash, dot, inner bool
		run, longest := 0, 0 // of letters
		for end < len(text) && class[text[end]] != 0 {
			b := text[end]
			hash = (hash ^ uint64(b)) * fnvPrime
			if k := class[b]; k == 'l' || k == 'U' || k == 'x' {
				run++
				longest = max(longest, run)
			} else {
				run = 0
			}
			switch class[b] {
			case 'd':
				digit = true
			case 'l':
				lower = true
			case 'U':
				if lower {
					hump = true
				}
				upper = true
			case 'x':
				other = true
			default:
				switch {
				case b == '_':
					under = true
				case b == '/' || b == '\\':
					slash = true
				case b == '.' && end+1 < len(text) && class[text[end+1]] != 0 && class[text[end+1]] != 'p':
					dot = end > i
				case end+1 < len(text) && class[text[end+1]] != 0 && end > i:
					inner = true // a dash, colon or @ inside
				}
			}
			end++
		}
		switch {
		case digit:
			template = (template ^ '0') * fnvPrime
			shape = (shape ^ '0') * fnvPrime
		case slash || dot:
			template = (template ^ hash) * fnvPrime
			shape = (shape ^ '/') * fnvPrime
		default:
			template = (template ^ hash) * fnvPrime
			shape = (shape ^ 'a') * fnvPrime
		}
		from, to := trimWord(text, i, end)
		i = end
		letters := lower || upper || other
		if longest >= 3 && (!digit || slash || dot) {
			l.words++
		}
		var weight float32
		switch n := to - from; {
		case n < 2:
		case slash && n >= 4 && letters:
			weight = weightPath
		case dot && longest >= 2 && n >= 4:
			weight = weightPath
		case digit && letters && n >= 3, under && letters && n >= 4, hump && n >= 4:
			weight = weightIdentifier
		case inner && letters && n >= 6:
			weight = weightIdentifier / 2 // a word with a dash, or key:value
		case digit && n >= 3:
			weight = weightNumber
		case digit:
			weight = weightShort
		case upper && n >= 3 && !startsSentence(text, from):
			weight = weightCapital
		}
		if weight > 0 && len(l.tokens) < maxTokens {
			if from > 0 || to < end { // trimmed: hash what is left
				hash = fnvOffset
				for k := from; k < to; k++ {
					hash = (hash ^ uint64(text[k])) * fnvPrime
				}
			}
			l.tokens = append(l.tokens, token{hash: hash, weight: weight, from: int32(from), to: int32(to)})
		}
	}
	l.template, l.shape = template, shape
}

// startsSentence reports whether the word at i begins a sentence, where a capital letter means nothing.
func startsSentence(text string, i int) bool {
	for i > 0 && text[i-1] == ' ' {
		i--
	}
	return i == 0 || text[i-1] == '.' || text[i-1] == '!' || text[i-1] == '?' || text[i-1] == '"'
}

// trimWord returns the word text[from:to] without punctuation at its ends, as new from and to.
func trimWord(text string, from, to int) (int, int) {
	for to > from && (text[to-1] == '.' || text[to-1] == ':' || text[to-1] == '-' || text[to-1] == '#') {
		to--
	}
	for from < to && (text[from] == ':' || text[from] == '-' || text[from] == '+') {
		from++
	}
	return from, to
}

// rarity returns 1 for a word in one of n lines, falling to about 0 for one in all of them.
func rarity(occurs int32, n int) float64 {
	if n < 2 {
		return 1
	}
	return 1 - math.Log(float64(occurs))/math.Log(float64(n)+1)
}
