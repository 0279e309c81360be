package tokens

// kind classifies a piece of text by its content. Tokenizers differ by kind far more than by model
// size: one has a token for every number up to 999, the next one for each digit.
type kind uint8

const (
	words    kind = iota // ASCII letters, one space before them included
	digits               // numbers
	marks                // ASCII punctuation
	blanks               // white space on its own
	dense                // letters and digits without words: base64, hexadecimal, ids
	european             // Latin with accents, Greek, Cyrillic
	cjk                  // Han, kana, Hangul
	scripts              // the other alphabets: Arabic, Hebrew, Indic, Thai, …
	symbols              // emoji, arrows, typographic signs
	kinds
)

// mix counts the o200k (or cl100k) tokens and bytes of a text by kind.
type mix struct {
	tokens, bytes [kinds]int32
}

// kindOfByte is the kind of a piece that ends in this ASCII byte, or whose first byte beyond ASCII is this one.
var kindOfByte = func() (k [256]kind) {
	for b := range 256 {
		switch {
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z':
			k[b] = words
		case b >= '0' && b <= '9':
			k[b] = digits
		case b <= ' ':
			k[b] = blanks
		case b < 0x80:
			k[b] = marks
		case b < 0xd4: // up to U+04FF
			k[b] = european
		case b < 0xe2: // up to U+1FFF
			k[b] = scripts
		case b == 0xe2 || b >= 0xee: // U+2000–2FFF, U+E000 and above
			k[b] = symbols
		default:
			k[b] = cjk
		}
	}
	return k
}()

// add adds a piece of n tokens to its kind, which is judged by one of its characters.
func (m *mix) add(piece []byte, n int) {
	last := piece[len(piece)-1]
	k := kindOfByte[last]
	if last >= 0x80 {
		i := 0
		for piece[i] < 0x80 {
			i++
		}
		k = kindOfByte[piece[i]]
	} else if k == blanks {
		k = kindOfByte[piece[0]] // punctuation takes the line ends behind it
		if k != marks {
			k = blanks
		}
	}
	m.tokens[k] += int32(n)
	m.bytes[k] += int32(len(piece))
}

// denseFrom is the least number of bytes that can be called dense.
const denseFrom = 48

// moveDense moves the counts of letters and digits to dense if they are not words: o200k has 4 to 6 bytes of English or of code in a token,
// but 1.3 to 1.8 of base64, hexadecimal and random ids.
func (m *mix) moveDense() {
	n, b := m.tokens[words]+m.tokens[digits], m.bytes[words]+m.bytes[digits]
	if b < denseFrom || int64(n)*24 < int64(b)*10 {
		return
	}
	m.tokens[dense] += n
	m.bytes[dense] += b
	m.tokens[words], m.tokens[digits], m.bytes[words], m.bytes[digits] = 0, 0, 0, 0
}

// plus adds the counts of o.
func (m *mix) plus(o *mix) {
	for k := range kinds {
		m.tokens[k] += o.tokens[k]
		m.bytes[k] += o.bytes[k]
	}
}

// size returns the number of bytes counted.
func (m *mix) size() (n int) {
	for _, b := range m.bytes {
		n += int(b)
	}
	return n
}

// total returns the number of tokens, in the encoding that was used.
func (m *mix) total() (n int) {
	for _, t := range m.tokens {
		n += int(t)
	}
	return n
}
