package tokens

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The patterns as published. The library is given the long s in so many words, because its
// regular expressions compare lower-case letters where the published encoder's fold case
// as Unicode does: ſ is an s without case, but it has no other lower-case form. With the
// library's own pattern "'ſab" is one piece; the published encoder makes "'ſ" and "ab" of it.
const (
	cl100kPattern = `'ſ|(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200kPattern  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+('ſ|(?i:'s|'t|'re|'ve|'m|'ll|'d))?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('ſ|(?i:'s|'t|'re|'ve|'m|'ll|'d))?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

type pair struct {
	ours  *Encoding
	their func(text []byte) []int
}

var pairs = sync.OnceValue(func() []pair {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	build := func(ours *Encoding, pattern string) pair {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(ours.Name() + ".tiktoken")
		if err != nil {
			panic(err)
		}
		core, err := tiktoken.NewCoreBPE(ranks, map[string]int{"<|endoftext|>": 1 << 20}, pattern)
		if err != nil {
			panic(err)
		}
		enc := tiktoken.NewTiktoken(core, &tiktoken.Encoding{Name: ours.Name(), PatStr: pattern, MergeableRanks: ranks}, nil)
		return pair{ours, func(text []byte) []int { return enc.EncodeOrdinary(string(text)) }}
	}
	return []pair{build(O200K(), o200kPattern), build(CL100K(), cl100kPattern)}
})

// compare holds our tokens, our count and our count of the text as a JSON literal against
// the library's tokens.
func compare(t *testing.T, p pair, name string, text []byte) {
	t.Helper()
	want := p.their(text)
	got := p.ours.Append(nil, text)
	if !slices.EqualFunc(got, want, func(a uint32, b int) bool { return int(a) == b }) {
		i := 0
		for i < min(len(got), len(want)) && int(got[i]) == want[i] {
			i++
		}
		at := 0
		for _, id := range got[:i] {
			at += len(p.ours.Bytes(id))
		}
		from, to := max(at-20, 0), min(at+60, len(text))
		t.Fatalf("%s %s: token %d (byte %d) differs near %q:\n ours   %v\n theirs %v", p.ours.Name(), name, i, at,
			text[min(from, len(text)):to], got[i:min(i+8, len(got))], want[i:min(i+8, len(want))])
	}
	if n := p.ours.Count(text); n != len(want) {
		t.Fatalf("%s %s: Count says %d, the library has %d tokens", p.ours.Name(), name, n, len(want))
	}
	literal, err := json.Marshal(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := p.ours.CountLiteral(literal); n != len(want) {
		t.Fatalf("%s %s: CountLiteral says %d, the library has %d tokens", p.ours.Name(), name, n, len(want))
	}
}

func TestCountIsTheLibrarys(t *testing.T) {
	// The library does two megabytes a second. On a megabyte of each kind the two agree too.
	const size = 40 << 10
	for _, p := range pairs() {
		for _, s := range corpus(t, size) {
			compare(t, p, s.name, s.text)
		}
		// The library takes quadratic time here.
		for _, s := range hostile(1200) {
			compare(t, p, s.name, s.text)
		}
	}
}

func TestEveryTokenOfTheVocabularyIsItself(t *testing.T) {
	for _, p := range pairs() {
		for id := range uint32(p.ours.table.Count()) {
			b := p.ours.Bytes(id)
			if !utf8.Valid(b) || p.ours.split(b, 0) != len(b) {
				continue // never a piece of its own
			}
			if got := p.ours.Append(nil, b); len(got) != 1 || got[0] != id {
				t.Errorf("%s: token %d %q counts as %v", p.ours.Name(), id, b, got)
			}
		}
	}
}

// Random texts of few bytes, so that every pair of neighbours of every class occurs.
func TestShortRandomTextsCountAsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		text := randomText(rng, 1+rng.IntN(12))
		for _, p := range pairs() {
			compare(t, p, "random", text)
		}
	}
}

// Tokens glued together without spaces make pieces that merging takes apart differently
// from how they were put together.
func TestGluedTokensCountAsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range pairs() {
		for range 2000 {
			var text []byte
			for range 2 + rng.IntN(6) {
				text = append(text, bytes.TrimLeft(p.ours.Bytes(rng.Uint32N(uint32(p.ours.table.Count()))), " \n\t")...)
			}
			compare(t, p, "glued", bytes.ToValidUTF8(text, nil))
		}
	}
}

func TestSpecialTokensAreOrdinaryText(t *testing.T) {
	for _, p := range pairs() {
		compare(t, p, "special", []byte("a<|endoftext|>b<|im_start|>system"))
		if n := p.ours.Count([]byte("<|endoftext|>")); n < 2 {
			t.Errorf("%s: <|endoftext|> in text counts as %d token", p.ours.Name(), n)
		}
	}
}

func TestBrokenUTF8CountsAsReplacementCharacters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		text := randomText(rng, 400)
		for range 20 {
			text[rng.IntN(len(text))] = byte(rng.IntN(256))
		}
		repaired := []byte(string([]rune(string(text))))
		for _, p := range pairs() {
			want := p.ours.Count(repaired)
			if got := p.ours.Count(text); got != want {
				t.Fatalf("%s: %q counts as %d, repaired as %d", p.ours.Name(), text, got, want)
			}
			if got := len(p.ours.Append(nil, text)); got != want {
				t.Fatalf("%s: %q has %d tokens, repaired %d", p.ours.Name(), text, got, want)
			}
		}
	}
}

// Chunks must not show: the count of a literal of any length is that of the whole text.
func TestLongLiteralsCountAsTheirText(t *testing.T) {
	size := 3*chunkBytes + 17
	for _, e := range []*Encoding{O200K(), CL100K()} {
		for _, s := range append(corpus(t, size), hostile(size)...) {
			literal, err := json.Marshal(string(s.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := e.CountLiteral(literal), e.Count(s.text); got != want {
				t.Errorf("%s %s: literal %d, text %d", e.Name(), s.name, got, want)
			}
		}
	}
}

func TestLiteralEscapes(t *testing.T) {
	e := O200K()
	for literal, text := range map[string]string{
		`""`:                       "",
		`"\u0041\n\t\"\\\/\b\f\r"`: "A\n\t\"\\/\b\f\r",
		`"\ud83d\ude00 \u00e9"`:    "😀 é",
		`"\ud83d x \ude00\ud83d"`:  "\ufffd x \ufffd\ufffd",
		`"\ud83d\u0041"`:           "\ufffdA",
		`"\uD83D\uDE00"`:           "😀",
		`"a\`:                      `"a\`,
		`"\u12"`:                   `\u12`,
		`"\q"`:                     `\q`,
		`"`:                        `"`,
		``:                         ``,
	} {
		if got, want := e.CountLiteral([]byte(literal)), e.Count([]byte(text)); got != want {
			t.Errorf("%s counts as %d, its text as %d", literal, got, want)
		}
	}
}

// Half of a hostile text must count about half as much, and counting half a megabyte must end:
// a quadratic algorithm would need hours for this table.
func TestHostileText(t *testing.T) {
	for _, e := range []*Encoding{O200K(), CL100K()} {
		for _, s := range hostile(1 << 19) {
			half := append([]byte(nil), s.text[:len(s.text)/2]...)
			half = bytes.ToValidUTF8(half, nil)
			n, h := e.Count(s.text), e.Count(half)
			if n == 0 || n > len(s.text) || h > n || n > 2*h+8 {
				t.Errorf("%s %s: %d tokens in %d bytes, %d in the first half", e.Name(), s.name, n, len(s.text), h)
			}
		}
		broken := bytes.Repeat([]byte{0xff, 'a', 0xc3}, 1<<17)
		if n := e.Count(broken); n < 1<<17 {
			t.Errorf("%s: broken UTF-8 counts as %d", e.Name(), n)
		}
	}
}

// The scratch is bounded: a piece of many megabytes is counted in parts.
func TestEndlessPieces(t *testing.T) {
	e := O200K()
	for _, s := range []sample{{"letter", bytes.Repeat([]byte("a"), 2*maxPiece+100)}, {"ideograph", bytes.Repeat([]byte("中"), maxPiece/3+50)}} {
		n := e.Count(s.text)
		if got := len(e.Append(nil, s.text)); got != n {
			t.Errorf("%s: Count says %d, Append %d", s.name, n, got)
		}
		literal := append(append([]byte(`"\\`), s.text...), '"')
		if got := e.CountLiteral(literal); got < n-8 || got > n+8 {
			t.Errorf("%s: %d tokens in the literal, %d in the text", s.name, got, n)
		}
		tenth := e.Count(s.text[:len(s.text)/30*3])
		if n < 10*tenth-16 || n > 10*tenth+64 {
			t.Errorf("%s: %d tokens in a tenth, %d in the whole", s.name, tenth, n)
		}
	}
	s := e.scratch()
	defer e.release(s)
	if cap(s.stack) > keepBytes/4 || cap(s.dead) > keepBytes/8 || cap(s.text) > keepBytes {
		t.Errorf("a scratch kept %d tokens, %d words, %d bytes", cap(s.stack), cap(s.dead), cap(s.text))
	}
}

