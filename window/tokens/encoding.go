package tokens

import (
	"sync"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

// Encoding counts the tokens of one published vocabulary exactly. It is safe for
// concurrent use and holds no memory but pooled scratch.
//
// Text that looks like a special token ("<|endoftext|>") is ordinary text: that is how
// providers treat what users and tools wrote. A byte that is not UTF-8 counts as U+FFFD,
// the character every JSON decoder puts in its place.
type Encoding struct {
	name  string
	table *vocab.Table
	split func(text []byte, i int) int
	pool  sync.Pool
}

// newEncoding returns an encoding; split returns the end of the piece of text that begins at i.
func newEncoding(name string, table *vocab.Table, split func([]byte, int) int) *Encoding {
	e := &Encoding{name: name, table: table, split: split}
	e.pool.New = func() any { return new(scratch) }
	return e
}

// O200K is o200k_base, the vocabulary of GPT-4o, GPT-4.1, GPT-5 and the o series.
var O200K = sync.OnceValue(func() *Encoding { return newEncoding("o200k_base", vocab.O200K(), splitO200K) })

// CL100K is cl100k_base, the vocabulary of GPT-4, GPT-4 Turbo and GPT-3.5 Turbo.
var CL100K = sync.OnceValue(func() *Encoding { return newEncoding("cl100k_base", vocab.CL100K(), splitCL100K) })

// Name returns the published name, such as "o200k_base".
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of text. It takes time linear in the length of any text, and allocates nothing but, for a single piece
// of kilobytes, scratch of up to five times its size. A piece of more than 4 MiB (letters only, say) is counted in parts of that size, so
// that the scratch is bounded; the sum may then be a token or two too high for each part.
func (e *Encoding) Count(text []byte) int {
	s := e.scratch()
	defer e.release(s)
	return e.countText(s, text, nil)
}

// countText returns the number of tokens in text, which need not be UTF-8, and adds them by kind to m unless m is nil.
func (e *Encoding) countText(s *scratch, text []byte, m *mix) int {
	if utf8.Valid(text) {
		return e.count(s, text, m)
	}
	st := stream{e: e, s: s, m: m}
	st.writeText(text)
	return st.close()
}

// Append appends the tokens of text to dst.
func (e *Encoding) Append(dst []uint32, text []byte) []uint32 {
	s := e.scratch()
	defer e.release(s)
	if !utf8.Valid(text) {
		text = []byte(string([]rune(string(text))))
	}
	for i := 0; i < len(text); {
		end := e.split(text, i)
		p := text[i:min(end, i+maxPiece)]
		i += len(p)
		if len(p) <= e.table.Longest() {
			if id, ok := e.table.Find(p, vocab.Hash(p)); ok {
				dst = append(dst, id)
				continue
			}
		}
		dst = append(dst, s.encode(e.table, p)...)
	}
	return dst
}

// Bytes returns the bytes of a token, which must not be changed; nil for a number that is not a token.
func (e *Encoding) Bytes(token uint32) []byte {
	if int64(token) >= int64(e.table.Count()) {
		return nil
	}
	return e.table.Bytes(token)
}

// scratch takes working memory from the pool; release puts it back.
func (e *Encoding) scratch() *scratch { return e.pool.Get().(*scratch) }

// release puts working memory back into the pool.
func (e *Encoding) release(s *scratch) {
	s.trim()
	e.pool.Put(s)
}

// count returns the number of tokens in valid UTF-8, and adds them by kind to m unless m is nil.
func (e *Encoding) count(s *scratch, text []byte, m *mix) int {
	total := 0
	for i := 0; i < len(text); {
		end := e.split(text, i)
		n := end - i
		var tokens int
		if n > 16 {
			tokens = e.countLong(s, text[i:end])
		} else {
			lo, hi := vocab.Load(text, i, n)
			hash := vocab.HashShort(lo, hi, n)
			known := &s.known[hash>>(64-knownBits)]
			if known.lo != lo || known.hi != hi || int(known.length) != n {
				known.lo, known.hi, known.length, known.tokens = lo, hi, uint32(n), 1
				if _, ok := e.table.FindShort(lo, hi, n, hash); !ok {
					known.tokens = uint32(len(s.encode(e.table, text[i:end])))
				}
			}
			tokens = int(known.tokens)
		}
		if m != nil {
			m.add(text[i:end], tokens)
		}
		total += tokens
		i = end
	}
	return total
}

// countLong counts one piece of more than 16 bytes. A piece over maxPiece is cut, which may cost a token or two.
func (e *Encoding) countLong(s *scratch, p []byte) (n int) {
	for ; len(p) > maxPiece; p = p[maxPiece:] {
		n += len(s.encode(e.table, p[:maxPiece]))
	}
	if len(p) <= e.table.Longest() {
		if _, ok := e.table.Find(p, vocab.Hash(p)); ok {
			return n + 1
		}
	}
	return n + len(s.encode(e.table, p))
}