func TestCountIsSafeForConcurrentUse(t *testing.T) {
	texts := corpus(t, 8<<10)
	e := O200K()
	want := make([]int, len(texts))
	for i, s := range texts {
		want[i] = e.Count(s.text)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				for i, s := range texts {
					if got := e.Count(s.text); got != want[i] {
						t.Errorf("%s counts as %d beside others, %d alone", s.name, got, want[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCount(f *testing.F) {
	f.Add("Hello, world! It's 2026.\n\n  don't\tstop")
	f.Add("'ſab ÀÉ中ABc\u0301's ١٢٣٤/\n/\r\n  \u00a0x")
	f.Add(strings.Repeat("a", 60) + strings.Repeat(" ", 60))
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 200)] // the library is slow
		text = strings.ToValidUTF8(text, "\ufffd")
		for _, p := range pairs() {
			compare(t, p, "fuzz", []byte(text))
		}
	})
}

// FuzzLiteral holds literals, valid or not, against the standard library's unescaping.
func FuzzLiteral(f *testing.F) {
	f.Add([]byte(`"a\n\ud83d\ude00\udead"`))
	f.Add([]byte(`"\\\\\\"`))
	f.Add([]byte(`\u`))
	f.Fuzz(func(t *testing.T, literal []byte) {
		var text string
		err := json.Unmarshal(literal, &text)
		for _, e := range []*Encoding{O200K(), CL100K()} {
			n := e.CountLiteral(literal)
			if n < 0 || n > 3*len(literal) {
				t.Fatalf("%q counts as %d", literal, n)
			}
			if err == nil && literal[0] == '"' && literal[len(literal)-1] == '"' && n != e.Count([]byte(text)) {
				t.Fatalf("%q counts as %d, its text %q as %d", literal, n, text, e.Count([]byte(text)))
			}
		}
	})
}

// Without case, ſ is an s. The published encoder's regular expressions fold case as Unicode
// does (CaseFolding.txt has "017F; C; 0073"), Go's own do, and the library's do not: they
// compare lower-case forms, and ſ is its own. So this is the one place where the library's
// own pattern is not followed.
func TestLongSIsAnS(t *testing.T) {
	const text = "'ſab" // the contraction 'ſ, then ab
	if got := regexp.MustCompile(`(?i:'s)`).FindString(text); got != "'ſ" {
		t.Fatalf("Go's regular expressions find %q", got)
	}
	if end := splitCL100K([]byte(text), 0); text[:end] != "'ſ" {
		t.Errorf("the first piece is %q", text[:end])
	}
	const word = "itſ'ſab"
	if end := splitO200K([]byte(word), 0); word[:end] != "itſ'ſ" {
		t.Errorf("the first piece is %q", word[:end])
	}
	// It changes where pieces end and never the tokens: no token has ſ beside a letter.
	for _, e := range []*Encoding{O200K(), CL100K()} {
		for id := range uint32(e.table.Count()) {
			if b := e.Bytes(id); bytes.Contains(b, []byte("ſ")) && len(b) > 2 {
				t.Errorf("%s: token %d is %q", e.Name(), id, b)
			}
		}
	}
}
